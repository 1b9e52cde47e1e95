//! Deliveries to reply handlers that are objects (AMI, callback model). Several threads make them, so that an
//! unreachable or slow handler does not delay the others.
//!
//! ```text
//! callback thread       queue of the handler's server        delivery thread          reader of that connection
//!   the answer came -->   one of 256                  -->      connects, sends   -->    it was told, or not
//! ```
//!
//! A thread works on one server's queue at a time, and waits only for connecting and sending, not for the handler to
//! process the answer. Handlers of one server therefore receive answers in the order of arrival, and an unreachable
//! server occupies one thread.

use std::collections::{HashMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use oxorb_rt::Priority;
use oxorb_sys::thread::ThreadPurpose;

use crate::threads::lock::Mutex;
use crate::threads::sync::{Condvar, MutexGuard};
use crate::threads::{Ends, Threads, clock};

/// Maximum number of threads for the calls of one priority.
const THREADS: usize = 8;

/// Maximum numbers of waiting answers: for the handlers of one server, so that a dead server takes no capacity from the
/// others, and for all handlers of one priority. Further answers are dropped.
const WAITING_FOR_ONE: usize = 256;
const WAITING: usize = 4096;

/// Time that a thread waits for further work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Answers to calls of one priority that are to be delivered to handlers.
pub(crate) struct Deliveries {
    threads: Arc<Threads>,
    priority: Option<Priority>,
    state: Mutex<DeliveriesState>,
    changed: Condvar,
}

#[derive(Default)]
struct DeliveriesState {
    /// Queues by server: those that a thread works on, and those that are ready.
    queues: HashMap<ServerNumber, VecDeque<DeliveryWork>>,
    /// Servers whose queues no thread works on yet.
    ready: VecDeque<ServerNumber>,
    waiting: usize,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// Number of a peer; `None` for this process.
pub(super) type ServerNumber = Option<u64>;

type DeliveryWork = Box<dyn FnOnce() + Send>;

impl Deliveries {
    pub(crate) fn new(threads: &Arc<Threads>, priority: Option<Priority>) -> Self {
        Deliveries {
            threads: Arc::clone(threads),
            priority,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Queues `work` behind all work for the same server.
    ///
    /// # Errors
    /// A description of the limit, if the queue is full.
    pub(super) fn push(
        self: &Arc<Self>,
        server: ServerNumber,
        work: DeliveryWork,
    ) -> Result<(), String> {
        let mut state = self.state.lock();
        let for_one = state.queues.get(&server).map_or(0, VecDeque::len);
        if for_one >= WAITING_FOR_ONE {
            return Err(format!("{for_one} answers from there already wait for handlers"));
        }
        if state.waiting >= WAITING {
            return Err(format!("{WAITING} answers already wait for handlers"));
        }
        state.waiting += 1;
        match state.queues.get_mut(&server) {
            Some(queue) => queue.push_back(work),
            None => {
                state.queues.insert(server, VecDeque::from([work]));
                state.ready.push_back(server);
            }
        }
        if state.idle < state.ready.len() && state.threads < THREADS {
            let deliveries = Arc::clone(self);
            let (purpose, name) = (ThreadPurpose::ReplyHandlers, "oxorb-handlers");
            let started =
                self.threads.spawn(purpose, name, self.priority, move || deliveries.run());
            match started {
                Ok(_) => state.threads += 1,
                // If there is no delivery thread at all, the calling thread does the work.
                Err(_) if state.threads == 0 => self.work(state),
                Err(_) => {}
            }
            return Ok(());
        }
        self.changed.notify_one();
        Ok(())
    }

    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            state = self.work_on(state);
            let until = clock::now() + IDLE;
            state.idle += 1;
            while state.ready.is_empty() && !state.closed {
                let left = until.saturating_duration_since(clock::now());
                if left.is_zero() {
                    break;
                }
                state = self.changed.wait_timeout(state, left).0;
            }
            state.idle -= 1;
            if state.ready.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }

    fn work(&self, state: MutexGuard<'_, DeliveriesState>) {
        drop(self.work_on(state));
    }

    /// Works on queues until no queue is left without a thread.
    fn work_on<'s>(
        &'s self,
        mut state: MutexGuard<'s, DeliveriesState>,
    ) -> MutexGuard<'s, DeliveriesState> {
        while let Some(server) = state.ready.pop_front() {
            let work = state.queues.get_mut(&server).and_then(VecDeque::pop_front);
            drop(state);
            if let Some(work) = work {
                // If a handler of this process panics, only its own answer is lost, and the thread continues.
                let _ = panic::catch_unwind(AssertUnwindSafe(work));
            }
            state = self.state.lock();
            state.waiting -= 1;
            match state.queues.get(&server) {
                Some(queue) if !queue.is_empty() => state.ready.push_back(server),
                _ => drop(state.queues.remove(&server)),
            }
        }
        state
    }
}

impl Ends for Deliveries {
    /// Closes the queue: its threads finish the calls in it, then end.
    fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}
