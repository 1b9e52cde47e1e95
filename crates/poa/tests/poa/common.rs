//! An ORB with its root POA, servants, and calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_core::{Op, Options, Orb, Outcome, Ref, Servant, Upcall};
use oxorb_object::SystemException;
use oxorb_poa::{
    IdAssignment, IdUniqueness, Lifespan, ObjectId, Poa, Policies, RequestProcessing, RootAdapter,
    ServantRetention,
};

/// Time limit that suffices even on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An ORB and its root POA.
pub(crate) fn start() -> (Orb, Poa) {
    start_with(|_| {})
}

pub(crate) fn start_with(configure: impl FnOnce(&mut Options)) -> (Orb, Poa) {
    let mut options = Options::default();
    options.listen_on("iiop://127.0.0.1:0").unwrap();
    configure(&mut options);
    let orb = Orb::new(options);
    let root = RootAdapter::install(&orb);
    (orb, root)
}

/// Returns policies for persistent objects with user ids.
pub(crate) fn persistent() -> Policies {
    Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        ..Policies::default()
    }
}

/// Returns policies for persistent objects incarnated by a servant activator.
pub(crate) fn activated() -> Policies {
    Policies { request_processing: RequestProcessing::ServantManager, ..persistent() }
}

/// Returns policies for persistent objects with servants from a servant locator.
pub(crate) fn located() -> Policies {
    Policies {
        servant_retention: ServantRetention::NonRetain,
        id_uniqueness: IdUniqueness::Multiple,
        ..activated()
    }
}

pub(crate) const ECHO: &str = "IDL:test/Echo:1.0";

static SAME: Op = Op::twoway("same");
static WAIT: Op = Op::twoway("wait");
static PANIC: Op = Op::twoway("panic");

/// `interface Echo { long long same(in long long n); void wait(); void panic(); };`
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) calls: AtomicUsize,
    pub(crate) gate: Gate,
    /// Called in every `same`.
    pub(crate) within: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Echo {
    pub(crate) fn new() -> Arc<Echo> {
        Arc::default()
    }

    pub(crate) fn that(within: impl Fn() + Send + Sync + 'static) -> Arc<Echo> {
        Arc::new(Echo { within: Some(Box::new(within)), ..Echo::default() })
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Servant for Echo {
    fn repository_id(&self) -> &str {
        ECHO
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match upcall.operation() {
            "same" => match upcall.args(|d| d.longlong()) {
                Ok(n) => {
                    if let Some(within) = &self.within {
                        within();
                    }
                    upcall.reply(|e| {
                        e.longlong(n);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "wait" => {
                self.gate.pass();
                upcall.reply(|_| Ok(()))
            }
            "panic" => panic!("as it was asked to"),
            _ => upcall.unknown_operation(),
        }
    }
}

pub(crate) fn same(object: &Ref, n: i64) -> Result<i64, SystemException> {
    object.invoke(
        &SAME,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

pub(crate) fn wait(object: &Ref) -> Result<(), SystemException> {
    object.invoke(&WAIT, |_| Ok(()), |_| Ok(()))
}

pub(crate) fn panics(object: &Ref) -> Result<(), SystemException> {
    object.invoke(&PANIC, |_| Ok(()), |_| Ok(()))
}

pub(crate) fn reference(poa: &Poa, id: impl Into<ObjectId>) -> Ref {
    poa.create_reference_of(id, ECHO).unwrap()
}

/// Gate that blocks threads until it is opened.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Reports its arrival, and waits.
    pub(crate) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        let until = Instant::now() + LONG;
        while !state.1 {
            let left = until.checked_duration_since(Instant::now());
            let left = left.expect("the gate stays closed");
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until `many` threads have arrived.
    pub(crate) fn wait_for(&self, many: usize) {
        let mut state = self.state.lock().unwrap();
        let until = Instant::now() + LONG;
        while state.0 < many {
            let left = until.checked_duration_since(Instant::now());
            let left = left.expect("nobody comes to the gate");
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// Waits for a condition that other threads bring about.
#[track_caller]
pub(crate) fn eventually(what: &str, mut come: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !come() {
        assert!(Instant::now() < until, "never came: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
