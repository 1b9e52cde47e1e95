//! Schedulers of distributable threads, which applications may write.

use std::fmt;

use oxorb::SystemException;
use oxorb::interceptor::{IncomingRequest, OutgoingRequest};
use oxorb::rt::Priority;

use crate::{BadContext, Id};

/// CORBA priority at which a thread continues after a point of a [`Scheduler`]; `None` keeps the current priority.
///
/// The thread keeps this priority until the scheduling segment or the request ends, or a later point grants another
/// one, and returns to its earlier priority afterwards in every case.
pub type Grant = Option<Priority>;

/// Scheduler of distributable threads (`RTScheduling::Scheduler`).
///
/// Each point is called in the thread that it concerns, and may delay this thread: it continues
/// when the point returns. A point must not begin or end scheduling segments itself.
///
/// Points, by event:
///
/// - A distributable thread begins:
///   [`begin_new_scheduling_segment`](Self::begin_new_scheduling_segment).
/// - Its parameters change:
///   [`begin_nested_scheduling_segment`](Self::begin_nested_scheduling_segment),
///   [`update_scheduling_segment`](Self::update_scheduling_segment),
///   [`end_nested_scheduling_segment`](Self::end_nested_scheduling_segment).
/// - It ends: [`end_scheduling_segment`](Self::end_scheduling_segment).
/// - It leaves to another servant, and returns: [`send_request`](Self::send_request),
///   [`receive_reply`](Self::receive_reply), [`receive_exception`](Self::receive_exception),
///   [`receive_other`](Self::receive_other).
/// - It arrives at a servant of this process, and leaves:
///   [`receive_request`](Self::receive_request), [`send_reply`](Self::send_reply),
///   [`send_exception`](Self::send_exception), [`send_other`](Self::send_other),
///   [`leave_request`](Self::leave_request).
/// - It was cancelled: [`cancel`](Self::cancel), called in any thread.
///
/// A thread that leaves by a oneway or an asynchronous call is a new one, with the implicit
/// parameters of its origin; the scheduler only [writes](Self::write_context) its context.
///
/// ```
/// use oxorb::SystemException;
/// use oxorb::interceptor::IncomingRequest;
/// use oxorb::rt::Priority;
/// use oxorb_rtscheduling::{BadContext, DsrtQos, Grant, Id, RtScheduling, Scheduler, Segment, SegmentError};
///
/// /// Alarms run at the highest priority, everything else as it comes.
/// struct AlarmsFirst;
///
/// impl AlarmsFirst {
///     fn grant(alarm: &bool) -> Grant {
///         alarm.then_some(Priority::MAX)
///     }
/// }
///
/// impl Scheduler for AlarmsFirst {
///     type Parameter = bool;
///
///     fn scheduling_discipline_name(&self) -> &str {
///         "alarms first"
///     }
///
///     fn begin_new_scheduling_segment(&self, segment: &Segment<'_, bool>) -> Result<Grant, SegmentError> {
///         Ok(AlarmsFirst::grant(segment.parameter))
///     }
///
///     fn receive_request(&self, segment: &Segment<'_, bool>, _: &IncomingRequest<'_>) -> Result<Grant, SystemException> {
///         Ok(AlarmsFirst::grant(segment.parameter))
///     }
///
///     fn write_context(&self, id: &Id, alarm: &bool, octets: &mut Vec<u8>) {
///         DsrtQos { importance: i32::from(*alarm), ..DsrtQos::new(*id) }.append_to(octets);
///     }
///
///     fn read_context(&self, octets: &[u8]) -> Result<(Id, bool), BadContext> {
///         let qos = DsrtQos::parse(octets)?;
///         Ok((qos.id, qos.importance > 0))
///     }
/// }
///
/// let scheduling = RtScheduling::new(AlarmsFirst);
/// let orb = oxorb::Orb::builder().scheduling_interceptor(scheduling.interceptor()).build()?;
/// let current = scheduling.current(&orb);
/// let alarm = current.begin_scheduling_segment("overheated", true, None)?;
/// assert_eq!(orb.thread_priority(), Some(Priority::MAX));
/// alarm.end()?;
/// assert_eq!(orb.thread_priority(), None);
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Scheduler: Send + Sync + 'static {
    /// Scheduling parameter, a `CORBA::Policy` in the specification.
    type Parameter: Copy + fmt::Debug + Send + Sync + 'static;

    /// Returns the name of the discipline.
    fn scheduling_discipline_name(&self) -> &str;

    /// Admits the calling thread as a new distributable thread.
    ///
    /// # Errors
    /// The thread does not become a distributable thread.
    fn begin_new_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
    ) -> Result<Grant, SegmentError>;

    /// Begins a nested segment. Calls
    /// [`update_scheduling_segment`](Self::update_scheduling_segment) by default.
    ///
    /// # Errors
    /// The segment does not begin.
    fn begin_nested_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
    ) -> Result<Grant, SegmentError> {
        self.update_scheduling_segment(segment)
    }

    /// Changes the parameters of the innermost segment. Calls
    /// [`begin_new_scheduling_segment`](Self::begin_new_scheduling_segment) by default.
    ///
    /// # Errors
    /// The segment keeps its parameters.
    fn update_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
    ) -> Result<Grant, SegmentError> {
        self.begin_new_scheduling_segment(segment)
    }

    /// Ends the outermost segment, and with it the distributable thread, even after a panic.
    fn end_scheduling_segment(&self, segment: &Segment<'_, Self::Parameter>) {
        let _ = segment;
    }

    /// Ends a segment nested in `outer`. The thread returns to its priority in `outer`.
    fn end_nested_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        outer: &Segment<'_, Self::Parameter>,
    ) {
        let _ = (segment, outer);
    }

    /// Announces a two-way call: the thread waits here until an answer arrives.
    ///
    /// # Errors
    /// The call fails: nothing is sent, and no other point is called for it.
    fn send_request(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &OutgoingRequest<'_>,
    ) -> Result<(), SystemException> {
        let _ = (segment, request);
        Ok(())
    }

    /// Announces the reply to a two-way call. `returned` contains the parameters of the thread when it left the
    /// servant, if the reply carries them.
    ///
    /// # Errors
    /// Raised to the caller instead of the results.
    fn receive_reply(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &OutgoingRequest<'_>,
        returned: Option<&Self::Parameter>,
    ) -> Result<Grant, SystemException> {
        let _ = (segment, request, returned);
        Ok(None)
    }

    /// Announces that a two-way call has failed or raised an exception. Calls
    /// [`receive_other`](Self::receive_other) by default.
    ///
    /// # Errors
    /// Raised to the caller instead of the exception.
    fn receive_exception(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &OutgoingRequest<'_>,
    ) -> Result<Grant, SystemException> {
        self.receive_other(segment, request)
    }

    /// Announces that a two-way call has ended with neither results nor an exception. Calls
    /// [`receive_reply`](Self::receive_reply) without returned parameters by default.
    ///
    /// # Errors
    /// Raised to the caller.
    fn receive_other(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &OutgoingRequest<'_>,
    ) -> Result<Grant, SystemException> {
        self.receive_reply(segment, request, None)
    }

    /// Admits a distributable thread that arrives with a request.
    ///
    /// # Errors
    /// The request raises the exception at the client, and the servant is not called.
    fn receive_request(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &IncomingRequest<'_>,
    ) -> Result<Grant, SystemException>;

    /// Announces the results of a servant.
    fn send_reply(&self, segment: &Segment<'_, Self::Parameter>, request: &IncomingRequest<'_>) {
        let _ = (segment, request);
    }

    /// Announces the exception of a servant.
    fn send_exception(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &IncomingRequest<'_>,
    ) {
        let _ = (segment, request);
    }

    /// Announces that the client is forwarded to another location.
    fn send_other(&self, segment: &Segment<'_, Self::Parameter>, request: &IncomingRequest<'_>) {
        let _ = (segment, request);
    }

    /// Reports that the thread has left a request that [`receive_request`](Self::receive_request) admitted: after its
    /// reply was written, even if the servant panicked or answers later.
    fn leave_request(&self, segment: &Segment<'_, Self::Parameter>) {
        let _ = segment;
    }

    /// Reports that a distributable thread was cancelled in this process: a point that delays it
    /// must return THREAD_CANCELLED.
    fn cancel(&self, id: &Id) {
        let _ = id;
    }

    /// Appends the service context of a travelling thread; appending nothing sends no context.
    fn write_context(&self, id: &Id, parameter: &Self::Parameter, octets: &mut Vec<u8>);

    /// Decodes the service context of an arriving thread.
    ///
    /// # Errors
    /// [`BadContext`]: the request raises MARSHAL at the client, and the ORB logs the reason.
    fn read_context(&self, octets: &[u8]) -> Result<(Id, Self::Parameter), BadContext>;
}

/// Scheduling segment as passed to the points of a [`Scheduler`].
#[derive(Debug)]
pub struct Segment<'s, P> {
    /// Id of the distributable thread.
    pub id: &'s Id,
    /// Name of the segment; empty if the thread arrived with a request.
    pub name: &'s str,
    /// Scheduling parameter.
    pub parameter: &'s P,
    /// Scheduling parameter of threads that begin with a oneway or an asynchronous call.
    pub implicit: Option<&'s P>,
}

/// Reason why a scheduling segment does not begin or change.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The scheduler does not support this parameter (`UNSUPPORTED_SCHEDULING_DISCIPLINE`).
    #[error("the scheduler cannot schedule by this parameter")]
    UnsupportedSchedulingDiscipline,
    /// Any other failure, such as THREAD_CANCELLED.
    #[error(transparent)]
    System(#[from] SystemException),
}

impl fmt::Debug for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
