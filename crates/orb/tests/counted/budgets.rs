//! Budgets: limits of operations, objects, POAs and clients on their use of a server, and the treatment of requests
//! beyond them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::admission::{AdmissionRequest, BeyondBudget, Budget, BudgetOf, Overrun};
use oxorb::incident::Incident;
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{
    Priority, PriorityModel, PriorityModelPolicy, SchedulingClass, Serving, Threadpool,
    ThreadpoolLane,
};
use oxorb::sched::admission::Answer;
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_core::lock;
use oxorb_sys::schedule::{self, ThreadPriority};
use oxorb_testkit::alloc;
use oxorb_testkit::{require_realtime, require_reservations, until, watchdog};

use crate::common::{self, LONG, call, elsewhere};

static QUICK: Op = Op::twoway("quick");
static BURN: Op = Op::twoway("burn");
static SPIN: Op = Op::twoway("spin");
static LONE: Op = Op::twoway("lone");

/// Processor time between two looks at the class of the thread. Beside busy processes a demoted thread gets less than a
/// thousandth of a processor, so that 20 ms took it more than a minute.
const STEP: Duration = Duration::from_micros(50);

/// Servant that uses processor time as configured, and records the state of its threads.
#[derive(Default)]
struct Radar {
    /// Milliseconds of processor time that `burn` uses, unless it is demoted.
    burns: AtomicU64,
    /// Whether `spin` may end.
    released: AtomicBool,
    spins: AtomicBool,
    seen: Mutex<Vec<Seen>>,
}

/// State of the thread of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    class: SchedulingClass,
    /// Whether the thread was demoted in `spin`.
    demoted: bool,
    lane: Option<u32>,
    allocations: u64,
    locks: u64,
}

impl Servant for Radar {
    fn repository_id(&self) -> &str {
        "IDL:test/Radar:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let mut demoted = false;
        match upcall.operation() {
            "burn" => {
                let time = Duration::from_millis(self.burns.load(Ordering::SeqCst));
                let until = oxorb_sys::clock::thread_cpu() + time;
                while class() != SchedulingClass::Idle && oxorb_sys::clock::thread_cpu() < until {
                    burn(STEP);
                }
            }
            "spin" => {
                self.spins.store(true, Ordering::SeqCst);
                let until = Instant::now() + LONG;
                while Instant::now() < until && !self.released.load(Ordering::SeqCst) {
                    burn(STEP);
                }
                demoted = class() == SchedulingClass::Idle;
            }
            _ => {}
        }
        let lane = upcall.orb().current_lane().map(|lane| lane.lane);
        let mut seen = self.seen.lock().unwrap();
        assert!(seen.len() < seen.capacity() || seen.capacity() < 1000);
        seen.push(Seen {
            class: class(),
            demoted,
            lane,
            allocations: alloc::local().count,
            locks: lock::taken().expect("tests are debug builds"),
        });
        drop(seen);
        upcall.done()
    }
}

impl Radar {
    fn last(&self) -> Seen {
        *self.seen.lock().unwrap().last().unwrap()
    }
}

fn class() -> SchedulingClass {
    schedule::current().unwrap().class
}

/// Uses this much processor time.
fn burn(time: Duration) {
    let until = oxorb_sys::clock::thread_cpu() + time;
    while oxorb_sys::clock::thread_cpu() < until {
        std::hint::spin_loop();
    }
}

/// Returns a client with a long time limit, because a demoted thread runs only when the processor is otherwise idle.
fn patient_client() -> Orb {
    common::transport::builder().round_trip_timeout(10 * LONG).build().unwrap()
}

/// A server with budgets, a client, and an object.
struct Bench {
    server: Orb,
    client: Orb,
    radar: Arc<Radar>,
    object: ObjectRef,
    overruns: Arc<Mutex<Vec<Overrun>>>,
}

impl Bench {
    fn new(budgets: &str) -> Bench {
        Bench::with(budgets, SchedulingClass::Other)
    }

    fn with(budgets: &str, class: SchedulingClass) -> Bench {
        let overruns = Arc::<Mutex<Vec<Overrun>>>::default();
        let seen = Arc::clone(&overruns);
        let server = common::transport::listening()
            .setting("Budget", budgets)
            .configure(move |options| {
                options.realtime.class = class;
                options
                    .realtime
                    .overrun_hooks
                    .add(move |overrun| seen.lock().unwrap().push(overrun.clone()));
            })
            .build()
            .unwrap();
        let client = patient_client();
        let radar = Arc::new(Radar::default());
        radar.burns.store(20, Ordering::SeqCst);
        let poa = server.root_poa().create_poa("sensors", Policies::default()).unwrap();
        let object = poa.activate_servant(Arc::clone(&radar) as _).unwrap();
        Bench { object: elsewhere(&client, &object), server, client, radar, overruns }
    }

    /// Calls until one call is refused, and returns that exception.
    #[track_caller]
    fn until_refused(&self, op: &'static Op) -> SystemException {
        for _ in 0..10_000 {
            if let Err(exception) = call(&self.object, op) {
                return exception;
            }
        }
        panic!("ten thousand calls were within the budget");
    }

    fn count(&self, incident: Incident) -> u64 {
        self.server.connection_statistics().count(incident)
    }

    fn end(self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

/// Reports whether a thread may leave SCHED_IDLE, the class of demoted threads.
fn may_demote() -> bool {
    let may = schedule::may_leave_idle();
    if !may {
        oxorb_testkit::peers::missing(
            "coming back from SCHED_IDLE",
            "CAP_SYS_NICE or `ulimit -e 20`",
        );
    }
    may
}

#[test]
fn a_burst_passes_and_then_so_many_requests_in_a_second() {
    let _guard = watchdog(2 * LONG);
    let bench = Bench::new("clients requests=5 burst=3");
    let began = Instant::now();
    let (mut served, mut refused) = (0u64, 0u64);
    while refused < 20 {
        match call(&bench.object, &QUICK) {
            Ok(()) => served += 1,
            Err(exception) => {
                assert_eq!(exception.kind, SystemExceptionKind::Transient);
                assert_eq!(exception.minor, minor::transient::CLIENT_RATE);
                assert_eq!(exception.completed, CompletionStatus::No);
                refused += 1;
            }
        }
    }
    let most = 3 + began.elapsed().as_millis() as u64 / 200 + 1;
    assert!((3..=most).contains(&served), "{served} of {most}");
    // The client is served again once its budget is replenished.
    until("the client may call again", || call(&bench.object, &QUICK).is_ok());
    let used = bench.server.budgets();
    let [client] = &used[..] else { panic!("{used:?}") };
    assert_eq!(client.served, served + 1);
    assert!(client.refused >= refused);
    assert!(bench.count(Incident::BeyondBudget) >= 1);
    bench.end();
}

#[test]
fn the_answer_names_whose_budget_is_spent_and_which() {
    let _guard = watchdog(2 * LONG);
    for (rule, named) in [
        ("operation test::Radar::burn requests=1", minor::transient::OPERATION_RATE),
        ("operation test::Radar::burn time=1ms/100s", minor::transient::OPERATION_TIME),
        ("poa sensors requests=1", minor::transient::POA_RATE),
        ("poa sensors time=1ms/100s", minor::transient::POA_TIME),
        ("object radar requests=1", minor::transient::OBJECT_RATE),
        ("object radar time=1ms/100s", minor::transient::OBJECT_TIME),
        ("clients requests=1", minor::transient::CLIENT_RATE),
        ("clients time=1ms/100s", minor::transient::CLIENT_TIME),
    ] {
        let bench = Bench::new(rule);
        // The object has a system id, which a rule cannot name in advance, so set its budget by its key.
        let key = BudgetOf::object(oxorb::Interface::reference(&bench.object)).unwrap();
        if let Some(rest) = rule.strip_prefix("object radar ") {
            assert!(bench.server.set_budget(key, rest.parse().unwrap()));
        }
        let refused = bench.until_refused(&BURN);
        assert_eq!(refused.minor, named, "{rule}");
        // A budget of one operation does not limit the others.
        if rule.starts_with("operation") {
            assert_eq!(call(&bench.object, &QUICK), Ok(()));
        }
        bench.end();
    }
}

#[test]
fn a_name_that_is_bound_to_an_object_is_the_object() {
    let _guard = watchdog(LONG);
    let bench = Bench::new("object Tower requests=1");
    let local = bench.server.root_poa();
    let tower = local.activate_servant(Arc::clone(&bench.radar) as _).unwrap();
    bench.server.bind("Tower", &oxorb::Interface::from_ref(tower.clone()) as &ObjectRef);
    let tower = elsewhere(&bench.client, &tower);
    let mut refused = 0;
    while refused == 0 {
        refused += u32::from(call(&tower, &QUICK).is_err());
    }
    assert_eq!(call(&bench.object, &QUICK), Ok(()), "another object");
    bench.end();
}

#[test]
fn a_rule_that_is_changed_or_removed_counts_from_the_next_request_on() {
    let _guard = watchdog(LONG);
    let bench = Bench::new("clients requests=1");
    bench.until_refused(&QUICK);
    let wide = Budget::default().requests(1_000_000, 1_000);
    assert!(bench.server.set_budget(BudgetOf::EachClient, wide));
    assert_eq!(call(&bench.object, &QUICK), Ok(()));
    let of_operation = BudgetOf::Operation("test::Radar::quick".into());
    let narrow = Budget::default().requests(1, 1);
    assert!(bench.server.set_budget(of_operation.clone(), narrow));
    let refused = bench.until_refused(&QUICK);
    assert_eq!(refused.minor, minor::transient::OPERATION_RATE);
    assert!(bench.server.remove_budget(&of_operation));
    assert!(!bench.server.remove_budget(&of_operation));
    for _ in 0..20 {
        assert_eq!(call(&bench.object, &QUICK), Ok(()));
    }
    bench.end();
}

#[test]
fn beyond_its_budget_a_request_runs_demoted_and_the_next_one_does_not() {
    let _guard = watchdog(LONG);
    if !may_demote() {
        return;
    }
    let bench = Bench::new("operation test::Radar::burn time=1ms/1000s beyond=demote");
    call(&bench.object, &BURN).unwrap();
    assert_eq!(bench.radar.last().class, SchedulingClass::Other, "nothing was used before");
    for _ in 0..3 {
        call(&bench.object, &BURN).unwrap();
        assert_eq!(bench.radar.last().class, SchedulingClass::Idle);
        call(&bench.object, &QUICK).unwrap();
        assert_eq!(bench.radar.last().class, SchedulingClass::Other);
    }
    let used = bench.server.budgets();
    assert_eq!((used[0].served, used[0].demoted, used[0].refused), (4, 3, 0));
    assert!(used[0].processor_time >= Duration::from_millis(20), "{used:?}");
    bench.end();
}

#[test]
fn with_priorities_of_the_system_the_thread_has_its_own_again() {
    if !require_realtime() || !may_demote() {
        return;
    }
    let _guard = watchdog(LONG);
    let budget = "operation test::Radar::burn time=1ms/1000s longest=5ms beyond=demote";
    let bench = Bench::with(budget, SchedulingClass::Fifo);
    // Until the watcher demotes it.
    bench.radar.burns.store(60_000, Ordering::SeqCst);
    for _ in 0..3 {
        call(&bench.object, &BURN).unwrap();
        call(&bench.object, &QUICK).unwrap();
        assert_eq!(bench.radar.last().class, SchedulingClass::Fifo);
    }
    let seen = bench.radar.seen.lock().unwrap().clone();
    assert_eq!(seen.iter().filter(|seen| seen.class == SchedulingClass::Idle).count(), 3);
    bench.end();
}

/// The overrun is reported while the servant runs, which is demoted and later restored.
#[test]
fn a_servant_that_overruns_is_told_and_demoted_until_it_ends() {
    let _guard = watchdog(2 * LONG);
    if !may_demote() {
        return;
    }
    let bench = Bench::new("operation test::Radar::spin longest=5ms");
    let radar = Arc::clone(&bench.radar);
    let overruns = Arc::clone(&bench.overruns);
    let release = thread::spawn(move || {
        while overruns.lock().unwrap().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        // Let the servant run on, so that it can record its demotion.
        thread::sleep(Duration::from_millis(50));
        radar.released.store(true, Ordering::SeqCst);
    });
    call(&bench.object, &SPIN).unwrap();
    release.join().unwrap();
    assert!(bench.radar.last().demoted);
    let overruns = bench.overruns.lock().unwrap().clone();
    let [overrun] = &overruns[..] else { panic!("{overruns:?}") };
    assert_eq!(overrun.subject, "operation test::Radar::spin");
    assert!(overrun.runs && overrun.demoted);
    assert!(overrun.used > overrun.allowed);
    assert_eq!(overrun.allowed, Duration::from_millis(5));
    call(&bench.object, &QUICK).unwrap();
    assert_eq!(bench.radar.last().class, SchedulingClass::Other, "as urgent as before");
    assert_eq!(bench.count(Incident::Overrun), 1);
    assert_eq!(bench.server.budgets()[0].overruns, 1);
    bench.end();
}

/// The servant uses up its own budget while it runs, and delays no other request.
#[test]
fn a_servant_that_never_returns_spends_its_budget_and_delays_nobody() {
    let _guard = watchdog(2 * LONG);
    let bench = Bench::new(
        "operation test::Radar::spin time=4ms/1000s longest=5ms; operation test::Radar::burn requests=1000 burst=1000",
    );
    let object = bench.object.clone();
    let spinning = thread::spawn(move || call(&object, &SPIN));
    until("the servant spins", || bench.radar.spins.load(Ordering::SeqCst));
    // Processor time is charged while the request runs, so further requests under its budget are refused before it
    // ends.
    until("its budget is spent", || bench.server.budgets().iter().any(|used| used.spent));
    let refused = call(&bench.object, &SPIN).unwrap_err();
    assert_eq!(refused.minor, minor::transient::OPERATION_TIME);
    for _ in 0..10 {
        assert_eq!(call(&bench.object, &QUICK), Ok(()));
    }
    let used = bench.server.budgets();
    let spin = |used: &oxorb::admission::BudgetUse| {
        used.of == BudgetOf::Operation("test::Radar::spin".into())
    };
    let before = used.into_iter().find(spin).unwrap().processor_time;
    until("more is charged", || {
        let used = bench.server.budgets();
        used.into_iter().find(spin).unwrap().processor_time > before
    });
    bench.radar.released.store(true, Ordering::SeqCst);
    spinning.join().unwrap().unwrap();
    bench.end();
}

/// An overrun that ends before the watcher's next check is reported by the request's own thread.
#[test]
fn an_overrun_that_has_ended_is_told_as_well() {
    let _guard = watchdog(LONG);
    let bench = Bench::new("operation test::Radar::burn longest=1ms");
    bench.radar.burns.store(3, Ordering::SeqCst);
    for _ in 0..3 {
        call(&bench.object, &BURN).unwrap();
    }
    until("each overrun is told", || bench.overruns.lock().unwrap().len() == 3);
    assert_eq!(bench.server.budgets()[0].overruns, 3);
    bench.end();
}

fn lanes(bench: &Bench, serving: Serving) -> ObjectRef {
    let lane = |priority| ThreadpoolLane::new(Priority::new(priority).unwrap(), 2);
    let plan = Threadpool::with_lanes([lane(1_000), lane(30_000)]).serving(serving);
    let pool = bench.server.create_threadpool(plan).unwrap();
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority: 30_000,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = bench.server.root_poa().create_poa("lanes", policies).unwrap();
    let object = poa.activate_servant(Arc::clone(&bench.radar) as _).unwrap();
    elsewhere(&bench.client, &object)
}

#[test]
fn beyond_its_budget_a_request_goes_to_the_lowest_lane_if_that_has_a_queue() {
    let _guard = watchdog(LONG);
    for (serving, then) in [(Serving::Queue, 0), (Serving::Reader, 1)] {
        let bench = Bench::new("operation test::Radar::burn time=1ms/1000s beyond=demote");
        let object = lanes(&bench, serving);
        call(&object, &BURN).unwrap();
        assert_eq!(bench.radar.last().lane, Some(1), "within its budget");
        // The server sends the reply before it charges the request to the budget.
        until("its budget is spent", || bench.server.budgets().iter().any(|used| used.spent));
        call(&object, &BURN).unwrap();
        assert_eq!(bench.radar.last().lane, Some(then), "{serving:?}");
        call(&object, &QUICK).unwrap();
        assert_eq!(bench.radar.last().lane, Some(1), "another operation");
        bench.end();
    }
}

#[test]
fn a_client_that_waits_for_each_answer_is_slowed_down_by_pauses_and_not_refused() {
    let _guard = watchdog(2 * LONG);
    for serving in [None, Some(Serving::Reader), Some(Serving::Queue)] {
        let bench = Bench::new("operation test::Radar::quick requests=100 burst=1 beyond=pause");
        let in_lane = serving.map(|serving| lanes(&bench, serving));
        let object = in_lane.as_ref().unwrap_or(&bench.object);
        let mut refused = 0;
        while bench.server.budgets()[0].served < 10 {
            match call(object, &QUICK) {
                Ok(()) => {}
                // The reader of the queue may read a request before the previous one has begun its pause.
                Err(exception) if serving == Some(Serving::Queue) => {
                    assert_eq!(exception.minor, minor::transient::OPERATION_RATE);
                    refused += 1;
                }
                Err(exception) => panic!("{serving:?}: {exception}"),
            }
        }
        let used = bench.server.budgets();
        assert_eq!((used[0].served, used[0].refused), (10, refused), "{serving:?}: {used:?}");
        bench.end();
    }
}

#[test]
fn a_budget_of_processor_time_pauses_its_connection_too() {
    let _guard = watchdog(2 * LONG);
    let bench = Bench::new("operation test::Radar::burn time=2ms/20ms beyond=pause");
    bench.radar.burns.store(4, Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(call(&bench.object, &BURN), Ok(()));
    }
    let used = bench.server.budgets();
    assert_eq!((used[0].served, used[0].refused, used[0].demoted), (5, 0, 0), "{used:?}");
    bench.end();
}

#[test]
fn a_budget_that_pauses_a_connection_refuses_the_requests_of_others() {
    let _guard = watchdog(2 * LONG);
    let bench = Bench::new("operation test::Radar::quick requests=1 burst=1 beyond=pause");
    let client = patient_client();
    let object = elsewhere(&client, bench.object.reference());
    // Repeat the calls, because on a stalled machine the budget may have refilled before the second one.
    until("the second client is refused", || {
        let _ = call(&bench.object, &QUICK);
        call(&object, &QUICK).is_err_and(|it| it.minor == minor::transient::OPERATION_RATE)
    });
    client.shutdown(true).unwrap();
    bench.end();
}

#[test]
fn a_lane_beyond_its_budget_has_reserved_time_alone() {
    let Some(_reservations) = require_reservations() else {
        return;
    };
    let _guard = watchdog(2 * LONG);
    let bench = Bench::new("operation test::Radar::burn time=2ms/20ms beyond=throttle");
    bench.radar.burns.store(4, Ordering::SeqCst);
    let is_reserved = |scheduling| matches!(scheduling, oxorb::rt::ThreadScheduling::Reserved(_));
    // Repeat the call, because on a stalled machine the budget may be replenished between two requests.
    until("the lane has reserved time alone", || {
        call(&bench.object, &BURN).unwrap();
        let threads = bench.server.threads();
        let reserved = threads.iter().filter(|it| is_reserved(it.actual.scheduling)).count() == 1;
        let downgraded = bench.count(Incident::BudgetNotEnforced) > 0;
        bench.server.budgets()[0].demoted > 0 && (reserved || downgraded)
    });
    let used = bench.server.budgets();
    assert_eq!(used[0].refused, 0, "{used:?}");
    // A request of an operation within its budget ends the lane's reservation.
    call(&bench.object, &QUICK).unwrap();
    until("the lane is free", || call(&bench.object, &LONE).is_ok());
    bench.end();
}

/// Checks a promise of `docs/admission.md`.
#[test]
fn a_request_within_its_budgets_allocates_nothing_and_takes_no_lock() {
    common::only_over!(CLEAR, "rustls allocates for each record");
    let _guard = watchdog(LONG);
    let every = "clients requests=1000000 burst=1000000 time=100s/100s; operation test::Radar::quick requests=1000000 \
                 burst=1000000 longest=10s; poa sensors requests=1000000 burst=1000000";
    let bench = Bench::new(every);
    *bench.radar.seen.lock().unwrap() = Vec::with_capacity(1000);
    for _ in 0..300 {
        call(&bench.object, &QUICK).unwrap();
    }
    let seen = bench.radar.seen.lock().unwrap().clone();
    let (first, last) = (seen[100], seen[299]);
    assert_eq!(last.allocations - first.allocations, 0, "allocations");
    assert_eq!(last.locks - first.locks, 0, "locks");
    assert!(bench.server.budgets().iter().all(|used| used.served == 300));
    bench.end();
}

/// Two operations are admitted and the third is refused. Admitted operations are held to their declared times.
#[test]
fn who_is_admitted_has_a_budget_and_who_goes_has_none() {
    let _guard = watchdog(LONG);
    let ms = Duration::from_millis;
    let server = common::transport::listening()
        .setting("Admission", "late=refuse beyond=refuse")
        .build()
        .unwrap();
    let client = patient_client();
    let radar = Arc::new(Radar::default());
    radar.burns.store(20, Ordering::SeqCst);
    let local = server.root_poa().activate_servant(Arc::clone(&radar) as _);
    let object = elsewhere(&client, &local.unwrap());
    let operation = |name: &str| BudgetOf::Operation(format!("test::Radar::{name}"));
    let ask = |name, worst, period| {
        server.admit(AdmissionRequest::new(operation(name), ms(worst), ms(period)))
    };
    let bound = ask("burn", 1, 1_000_000).unwrap();
    assert!(matches!(bound, Answer::Guaranteed { response } if response == 1_000_000));
    assert!(matches!(ask("quick", 400_000, 1_000_000), Ok(Answer::Guaranteed { .. })));
    let Ok(Answer::Refused(late)) = ask("lone", 700_000, 1_000_000) else {
        panic!("there is no time for it")
    };
    assert!(late.because.contains("test::Radar::lone"), "{late}");
    assert!(ask("burn", 1, 10).is_err(), "it is there");
    assert_eq!(server.admitted().0.len(), 2);
    // The servant takes 20 ms, twenty times its declared time, which uses up its budget.
    call(&object, &BURN).unwrap();
    let refused = call(&object, &BURN).unwrap_err();
    assert_eq!(refused.minor, minor::transient::OPERATION_TIME);
    assert_eq!(call(&object, &QUICK), Ok(()));
    assert!(server.release(&operation("burn")) && !server.release(&operation("burn")));
    assert_eq!(call(&object, &BURN), Ok(()), "nobody holds it to anything");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_budget_given_by_hand_holds_again_after_a_release() {
    let server =
        common::transport::listening().setting("Admission", "late=refuse").build().unwrap();
    let of = BudgetOf::Client("10.0.0.1".into());
    let by_hand = Budget::default().requests(7, 3);
    assert!(server.set_budget(of.clone(), by_hand));
    let ms = Duration::from_millis;
    let request = AdmissionRequest::new(of.clone(), ms(2), ms(50));
    assert!(matches!(server.admit(request), Ok(Answer::Guaranteed { .. })));
    assert_eq!(server.budget_rules()[0].1.longest, Some(ms(2)));
    assert!(server.release(&of));
    assert_eq!(server.budget_rules(), [(of, by_hand)]);
    server.shutdown(true).unwrap();
}

/// Remaining capacity is shared equally, and grows when a client leaves.
#[test]
fn late_comers_have_equal_shares_as_their_budgets() {
    let server = common::transport::listening()
        .setting("Admission", "late=share beyond=demote period=100ms guarantee=50%")
        .build()
        .unwrap();
    let client = |n: u32| BudgetOf::Client(format!("10.0.0.{n}"));
    for n in 1..=4 {
        let request = AdmissionRequest::share(client(n));
        assert!(matches!(server.admit(request), Ok(Answer::BestEffort { .. })));
    }
    let shares = |server: &Orb| {
        let rules = server.budget_rules().into_iter();
        let shares = rules.map(|(_, budget)| budget.share.unwrap().time);
        shares.collect::<Vec<_>>()
    };
    assert_eq!(shares(&server), [Duration::from_millis(25); 4]);
    assert!(server.release(&client(2)));
    let third = Duration::from_nanos(100_000_000 / 3);
    assert_eq!(shares(&server), [third; 3]);
    server.shutdown(true).unwrap();
}

#[test]
fn an_orb_without_budgets_takes_none() {
    let server = common::transport::listening().build().unwrap();
    let budget = Budget::default().requests(1, 1).beyond(BeyondBudget::Demote);
    assert!(!server.set_budget(BudgetOf::EachClient, budget));
    assert!(server.budgets().is_empty() && server.budget_rules().is_empty());
    server.shutdown(true).unwrap();
    for wrong in [
        ("Budget", "clients requests=0"),
        ("Budget", "everybody requests=1"),
        ("BudgetQuantum", "10"),
        ("Admission", "late=never"),
    ] {
        let (name, text) = wrong;
        let error = common::transport::builder().setting(name, text).build();
        let error = error.map(drop).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

/// Reads the class of the calling thread from the kernel: the tests above rely on SCHED_OTHER.
#[test]
fn a_thread_begins_in_the_class_that_tests_expect() {
    assert_eq!(schedule::current().unwrap(), ThreadPriority::default());
}
