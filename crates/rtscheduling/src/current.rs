//! Calling thread's view of its distributable thread (`RTScheduling::Current`).

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use oxorb::{Orb, SystemException};

use crate::refusal::{NO_SEGMENT, TOO_DEEP, cancelled_here};
use crate::scheduling::RtScheduling;
use crate::stack::{self, Kind, Stack};
use crate::{DistributableThread, Id, Scheduler, SegmentError};

/// Calling thread's view of a scheduling (`RTScheduling::Current`). Cheap to clone; may be used in
/// any thread.
pub struct Current<S: Scheduler> {
    pub(crate) scheduling: RtScheduling<S>,
    pub(crate) orb: Orb,
}

impl<S: Scheduler> Current<S> {
    pub(crate) fn new(scheduling: RtScheduling<S>, orb: Orb) -> Current<S> {
        Current { scheduling, orb }
    }

    /// Begins a scheduling segment, which ends when the guard is dropped. The first segment makes
    /// the calling thread a distributable thread, under a new id; further segments are nested.
    /// `implicit` is the parameter of threads that begin with a oneway or an asynchronous call
    /// within the segment; without it those calls carry no distributable thread.
    ///
    /// **Real-time cost.** That of the scheduler. Allocates for the first segments of a native
    /// thread, and for a name longer than earlier ones.
    ///
    /// # Errors
    /// The error of the scheduler; THREAD_CANCELLED; NO_RESOURCES if 64 segments and requests are
    /// nested already.
    pub fn begin_scheduling_segment(
        &self,
        name: &str,
        parameter: S::Parameter,
        implicit: Option<S::Parameter>,
    ) -> Result<SchedulingSegment<S>, SegmentError> {
        let inner = &self.scheduling.inner;
        let stack = stack::own(inner.number, &inner.registry);
        let outer = stack.top(|frame| (frame.kind, frame.id));
        let nested = outer.filter(|(kind, _)| *kind != Kind::Other);
        let (kind, id) = match nested {
            Some((_, id)) => {
                stack.slot.check().map_err(cancelled_here)?;
                (Kind::Nested, id)
            }
            None => (Kind::Thread, Id::new()),
        };
        let serial = self.begin(&stack, kind, id, name, parameter, implicit, false)?;
        Ok(SchedulingSegment { current: self.clone(), serial, _of_this_thread: PhantomData })
    }

    /// Pushes a segment. `entered` tells whether the registry already contains the thread.
    #[expect(clippy::too_many_arguments, reason = "a segment is so much")]
    pub(crate) fn begin(
        &self,
        stack: &Rc<Stack<S::Parameter>>,
        kind: Kind,
        id: Id,
        name: &str,
        parameter: S::Parameter,
        implicit: Option<S::Parameter>,
        entered: bool,
    ) -> Result<u64, SegmentError> {
        let scheduler = &self.scheduling.inner.scheduler;
        let pushed = stack.push(kind, id, name, Some(parameter), implicit);
        let serial = pushed.ok_or(TOO_DEEP)?;
        let admitted = stack.segment(|segment| match kind {
            Kind::Nested => scheduler.begin_nested_scheduling_segment(segment),
            _ => scheduler.begin_new_scheduling_segment(segment),
        });
        let admitted = match admitted {
            Some(admitted) => admitted,
            None => Err(NO_SEGMENT.into()),
        };
        match admitted {
            Ok(grant) => {
                if kind == Kind::Thread && !entered {
                    stack.slot.enter(id);
                }
                if let Err(exception) = stack.grant(&self.orb, grant) {
                    let _ = self.end(stack);
                    return Err(exception.into());
                }
                Ok(serial)
            }
            Err(error) => {
                stack.pop();
                Err(error)
            }
        }
    }

    /// Changes the parameters of the innermost segment.
    ///
    /// # Errors
    /// The error of the scheduler; THREAD_CANCELLED; BAD_INV_ORDER outside of segments.
    pub fn update_scheduling_segment(
        &self,
        name: &str,
        parameter: S::Parameter,
        implicit: Option<S::Parameter>,
    ) -> Result<(), SegmentError> {
        let stack = self.stack().ok_or(NO_SEGMENT)?;
        stack.slot.check().map_err(cancelled_here)?;
        let before = stack
            .top(|frame| {
                let before = (frame.parameter?, frame.implicit);
                (frame.parameter, frame.implicit) = (Some(parameter), implicit);
                Some(before)
            })
            .flatten()
            .ok_or(NO_SEGMENT)?;
        let scheduler = &self.scheduling.inner.scheduler;
        let updated = stack.segment(|segment| scheduler.update_scheduling_segment(segment));
        let updated = updated.unwrap_or(Err(NO_SEGMENT.into()));
        let granted = updated.and_then(|grant| Ok(stack.grant(&self.orb, grant)?));
        stack.top(|frame| match granted {
            Ok(()) => {
                frame.name.clear();
                frame.name.push_str(name);
            }
            Err(_) => (frame.parameter, frame.implicit) = (Some(before.0), before.1),
        });
        granted
    }

    /// Returns the id of the distributable thread; `None` outside of one.
    pub fn id(&self) -> Option<Id> {
        self.frame(|frame| frame.parameter.map(|_| frame.id))
    }

    /// Returns the scheduling parameter of the innermost segment; `None` outside of a distributable
    /// thread.
    pub fn scheduling_parameter(&self) -> Option<S::Parameter> {
        self.frame(|frame| frame.parameter)
    }

    /// Returns the parameter of threads that begin with a oneway or an asynchronous call, if set.
    pub fn implicit_scheduling_parameter(&self) -> Option<S::Parameter> {
        self.frame(|frame| frame.implicit)
    }

    /// Returns the names of the distributable thread's segments in this native thread, the
    /// innermost first. Allocates.
    pub fn current_scheduling_segment_names(&self) -> Vec<String> {
        let Some(stack) = self.stack() else {
            return Vec::new();
        };
        let mut names = Vec::new();
        for below in 0..stack.depth() {
            let seen = stack.at(below, |frame| (frame.kind, frame.name.clone()));
            match seen {
                Some((Kind::Nested, name)) => names.push(name),
                Some((Kind::Thread, name)) => {
                    names.push(name);
                    break;
                }
                Some((Kind::Request, _)) => {}
                Some((Kind::Other, _)) | None => break,
            }
        }
        names
    }

    /// Finds a distributable thread, as [`RtScheduling::lookup`] does.
    pub fn lookup(&self, id: &Id) -> Option<DistributableThread> {
        self.scheduling.lookup(id)
    }

    /// Checks that the distributable thread was not cancelled, for servants with long computations.
    ///
    /// # Errors
    /// THREAD_CANCELLED.
    pub fn check(&self) -> Result<(), SystemException> {
        match self.thread() {
            None => Ok(()),
            Some(stack) => stack.slot.check().map_err(cancelled_here),
        }
    }

    /// Sleeps for `duration`, or until the distributable thread is cancelled.
    ///
    /// # Errors
    /// THREAD_CANCELLED.
    pub fn sleep(&self, duration: Duration) -> Result<(), SystemException> {
        match self.thread() {
            None => {
                std::thread::sleep(duration);
                Ok(())
            }
            Some(stack) => stack.slot.sleep(duration).map_err(cancelled_here),
        }
    }

    fn stack(&self) -> Option<Rc<Stack<S::Parameter>>> {
        stack::known(self.scheduling.inner.number)
    }

    /// Returns the stack if its top belongs to a distributable thread.
    fn thread(&self) -> Option<Rc<Stack<S::Parameter>>> {
        let stack = self.stack()?;
        let is_thread = stack.top(|frame| frame.parameter.is_some());
        (is_thread == Some(true)).then_some(stack)
    }

    fn frame<R>(&self, look: impl FnOnce(&stack::Frame<S::Parameter>) -> Option<R>) -> Option<R> {
        self.stack()?.top(|frame| look(frame)).flatten()
    }

    /// Ends the top segment.
    ///
    /// # Errors
    /// THREAD_CANCELLED.
    fn end(&self, stack: &Stack<S::Parameter>) -> Result<(), SystemException> {
        let kind = stack.top(|frame| frame.kind);
        let ended = end_top(&self.scheduling.inner.scheduler, stack);
        match kind {
            Some(Kind::Thread) => ended,
            _ => stack.slot.check().map_err(cancelled_here),
        }
    }

    /// Ends a segment and the segments nested in it.
    pub(crate) fn end_segment(&self, serial: u64) -> Result<(), SystemException> {
        let Some(stack) = self.stack() else {
            return Ok(());
        };
        let at = (0..stack.depth()).find(|below| {
            let found = stack.at(*below, |frame| frame.serial == serial);
            found == Some(true)
        });
        // If the segment is gone, the request around it has ended, and its segments with it.
        let Some(at) = at else {
            return Ok(());
        };
        let mut ended = Ok(());
        for _ in 0..=at {
            ended = self.end(&stack);
        }
        ended
    }
}

/// Ends the top frame, unless it is a request, which the interceptor ends.
///
/// # Errors
/// THREAD_CANCELLED if a distributable thread ends here that was cancelled.
pub(crate) fn end_top<S: Scheduler>(
    scheduler: &S,
    stack: &Stack<S::Parameter>,
) -> Result<(), SystemException> {
    let kind = stack.top(|frame| frame.kind);
    match kind {
        Some(Kind::Thread) => {
            stack.segment(|segment| scheduler.end_scheduling_segment(segment));
            stack.pop();
            stack.slot.leave().map_err(cancelled_here)
        }
        Some(Kind::Nested) => {
            stack.segment(|segment| {
                stack.segment_at(1, |outer| {
                    scheduler.end_nested_scheduling_segment(segment, outer);
                });
            });
            stack.pop();
            Ok(())
        }
        _ => Ok(()),
    }
}

impl<S: Scheduler> Clone for Current<S> {
    fn clone(&self) -> Self {
        Current { scheduling: self.scheduling.clone(), orb: self.orb.clone() }
    }
}

impl<S: Scheduler> fmt::Debug for Current<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("id", &self.id())
            .field("parameter", &self.scheduling_parameter())
            .finish()
    }
}

/// Scheduling segment of the calling thread, which ends when dropped. Segments nested in it end
/// first.
#[must_use = "the segment ends with it"]
pub struct SchedulingSegment<S: Scheduler> {
    current: Current<S>,
    serial: u64,
    _of_this_thread: PhantomData<*const ()>,
}

impl<S: Scheduler> SchedulingSegment<S> {
    /// Ends the segment (`end_scheduling_segment`).
    ///
    /// # Errors
    /// THREAD_CANCELLED: the distributable thread was cancelled. The segment has ended
    /// nevertheless.
    pub fn end(mut self) -> Result<(), SystemException> {
        let serial = std::mem::take(&mut self.serial);
        self.current.end_segment(serial)
    }

    /// Returns the distributable thread of the segment.
    pub fn thread(&self) -> Option<DistributableThread> {
        self.current.lookup(&self.current.id()?)
    }
}

impl<S: Scheduler> Drop for SchedulingSegment<S> {
    fn drop(&mut self) {
        // Serial numbers begin at 1, and 0 marks a segment that was ended explicitly.
        if self.serial > 0 {
            let _ = self.current.end_segment(self.serial);
        }
    }
}

impl<S: Scheduler> fmt::Debug for SchedulingSegment<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulingSegment").finish_non_exhaustive()
    }
}
