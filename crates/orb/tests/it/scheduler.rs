//! The run-time scheduler: the schedule that was analysed is enforced.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::poa::{Poa, Policies, RtPolicies, ThreadPolicy};
use oxorb::policy::{PriorityBandedConnection, Qos};
use oxorb::rt::{
    Priority, PriorityBand, PriorityModel, PriorityModelPolicy, SchedulingClass, current_qos,
};
use oxorb::sched::level::{Criticality, Importance};
use oxorb::sched::repository::Characteristics;
use oxorb::sched::time::MILLISECOND;
use oxorb::sched::{
    DispatchModel, DispatchTable, OsPriorities, Repository, RunTimeScheduler, Schedule, Strategy,
};
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, Upcall};
use oxorb_sys::schedule;
use oxorb_testkit::require_realtime;

use crate::common::{self, call, elsewhere};

static FAST: Op = Op::twoway("fast");
static SLOW: Op = Op::twoway("slow");
static BURN: Op = Op::twoway("burn");
static CALL: Op = Op::twoway("call");
static OTHER: Op = Op::twoway("other");

/// State of a request's thread, as the servant sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    priority: Option<Priority>,
    native: i32,
    qos: Option<Qos>,
}

#[derive(Default)]
struct Machine {
    seen: Mutex<Vec<Seen>>,
    next: Option<ObjectRef>,
}

impl Servant for Machine {
    fn repository_id(&self) -> &str {
        "IDL:acme.com/plant/Machine:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.seen.lock().unwrap().push(Seen {
            priority: upcall.orb().thread_priority(),
            native: schedule::current().unwrap().priority,
            qos: current_qos(),
        });
        match upcall.operation() {
            "burn" => burn(Duration::from_millis(6)),
            "call" => call(self.next.as_ref().unwrap(), &FAST).unwrap(),
            _ => {}
        }
        upcall.done()
    }
}

/// Uses this much processor time.
fn burn(time: Duration) {
    let until = oxorb_sys::clock::thread_cpu() + time;
    while oxorb_sys::clock::thread_cpu() < until {
        std::hint::spin_loop();
    }
}

/// Returns a table of four operations of 1 ms each; the shorter the period, the higher the
/// priority, from 40 down.
fn table() -> DispatchTable {
    let mut repository = Repository::new();
    for (name, period, criticality) in [
        ("fast", 10, Criticality::High),
        ("slow", 100, Criticality::Low),
        ("burn", 40, Criticality::Low),
        ("call", 50, Criticality::Low),
    ] {
        let handle = repository.create(&format!("plant::Machine::{name}")).unwrap();
        let said = Characteristics {
            worst_case: MILLISECOND,
            period: period * MILLISECOND,
            threads: 1,
            criticality,
            importance: Importance::Medium,
            ..Characteristics::default()
        };
        repository.set(handle, said).unwrap();
    }
    let priorities = OsPriorities::range(1, 40).unwrap();
    let (rms, band) = (Strategy::RMS, DispatchModel::Band);
    let schedule = Schedule::compute(&repository, &rms, &band, &priorities).unwrap();
    DispatchTable::from(&schedule)
}

fn scheduler(measure: bool) -> RunTimeScheduler {
    let mut scheduler = RunTimeScheduler::new(table());
    scheduler.measure = measure;
    scheduler
}

fn orb(scheduler: Option<RunTimeScheduler>, class: SchedulingClass) -> Orb {
    let mut builder = common::transport::listening();
    if let Some(scheduler) = scheduler {
        builder = builder.scheduler(scheduler);
    }
    let builder = builder.configure(|options| options.realtime.class = class);
    builder.build().unwrap()
}

fn activate(poa: &Poa, machine: &Arc<Machine>) -> ObjectRef {
    struct Shared(Arc<Machine>);
    impl Servant for Shared {
        fn repository_id(&self) -> &str {
            self.0.repository_id()
        }

        fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
            self.0.dispatch(upcall)
        }
    }
    let reference = poa.activate_servant(Arc::new(Shared(Arc::clone(machine))));
    ObjectRef::from_ref(reference.unwrap())
}

fn last(machine: &Machine) -> Seen {
    *machine.seen.lock().unwrap().last().unwrap()
}

#[test]
fn each_operation_runs_at_its_priority_which_is_undone() {
    if !require_realtime() {
        return;
    }
    let server = orb(Some(scheduler(false)), SchedulingClass::Fifo);
    let client = orb(None, SchedulingClass::Other);
    let machine = Arc::new(Machine::default());
    let object = elsewhere(&client, activate(server.root_poa(), &machine).reference());
    for (op, wanted) in [(&FAST, 40), (&SLOW, 37), (&BURN, 39)] {
        call(&object, op).unwrap();
        let seen = last(&machine);
        assert_eq!(seen.native, wanted, "{}", op.name);
        assert!(seen.priority.is_some());
    }
    // An operation that is not in the table runs at the thread's own priority. It is called over the same connection,
    // and so runs in the same thread.
    call(&object, &OTHER).unwrap();
    let seen = last(&machine);
    assert_eq!((seen.priority, seen.native), (None, 1));
    server.shutdown(true).unwrap();
}

#[test]
fn a_row_goes_before_the_priority_model_and_holds_in_every_sort_of_poa() {
    if !require_realtime() {
        return;
    }
    let server = orb(Some(scheduler(false)), SchedulingClass::Fifo);
    let client = orb(None, SchedulingClass::Other);
    let declared = RtPolicies {
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority: 7,
        }),
        ..RtPolicies::default()
    };
    let sorts = [
        Policies { realtime: declared, ..Policies::default() },
        Policies { thread: ThreadPolicy::SingleThread, ..Policies::default() },
    ];
    for (at, policies) in sorts.into_iter().enumerate() {
        let poa = server.root_poa().create_poa(&format!("poa-{at}"), policies).unwrap();
        poa.manager().activate().unwrap();
        let machine = Arc::new(Machine::default());
        let object = elsewhere(&client, activate(&poa, &machine).reference());
        call(&object, &FAST).unwrap();
        assert_eq!(last(&machine).native, 40, "POA {at}");
    }
    server.shutdown(true).unwrap();
}

#[test]
fn a_client_with_the_table_says_what_its_requests_are_worth() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let server = orb(None, SchedulingClass::Other);
    let client = orb(Some(scheduler(false)), SchedulingClass::Other);
    let machine = Arc::new(Machine::default());
    let object = elsewhere(&client, activate(server.root_poa(), &machine).reference());
    call(&object, &FAST).unwrap();
    let qos = last(&machine).qos.expect("RIOP travels");
    assert_eq!(qos.period, Some(Duration::from_millis(10)));
    assert_eq!(qos.deadline, Some(Duration::from_millis(10)));
    assert_eq!(qos.importance, Importance::Medium as i32);
    let fast = qos.priority.unwrap();
    call(&object, &SLOW).unwrap();
    assert!(last(&machine).qos.unwrap().priority.unwrap() < fast);
    call(&object, &OTHER).unwrap();
    assert_eq!(last(&machine).qos, None, "not in the table");
    server.shutdown(true).unwrap();
}

#[test]
fn a_propagated_priority_is_that_of_the_operation() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let server = orb(None, SchedulingClass::Other);
    let client = orb(Some(scheduler(false)), SchedulingClass::Other);
    let policies = Policies {
        realtime: RtPolicies {
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ClientPropagated,
                server_priority: 0,
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("client", policies).unwrap();
    poa.manager().activate().unwrap();
    let machine = Arc::new(Machine::default());
    let object = elsewhere(&client, activate(&poa, &machine).reference());
    client.set_thread_priority(Priority::MIN).unwrap();
    call(&object, &FAST).unwrap();
    let fast = last(&machine).priority.unwrap();
    call(&object, &SLOW).unwrap();
    assert!(last(&machine).priority.unwrap() < fast);
    assert_eq!(client.thread_priority(), Some(Priority::MIN));
    server.shutdown(true).unwrap();
}

/// The row of an operation selects the lane, and so the connection to it, whatever the caller's priority is.
#[test]
fn the_row_of_an_operation_chooses_its_lane_and_its_connection() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let client = orb(Some(scheduler(false)), SchedulingClass::Other);
    let propagated = |server: &Orb, threadpool| {
        let policies = Policies {
            realtime: RtPolicies {
                threadpool,
                priority_model: Some(PriorityModelPolicy {
                    model: PriorityModel::ClientPropagated,
                    server_priority: 0,
                }),
                ..RtPolicies::default()
            },
            ..Policies::default()
        };
        let poa = server.root_poa().create_poa("lanes", policies).unwrap();
        poa.manager().activate().unwrap();
        let machine = Arc::new(Machine::default());
        let object = elsewhere(&client, activate(&poa, &machine).reference());
        (machine, object)
    };
    // Find out the priorities of the rows from a server without lanes, whose threads take the priority of each request.
    let plain = orb(None, SchedulingClass::Other);
    let (machine, object) = propagated(&plain, None);
    client.set_thread_priority(Priority::MIN).unwrap();
    let [fast, slow] = [&FAST, &SLOW].map(|op| {
        call(&object, op).unwrap();
        last(&machine).priority.unwrap()
    });
    plain.shutdown(true).unwrap();
    let server = orb(None, SchedulingClass::Other);
    let lanes = [slow, fast].map(|priority| oxorb::rt::ThreadpoolLane::new(priority, 1));
    let pool = server.create_threadpool(oxorb::rt::Threadpool::with_lanes(lanes));
    let (machine, object) = propagated(&server, Some(pool.unwrap()));
    for _ in 0..3 {
        for (op, priority) in [(&FAST, fast), (&SLOW, slow)] {
            call(&object, op).unwrap();
            assert_eq!(last(&machine).priority, Some(priority), "{}", op.name);
        }
    }
    let accepted = server.connection_statistics().accepted;
    assert_eq!(accepted, 2, "one connection to each lane");
    // An operation without a row is called at the caller's priority, for which there is no lane.
    assert!(call(&object, &OTHER).is_err());
    server.shutdown(true).unwrap();
}

/// With bands: the row selects the band, the band the connection, and the connection leads to a lane within the
/// band, with a priority different from the row's.
#[test]
fn the_row_of_an_operation_chooses_its_band_its_connection_and_a_lane_within() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let client = orb(Some(scheduler(false)), SchedulingClass::Other);
    let server = orb(None, SchedulingClass::Other);
    let priority = |number| Priority::new(number).unwrap();
    // Find out the priorities of the rows from a server without lanes, whose threads take the priority of each request.
    let (plain, machine) = (orb(None, SchedulingClass::Other), Arc::new(Machine::default()));
    let mut policies = Policies {
        realtime: RtPolicies {
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ClientPropagated,
                server_priority: 0,
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = plain.root_poa().create_poa("plain", policies).unwrap();
    poa.manager().activate().unwrap();
    let object = elsewhere(&client, activate(&poa, &machine).reference());
    client.set_thread_priority(Priority::MIN).unwrap();
    let [fast, slow] = [&FAST, &SLOW].map(|op| {
        call(&object, op).unwrap();
        last(&machine).priority.unwrap().get()
    });
    plain.shutdown(true).unwrap();
    let between = slow + 1;
    assert!(between < fast, "there is room between the bands");
    let above = fast + 100;
    let lanes = [between, above].map(|at| oxorb::rt::ThreadpoolLane::new(priority(at), 1));
    let pool = server.create_threadpool(oxorb::rt::Threadpool::with_lanes(lanes));
    policies.realtime.threadpool = Some(pool.unwrap());
    let poa = server.root_poa().create_poa("bands", policies).unwrap();
    poa.manager().activate().unwrap();
    let object = elsewhere(&client, activate(&poa, &machine).reference());
    let bands =
        [(0, between), (between + 1, above + 1)].map(|(low, high)| PriorityBand { low, high });
    let banded = PriorityBandedConnection::new(&bands).unwrap();
    let object = object.with(banded);
    for _ in 0..3 {
        for (op, lane) in [(&FAST, above), (&SLOW, between)] {
            call(&object, op).unwrap();
            assert_eq!(last(&machine).priority, Some(priority(lane)), "{}", op.name);
        }
    }
    let accepted = server.connection_statistics().accepted;
    assert_eq!(accepted, 2, "one connection for each band");
    // An operation without a row is called at the caller's priority, which is in the lower band.
    call(&object, &OTHER).unwrap();
    assert_eq!(last(&machine).priority, Some(priority(between)));
    assert_eq!(server.connection_statistics().accepted, 2);
    client.set_thread_priority(priority(above + 2)).unwrap();
    assert!(call(&object, &OTHER).is_err(), "no band has it");
    call(&object, &FAST).unwrap();
    assert_eq!(last(&machine).priority, Some(priority(above)));
    server.shutdown(true).unwrap();
}

#[test]
fn what_requests_take_is_measured_and_overruns_are_told() {
    let server = orb(Some(scheduler(true)), SchedulingClass::Other);
    let client = orb(None, SchedulingClass::Other);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    server.observe_connections(move |event| {
        if event.incident == Incident::Overrun {
            tell.lock().unwrap().push(event.peer.clone());
        }
    });
    let machine = Arc::new(Machine::default());
    let object = elsewhere(&client, activate(server.root_poa(), &machine).reference());
    call(&object, &BURN).unwrap();
    call(&object, &FAST).unwrap();
    // The server sends the reply before it reads the clocks for the last time, and counts an overrun after that. On a
    // loaded machine the fast operation may overrun, too.
    let mut measured = Vec::new();
    common::until("both requests are measured", || {
        measured = server.measurements().unwrap();
        [&measured[0], &measured[2]]
            .iter()
            .all(|row| row.cpu.count == 1 && row.overruns == u64::from(row.cpu.max_ns > 1_000_000))
    });
    let [fast, slow, burn, _] = &measured[..] else {
        panic!("{} rows", measured.len());
    };
    assert_eq!(burn.operation, "plant::Machine::burn");
    assert!(burn.cpu.max_ns >= 6_000_000 && burn.response.max_ns >= burn.cpu.max_ns);
    assert_eq!(burn.overruns, 1);
    assert_eq!(slow.cpu.count, 0);
    let overruns = burn.overruns + fast.overruns;
    common::until("the overruns are told", || told.lock().unwrap().len() as u64 >= overruns);
    let mut told = told.lock().unwrap().clone();
    told.retain(|operation| operation != "plant::Machine::fast");
    assert_eq!(told, ["plant::Machine::burn"]);
    server.reset_measurements();
    assert_eq!(server.measurements().unwrap()[2].cpu.count, 0);
    server.shutdown(true).unwrap();
}

#[test]
fn calls_between_operations_make_the_dependency_graph() {
    let server = orb(Some(scheduler(true)), SchedulingClass::Other);
    let callee = Arc::new(Machine::default());
    let next = activate(server.root_poa(), &callee);
    let caller = Arc::new(Machine { next: Some(next), ..Machine::default() });
    let client = orb(None, SchedulingClass::Other);
    let object = elsewhere(&client, activate(server.root_poa(), &caller).reference());
    for _ in 0..3 {
        call(&object, &CALL).unwrap();
    }
    let edges = server.calls_between();
    assert_eq!(edges.len(), 1);
    assert_eq!(edges[0].from, "plant::Machine::call");
    assert_eq!(edges[0].to, "plant::Machine::fast");
    assert!(edges[0].two_way);
    assert_eq!(edges[0].calls, 3);
    server.shutdown(true).unwrap();
}

#[test]
fn without_a_table_nothing_is_measured() {
    let plain = orb(None, SchedulingClass::Other);
    assert!(plain.measurements().is_none() && plain.calls_between().is_empty());
    let silent = orb(Some(scheduler(false)), SchedulingClass::Other);
    assert!(silent.measurements().is_none());
}
