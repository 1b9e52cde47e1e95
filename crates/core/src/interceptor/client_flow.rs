//! Flow of a request through the interceptors of a client.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_giop::Response;
use oxorb_object::{CompletionStatus, ServiceContext, ServiceContexts};

use super::client::{ClientReply, ClientRequest, Received};
use super::contexts::Contexts;
use super::current::SlotValues;
use super::notes::Notes;
use super::{Interceptors, Interrupt, replacing};
use crate::Ref;
use crate::error::raise;
use crate::reference::Operation;
use crate::threads::sync::uncontrolled::atomic::{AtomicU32, Ordering};

/// State of a request in the client interceptors; exists only if the ORB has any.
#[derive(Debug)]
pub(crate) struct ClientFlow {
    interceptors: Arc<Interceptors>,
    target: Ref,
    operation: String,
    response: Response,
    id: u32,
    /// Number of interceptors that have completed their starting point, and not run their ending
    /// point.
    passed: usize,
    slots: SlotValues,
    contexts: Contexts,
    notes: Notes,
    reply_contexts: RefCell<Contexts>,
}

impl ClientFlow {
    /// Returns the flow of a request; `None` without client interceptors.
    #[inline]
    pub(crate) fn of(target: &Ref, op: Operation<'_>) -> Option<Box<ClientFlow>> {
        let interceptors = target.orb().interceptors();
        let sees_calls = !interceptors.client.is_empty();
        sees_calls.then(|| Box::new(ClientFlow::new(interceptors, target, op)))
    }

    #[cold]
    fn new(interceptors: &Arc<Interceptors>, target: &Ref, op: Operation<'_>) -> ClientFlow {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        ClientFlow {
            interceptors: Arc::clone(interceptors),
            target: target.clone(),
            operation: op.name.to_owned(),
            response: op.response,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            passed: 0,
            slots: SlotValues::of_thread(),
            contexts: Contexts::default(),
            notes: Notes::default(),
            reply_contexts: RefCell::default(),
        }
    }

    /// Returns the reference that the caller used.
    pub(crate) fn target(&self) -> &Ref {
        &self.target
    }

    /// Runs the starting points.
    pub(crate) fn send_request(&mut self) -> Result<(), Interrupt> {
        let interceptors = Arc::clone(&self.interceptors);
        for interceptor in &interceptors.client {
            interceptor.send_request(&mut self.request())?;
            self.passed += 1;
        }
        Ok(())
    }

    /// Returns the service contexts that interceptors added to the request.
    pub(crate) fn contexts(&self) -> Vec<ServiceContext<'_>> {
        self.contexts.iter().collect()
    }

    /// Stores the service contexts of the reply for the ending points.
    pub(crate) fn note(&self, contexts: ServiceContexts<'_>) {
        let mut kept = Contexts::default();
        for context in contexts.iter() {
            let _ = kept.add(context.id, context.data.to_vec(), true);
        }
        self.reply_contexts.replace(kept);
    }

    /// Runs the ending points in reverse order. Each sees the changes of those before it; `Err` is the changed outcome
    /// of the request.
    pub(crate) fn end(&mut self, received: &Received<'_>) -> Result<(), Interrupt> {
        let interceptors = Arc::clone(&self.interceptors);
        let mut changed: Result<(), Interrupt> = Ok(());
        while self.passed > 0 {
            self.passed -= 1;
            let interceptor = &interceptors.client[self.passed];
            let received = match &changed {
                Ok(()) => received.clone(),
                Err(Interrupt::Raise(exception)) => Received::SystemException(*exception),
                Err(Interrupt::Forward(to)) => Received::Forward(to.clone()),
            };
            let mut reply = self.reply(received);
            let outcome = match &reply.received {
                Received::Results => {
                    interceptor.receive_reply(&mut reply).map_err(Interrupt::Raise)
                }
                Received::UserException { .. } | Received::SystemException(_) => {
                    interceptor.receive_exception(&mut reply)
                }
                Received::Forward(_) | Received::Sent => interceptor.receive_other(&mut reply),
            };
            let before = match &reply.received {
                Received::Results | Received::UserException { .. } => CompletionStatus::Yes,
                Received::SystemException(before) => before.completed,
                Received::Forward(_) | Received::Sent => CompletionStatus::No,
            };
            match outcome {
                Ok(()) => {}
                Err(Interrupt::Raise(exception)) => {
                    changed = Err(Interrupt::Raise(replacing(before, exception)));
                }
                forward => changed = forward,
            }
        }
        changed
    }

    /// Reports whether interceptors have completed their starting point, and not run an ending point.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.passed > 0
    }

    fn request(&mut self) -> ClientRequest<'_> {
        ClientRequest {
            id: self.id,
            target: &self.target,
            operation: &self.operation,
            response: self.response,
            slots: &self.slots,
            contexts: &mut self.contexts,
            notes: &mut self.notes,
        }
    }

    fn reply<'s>(&'s mut self, received: Received<'s>) -> ClientReply<'s> {
        ClientReply {
            request: ClientRequest {
                id: self.id,
                target: &self.target,
                operation: &self.operation,
                response: self.response,
                slots: &self.slots,
                contexts: &mut self.contexts,
                notes: &mut self.notes,
            },
            received,
            reply_contexts: self.reply_contexts.get_mut(),
        }
    }
}

impl Drop for ClientFlow {
    /// Runs the ending points that a panic has left out: each request whose beginning an interceptor has seen also ends
    /// for it.
    fn drop(&mut self) {
        let unknown = Received::SystemException(raise::SERVANT_PANICKED);
        while self.is_open() {
            let _ = panic::catch_unwind(AssertUnwindSafe(|| self.end(&unknown)));
        }
    }
}
