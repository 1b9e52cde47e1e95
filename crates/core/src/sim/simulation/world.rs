//! World: its clock, its threads, and the choice of the thread that runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

use super::network::Wire;
use super::{Random, caught, words};

/// Duration of one step of a thread in ns, so that time passes for a thread that polls.
const STEP: u64 = 1_000;

/// Duration of a clock reading in ns, so that time passes for a thread that only reads the clock.
const LOOK: u64 = 20;

/// Maximum number of steps in one world. A run with more steps has a thread that polls without end.
const MOST_STEPS: u64 = 20_000_000;

/// Frequency with which a thread yields within a step: once in this number of times.
const GIVES_WAY: u64 = 4;

/// Longest run on the clock of this machine. In a longer run, a thread waits for something outside of the world.
const PATIENCE: Duration = Duration::from_secs(120);

/// Maximum number of threads that a failure names.
const MOST_NAMED: usize = 40;

/// Longest simulated time for which threads may run after the end of the test: a year, in ns.
const LAST_THREADS: u64 = 365 * 86_400 * 1_000_000_000;

pub(super) struct World {
    state: Mutex<WorldState>,
    ended: Condvar,
    wire: Arc<Wire>,
}

struct WorldState {
    /// Time since the world began, in ns.
    now: u64,
    random: Random,
    threads: BTreeMap<u64, SimulatedThread>,
    /// Thread that runs; `None` when the world has ended.
    running: Option<u64>,
    started: u64,
    steps: u64,
    /// Digest of all choices.
    digest: u64,
    /// Time from which on no thread may be left.
    last: Option<u64>,
    /// First failure, or success.
    result: Option<Result<(), String>>,
}

struct SimulatedThread {
    name: String,
    what: What,
    /// Wakes the thread when it is chosen.
    turn: Arc<Condvar>,
    /// Whether an `unpark` is pending.
    token: bool,
    parked: bool,
    /// Threads that join this one.
    joining: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Ready,
    Waits { until: Option<u64>, late: bool },
}

/// Thread of a world.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) world: Arc<World>,
    pub(super) id: u64,
}

/// Registration of the thread in its world; created first, and so dropped after all other
/// thread-local variables.
struct WorldRegistration(Here);

thread_local! {
    static PLACE: RefCell<Option<WorldRegistration>> = const { RefCell::new(None) };
}

/// Returns the current thread's registration; `None` for a thread outside of a world.
pub(super) fn here() -> Option<Here> {
    let place =
        PLACE.try_with(|place| place.borrow().as_ref().map(|WorldRegistration(here)| here.clone()));
    place.ok().flatten()
}

impl Drop for WorldRegistration {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl World {
    /// Runs `test` and the threads that it starts, to the end.
    pub(super) fn run(seed: u64, test: impl FnOnce() + Send + 'static) -> Result<(), String> {
        let world = Arc::new(World {
            state: Mutex::new(WorldState {
                now: 0,
                random: Random::new(seed),
                threads: BTreeMap::new(),
                running: None,
                started: 0,
                steps: 0,
                digest: 0,
                last: None,
                result: None,
            }),
            ended: Condvar::new(),
            wire: Wire::new(),
        });
        let outer = Arc::clone(&world);
        world.start("test".to_owned(), move || {
            let result = caught(test);
            let mut state = outer.state();
            match result {
                Ok(()) => state.last = Some(state.now + LAST_THREADS),
                Err(panic) => outer.fail(&mut state, &words(&*panic)),
            }
        });
        let mut state = world.state();
        state.next();
        loop {
            if let Some(result) = state.result.take() {
                drop(state);
                return match world.wire.pipes() {
                    left @ 1.. if result.is_ok() => {
                        Err(format!("{left} directions of connections are left, and no thread"))
                    }
                    _ => result,
                };
            }
            let (again, late) = world.ended.wait_timeout(state, PATIENCE);
            state = again;
            if late.timed_out() && state.result.is_none() {
                let steps = state.steps;
                let told = format!("no end in {PATIENCE:?} of real time and {steps} steps");
                world.fail(&mut state, &told);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock()
    }

    /// Returns the world's network.
    pub(super) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    /// Registers a thread, which runs when it is chosen.
    pub(super) fn start(
        self: &Arc<Self>,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> u64 {
        let mut state = self.state();
        state.started += 1;
        let id = state.started;
        let known = SimulatedThread {
            name: name.clone(),
            what: What::Ready,
            turn: Arc::default(),
            token: false,
            parked: false,
            joining: Vec::new(),
        };
        state.threads.insert(id, known);
        drop(state);
        let here = Here { world: Arc::clone(self), id };
        let thread = std::thread::Builder::new().name(name);
        let started = thread.spawn(move || {
            here.clone().await_turn(here.world.state());
            PLACE.with(|place| *place.borrow_mut() = Some(WorldRegistration(here)));
            work();
        });
        started.expect("a thread of a simulation");
        id
    }

    /// Ends the run with a failure; no thread of it runs any more.
    fn fail(&self, state: &mut WorldState, why: &str) {
        let mut told = format!(
            "{why}\nafter {} steps, at {:?}:",
            state.steps,
            Duration::from_nanos(state.now)
        );
        for (id, known) in state.threads.iter().take(MOST_NAMED) {
            let what = match known.what {
                _ if state.running == Some(*id) => "runs".to_owned(),
                What::Ready => "could run".to_owned(),
                What::Waits { until: None, .. } => "waits forever".to_owned(),
                What::Waits { until: Some(until), .. } => {
                    format!("waits until {:?}", Duration::from_nanos(until))
                }
            };
            let _ = write!(told, "\n  thread {id} {:?} {what}", known.name);
        }
        state.result.get_or_insert(Err(told));
        state.running = None;
        self.ended.notify_all();
    }
}

impl WorldState {
    /// Chooses the thread that runs next; returns false if all wait without a time limit.
    fn next(&mut self) -> bool {
        self.steps += 1;
        self.now += STEP;
        loop {
            let now = self.now;
            for known in self.threads.values_mut() {
                if let What::Waits { until: Some(until), late } = &mut known.what
                    && *until <= now
                {
                    *late = true;
                }
            }
            let can = |known: &SimulatedThread| {
                matches!(known.what, What::Ready | What::Waits { late: true, .. })
            };
            let ready = self.threads.values().filter(|known| can(known)).count() as u64;
            if ready > 0 {
                let chosen = self.random.below(ready) as usize;
                let mut all = self.threads.iter().filter(|(_, known)| can(known));
                let (id, known) = all.nth(chosen).expect("as many as were counted");
                self.running = Some(*id);
                self.digest = (self.digest ^ id).wrapping_mul(0x0100_0000_01b3);
                known.turn.notify_one();
                return true;
            }
            let until = self.threads.values().filter_map(|known| match known.what {
                What::Waits { until, .. } => until,
                What::Ready => None,
            });
            match until.min() {
                Some(until) => self.now = until,
                None => return false,
            }
        }
    }
}

impl Here {
    /// Chooses the next thread, possibly this one again, and waits until this one is chosen.
    fn pass(&self, mut state: MutexGuard<'_, WorldState>) {
        if state.result.is_none() {
            let over = state.last.is_some_and(|last| state.now > last);
            if over {
                self.world.fail(&mut state, "threads are left a year after the test's end");
            } else if state.steps > MOST_STEPS {
                self.world.fail(&mut state, "the simulation does not come to its end");
            } else if !state.next() {
                self.world.fail(&mut state, "all threads wait forever");
            }
        }
        self.await_turn(state);
    }

    fn await_turn(&self, mut state: MutexGuard<'_, WorldState>) {
        let turn = Arc::clone(&state.threads[&self.id].turn);
        while state.running != Some(self.id) {
            state = turn.wait(state);
        }
    }

    /// Lets another thread run with some probability.
    pub(super) fn step(&self) {
        let mut state = self.world.state();
        if state.random.once_in(GIVES_WAY) {
            self.pass(state);
        }
    }

    /// Lets any thread run.
    pub(super) fn give_way(&self) {
        self.pass(self.world.state());
    }

    /// Waits to be woken; returns false if `until` passes before.
    pub(super) fn wait(&self, until: Option<u64>) -> bool {
        let mut state = self.world.state();
        let me = state.threads.get_mut(&self.id).expect("it runs");
        me.what = What::Waits { until, late: false };
        self.pass(state);
        let mut state = self.world.state();
        let me = state.threads.get_mut(&self.id).expect("it runs");
        std::mem::replace(&mut me.what, What::Ready) == What::Ready
    }

    /// Wakes a waiting thread.
    pub(super) fn wake(&self, id: u64) {
        if let Some(known) = self.world.state().threads.get_mut(&id) {
            known.what = What::Ready;
        }
    }

    /// Waits for an `unpark` of this thread, or until `until`.
    pub(super) fn park(&self, until: Option<u64>) {
        let mut state = self.world.state();
        let me = state.threads.get_mut(&self.id).expect("it runs");
        if std::mem::take(&mut me.token) {
            drop(state);
            return self.step();
        }
        me.parked = true;
        drop(state);
        self.wait(until);
        let mut state = self.world.state();
        let me = state.threads.get_mut(&self.id).expect("it runs");
        me.parked = false;
        me.token = false;
    }

    /// Ends the wait of a parked thread, or its next wait.
    pub(super) fn unpark(&self) {
        let mut state = self.world.state();
        if let Some(known) = state.threads.get_mut(&self.id) {
            known.token = true;
            if known.parked {
                known.what = What::Ready;
            }
        }
    }

    /// Waits until a thread has ended.
    pub(super) fn join(&self, id: u64) {
        loop {
            let mut state = self.world.state();
            let Some(known) = state.threads.get_mut(&id) else {
                return;
            };
            known.joining.push(self.id);
            drop(state);
            self.wait(None);
        }
    }

    fn end(&self) {
        let mut state = self.world.state();
        let me = state.threads.remove(&self.id).expect("it ran");
        for id in me.joining {
            if let Some(known) = state.threads.get_mut(&id) {
                known.what = What::Ready;
            }
        }
        if state.result.is_some() {
            return;
        }
        if state.threads.is_empty() {
            state.running = None;
            state.result = Some(Ok(()));
            self.world.ended.notify_all();
        } else if state.last.is_some_and(|last| state.now > last) {
            let why = "threads are left a year after the test's end";
            self.world.fail(&mut state, why);
        } else if !state.next() {
            self.world.fail(&mut state, "all threads wait forever");
        }
    }

    /// Returns the nanoseconds since the world began.
    pub(super) fn now(&self) -> u64 {
        let mut state = self.world.state();
        state.now += LOOK;
        state.now
    }

    /// Returns the time after `time` from now; `None` if it exceeds the clock's range.
    pub(super) fn after(&self, time: Duration) -> Option<u64> {
        let now = self.world.state().now;
        now.checked_add(u64::try_from(time.as_nanos()).ok()?)
    }

    pub(super) fn random(&self) -> Random {
        Random::new(self.world.state().random.next())
    }

    pub(super) fn course(&self) -> (u64, u64) {
        let state = self.world.state();
        (state.steps, state.digest)
    }
}
