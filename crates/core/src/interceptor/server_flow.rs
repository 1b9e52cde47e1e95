//! Flow of a request through the interceptors of a server.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Instant;

use oxorb_giop::Request;
use oxorb_object::{CompletionStatus, ServiceContext, SystemException};

use super::contexts::Contexts;
use super::current::SlotValues;
use super::notes::Notes;
use super::origin::RequestOrigin;
use super::server::AnyServant;
use super::{
    Ended, IncomingRequest, Interceptors, Interrupt, Sending, ServerReply, ServerRequest, Target,
    replacing,
};
use crate::monitoring::metrics::{Ending, Started};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU64, Ordering};
use crate::threads::sync::uncontrolled;
use crate::{Orb, Ref, Servant};

/// State of a request for server interceptors, access rules, a scheduler and metrics; exists only if the ORB has one of
/// them. Shared, so that it survives a panic of the servant.
#[derive(Debug)]
pub(crate) struct ServerFlow {
    interceptors: Arc<Interceptors>,
    /// State of application interceptors; unused if there are none.
    state: Mutex<ServerFlowState>,
    /// Number of the thread whose request the scheduler has admitted; 0 for none.
    scheduled: AtomicU64,
    /// Start of the request, for an ORB that counts requests.
    started: Started,
}

/// Maximum number of flows that a thread keeps for reuse, for nested requests.
const SPARE: usize = 4;

thread_local! {
    /// Flows for reuse, which no application interceptor has used.
    static FLOWS: RefCell<Vec<Arc<ServerFlow>>> = const { RefCell::new(Vec::new()) };
    /// Scheduler's service context for the reply that this thread is about to write: id (0 for none) and data.
    static REPLY: RefCell<(u32, Vec<u8>)> = const { RefCell::new((0, Vec::new())) };
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Returns the unique number of the calling thread.
fn thread_number() -> u64 {
    static NEXT: uncontrolled::atomic::AtomicU64 = uncontrolled::atomic::AtomicU64::new(1);
    if THREAD.get() == 0 {
        THREAD.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    THREAD.get()
}

#[derive(Debug, Default)]
struct ServerFlowState {
    /// Number of interceptors that have completed their starting point, and not run their ending
    /// point.
    passed: usize,
    slots: SlotValues,
    contexts: Contexts,
    notes: Notes,
    target: Option<Target>,
    /// Thread that serves the request while it holds the request's slots.
    entered: Option<ThreadId>,
}

/// Guard of a thread that holds the slots of a request. When dropped, returns the slots that the servant left to the
/// request, and restores the thread's own.
pub(crate) struct Entered {
    flow: Arc<ServerFlow>,
    /// The thread's own slots; `None` if no interceptor uses slots.
    before: Option<SlotValues>,
}

/// Decision of the interceptors about an answer.
#[derive(Debug)]
pub(crate) enum Verdict {
    AsIs,
    Raise(SystemException),
    Forward(Ref),
}

/// Data of the request that all points need.
#[derive(Clone, Copy)]
pub(crate) struct View<'r> {
    pub(crate) orb: &'r Orb,
    pub(crate) request: &'r Request<'r>,
    pub(crate) key: &'r [u8],
    pub(crate) origin: RequestOrigin<'r>,
    /// Time until which the client waits, if the request declares it.
    pub(crate) deadline: Option<Instant>,
}

impl ServerFlow {
    /// Returns a flow for a request; `None` if neither interceptors nor access rules, a scheduler or metrics see served
    /// requests.
    #[inline]
    pub(crate) fn of(interceptors: &Arc<Interceptors>) -> Option<Arc<ServerFlow>> {
        match interceptors.sees_upcalls {
            false => None,
            true => Some(ServerFlow::begin(interceptors)),
        }
    }

    #[cold]
    fn begin(interceptors: &Arc<Interceptors>) -> Arc<ServerFlow> {
        let spare = match interceptors.server.is_empty() {
            true => FLOWS.with_borrow_mut(Vec::pop),
            false => None,
        };
        if let Some(mut spare) = spare
            && let Some(flow) = Arc::get_mut(&mut spare)
        {
            if !Arc::ptr_eq(&flow.interceptors, interceptors) {
                flow.interceptors = Arc::clone(interceptors);
            }
            *flow.scheduled.get_mut() = 0;
            flow.started.reset();
            return spare;
        }
        Arc::new(ServerFlow {
            interceptors: Arc::clone(interceptors),
            state: Mutex::default(),
            scheduled: AtomicU64::new(0),
            started: Started::default(),
        })
    }

    /// Keeps the flow of a request that has ended for reuse, if no application interceptor has used it.
    // This function is inlined, because it runs for each request, also in an ORB without flows.
    #[inline(always)]
    pub(crate) fn end_of_request(flow: Option<Arc<ServerFlow>>) {
        if let Some(flow) = flow {
            flow.keep();
        }
    }

    #[inline(never)]
    fn keep(self: Arc<Self>) {
        if self.interceptors.server.is_empty() && Arc::strong_count(&self) == 1 {
            FLOWS.with_borrow_mut(|flows| {
                if flows.len() < SPARE {
                    flows.push(self);
                }
            });
        }
    }

    /// Reports whether interceptors need the target.
    pub(crate) fn wants_target(&self) -> bool {
        !self.interceptors.server.is_empty()
    }

    /// Reports whether interceptors see answers, and not only the counts of metrics.
    pub(crate) fn shows_answers(&self) -> bool {
        !self.interceptors.server.is_empty() || self.interceptors.scheduling.is_some()
    }

    /// Runs the starting points.
    pub(crate) fn receive_contexts(&self, view: View<'_>) -> Result<(), Interrupt> {
        if self.interceptors.meter.is_some() {
            self.started.begin(view.orb.serving_lane());
        }
        if let Some(scheduler) = &self.interceptors.scheduling {
            scheduler.receive_contexts(&view.into())?;
        }
        if self.interceptors.server.is_empty() {
            return Ok(());
        }
        self.with(|state| {
            for interceptor in &self.interceptors.server {
                interceptor.receive_request_service_contexts(&mut state.request(view, None))?;
                state.passed += 1;
            }
            Ok(())
        })
    }

    /// Moves the slots of the request into the thread.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        let before = self.wants_target().then(|| {
            let slots = self.with(|state| {
                state.entered = Some(thread::current().id());
                state.slots.clone()
            });
            slots.exchange()
        });
        Entered { flow: Arc::clone(self), before }
    }

    /// Runs the intermediate points once the servant is found. `target` is set if [needed](Self::wants_target);
    /// `object` writes the object's name for access rules.
    pub(crate) fn receive_request(
        &self,
        view: View<'_>,
        servant: &dyn Servant,
        target: Option<Target>,
        object: impl Fn(&mut String),
    ) -> Result<(), Interrupt> {
        if let Some(rules) = self.interceptors.access() {
            rules.admit(view, servant, object)?;
        }
        if target.is_some() {
            self.with(|state| {
                state.target = target;
                for interceptor in &self.interceptors.server {
                    let request = &mut state.request(view, Some(AnyServant(servant)));
                    interceptor.receive_request(request)?;
                }
                Ok::<(), Interrupt>(())
            })?;
        }
        if let Some(scheduler) = &self.interceptors.scheduling {
            scheduler.receive_request(&view.into())?;
            self.scheduled.store(thread_number(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Runs the ending points, and counts the request by the answer that they leave.
    pub(crate) fn end(&self, view: View<'_>, sending: Sending<'_>) -> Verdict {
        let ending = match &sending {
            Sending::Results => Ending::Results,
            Sending::UserException { .. } => Ending::UserException,
            Sending::SystemException(exception) => Ending::SystemException(*exception),
            Sending::Forward(_) => Ending::Forward,
        };
        let verdict = self.run_ending_points(view, sending);
        let ending = match &verdict {
            Verdict::AsIs => ending,
            Verdict::Raise(exception) => Ending::SystemException(*exception),
            Verdict::Forward(_) => Ending::Forward,
        };
        self.count(view, ending);
        verdict
    }

    /// Counts the end of the request, if the ORB counts requests.
    pub(crate) fn count(&self, view: View<'_>, ending: Ending) {
        if let Some(meter) = &self.interceptors.meter {
            let late = view.deadline.is_some_and(|deadline| deadline <= clock::now());
            meter.request_ended(&self.started, late, ending);
        }
    }

    /// Runs the ending points in reverse order. Each sees the changes of those before it.
    fn run_ending_points(&self, view: View<'_>, sending: Sending<'_>) -> Verdict {
        let mut verdict = self.end_scheduled(view, &sending);
        if self.interceptors.server.is_empty() {
            return verdict;
        }
        self.with(|state| {
            // If another thread answers, the slots of that thread do not belong to the request.
            if state.entered == Some(thread::current().id()) {
                state.slots = SlotValues::of_thread();
            }
            while state.passed > 0 {
                state.passed -= 1;
                let interceptor = &self.interceptors.server[state.passed];
                let sending = match &verdict {
                    Verdict::AsIs => sending.clone(),
                    Verdict::Raise(exception) => Sending::SystemException(*exception),
                    Verdict::Forward(to) => Sending::Forward(to.clone()),
                };
                let mut reply = ServerReply { request: state.request(view, None), sending };
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
                    Err(Interrupt::Raise(exception)) => {
                        let before = match &reply.sending {
                            Sending::Results | Sending::UserException { .. } => {
                                CompletionStatus::Yes
                            }
                            Sending::SystemException(before) => before.completed,
                            Sending::Forward(_) => CompletionStatus::No,
                        };
                        verdict = Verdict::Raise(replacing(before, exception));
                    }
                    Err(Interrupt::Forward(to)) => verdict = Verdict::Forward(to),
                }
            }
            verdict
        })
    }

    /// Runs the ending point of the scheduler, if it has admitted the request to this thread.
    fn end_scheduled(&self, view: View<'_>, sending: &Sending<'_>) -> Verdict {
        let Some(scheduler) = &self.interceptors.scheduling else {
            return Verdict::AsIs;
        };
        let (_, mut context) = REPLY.take();
        context.clear();
        let mut id = Ok(None);
        if self.scheduled.load(Ordering::Relaxed) == thread_number() {
            let ended = match sending {
                Sending::Results => Ended::Results,
                Sending::UserException { .. } => Ended::UserException,
                Sending::SystemException(exception) => Ended::SystemException(*exception),
                Sending::Forward(_) => Ended::Other,
            };
            id = scheduler.send_answer(&view.into(), ended, &mut context);
        }
        REPLY.set((id.ok().flatten().unwrap_or(0), context));
        match id {
            Ok(_) => Verdict::AsIs,
            Err(exception) => Verdict::Raise(exception),
        }
    }

    /// Passes the service contexts for the reply to `write`.
    pub(crate) fn with_contexts<T>(&self, write: impl FnOnce(&[ServiceContext<'_>]) -> T) -> T {
        let (id, octets) = match self.interceptors.scheduling {
            None => Default::default(),
            Some(_) => REPLY.take(),
        };
        let scheduled = [ServiceContext { id, data: &octets }];
        let scheduled = match id {
            0 => &scheduled[..0],
            _ => &scheduled,
        };
        let written = match self.interceptors.server.is_empty() {
            true => write(scheduled),
            false => {
                let contexts = self.with(|state| state.contexts.take());
                let contexts: Vec<_> = contexts.iter().chain(scheduled.iter().copied()).collect();
                write(&contexts)
            }
        };
        REPLY.set((0, octets));
        written
    }

    fn with<T>(&self, act: impl FnOnce(&mut ServerFlowState) -> T) -> T {
        // A panic of an interceptor leaves the state consistent, so later points may use it.
        let mut state = self.state.lock();
        act(&mut state)
    }
}

impl<'r> From<View<'r>> for IncomingRequest<'r> {
    fn from(View { orb, request, key, .. }: View<'r>) -> Self {
        IncomingRequest { orb, request, key }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = &mut self.before {
            let slots = mem::take(before).exchange();
            self.flow.with(|state| {
                state.slots = slots;
                state.entered = None;
            });
        }
        let scheduled = &self.flow.scheduled;
        if let Some(scheduler) = &self.flow.interceptors.scheduling
            && scheduled.load(Ordering::Relaxed) == thread_number()
        {
            scheduled.store(0, Ordering::Relaxed);
            scheduler.leave();
        }
    }
}

impl ServerFlowState {
    fn request<'s>(
        &'s mut self,
        view: View<'s>,
        servant: Option<AnyServant<'s>>,
    ) -> ServerRequest<'s> {
        ServerRequest {
            orb: view.orb,
            request: view.request,
            key: view.key,
            origin: view.origin,
            target: self.target.as_ref(),
            servant,
            slots: &mut self.slots,
            contexts: &mut self.contexts,
            notes: &mut self.notes,
        }
    }
}
