//! Dispatching modules in the core of the ORB: order, bounds, late requests, admission.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::rt::SchedulingClass;
use oxorb::sched::level::Criticality;
use oxorb::sched::queue::Missed;
use oxorb::sched::repository::{Characteristics, Constraints};
use oxorb::sched::time::{MILLISECOND, SECOND};
use oxorb::sched::{
    DispatchModel, DispatchTable, ModuleSettings, OsPriorities, Repository, RunTimeScheduler,
    Schedule, Strategy,
};
use oxorb::settings::ClientConnections;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_sys::schedule;
use oxorb_testkit::{overload_is_refused, require_reservations};

use crate::common::{self, LONG, assert_raised, call, elsewhere};

static HOLD: Op = Op::twoway("hold");
static HELD: Op = Op::oneway("hold");
static SOON: Op = Op::oneway("soon");
static LATER: Op = Op::oneway("later");
static LAST: Op = Op::oneway("last");
static WAIT: Op = Op::twoway("soon");
static URGENT: Op = Op::twoway("urgent");
static OTHER: Op = Op::twoway("other");

/// Servant that reports each operation served and its thread; `hold` blocks until released.
struct Machine {
    served: Mutex<Sender<(String, String)>>,
    gate: Mutex<Receiver<()>>,
}

impl Servant for Machine {
    fn repository_id(&self) -> &str {
        "IDL:plant/Machine:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let thread = thread::current().name().unwrap_or_default().to_owned();
        let operation = upcall.operation().to_owned();
        let hold = operation == "hold";
        self.served.lock().unwrap().send((operation, thread)).unwrap();
        if hold {
            let _ = self.gate.lock().unwrap().recv_timeout(LONG);
        }
        upcall.done()
    }
}

struct Plant {
    server: Orb,
    object: ObjectRef,
    served: Receiver<(String, String)>,
    open: Sender<()>,
}

fn table(strategy: Strategy) -> DispatchTable {
    table_under(strategy, DispatchModel::Band)
}

fn table_under(strategy: Strategy, model: DispatchModel) -> DispatchTable {
    let mut repository = Repository::new();
    for (name, wcet, deadline, criticality) in [
        ("hold", 1, 60_000, Criticality::Low),
        ("soon", 200, 20_000, Criticality::Low),
        ("later", 200, 30_000, Criticality::Low),
        ("last", 200, 40_000, Criticality::Low),
        ("urgent", 1, 10_000, Criticality::High),
    ] {
        let handle = repository.create(&format!("plant::Machine::{name}")).unwrap();
        let said = Characteristics {
            worst_case: wcet * MILLISECOND,
            period: 60 * SECOND,
            threads: 1,
            criticality,
            constraints: Constraints {
                deadline: Some(deadline * MILLISECOND),
                ..Constraints::default()
            },
            ..Characteristics::default()
        };
        repository.set(handle, said).unwrap();
    }
    let priorities = OsPriorities::range(1, 40).unwrap();
    let schedule = Schedule::compute(&repository, &strategy, &model, &priorities).unwrap();
    DispatchTable::from(&schedule)
}

fn plant(strategy: Strategy, change: impl FnOnce(&mut ModuleSettings)) -> Plant {
    plant_of(table(strategy), change)
}

fn plant_of(table: DispatchTable, change: impl FnOnce(&mut ModuleSettings)) -> Plant {
    let mut modules = ModuleSettings::default();
    change(&mut modules);
    let mut scheduler = RunTimeScheduler::new(table);
    scheduler.modules = Some(modules);
    scheduler.measure = true;
    let server = common::transport::listening()
        .scheduler(scheduler)
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .build()
        .unwrap();
    let (tell, served) = mpsc::channel();
    let (open, gate) = mpsc::channel();
    let machine = Machine { served: Mutex::new(tell), gate: Mutex::new(gate) };
    let reference = server.root_poa().activate_servant(Arc::new(machine)).unwrap();
    let client = common::transport::builder().build().unwrap();
    Plant { object: elsewhere(&client, &reference), server, served, open }
}

impl Plant {
    /// Waits for the next operation served, and returns its name.
    fn next(&self) -> String {
        self.served.recv_timeout(LONG).unwrap().0
    }

    /// Occupies the module of `hold`.
    fn hold(&self) {
        send(&self.object, &HELD).unwrap();
        assert_eq!(self.next(), "hold");
    }

    /// Waits until the server has read the requests sent so far over the connection of `object`:
    /// until a later request, which another module serves, is answered.
    fn until_read(&self, object: &ObjectRef) {
        call(object, &URGENT).unwrap();
        assert_eq!(self.next(), "urgent");
    }

    fn release(&self) {
        self.open.send(()).unwrap();
    }

    /// Waits until `count` requests of an operation were refused or late.
    fn until(&self, what: impl Fn(&oxorb::sched::Measurement) -> u64, row: usize, count: u64) {
        while what(&self.server.measurements().unwrap()[row]) < count {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn end(self) {
        self.server.shutdown(true).unwrap();
    }
}

fn send(object: &ObjectRef, op: &'static Op) -> Result<(), SystemException> {
    object.reference().send(op, |_| Ok(()))
}

fn raised(result: Result<(), SystemException>) -> SystemException {
    result.expect_err("it is refused")
}

#[test]
fn requests_wait_in_the_order_of_the_strategy() {
    for (strategy, expected) in
        [(Strategy::EDF, ["soon", "later", "last"]), (Strategy::MLF, ["soon", "later", "last"])]
    {
        let plant = plant(strategy, |_| {});
        plant.hold();
        // Send the requests over one connection, in an order other than the expected one.
        for op in [&LAST, &LATER, &SOON] {
            send(&plant.object, op).unwrap();
        }
        // The reader serves this request itself, after it has queued the others.
        call(&plant.object, &OTHER).unwrap();
        assert_eq!(plant.next(), "other");
        plant.release();
        assert_eq!([(); 3].map(|()| plant.next()), expected, "{}", strategy.name);
        plant.end();
    }
}

#[test]
fn a_module_runs_while_a_less_urgent_one_is_busy_and_the_rest_needs_none() {
    let plant = plant(Strategy::MUF, |_| {});
    plant.hold();
    call(&plant.object, &URGENT).unwrap();
    let (operation, thread) = plant.served.recv_timeout(LONG).unwrap();
    assert_eq!((operation.as_str(), thread.as_str()), ("urgent", "oxorb-disp-0"));
    call(&plant.object, &OTHER).unwrap();
    let (operation, thread) = plant.served.recv_timeout(LONG).unwrap();
    assert_eq!(operation, "other");
    assert!(!thread.starts_with("oxorb-disp"), "{thread}");
    plant.release();
    plant.end();
}

#[test]
fn a_full_module_answers_transient() {
    let plant = plant(Strategy::EDF, |modules| modules.capacity = 1);
    plant.hold();
    send(&plant.object, &LATER).unwrap();
    let refused = raised(call(&plant.object, &WAIT));
    assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(refused.minor, minor::transient::REQUESTS_BUFFERED);
    plant.until(|seen| seen.refused, 1, 1);
    plant.release();
    assert_eq!(plant.next(), "later");
    plant.end();
}

#[test]
fn what_would_be_late_is_refused_at_once() {
    let plant = plant(Strategy::EDF, |modules| {
        modules.admission = true;
        modules.capacity = 1_000;
    });
    plant.hold();
    // Each request needs 200 ms in the worst case, so that 110 of them leave no time for a request due within 20 s.
    for _ in 0..110 {
        send(&plant.object, &LAST).unwrap();
    }
    let refused = raised(call(&plant.object, &WAIT));
    assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(refused.minor, minor::transient::NOT_ADMITTED);
    assert_eq!(plant.server.measurements().unwrap()[3].refused, 0);
    plant.release();
    for _ in 0..110 {
        assert_eq!(plant.next(), "last");
    }
    // Requests that have finished no longer count.
    call(&plant.object, &WAIT).unwrap();
    plant.end();
}

#[test]
fn late_requests_run_or_are_answered_with_timeout() {
    for missed in [Missed::Run, Missed::Drop] {
        let plant = late_plant(missed);
        plant.hold();
        let answered = thread::scope(|scope| {
            let asked = scope.spawn(|| call(&plant.object, &WAIT));
            // The request is late from the beginning, because its worst-case time exceeds its deadline.
            thread::sleep(Duration::from_millis(20));
            plant.release();
            asked.join().unwrap()
        });
        match missed {
            Missed::Drop => {
                let exception = answered.unwrap_err();
                assert_raised(exception, SystemExceptionKind::Timeout, CompletionStatus::No);
                assert_eq!(exception.minor, minor::timeout::DISPATCHED_LATE);
                plant.until(|seen| seen.missed, 1, 1);
            }
            _ => assert_eq!(answered, Ok(())),
        }
        let told = plant.server.connection_statistics();
        assert_eq!(told.count(Incident::DispatchedLate), 1);
        plant.end();
    }
}

/// Returns a plant whose `soon` takes longer than its deadline allows.
fn late_plant(missed: Missed) -> Plant {
    let mut rows = table(Strategy::MLF).operations().to_vec();
    rows[1].deadline = MILLISECOND;
    let queues = table(Strategy::MLF).queues().to_vec();
    let table = DispatchTable::new(DispatchModel::Band, rows, queues).unwrap();
    plant_of(table, |modules| modules.missed = missed)
}

#[test]
fn response_counts_from_arrival() {
    let plant = plant(Strategy::MUF, |_| {});
    plant.hold();
    send(&plant.object, &SOON).unwrap();
    plant.until_read(&plant.object);
    thread::sleep(Duration::from_millis(30));
    plant.release();
    assert_eq!(plant.next(), "soon");
    plant.until(|seen| seen.response.count, 1, 1);
    let seen = &plant.server.measurements().unwrap()[1];
    assert!(seen.response.max_ns >= 30_000_000, "{:?}", seen.response.max_ns);
    assert!(seen.cpu.max_ns < seen.response.max_ns);
    plant.end();
}

#[test]
fn an_orb_that_ends_lets_waiting_requests_run() {
    let plant = plant(Strategy::MUF, |_| {});
    plant.hold();
    let client = common::client(ClientConnections::Multiplexed);
    let object = elsewhere(&client, plant.object.reference());
    let asked = object.reference();
    let asked = asked.invoke_async::<(), SystemException>(&WAIT, |_| Ok(()), |_| Ok(()));
    plant.until_read(&object);
    thread::scope(|scope| {
        let ended = scope.spawn(|| plant.server.shutdown(true));
        plant.release();
        ended.join().unwrap().unwrap();
    });
    assert_eq!(asked.wait(), Ok(()));
}

/// Returns a scheduler whose modules reserve the processor time of their operations, each of which uses `worst_case` of
/// 100 ms.
fn reserving(
    strategy: Strategy,
    worst_case: u64,
    change: impl FnOnce(&mut ModuleSettings),
) -> RunTimeScheduler {
    let mut rows = table(strategy).operations().to_vec();
    for row in &mut rows {
        row.worst_case = worst_case;
        row.period = 100 * MILLISECOND;
        row.deadline = 100 * MILLISECOND;
    }
    let queues = table(strategy).queues().to_vec();
    let table = DispatchTable::new(DispatchModel::Band, rows, queues).unwrap();
    let mut modules = ModuleSettings::default();
    modules.reserve = true;
    change(&mut modules);
    let mut scheduler = RunTimeScheduler::new(table);
    scheduler.modules = Some(modules);
    scheduler
}

/// Servant that reports the thread of each request, and whether it has reserved processor time.
struct Reserved(Mutex<Sender<(String, bool)>>);

impl Servant for Reserved {
    fn repository_id(&self) -> &str {
        "IDL:plant/Machine:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let thread = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap().send((thread, schedule::is_reserved())).unwrap();
        upcall.done()
    }
}

#[test]
fn modules_that_reserve_processor_time_serve_requests_with_it() {
    let Some(_account) = require_reservations() else {
        return;
    };
    let scheduler = reserving(Strategy::MUF, MILLISECOND, |_| {});
    let server = common::transport::listening().scheduler(scheduler).build().unwrap();
    let (tell, served) = mpsc::channel();
    let servant = Arc::new(Reserved(Mutex::new(tell)));
    let reference = server.root_poa().activate_servant(servant).unwrap();
    let client = common::transport::builder().build().unwrap();
    let object = elsewhere(&client, &reference);
    for (operation, module) in
        [(&WAIT, "oxorb-disp-1"), (&URGENT, "oxorb-disp-0"), (&WAIT, "oxorb-disp-1")]
    {
        call(&object, operation).unwrap();
        assert_eq!(served.recv_timeout(LONG).unwrap(), (module.to_owned(), true));
    }
    // An operation without a row is served by the thread that reads it, which has reserved nothing.
    call(&object, &OTHER).unwrap();
    assert!(!served.recv_timeout(LONG).unwrap().1);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn operations_that_need_more_than_a_processor_keep_the_orb_from_listening() {
    // Under MLF, all five operations have one queue.
    let scheduler = reserving(Strategy::MLF, 30 * MILLISECOND, |_| {});
    let refused = common::transport::listening().scheduler(scheduler).build().unwrap_err();
    let told = refused.to_string();
    let expected = "processor time cannot be reserved for dispatching queue 0: its operations use 150000000 ns of \
                    each 100000000 ns";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn processor_time_that_the_kernel_refuses_keeps_the_orb_from_listening() {
    let Some(_account) = require_reservations() else {
        return;
    };
    // Each of three threads for a processor asks for 45 % of one.
    let threads = 3 * thread::available_parallelism().map_or(1, usize::from);
    let scheduler = reserving(Strategy::MLF, 9 * MILLISECOND, |modules| modules.threads = threads);
    match common::transport::listening().scheduler(scheduler).build() {
        Ok(server) => {
            assert!(!overload_is_refused(), "135 % of each processor were given away");
            server.shutdown(true).unwrap();
        }
        Err(refused) => {
            assert!(overload_is_refused(), "{refused}");
            let told = refused.to_string();
            assert!(told.contains("45ms of each 100ms (45.0 % of a processor)"), "{told}");
        }
    }
}

#[test]
fn waiting_two_way_calls_are_answered() {
    let plant = plant(Strategy::EDF, |_| {});
    thread::scope(|scope| {
        let held = scope.spawn(|| call(&plant.object, &HOLD));
        assert_eq!(plant.next(), "hold");
        let waits = scope.spawn(|| call(&plant.object, &WAIT));
        thread::sleep(Duration::from_millis(10));
        plant.release();
        assert_eq!(held.join().unwrap(), Ok(()));
        assert_eq!(waits.join().unwrap(), Ok(()));
    });
    plant.end();
}

/// R4: a queue with an order is dispatched from a module, even if modules are not configured.
#[test]
fn a_table_whose_queues_have_an_order_is_dispatched_from_modules() {
    let scheduler = RunTimeScheduler::new(table(Strategy::MLF));
    let server = common::transport::listening().scheduler(scheduler).build().unwrap();
    let (tell, served) = mpsc::channel();
    let (_open, gate) = mpsc::channel();
    let machine = Machine { served: Mutex::new(tell), gate: Mutex::new(gate) };
    let reference = server.root_poa().activate_servant(Arc::new(machine)).unwrap();
    let client = common::transport::builder().build().unwrap();
    call(&elsewhere(&client, &reference), &WAIT).unwrap();
    let (operation, thread) = served.recv_timeout(LONG).unwrap();
    assert_eq!((operation.as_str(), thread.as_str()), ("soon", "oxorb-disp-0"));
    server.shutdown(true).unwrap();
}

/// R4: threads of fixed priorities cannot enforce an analysis with full preemption by deadline or laxity.
#[test]
fn a_table_that_is_not_enforced_is_refused_with_the_reason() {
    for (strategy, order) in [(Strategy::EDF, "deadline"), (Strategy::MLF, "laxity")] {
        let table = table_under(strategy, DispatchModel::Urgency);
        let refused = common::transport::builder().scheduler(RunTimeScheduler::new(table)).build();
        let told = refused.unwrap_err().to_string();
        assert!(told.contains(&format!("full preemption by {order} (model urgency)")), "{told}");
    }
    let fixed = table_under(Strategy::DM, DispatchModel::Urgency);
    assert!(common::transport::builder().scheduler(RunTimeScheduler::new(fixed)).build().is_ok());
}
