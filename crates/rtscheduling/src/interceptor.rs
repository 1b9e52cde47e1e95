//! Interceptor that calls a scheduler's points for the requests of an ORB.

use std::rc::Rc;
use std::sync::Arc;

use oxorb::incident::Incident;
use oxorb::interceptor::{
    Ended, IncomingAnswer, IncomingRequest, OutgoingRequest, SchedulingInterceptor,
};
use oxorb::{CompletionStatus, SystemException, SystemExceptionKind};

use crate::cancel::{self, CANCEL};
use crate::context::SCHEDULING_INFO;
use crate::current::end_top;
use crate::refusal::{BAD_CONTEXT, NO_SEGMENT, TOO_DEEP, cancelled, cancelled_here};
use crate::scheduling::Inner;
use crate::slots::Cancelled;
use crate::stack::{self, Core, Kind, Stack};
use crate::thread::Cancels;
use crate::{BadContext, Id, Scheduler};

/// Scheduling of the distributable threads that an ORB's requests carry.
pub(crate) struct Interceptor<S>(pub(crate) Arc<Inner<S>>);

impl<S: Scheduler> Interceptor<S> {
    /// Returns the stack of this thread if its top belongs to a distributable thread.
    fn thread(&self) -> Option<Rc<Stack<S::Parameter>>> {
        let stack = stack::known(self.0.number)?;
        let is_thread = stack.top(|frame| frame.parameter.is_some());
        (is_thread == Some(true)).then_some(stack)
    }

    /// Ends the segments that a servant has left open.
    fn close_segments(&self, stack: &Stack<S::Parameter>) {
        while let Some(Kind::Thread | Kind::Nested) = stack.top(|frame| frame.kind) {
            let _ = end_top(&self.0.scheduler, stack);
        }
    }

    /// Admits a distributable thread that arrives with a request.
    fn admit(
        &self,
        request: &IncomingRequest<'_>,
        id: Id,
        parameter: S::Parameter,
    ) -> Result<(), SystemException> {
        let inner = &*self.0;
        let stack = stack::own(inner.number, &inner.registry);
        stack.push(Kind::Request, id, "", Some(parameter), None).ok_or(TOO_DEEP)?;
        // Enter the thread before checking for an early cancellation, so that a later cancellation
        // finds it.
        stack.slot.enter(id);
        let admitted = match inner.registry.was_cancelled_early(&id) {
            true => Err(cancelled_here(Cancelled)),
            false => stack
                .segment(|segment| inner.scheduler.receive_request(segment, request))
                .unwrap_or(Err(NO_SEGMENT)),
        };
        let failed = match admitted {
            Ok(grant) => match stack.grant(request.orb(), grant) {
                Ok(()) => return Ok(()),
                Err(exception) => {
                    stack.segment(|segment| inner.scheduler.leave_request(segment));
                    exception
                }
            },
            Err(exception) => exception,
        };
        stack.pop();
        let _ = stack.slot.leave();
        Err(failed)
    }
}

/// Logs once why the context of a peer cannot be used.
#[cold]
fn note(orb: &Core, what: &'static str, why: &BadContext) {
    let detail = || format!("the scheduling context of {what}: {why}");
    orb.note_once(Incident::BadSchedulingContext, || what.to_owned(), detail);
}

impl<S: Scheduler> SchedulingInterceptor for Interceptor<S> {
    fn send_request(
        &self,
        request: &OutgoingRequest<'_>,
        context: &mut Vec<u8>,
    ) -> Result<Option<u32>, SystemException> {
        if let Some((id, hops)) = cancel::cancelling() {
            cancel::write(&id, hops, context);
            return Ok(Some(CANCEL));
        }
        let Some(stack) = self.thread() else {
            return Ok(None);
        };
        let scheduler = &self.0.scheduler;
        let travels = |context: &Vec<u8>| (!context.is_empty()).then_some(SCHEDULING_INFO);
        if !request.caller_waits() {
            stack.slot.check().map_err(cancelled_here)?;
            if let Some(implicit) = stack.top(|frame| frame.implicit).flatten() {
                scheduler.write_context(&Id::new(), &implicit, context);
            }
            return Ok(travels(context));
        }
        stack.slot.go(request.target().clone()).map_err(cancelled_here)?;
        let sent = stack.segment(|segment| {
            scheduler.send_request(segment, request)?;
            scheduler.write_context(segment.id, segment.parameter, context);
            Ok(())
        });
        if let Some(Err(exception)) = sent {
            let _ = stack.slot.come_back();
            return Err(exception);
        }
        Ok(travels(context))
    }

    fn receive_answer(
        &self,
        request: &OutgoingRequest<'_>,
        answer: &IncomingAnswer<'_>,
    ) -> Result<(), SystemException> {
        if cancel::cancelling().is_some() {
            return Ok(());
        }
        let Some(stack) = self.thread() else {
            return Ok(());
        };
        let scheduler = &self.0.scheduler;
        let ended = answer.ended();
        if let Ended::SystemException(exception) = ended
            && exception.kind == SystemExceptionKind::ThreadCancelled
        {
            // This exception shows that the thread was cancelled in the server.
            stack.slot.mark();
        }
        let returned = answer.service_context(SCHEDULING_INFO);
        let returned = returned.and_then(|octets| match scheduler.read_context(octets) {
            Ok((_, parameter)) => Some(parameter),
            Err(why) => {
                // Ignore the invalid context: the operation has run, so its results must be
                // returned.
                note(request.orb(), "a reply", &why);
                None
            }
        });
        let admitted = stack.segment(|segment| match ended {
            Ended::Results => scheduler.receive_reply(segment, request, returned.as_ref()),
            Ended::UserException | Ended::SystemException(_) => {
                scheduler.receive_exception(segment, request)
            }
            Ended::Other => scheduler.receive_other(segment, request),
        });
        let back = stack.slot.come_back();
        let completed = match ended {
            Ended::SystemException(exception) => exception.completed,
            Ended::Results | Ended::UserException | Ended::Other => CompletionStatus::Yes,
        };
        let grant = admitted
            .unwrap_or(Ok(None))
            .map_err(|exception| SystemException { completed, ..exception });
        back.map_err(|it| cancelled(it, completed))?;
        stack.grant(request.orb(), grant?)
    }

    fn receive_contexts(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
        let Some(octets) = request.service_context(CANCEL) else {
            return Ok(());
        };
        let (id, hops) = cancel::read(octets).map_err(|why| {
            note(request.orb(), "a cancel", &why);
            BAD_CONTEXT
        })?;
        let found = self.0.registry.cancel_even_early(&id);
        self.0.cancel(&id);
        cancel::follow(&id, &found.away, hops, self.0.limits.cancel);
        Ok(())
    }

    fn receive_request(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
        let inner = &*self.0;
        let Some(octets) = request.service_context(SCHEDULING_INFO) else {
            // The request carries no distributable thread. If it is nested in one, push a frame
            // that hides that thread.
            if let Some(stack) = self.thread() {
                let pushed = stack.push(Kind::Other, Id::NONE, "", None, None);
                pushed.ok_or(TOO_DEEP)?;
            }
            return Ok(());
        };
        let (id, parameter) = inner.scheduler.read_context(octets).map_err(|why| {
            note(request.orb(), "a request", &why);
            BAD_CONTEXT
        })?;
        self.admit(request, id, parameter)
    }

    fn send_answer(
        &self,
        request: &IncomingRequest<'_>,
        ended: Ended,
        context: &mut Vec<u8>,
    ) -> Result<Option<u32>, SystemException> {
        let Some(stack) = stack::known::<S::Parameter>(self.0.number) else {
            return Ok(None);
        };
        self.close_segments(&stack);
        let scheduler = &self.0.scheduler;
        let announced = stack.segment(|segment| {
            match ended {
                Ended::Results => scheduler.send_reply(segment, request),
                Ended::UserException | Ended::SystemException(_) => {
                    scheduler.send_exception(segment, request);
                }
                Ended::Other => scheduler.send_other(segment, request),
            }
            scheduler.write_context(segment.id, segment.parameter, context);
        });
        if announced.is_none() {
            return Ok(None);
        }
        match stack.slot.check() {
            Ok(()) => Ok((!context.is_empty()).then_some(SCHEDULING_INFO)),
            Err(it) => {
                let completed = match ended {
                    Ended::SystemException(exception) => exception.completed,
                    _ => CompletionStatus::Yes,
                };
                Err(cancelled(it, completed))
            }
        }
    }

    fn leave(&self) {
        let Some(stack) = stack::known::<S::Parameter>(self.0.number) else {
            return;
        };
        self.close_segments(&stack);
        match stack.top(|frame| frame.kind) {
            Some(Kind::Request) => {
                let scheduler = &self.0.scheduler;
                stack.segment(|segment| scheduler.leave_request(segment));
                stack.pop();
                let _ = stack.slot.leave();
            }
            Some(Kind::Other) => stack.pop(),
            _ => {}
        }
    }
}

impl<S: Scheduler> Cancels for Inner<S> {
    fn cancel(&self, id: &Id) {
        self.scheduler.cancel(id);
    }
}
