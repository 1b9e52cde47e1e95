//! Servants that belong to one thread: the only thread of a lane makes them, calls them and drops them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use lanes::{BaseConfined, Refused, TallyConfined, TallyRef, tally};
use oxorb::poa::{Poa, PoaError, Policies, RtPolicies, ThreadPolicy};
use oxorb::rt::{
    CallbackThreads, Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolId,
    ThreadpoolLane,
};
use oxorb::servant::{ConfinedServant, NotConfined};
use oxorb::settings::ClientConnections;
use oxorb::{
    CompletionStatus, Interface as _, Orb, Outcome, Result, Servant, SystemExceptionKind, Upcall,
};
use oxorb_codegen_tests::lanes;
use oxorb_testkit::alloc;
use oxorb_testkit::watchdog;

const LIMIT: Duration = Duration::from_secs(120);

/// Servant that is neither `Send` nor `Sync`: the compiler proves that it stays in its thread.
struct Counter {
    sum: Rc<Cell<i64>>,
    label: RefCell<String>,
    home: ThreadId,
    dropped: Sender<ThreadId>,
}

impl Counter {
    fn new(dropped: Sender<ThreadId>) -> Counter {
        Counter {
            sum: Rc::default(),
            label: RefCell::default(),
            home: thread::current().id(),
            dropped,
        }
    }

    fn at_home(&self) {
        assert_eq!(thread::current().id(), self.home);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let _ = self.dropped.send(thread::current().id());
    }
}

impl BaseConfined for Counter {
    fn sum(&self) -> Result<i64> {
        self.at_home();
        Ok(self.sum.get())
    }
}

impl TallyConfined for Counter {
    fn label(&self) -> Result<String> {
        Ok(self.label.borrow().clone())
    }

    fn set_label(&self, value: &str) -> Result<()> {
        value.clone_into(&mut self.label.borrow_mut());
        Ok(())
    }

    fn add(&self, many: i64) -> std::result::Result<i64, tally::AddError> {
        self.at_home();
        if many < 0 {
            return Err(Refused { why: format!("{many}") }.into());
        }
        // No other thread intervenes, so no update is lost.
        let before = self.sum.get();
        self.sum.set(before + many);
        Ok(self.sum.get())
    }

    fn swap(&self, text: &mut String) -> Result<i64> {
        std::mem::swap(text, &mut self.label.borrow_mut());
        Ok(self.sum.get())
    }

    fn nudge(&self, many: i32) {
        self.sum.set(self.sum.get() + i64::from(many));
    }

    fn nested(&self, other: Option<&TallyRef>, many: i64) -> Result<i64> {
        self.at_home();
        let other = other.expect("not nil");
        other.add(many).map_err(|error| match error {
            tally::AddError::System(system) => system,
            tally::AddError::Refused(_) => panic!("refused"),
        })
    }

    fn fail(&self) -> Result<()> {
        let _borrowed = self.label.borrow_mut();
        panic!("on purpose")
    }

    fn count(&self, all: &[&str]) -> Result<u32> {
        self.at_home();
        Ok(u32::try_from(all.len()).unwrap())
    }
}

fn orb() -> Orb {
    Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .configure(|options| options.hold_time = Duration::from_secs(20))
        .build()
        .unwrap()
}

fn at(priority: i16) -> Priority {
    Priority::new(priority).unwrap()
}

fn lane(priority: i16) -> ThreadpoolLane {
    ThreadpoolLane::new(at(priority), 1)
}

fn policies(pool: ThreadpoolId, priority: i16) -> Policies {
    Policies {
        realtime: RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: priority,
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    }
}

fn poa(orb: &Orb, name: &str, policies: Policies) -> Poa {
    let poa = orb.root_poa().new_poa(name).policies(policies).create();
    let poa = poa.unwrap();
    poa.manager().activate().unwrap();
    poa
}

fn on_lane(orb: &Orb) -> Poa {
    let pool = orb.create_threadpool(Threadpool::with_lanes([lane(5)]));
    poa(orb, "lane", policies(pool.unwrap(), 5))
}

fn elsewhere(client: &Orb, tally: &TallyRef) -> TallyRef {
    let object = client.string_to_object(&tally.to_ior()).unwrap();
    object.narrow().unwrap().expect("a tally")
}

#[test]
fn many_callers_share_a_cell_without_a_lock() {
    let _watch = watchdog(LIMIT);
    let (server, client) = (orb(), orb());
    let (sender, dropped) = channel();
    let tally: TallyRef = on_lane(&server).activate_confined(|| Counter::new(sender)).unwrap();
    let far = elsewhere(&client, &tally);
    thread::scope(|scope| {
        for _ in 0..3 {
            // The calls come over connections, and from threads of the same process.
            scope.spawn(|| (0..50).for_each(|_| assert!(far.add(1).is_ok())));
            scope.spawn(|| (0..50).for_each(|_| assert!(tally.add(1).is_ok())));
        }
    });
    assert_eq!(far.sum(), Ok(300));
    far.nudge(7).unwrap();
    assert_eq!(far.sum(), Ok(307));
    far.set_label("one").unwrap();
    let mut text = "two".to_owned();
    assert_eq!(far.swap(&mut text), Ok(307));
    assert_eq!((text.as_str(), far.label().unwrap().as_str()), ("one", "two"));
    assert_eq!(far.count(&["a".into(), "b".into()]), Ok(2));
    let refused = far.add(-1).unwrap_err();
    assert!(matches!(refused, tally::AddError::Refused(Refused { why }) if why == "-1"));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    let end = dropped.recv().unwrap();
    assert_ne!(end, thread::current().id(), "dropped by its own thread");
}

/// Servant that records its thread's counters at each visit.
struct Looks(RefCell<Vec<(u64, u64)>>, Sender<Vec<(u64, u64)>>);

impl ConfinedServant for Looks {
    fn interfaces(&self) -> Vec<String> {
        vec!["IDL:test/Looks:1.0".to_owned()]
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        if upcall.operation() == "end" {
            self.1.send(self.0.take()).unwrap();
        } else {
            let mut looks = self.0.borrow_mut();
            assert!(looks.len() < looks.capacity(), "looking must not allocate");
            let locks = oxorb_core::lock::taken().expect("tests are debug builds");
            looks.push((alloc::local().count, locks));
        }
        upcall.done()
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "release builds count no locks")]
fn a_warm_request_allocates_nothing_and_takes_no_lock() {
    static LOOK: oxorb::__gen::Op = oxorb::__gen::Op::twoway("look");
    static END: oxorb::__gen::Op = oxorb::__gen::Op::twoway("end");
    let _watch = watchdog(LIMIT);
    // With this setting, the connection counts as busy even on a loaded machine.
    let server = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .configure(|options| options.worker_stay = Duration::from_secs(20))
        .build()
        .unwrap();
    let client = Orb::builder().client_connections(ClientConnections::Private).build().unwrap();
    let poa = on_lane(&server);
    let (sender, looks) = channel();
    let servant =
        poa.confine_servant(|| Rc::new(Looks(RefCell::new(Vec::with_capacity(1000)), sender)));
    let object = poa.activate_servant(servant.unwrap()).unwrap();
    let object = oxorb::ObjectRef::from_ref(object);
    let object = client.string_to_object(&object.to_ior()).unwrap();
    let call = |op| -> Result<()> { object.reference().invoke(op, |_| Ok(()), |_| Ok(())) };
    (0..500).for_each(|_| call(&LOOK).unwrap());
    call(&END).unwrap();
    let looks = looks.recv().unwrap();
    // Between two records is a whole cycle of the server: reply, write, read, dispatch.
    let (before, after) = (looks[200], looks[499]);
    assert_eq!(before, after);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_deactivated_servant_is_dropped_by_its_own_thread() {
    let _watch = watchdog(LIMIT);
    let server = orb();
    let poa = on_lane(&server);
    let (sender, dropped) = channel();
    let (told, home) = channel();
    let tally: TallyRef = poa
        .activate_confined(move || {
            told.send(thread::current().id()).unwrap();
            Counter::new(sender)
        })
        .unwrap();
    assert_eq!(tally.add(1), Ok(1));
    poa.deactivate(&tally).unwrap();
    assert_eq!(dropped.recv().unwrap(), home.recv().unwrap());
    let gone = tally.sum().unwrap_err();
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    server.shutdown(true).unwrap();
}

#[test]
fn a_panic_costs_one_answer_and_a_factory_that_panics_makes_nothing() {
    let _watch = watchdog(LIMIT);
    let (server, client) = (orb(), orb());
    let poa = on_lane(&server);
    let (sender, _dropped) = channel();
    let made = poa.activate_confined::<TallyRef, Counter>(|| panic!("on purpose"));
    assert!(matches!(made, Err(PoaError::NotConfined(NotConfined::Panicked))));
    let tally: TallyRef = poa.activate_confined(|| Counter::new(sender)).unwrap();
    let far = elsewhere(&client, &tally);
    for tally in [&tally, &far] {
        let failed = tally.fail().unwrap_err();
        assert_eq!(failed.kind, SystemExceptionKind::Unknown);
        assert_eq!(failed.completed, CompletionStatus::Maybe);
        tally.set_label("still there").unwrap();
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn where_no_one_thread_serves_activation_says_why() {
    let _watch = watchdog(LIMIT);
    let server = orb();
    let refused = |poa: &Poa, why: &str| {
        let (sender, _dropped) = channel();
        let refused = poa.activate_confined::<TallyRef, _>(|| Counter::new(sender)).unwrap_err();
        assert!(matches!(refused, PoaError::NotConfined(_)), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    };
    refused(server.root_poa(), "has no threadpool");
    let pool = |plan: Threadpool| server.create_threadpool(plan).unwrap();
    let two = pool(Threadpool::with_lanes([ThreadpoolLane::new(at(1), 2)]));
    refused(&poa(&server, "two", policies(two, 1)), "static threads");
    let grows = pool(Threadpool::with_lanes([lane(1).dynamic_threads(1)]));
    refused(&poa(&server, "grows", policies(grows, 1)), "dynamic threads");
    let queue = Threadpool::with_lanes([lane(1)]).serving(oxorb::rt::Serving::Queue);
    refused(&poa(&server, "queue", policies(pool(queue), 1)), "passes requests to other threads");
    let lends = Threadpool::with_lanes([lane(1), lane(2)]).allow_borrowing();
    refused(&poa(&server, "lends", policies(pool(lends), 2)), "borrow");
    let lanes = pool(Threadpool::with_lanes([lane(1), lane(2)]));
    let mut propagated = policies(lanes, 1);
    propagated.realtime.priority_model =
        Some(PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 1 });
    refused(&poa(&server, "propagated", propagated), "several lanes");
    let single =
        Policies { thread: ThreadPolicy::SingleThread, ..policies(pool(Threadpool::new(1)), 1) };
    refused(&poa(&server, "single", single), "thread policy");
    // A servant of one lane does not serve another.
    let low = poa(&server, "low", policies(lanes, 1));
    let high = poa(&server, "high", policies(lanes, 2));
    let (sender, dropped) = channel();
    let servant = low.confine::<TallyRef, _>(|| Counter::new(sender)).unwrap();
    let refused = high.activate_servant(Arc::clone(&servant)).unwrap_err();
    assert!(refused.to_string().contains("another lane"), "{refused}");
    drop(servant);
    dropped.recv().unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn each_lane_has_servants_of_its_own() {
    let _watch = watchdog(LIMIT);
    let (server, client) = (orb(), orb());
    let pool = Threadpool::with_lanes([lane(1), lane(2)]);
    let pool = server.create_threadpool(pool).unwrap();
    let (sender, dropped) = channel();
    let made = |name: &str, priority: i16| {
        let sender = sender.clone();
        poa(&server, name, policies(pool, priority))
            .activate_confined::<TallyRef, _>(move || Counter::new(sender))
            .unwrap()
    };
    let (low, high) = (made("low", 1), made("high", 2));
    // One call goes from the thread of one lane to that of the other lane, and back within the client.
    let (low, high) = (elsewhere(&client, &low), elsewhere(&client, &high));
    assert_eq!(low.nested(Some(&high), 5), Ok(5));
    assert_eq!(high.nested(Some(&low), 6), Ok(6));
    // A call to its own object is an ordinary call.
    assert_eq!(low.nested(Some(&low), 1), Ok(7));
    assert_eq!((low.sum(), high.sum()), (Ok(7), Ok(5)));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    let ends = [dropped.recv().unwrap(), dropped.recv().unwrap()];
    assert_ne!(ends[0], ends[1], "each by its own lane");
}

/// Time for which a request waits for a lane in vain. A lane that is free takes it in less time, even on a loaded
/// machine.
const HOLD: Duration = Duration::from_secs(2);

/// Servant that calls out, and holds its thread until released.
struct Gate {
    entered: Sender<()>,
    open: std::sync::mpsc::Receiver<()>,
    served: Rc<Cell<u32>>,
    home: ThreadId,
}

impl ConfinedServant for Gate {
    fn interfaces(&self) -> Vec<String> {
        vec!["IDL:test/Gate:1.0".to_owned()]
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        assert_eq!(thread::current().id(), self.home);
        self.served.set(self.served.get() + 1);
        if upcall.operation() == "hold" {
            self.entered.send(()).unwrap();
            let _ = self.open.recv_timeout(Duration::from_secs(60));
        }
        let served = self.served.get();
        upcall.reply(|e| {
            e.ulong(served);
            Ok(())
        })
    }
}

#[test]
fn what_comes_by_other_threads_waits_for_the_lane_and_not_for_ever() {
    let _watch = watchdog(LIMIT);
    let server = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .configure(|options| options.hold_time = HOLD)
        .build()
        .unwrap();
    let poa = on_lane(&server);
    let (entered, held) = channel();
    let (opens, open) = channel();
    let gate = poa
        .confine_servant(move || {
            Rc::new(Gate { entered, open, served: Rc::default(), home: thread::current().id() })
        })
        .unwrap();
    let object = oxorb::ObjectRef::from_ref(poa.activate_servant(Arc::clone(&gate)).unwrap());
    let call = |name: &'static str| {
        let op = oxorb::__gen::Op::twoway(name);
        let read = |d: &mut oxorb::cdr::Decoder<'_>| d.ulong();
        object.reference().invoke::<u32, oxorb::SystemException>(
            Box::leak(Box::new(op)),
            |_| Ok(()),
            read,
        )
    };
    thread::scope(|scope| {
        let holding = scope.spawn(|| call("hold"));
        held.recv().unwrap();
        // The lane's thread is busy: a servant cannot be made in time, and a request held by another thread waits in
        // vain.
        let begun = Instant::now();
        let late = poa.confine_servant(|| panic!("never called, or in vain"));
        assert!(matches!(late, Err(PoaError::NotConfined(NotConfined::Busy))));
        assert!(begun.elapsed() >= HOLD);
        opens.send(()).unwrap();
        assert_eq!(holding.join().unwrap(), Ok(1));
    });
    assert_eq!(call("count"), Ok(2));
    drop(gate);
    server.shutdown(true).unwrap();
    let ended = poa.confine_servant(|| panic!("never called"));
    assert!(ended.is_err());
}

/// Servant that answers on request.
struct Slow {
    entered: Mutex<Sender<()>>,
    open: Mutex<Receiver<()>>,
}

impl Servant for Slow {
    fn repository_id(&self) -> &'static str {
        "IDL:lanes/Tally:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.entered.lock().unwrap().send(()).unwrap();
        let _ = self.open.lock().unwrap().recv_timeout(LIMIT);
        upcall.reply(|e| {
            e.longlong(70);
            Ok(())
        })
    }
}

/// A takeover thread continues to read the connection while the lane's thread calls out: requests read there wait for
/// the lane's thread.
#[test]
fn requests_that_a_takeover_thread_reads_are_served_by_the_lanes_thread() {
    let _watch = watchdog(LIMIT);
    for patient in [true, false] {
        let hold = match patient {
            true => Duration::from_secs(60),
            false => HOLD,
        };
        let server = Orb::builder()
            .listen("iiop://127.0.0.1:0")
            .configure(|options| options.hold_time = hold)
            .build()
            .unwrap();
        let client = Orb::builder()
            .listen("iiop://127.0.0.1:0")
            .client_connections(ClientConnections::Multiplexed)
            .build()
            .unwrap();
        let (sender, _dropped) = channel();
        let tally: TallyRef = on_lane(&server).activate_confined(|| Counter::new(sender)).unwrap();
        let far = elsewhere(&client, &tally);
        let (entered, held) = channel();
        let (opens, open) = channel();
        let slow = Slow { entered: Mutex::new(entered), open: Mutex::new(open) };
        let slow = client.root_poa().activate_servant(Arc::new(slow)).unwrap();
        let slow = TallyRef::from_ref(slow);
        // Both calls use the one connection that all threads of the client share.
        let nested = far.nested_async(Some(&slow), 1);
        held.recv().unwrap();
        let added = far.add_async(5);
        if !patient {
            let refused = added.wait().unwrap_err();
            let tally::AddError::System(refused) = refused else {
                panic!("{refused}");
            };
            assert_eq!(refused.kind, SystemExceptionKind::Transient);
            assert_eq!(refused.completed, CompletionStatus::No);
            opens.send(()).unwrap();
            assert_eq!(nested.wait(), Ok(70));
            assert_eq!(far.sum(), Ok(0), "it did not run later");
        } else {
            opens.send(()).unwrap();
            assert_eq!(nested.wait(), Ok(70));
            assert_eq!(added.wait(), Ok(5));
        }
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Handlers of calls from a lane run in the lane if the option is set.
#[test]
fn reply_handlers_of_a_lane_run_in_it_by_option() {
    let _watch = watchdog(LIMIT);
    for threads in [CallbackThreads::Lane, CallbackThreads::Shared] {
        let server = Orb::builder()
            .listen("iiop://127.0.0.1:0")
            .configure(|options| options.callback_threads = threads)
            .build()
            .unwrap();
        let other = orb();
        let (sender, _dropped) = channel();
        let tally: TallyRef = on_lane(&other).activate_confined(|| Counter::new(sender)).unwrap();
        let tally = elsewhere(&server, &tally);
        let (told, seen) = channel();
        let orb = server.clone();
        let servant = on_lane(&server);
        let caller =
            servant.confine_servant(move || Rc::new(Calls { orb, other: tally, told })).unwrap();
        let object = servant.activate_servant(caller).unwrap();
        static CALL: oxorb::__gen::Op = oxorb::__gen::Op::twoway("call");
        let begun: Result<()> = object.invoke(&CALL, |_| Ok(()), |_| Ok(()));
        begun.unwrap();
        let (lane, home, sum, priority) = seen.recv_timeout(LIMIT).unwrap();
        assert_eq!(sum, 9);
        assert_eq!(priority, Some(at(5)), "that of the call, which is the lane's");
        assert_eq!(home, threads == CallbackThreads::Lane);
        assert_eq!(lane, home);
        let listed = server.threads();
        let callbacks =
            listed.iter().any(|thread| thread.purpose == oxorb::rt::ThreadPurpose::Callbacks);
        assert_eq!(callbacks, threads == CallbackThreads::Shared, "{listed:?}");
        server.shutdown(true).unwrap();
        other.shutdown(true).unwrap();
    }
}

/// Whether it ran in the lane, whether in the very thread, result, CORBA priority.
type Seen = (bool, bool, i64, Option<Priority>);

struct Calls {
    orb: Orb,
    other: TallyRef,
    told: Sender<Seen>,
}

impl ConfinedServant for Calls {
    fn interfaces(&self) -> Vec<String> {
        vec!["IDL:test/Calls:1.0".to_owned()]
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let (orb, told, home) = (self.orb.clone(), self.told.clone(), thread::current().id());
        self.other.add_async(9).then(move |sum| {
            let lane = orb.current_lane().is_some();
            let here = thread::current().id() == home;
            let seen = (lane, here, sum.unwrap(), orb.thread_priority());
            told.send(seen).unwrap();
        });
        upcall.done()
    }
}

/// Servant whose asynchronous calls end in its thread, with handlers that are neither `Send` nor `Sync`.
struct Starts {
    orb: Orb,
    other: TallyRef,
    sum: Rc<Cell<i64>>,
    done: Sender<(ThreadId, i64)>,
    home: ThreadId,
}

impl ConfinedServant for Starts {
    fn interfaces(&self) -> Vec<String> {
        vec!["IDL:test/Starts:1.0".to_owned()]
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        assert_eq!(thread::current().id(), self.home);
        let (orb, other, sum) = (self.orb.clone(), self.other.clone(), Rc::clone(&self.sum));
        let done = self.done.clone();
        let begun = self.orb.spawn_here(async move {
            let added = other.add_async(5).await.unwrap();
            sum.set(sum.get() + added);
            orb.sleep_until(Instant::now() + Duration::from_millis(20)).await;
            sum.set(sum.get() + 100);
            done.send((thread::current().id(), sum.get())).unwrap();
        });
        begun.unwrap();
        upcall.done()
    }
}

#[test]
fn tasks_and_timers_of_a_lane_stay_in_its_thread() {
    let _watch = watchdog(LIMIT);
    let (server, other) = (orb(), orb());
    let (sender, _dropped) = channel();
    let tally: TallyRef = on_lane(&other).activate_confined(|| Counter::new(sender)).unwrap();
    let tally = elsewhere(&server, &tally);
    let (done, ended) = channel();
    let (told, home) = channel();
    let poa = on_lane(&server);
    let orb = server.clone();
    let servant = poa.confine_servant(move || {
        let home = thread::current().id();
        told.send(home).unwrap();
        Rc::new(Starts { orb, other: tally, sum: Rc::default(), done, home })
    });
    let object = poa.activate_servant(servant.unwrap()).unwrap();
    let object = oxorb::ObjectRef::from_ref(object);
    static START: oxorb::__gen::Op = oxorb::__gen::Op::twoway("start");
    for turn in 1..=3 {
        let begun: Result<()> = object.reference().invoke(&START, |_| Ok(()), |_| Ok(()));
        begun.unwrap();
        let (by, sum) = ended.recv().unwrap();
        if turn == 1 {
            assert_eq!(by, home.recv().unwrap());
        }
        assert_eq!(sum, [105, 215, 330][turn - 1]);
    }
    assert!(server.spawn_here(async {}).is_err(), "no lane's thread");
    server.shutdown(true).unwrap();
    other.shutdown(true).unwrap();
}
