//! One request on its way through the interceptors of a server.

use std::sync::{Arc, PoisonError};
use std::thread::{self, ThreadId};

use oxorb_giop::Request;
use oxorb_object::{ServiceContext, SystemException};

use super::contexts::Contexts;
use super::current::Slots;
use super::notes::Notes;
use super::server::AnyServant;
use super::{Interceptors, Interrupt, Sending, ServerReply, ServerRequest, Target};
use crate::lock::Mutex;
use crate::{Orb, Ref, Servant};

/// Exists only where there are server interceptors. Shared, so that it survives a servant that panics.
#[derive(Debug)]
pub(crate) struct ServerFlow {
    interceptors: Arc<Interceptors>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many have completed their starting point, and not run their ending point.
    passed: usize,
    slots: Slots,
    contexts: Contexts,
    notes: Notes,
    target: Option<Target>,
    /// The thread that serves the request, while the slots are with it.
    entered: Option<ThreadId>,
}

/// The thread has the slots of a request. When this goes, the request gets back what the servant left in them, and the
/// thread its own.
pub(crate) struct Entered {
    flow: Arc<ServerFlow>,
    before: Slots,
}

/// What the interceptors made of an answer.
#[derive(Debug)]
pub(crate) enum Verdict {
    AsIs,
    Raise(SystemException),
    Forward(Ref),
}

/// What all points know of the request.
#[derive(Clone, Copy)]
pub(crate) struct View<'r> {
    pub(crate) orb: &'r Orb,
    pub(crate) request: &'r Request<'r>,
    pub(crate) key: &'r [u8],
}

impl ServerFlow {
    /// `None` when nobody looks.
    #[inline]
    pub(crate) fn of(interceptors: &Arc<Interceptors>) -> Option<Arc<ServerFlow>> {
        if interceptors.server.is_empty() {
            return None;
        }
        Some(Arc::new(ServerFlow {
            interceptors: Arc::clone(interceptors),
            state: Mutex::default(),
        }))
    }

    /// The starting points.
    pub(crate) fn receive_contexts(&self, view: View<'_>) -> Result<(), Interrupt> {
        self.with(|state| {
            for interceptor in &self.interceptors.server {
                interceptor.receive_request_service_contexts(&mut state.request(view, None))?;
                state.passed += 1;
            }
            Ok(())
        })
    }

    /// The slots of the request become the thread's.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        let slots = self.with(|state| {
            state.entered = Some(thread::current().id());
            state.slots.clone()
        });
        Entered {
            flow: Arc::clone(self),
            before: slots.exchange(),
        }
    }

    /// The intermediate points: the servant was found.
    pub(crate) fn receive_request(
        &self,
        view: View<'_>,
        servant: &dyn Servant,
        target: Target,
    ) -> Result<(), Interrupt> {
        self.with(|state| {
            state.target = Some(target);
            for interceptor in &self.interceptors.server {
                interceptor.receive_request(&mut state.request(view, Some(AnyServant(servant))))?;
            }
            Ok(())
        })
    }

    /// The ending points, in reverse. What one of them changes, those after it see.
    pub(crate) fn end(&self, view: View<'_>, sending: Sending<'_>) -> Verdict {
        self.with(|state| {
            let mut verdict = Verdict::AsIs;
            // An answer may come from another thread, which has slots of its own.
            if state.entered == Some(thread::current().id()) {
                state.slots = Slots::of_thread();
            }
            while state.passed > 0 {
                state.passed -= 1;
                let interceptor = &self.interceptors.server[state.passed];
                let sending = match &verdict {
                    Verdict::AsIs => sending.clone(),
                    Verdict::Raise(exception) => Sending::SystemException(*exception),
                    Verdict::Forward(to) => Sending::Forward(to.clone()),
                };
                let mut reply = ServerReply {
                    request: state.request(view, None),
                    sending,
                };
                let changed = match &reply.sending {
                    Sending::Results => {
                        interceptor.send_reply(&mut reply).map_err(Interrupt::Raise)
                    }
                    Sending::UserException { .. } | Sending::SystemException(_) => {
                        interceptor.send_exception(&mut reply)
                    }
                    Sending::Forward(_) => interceptor.send_other(&mut reply),
                };
                match changed {
                    Ok(()) => {}
                    Err(Interrupt::Raise(exception)) => verdict = Verdict::Raise(exception),
                    Err(Interrupt::Forward(to)) => verdict = Verdict::Forward(to),
                }
            }
            verdict
        })
    }

    /// Hands the service contexts for the reply to `write`.
    pub(crate) fn with_contexts<T>(&self, write: impl FnOnce(&[ServiceContext<'_>]) -> T) -> T {
        let contexts = self.with(|state| state.contexts.take());
        let contexts: Vec<_> = contexts.iter().collect();
        write(&contexts)
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        // An interceptor that panicked has left nothing half done that matters to the others.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut state)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let slots = std::mem::take(&mut self.before).exchange();
        self.flow.with(|state| {
            state.slots = slots;
            state.entered = None;
        });
    }
}

impl State {
    fn request<'s>(
        &'s mut self,
        view: View<'s>,
        servant: Option<AnyServant<'s>>,
    ) -> ServerRequest<'s> {
        ServerRequest {
            orb: view.orb,
            request: view.request,
            key: view.key,
            target: self.target.as_ref(),
            servant,
            slots: &mut self.slots,
            contexts: &mut self.contexts,
            notes: &mut self.notes,
        }
    }
}
