//! Schedulers of distributable threads, which applications may write.

use std::fmt;

use oxorb::interceptor::{IncomingRequest, OutgoingRequest};
use oxorb::{Priority, SystemException};

use crate::{BadContext, Id};

/// CORBA priority at which a thread continues, from a point of a [`Scheduler`]; `None`: at the one it has.
///
/// The thread gets it for as long as the scheduling segment or the request lasts, or until a later point grants another one,
/// and has its earlier priority again afterwards, whatever happens in between.
pub type Grant = Option<Priority>;

/// A scheduler of distributable threads (`RTScheduling::Scheduler`).
///
/// Each point is called in the thread that it is about, and may hold this thread back: it runs on when the point returns. A
/// point must not begin or end scheduling segments itself.
///
/// | point | when |
/// |---|---|
/// | [`begin_new_scheduling_segment`](Self::begin_new_scheduling_segment) | a distributable thread begins |
/// | [`begin_nested_scheduling_segment`](Self::begin_nested_scheduling_segment), [`update_scheduling_segment`](Self::update_scheduling_segment), [`end_nested_scheduling_segment`](Self::end_nested_scheduling_segment) | its parameters change |
/// | [`end_scheduling_segment`](Self::end_scheduling_segment) | it ends |
/// | [`send_request`](Self::send_request), [`receive_reply`](Self::receive_reply), [`receive_exception`](Self::receive_exception), [`receive_other`](Self::receive_other) | it goes to another servant, and comes back |
/// | [`receive_request`](Self::receive_request), [`send_reply`](Self::send_reply), [`send_exception`](Self::send_exception), [`send_other`](Self::send_other), [`leave_request`](Self::leave_request) | it comes to a servant of this process, and leaves |
/// | [`cancel`](Self::cancel) | it was cancelled, called in any thread |
///
/// A thread that leaves by a oneway or an asynchronous call is a new one, with the implicit parameters of its origin; only its
/// context is [written](Self::write_context).
///
/// ```
/// use oxorb::interceptor::IncomingRequest;
/// use oxorb::{Priority, SystemException};
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
    /// Scheduling parameter, where the specification has a `CORBA::Policy`.
    type Parameter: Copy + fmt::Debug + Send + Sync + 'static;

    /// Returns the name of the discipline.
    fn scheduling_discipline_name(&self) -> &str;

    /// Admits a new distributable thread, which is the calling one.
    ///
    /// # Errors
    /// The thread does not become one.
    fn begin_new_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
    ) -> Result<Grant, SegmentError>;

    /// Begins a segment within a segment. Unless it is implemented, as [`update_scheduling_segment`](Self::update_scheduling_segment).
    ///
    /// # Errors
    /// The segment does not begin.
    fn begin_nested_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
    ) -> Result<Grant, SegmentError> {
        self.update_scheduling_segment(segment)
    }

    /// Changes the parameters of the innermost segment. Unless it is implemented, as
    /// [`begin_new_scheduling_segment`](Self::begin_new_scheduling_segment).
    ///
    /// # Errors
    /// The segment keeps the parameters it had.
    fn update_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
    ) -> Result<Grant, SegmentError> {
        self.begin_new_scheduling_segment(segment)
    }

    /// Ends the outermost segment, and with it the distributable thread, be it by a panic.
    fn end_scheduling_segment(&self, segment: &Segment<'_, Self::Parameter>) {
        let _ = segment;
    }

    /// Ends a segment within `outer`. The thread gets back the priority it had there.
    fn end_nested_scheduling_segment(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        outer: &Segment<'_, Self::Parameter>,
    ) {
        let _ = (segment, outer);
    }

    /// Announces a two-way call: the thread will do nothing here until an answer is received.
    ///
    /// # Errors
    /// Ends the call: nothing is sent, and no other point is called for it.
    fn send_request(
        &self,
        segment: &Segment<'_, Self::Parameter>,
        request: &OutgoingRequest<'_>,
    ) -> Result<(), SystemException> {
        let _ = (segment, request);
        Ok(())
    }

    /// Announces the reply to a two-way call. `returned`: the parameters that the thread had when it left its servant, if the
    /// reply says so.
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

    /// Announces that a two-way call has failed or has raised an exception. Unless it is implemented, as
    /// [`receive_other`](Self::receive_other).
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

    /// Announces that a two-way call has ended with neither results nor an exception. Unless it is implemented, as
    /// [`receive_reply`](Self::receive_reply) where nothing is returned.
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

    /// Admits a distributable thread that comes with a request.
    ///
    /// # Errors
    /// The client gets the exception, and the servant is not called.
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

    /// Announces that the client is sent elsewhere.
    fn send_other(&self, segment: &Segment<'_, Self::Parameter>, request: &IncomingRequest<'_>) {
        let _ = (segment, request);
    }

    /// Reports that the thread has left a request which [`receive_request`](Self::receive_request) has admitted: after its
    /// reply was written, and also where the servant has panicked or answers later.
    fn leave_request(&self, segment: &Segment<'_, Self::Parameter>) {
        let _ = segment;
    }

    /// Reports that a distributable thread was cancelled while it was in this process: a point that holds it back is to let it
    /// go, with THREAD_CANCELLED.
    fn cancel(&self, id: &Id) {
        let _ = id;
    }

    /// Appends the service context with which a thread travels; nothing: it travels without.
    fn write_context(&self, id: &Id, parameter: &Self::Parameter, octets: &mut Vec<u8>);

    /// Reads the service context with which a thread has come.
    ///
    /// # Errors
    /// The client gets MARSHAL, and the log says why.
    fn read_context(&self, octets: &[u8]) -> Result<(Id, Self::Parameter), BadContext>;
}

/// Scheduling segment as the points of a [`Scheduler`] see it.
#[derive(Debug)]
pub struct Segment<'s, P> {
    /// Id of the distributable thread.
    pub id: &'s Id,
    /// Name of the segment; empty where the thread has come with a request.
    pub name: &'s str,
    /// Scheduling parameter.
    pub parameter: &'s P,
    /// Scheduling parameter of threads that begin with a oneway or an asynchronous call.
    pub implicit: Option<&'s P>,
}

/// Scheduling segment that does not begin, or does not change.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The scheduler cannot schedule by this parameter (`UNSUPPORTED_SCHEDULING_DISCIPLINE`).
    #[error("the scheduler cannot schedule by this parameter")]
    UnsupportedSchedulingDiscipline,
    /// Any other reason, THREAD_CANCELLED among them.
    #[error(transparent)]
    System(#[from] SystemException),
}

impl fmt::Debug for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
