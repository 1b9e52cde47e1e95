//! Dispatching module: a queue and its threads.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_sched::Dispatching;
use oxorb_sched::queue::{DispatchQueue, Full, Heap, List, Missed, Taken, Timing};
use oxorb_sched::time::Nanos;
use oxorb_sys::clock::monotonic_nanoseconds;
use oxorb_sys::mutex::{Guard, Mutex};
use oxorb_sys::schedule::{self, ReservationError};
use oxorb_sys::thread::ThreadPurpose;

use crate::dispatch::{ModulePlan, ModuleStartError, ModuleThreads, QueueStorage};

/// Interval at which an idle thread rechecks its queue.
const TICK: Duration = Duration::from_millis(500);

/// Queue and the threads that serve it; see the [crate]. Dropping it ends the threads and discards
/// waiting requests.
///
/// **Real-time cost.** [`dispatch`](Self::dispatch) takes one lock, and so does a thread for each
/// request that it runs. The holder of the lock inherits the priority of its waiters. A thread that
/// sleeps or is woken costs one system call. Nothing is allocated.
pub struct DispatchingModule<T: Send + 'static> {
    shared: Arc<Shared<T>>,
    plan: ModulePlan,
    run: Arc<dyn Fn(Taken<T>) + Send + Sync>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Threads by number; each thread sets its entry before it serves requests.
    threads: Box<[OnceLock<thread::Thread>]>,
    real_time: AtomicBool,
    dispatched: AtomicU64,
    refused: AtomicU64,
}

struct State<T> {
    queue: Queue<T>,
    /// Numbers of threads that sleep or are about to sleep.
    idle: Vec<usize>,
    alive: usize,
    /// Number of threads started so far, including those that have ended.
    begun: usize,
    stopping: bool,
}

/// Counts of a module since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModuleCounts {
    /// Number of accepted requests.
    pub dispatched: u64,
    /// Number of requests rejected because the queue was full.
    pub refused: u64,
    /// Number of requests that were late when dequeued.
    pub missed: u64,
    /// Number of requests waiting now.
    pub waiting: usize,
}

impl<T: Send + 'static> DispatchingModule<T> {
    /// Starts the threads, which call `run` for each request until the module is dropped. A panic
    /// in `run` affects only its request. Allocates all memory of the queue.
    ///
    /// # Errors
    /// [`ModuleStartError`]; no thread runs then.
    pub fn start(
        plan: ModulePlan,
        run: impl Fn(Taken<T>) + Send + Sync + 'static,
    ) -> Result<DispatchingModule<T>, ModuleStartError> {
        if plan.capacity == 0 || plan.threads == 0 {
            return Err(ModuleStartError::Nothing);
        }
        let queue = Queue::new(plan.storage, plan.dispatching, plan.missed, plan.capacity);
        let most = plan.threads + plan.spares;
        let module = DispatchingModule {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    queue,
                    idle: Vec::with_capacity(most),
                    alive: 0,
                    begun: 0,
                    stopping: false,
                }),
                threads: (0..most).map(|_| OnceLock::new()).collect(),
                real_time: AtomicBool::new(true),
                dispatched: AtomicU64::new(0),
                refused: AtomicU64::new(0),
            }),
            plan,
            run: Arc::new(run),
        };
        while module.shared.lock().begun < module.plan.threads {
            // If this fails, `module` is dropped, which ends the threads already started.
            module.spawn()?;
        }
        Ok(module)
    }

    /// Starts one of the spare threads, which runs until the module ends. Returns false if no spare
    /// thread is left. Allocates.
    ///
    /// # Errors
    /// [`ModuleStartError`] if the system provides no thread, or none with the planned class and
    /// priority.
    pub fn reinforce(&self) -> Result<bool, ModuleStartError> {
        {
            let state = self.shared.lock();
            if state.stopping || state.begun >= self.shared.threads.len() {
                return Ok(false);
            }
        }
        self.spawn()
    }

    /// Starts the next thread. Returns false if all threads of the plan were started.
    fn spawn(&self) -> Result<bool, ModuleStartError> {
        let plan = &self.plan;
        let mut builder = oxorb_sys::thread::Builder::new(plan.name.clone());
        builder = builder.cpus(&plan.cpus);
        if let Some(cpu) = plan.cpu {
            builder = builder.cpu(cpu);
        }
        if let Some(registry) = &plan.listed {
            builder = builder.listed(registry, ThreadPurpose::Dispatching);
        }
        builder = match plan.scheduling {
            ModuleThreads::Inherit => builder,
            ModuleThreads::At(schedule) => builder.schedule(schedule),
            ModuleThreads::Reserved(reservation) => builder.reserve(reservation),
        };
        let shared = Arc::clone(&self.shared);
        let scheduling = plan.scheduling;
        let run = Arc::clone(&self.run);
        let (tell, ready) = mpsc::sync_channel(1);
        let number = {
            let mut state = shared.lock();
            if state.begun >= shared.threads.len() {
                return Ok(false);
            }
            state.alive += 1;
            state.begun += 1;
            state.begun - 1
        };
        let started = builder.spawn(move || {
            let _alive = Alive(&shared);
            let scheduled = shared.schedule(scheduling);
            let goes_on = scheduled.is_ok();
            if goes_on {
                let _ = shared.threads[number].set(thread::current());
            }
            let _ = tell.send(scheduled);
            if goes_on {
                shared.work(number, &*run);
            }
        });
        let scheduled = match started {
            Ok(_) => {
                let told = ready.recv();
                told.unwrap_or_else(|_| Err(ModuleStartError::Threads(io::ErrorKind::Other.into())))
            }
            Err(error) => {
                self.shared.lock().alive -= 1;
                let refused = error.downcast::<ReservationError>();
                Err(refused.map_or_else(ModuleStartError::Threads, ModuleStartError::Reservation))
            }
        };
        if scheduled.is_err() {
            // The number is free again, unless another spare got the next one in the meantime.
            let mut state = self.shared.lock();
            if state.begun == number + 1 {
                state.begun = number;
            }
        }
        scheduled.map(|()| true)
    }

    /// Enqueues a request and wakes a sleeping thread, if any.
    ///
    /// # Errors
    /// [`Full`] with the request if the queue is full or the module is stopping.
    pub fn dispatch(&self, request: T, timing: Timing) -> Result<(), Full<T>> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        if state.stopping {
            return Err(Full(request));
        }
        if let Err(full) = state.queue.enqueue(request, timing) {
            drop(state);
            shared.refused.fetch_add(1, Ordering::Relaxed);
            return Err(full);
        }
        let sleeper = state.idle.pop();
        drop(state);
        shared.dispatched.fetch_add(1, Ordering::Relaxed);
        if let Some(thread) = sleeper.and_then(|number| shared.threads[number].get()) {
            thread.unpark();
        }
        Ok(())
    }

    /// Reports whether all threads got their planned class, priority or reservation.
    pub fn is_real_time(&self) -> bool {
        self.shared.real_time.load(Ordering::Relaxed)
    }

    /// Returns the counts since the start. Takes the queue's lock.
    pub fn counts(&self) -> ModuleCounts {
        let state = self.shared.lock();
        ModuleCounts {
            dispatched: self.shared.dispatched.load(Ordering::Relaxed),
            refused: self.shared.refused.load(Ordering::Relaxed),
            missed: state.queue.misses(),
            waiting: state.queue.len(),
        }
    }

    /// Stops the module: rejects further requests, asks the threads to end after their current
    /// requests, and returns the waiting requests.
    pub fn stop(&self) -> Vec<T> {
        let mut state = self.shared.lock();
        state.stopping = true;
        let mut waiting = Vec::with_capacity(state.queue.len());
        while let Some(Taken::Due(one) | Taken::Late(one) | Taken::Dropped(one)) =
            state.queue.dequeue(0)
        {
            waiting.push(one);
        }
        drop(state);
        for thread in self.shared.threads.iter().filter_map(OnceLock::get) {
            thread.unpark();
        }
        waiting
    }

    /// Waits until all threads have ended, after [`stop`](Self::stop); returns false if `until` was
    /// reached first.
    pub fn wait_ended(&self, until: Instant) -> bool {
        while self.shared.lock().alive > 0 {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl<T: Send + 'static> Drop for DispatchingModule<T> {
    fn drop(&mut self) {
        drop(self.stop());
    }
}

impl<T: Send + 'static> fmt::Debug for DispatchingModule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchingModule").field("counts", &self.counts()).finish()
    }
}

impl<T> Shared<T> {
    fn work(&self, number: usize, run: &dyn Fn(Taken<T>)) {
        let mut state = self.lock();
        loop {
            if let Some(taken) = state.queue.dequeue(monotonic_nanoseconds()) {
                drop(state);
                let _ = panic::catch_unwind(AssertUnwindSafe(|| run(taken)));
                state = self.lock();
                continue;
            }
            if state.stopping {
                return;
            }
            state.idle.push(number);
            drop(state);
            // A sender that takes the number from the list also unparks the thread. If that happens
            // before the thread parks, `park_timeout` returns at once, so no request is missed.
            thread::park_timeout(TICK);
            state = self.lock();
            state.idle.retain(|&idle| idle != number);
        }
    }

    fn schedule(&self, scheduling: ModuleThreads) -> Result<(), ModuleStartError> {
        match scheduling {
            ModuleThreads::Inherit => Ok(()),
            ModuleThreads::Reserved(reservation) => {
                schedule::reserve(reservation).map_err(ModuleStartError::Reservation)
            }
            ModuleThreads::At(wanted) => match schedule::set_current(wanted) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.real_time.store(false, Ordering::Relaxed);
                    Ok(())
                }
                Err(error) => Err(ModuleStartError::Threads(error)),
            },
        }
    }

    /// Takes the lock, which is held for a few instructions and inherits priority; the calling
    /// thread never holds it already.
    fn lock(&self) -> Guard<'_, State<T>> {
        loop {
            match self.state.lock() {
                Ok(guard) => return guard,
                // The kernel may lack priority inheritance. The holder releases the lock soon, so
                // try again.
                Err(_) => thread::yield_now(),
            }
        }
    }
}

/// Guard of a running thread, which counts the thread as ended when it is dropped.
struct Alive<'s, T>(&'s Shared<T>);

impl<T> Drop for Alive<'_, T> {
    fn drop(&mut self) {
        self.0.lock().alive -= 1;
    }
}

/// Queue with storage chosen at run time.
enum Queue<T> {
    List(DispatchQueue<List<T>>),
    Heap(DispatchQueue<Heap<T>>),
}

impl<T> Queue<T> {
    fn new(
        storage: QueueStorage,
        dispatching: Dispatching,
        missed: Missed,
        capacity: usize,
    ) -> Queue<T> {
        match storage {
            QueueStorage::List => {
                Queue::List(DispatchQueue::with_capacity(dispatching, missed, capacity))
            }
            QueueStorage::Heap => {
                Queue::Heap(DispatchQueue::with_capacity(dispatching, missed, capacity))
            }
        }
    }

    fn enqueue(&mut self, request: T, timing: Timing) -> Result<(), Full<T>> {
        match self {
            Queue::List(queue) => queue.enqueue(request, timing),
            Queue::Heap(queue) => queue.enqueue(request, timing),
        }
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Taken<T>> {
        match self {
            Queue::List(queue) => queue.dequeue(now),
            Queue::Heap(queue) => queue.dequeue(now),
        }
    }

    fn len(&self) -> usize {
        match self {
            Queue::List(queue) => queue.len(),
            Queue::Heap(queue) => queue.len(),
        }
    }

    fn misses(&self) -> u64 {
        match self {
            Queue::List(queue) => queue.misses(),
            Queue::Heap(queue) => queue.misses(),
        }
    }
}
