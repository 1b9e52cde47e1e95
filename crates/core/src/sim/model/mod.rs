//! Models of this crate's concurrency: its own clients, connections and servers under a scheduler
//! that chooses the thread to run next.
//!
//! The models use Shuttle rather than loom. Loom tries every interleaving, which terminates for a lock, but not for two
//! ORBs; and it supports neither `dyn` behind its `Arc` nor more than a handful of threads. Shuttle tries as many as
//! time permits, at random and with few well-chosen preemptions (PCT, which finds a fault of d steps with a known
//! probability), and prints the schedule of a failure. A thread that waits without end is a failure, too.
//!
//! `cargo test -p oxorb-core --features model model::`, or `.ci/full model`. `OXORB_MODEL_SECONDS` sets the time for
//! which each model is tried with each scheduler.

mod close;
mod elsewhere;
mod forward;
mod lanes;
pub(crate) mod mpsc;
pub(crate) mod network;
mod queue;
mod replies;
mod shutdown;
mod side_by_side;
pub(crate) mod sync;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use oxorb_object::{CompletionStatus, SystemException};
use oxorb_sys::sync::Mutex;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread;

use self::network::{PortGuard, listen};
use crate::server::Lane;
use crate::{Adapter, AsyncReply, Located, Op, Options, Orb, Outcome, Ref, Upcall};

static RUN: Op = Op::twoway("run");

/// Runs a model repeatedly, each time with another schedule.
pub(crate) fn explore(model: impl Fn() + Send + Sync + 'static) {
    let seconds = std::env::var("OXORB_MODEL_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    config.max_time = Some(Duration::from_secs(seconds.unwrap_or(2)));
    let model = Arc::new(model);
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let model = Arc::clone(&model);
        shuttle::Runner::new(scheduler, config.clone()).run(move || model())
    };
    let random = run(Box::new(RandomScheduler::new(usize::MAX)));
    let pct = run(Box::new(PctScheduler::new(3, usize::MAX)));
    println!("{random} executions at random, {pct} with few preemptions");
}

/// Starts a thread; the name is not used.
pub(crate) fn named<T: Send + 'static>(
    _: String,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    Ok(thread::spawn(work))
}

/// Lets other threads run after a change.
pub(crate) fn touch() {
    thread::yield_now();
}

/// Polls until `look` returns a value; other threads run between two polls, and the time limit may expire at any point.
pub(crate) fn wait_for<T>(limit: Duration, look: impl Fn() -> Option<T>) -> Option<T> {
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if limit.is_zero() || thread_rng().gen_ratio(1, 4) {
            return None;
        }
        thread::yield_now();
    }
}

/// Returns a client without settings.
pub(crate) fn client() -> Orb {
    client_with(Options::default())
}

/// Returns a client that connects to servers of the model.
pub(crate) fn client_with(options: Options) -> Orb {
    Orb::new(Options { protocols: network::protocols(), ..options })
}

/// A server whose object adds one to a number and records the numbers.
pub(crate) struct ModelServer {
    pub(crate) orb: Orb,
    /// Lane that serves its connections; `None` if they have threads of their own.
    lane: Option<Arc<Lane>>,
    pub(crate) worker: Arc<ModelServant>,
    listening: PortGuard,
}

#[derive(Default)]
pub(crate) struct ModelServant {
    /// Numbers of the requests that ran. The mutex is one of `std`, because recording is not a step of the model.
    ran: Mutex<Vec<i64>>,
    /// Reference to the object, if it has moved.
    forward: Mutex<Option<Ref>>,
    /// Object that this one calls before it answers.
    asks: Mutex<Option<Ref>>,
    pub(crate) gate: Gate,
}

/// Gate at which a request waits until it is opened. Its atomics are those of `std`, because they are no steps of the
/// model.
#[derive(Default)]
pub(crate) struct Gate {
    /// Number of the request that stops; 0 for none.
    pub(crate) stops: AtomicI64,
    pub(crate) reached: AtomicBool,
    pub(crate) open: AtomicBool,
}

impl Gate {
    fn pass(&self, number: i64) {
        if number == self.stops.load(Ordering::SeqCst) {
            self.reached.store(true, Ordering::SeqCst);
            while !self.open.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        }
    }

    /// Waits until the request has reached the gate.
    pub(crate) fn until_reached(&self) {
        while !self.reached.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }
}

impl ModelServer {
    fn start(options: Options) -> ModelServer {
        ModelServer::start_on(options, |orb| Lane::of_orb(orb).expect("threads of the model"))
    }

    /// Starts a server with a given lane.
    pub(crate) fn start_on(
        options: Options,
        lane: impl FnOnce(&Orb) -> Option<Arc<Lane>>,
    ) -> ModelServer {
        let orb = Orb::new(Options { protocols: network::protocols(), ..options });
        let worker = Arc::new(ModelServant::default());
        orb.set_adapter(Arc::clone(&worker) as Arc<dyn Adapter>);
        let lane = lane(&orb);
        let listening = listen(&orb, lane.clone());
        ModelServer { orb, lane, worker, listening }
    }

    /// Returns the server's object, for calls of `client`.
    pub(crate) fn object(&self, client: &Orb) -> Ref {
        ModelServer::object_at(&self.listening, client)
    }

    /// Returns an object of the server at this port.
    pub(crate) fn object_at(PortGuard(port): &PortGuard, client: &Orb) -> Ref {
        let url = format!("corbaloc:iiop:1.2@model:{port}/worker");
        let object = client.string_to_object(&url).expect("a reference");
        let object = crate::Interface::reference(&object).clone();
        // The route is parsed in advance, because the model does not cover the race between the first callers.
        object.route().expect("a reference that can be used");
        object
    }

    pub(crate) fn ran(&self, number: i64) -> usize {
        let ran = self.worker.ran.lock();
        ran.iter().filter(|each| **each == number).count()
    }

    fn ran_in_all(&self) -> usize {
        self.worker.ran.lock().len()
    }

    fn forward_to(&self, object: Option<Ref>) {
        *self.worker.forward.lock() = object;
    }

    pub(crate) fn end(self) {
        self.orb.shutdown(true).expect("not within a request");
        assert!(self.orb.registry().has_ended());
        if let Some(lane) = &self.lane {
            // At shutdown, the listeners of an ORB end their lanes in this way.
            lane.stop();
            lane.join();
        }
    }
}

impl Adapter for ModelServant {
    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let number = match upcall.args(|d| d.longlong()) {
            Ok(number) => number,
            Err(rejected) => return upcall.reject(rejected),
        };
        let forward = self.forward.lock().clone();
        if let Some(to) = forward {
            return upcall.forward(&to);
        }
        self.gate.pass(number);
        self.ran.lock().push(number);
        let asks = self.asks.lock().clone();
        let answer = match asks {
            None => {
                thread::yield_now();
                Ok(number + 1)
            }
            Some(other) => run(&other, number),
        };
        match answer {
            Ok(answer) => upcall.reply(|e| {
                e.longlong(answer);
                Ok(())
            }),
            Err(exception) => {
                upcall.fail(SystemException { completed: CompletionStatus::Yes, ..exception })
            }
        }
    }

    fn locate(&self, _: &[u8]) -> Located {
        Located::Here
    }

    fn close(&self) {}
}

pub(crate) fn run(object: &Ref, number: i64) -> Result<i64, SystemException> {
    object.invoke(
        &RUN,
        |e| {
            e.longlong(number);
            Ok(())
        },
        |d| d.longlong(),
    )
}

fn run_async(object: &Ref, number: i64) -> AsyncReply<i64, SystemException> {
    object.invoke_async(
        &RUN,
        move |e| {
            e.longlong(number);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Checks the caller's result of request `number` against the number of times that the request ran.
#[track_caller]
fn assert_truth(told: Result<i64, SystemException>, number: i64, ran: usize) {
    let possible = match told {
        Ok(answer) => answer == number + 1 && ran == 1,
        Err(exception) => match exception.completed {
            CompletionStatus::No => ran == 0,
            CompletionStatus::Yes => ran == 1,
            CompletionStatus::Maybe => ran <= 1,
        },
    };
    assert!(possible, "request {number} ran {ran} times, and the caller was told {told:?}");
}

/// Checks the result after an end in order, which is never COMPLETED_MAYBE.
#[track_caller]
fn assert_certain(told: Result<i64, SystemException>, number: i64, ran: usize) {
    assert_truth(told, number, ran);
    let doubt = |exception: &SystemException| exception.completed == CompletionStatus::Maybe;
    assert!(!told.is_err_and(|exception| doubt(&exception)), "request {number}: {told:?}");
}
