//! Configuration runs and run time behind the same interface, destruction of a service, and
//! `ScheduleFaces`.

use oxorb::Interface as _;
use oxorb_sched::service::Service;
use oxorb_scheduler::rtec_base::DependencyTypeT;
use oxorb_scheduler::rtec_scheduler::scheduler::*;
use oxorb_scheduler::{Scheduling, serve};

use oxorb_scheduler::Limits;

use super::{Bench, Folder, rms, set};

#[test]
fn the_same_calls_at_configuration_and_at_run_time() {
    /// Starts an application, in the same way in a configuration run and at run time.
    fn start(bench: &Bench, names: &[&str]) -> Result<(), RecomputeSchedulingError> {
        for (at, name) in names.iter().enumerate() {
            let handle = bench.scheduler.create(name).unwrap();
            set(&bench.scheduler, handle, 10, 100 * (at as i32 + 1)).unwrap();
            bench.scheduler.add_dependency(handle, handle, 1, DependencyTypeT::OneWayCall).unwrap();
            let _ =
                bench.scheduler.remove_dependency(handle, handle, 1, DependencyTypeT::OneWayCall);
        }
        bench.scheduler.recompute_scheduling(1, 99).map(|_| ())
    }
    let configuration = Bench::configuration();
    start(&configuration, &["a", "b"]).unwrap();
    let table = configuration.scheduling.look(Service::table).unwrap().unwrap();

    let run_time = Bench::new(Service::run_time(table).unwrap());
    // Computing fails if an analysed operation was not created.
    assert!(matches!(
        start(&run_time, &["a"]),
        Err(RecomputeSchedulingError::TaskCountMismatch(_))
    ));
    // Creating an operation that was not analysed fails.
    assert!(matches!(run_time.scheduler.create("c"), Err(CreateError::Internal(_))));
    start(&run_time, &["a", "b"]).unwrap();
    assert_eq!(run_time.scheduler.entry_point_priority("b"), Ok((98, 0, 1)));
    assert_eq!(run_time.scheduler.get_config_infos(), configuration.scheduler.get_config_infos());
    // At run time, `set` succeeds but changes nothing.
    set(&run_time.scheduler, 1, 7, 7).unwrap();
    assert_eq!(run_time.scheduler.get(1).unwrap().period, 100);
    // Thread priority 99, which the table needs, is not available any more.
    assert!(matches!(
        run_time.scheduler.recompute_scheduling(1, 98),
        Err(RecomputeSchedulingError::InsufficientThreadPriorityLevels(_))
    ));
    let folder = Folder::new("run-time");
    let table = configuration.scheduling.look(Service::table).unwrap().unwrap();
    let refused =
        Scheduling::open(folder.state(), Service::run_time(table).unwrap(), Limits::default());
    assert!(refused.unwrap_err().to_string().contains("table of the run-time service is fixed"));
}

#[test]
fn destroy_leaves_nothing() {
    let folder = Folder::new("destroy");
    let open = || Scheduling::open(folder.state(), rms(), Limits::default()).unwrap();
    let scheduling = open();
    let bench = Bench::of(scheduling.clone());
    bench.operation("a", 10, 100);
    bench.scheduler.recompute_scheduling(1, 99).unwrap();
    bench.served.clone().destroy(&scheduling).unwrap();
    assert_eq!(bench.scheduler.non_existent(), Ok(true));
    // The same ORB may serve the schedule again, under the same names.
    let again = serve(&bench.server, &scheduling).unwrap();
    let scheduler = bench
        .client
        .resolve::<oxorb_scheduler::rtec_scheduler::SchedulerRef>(&again.scheduler().to_ior())
        .unwrap();
    assert_eq!(scheduler.get_rt_info_set(), Ok(vec![]));
    assert_eq!(scheduler.create("a"), Ok(1));
    scheduling.destroy().unwrap();
    drop(bench);
    drop((again, scheduling));
    let left = open();
    assert!(left.look(|service| service.repository().is_empty()).unwrap());
}

/// Counts of a schedule, and one RT_Info as seen by its declarer and by its dispatcher.
#[test]
fn counts_and_faces_of_an_info() {
    use oxorb_scheduler::schedule_faces::schedule_faces::{AssignedError, DeclaredError};
    use oxorb_scheduler::schedule_faces::{ScheduleCounts, ScheduleFacesRef};
    let bench = Bench::configuration();
    let url = super::url(bench.served.scheduler(), oxorb_scheduler::FACES_KEY);
    let faces: ScheduleFacesRef = bench.client.resolve(&url).unwrap();
    assert_eq!(faces.operations(), Ok(0));
    let fast = bench.operation("fast", 10, 100);
    let slow = bench.operation("slow", 20, 400);
    bench.scheduler.add_dependency(slow, fast, 1, DependencyTypeT::OneWayCall).unwrap();
    let before =
        ScheduleCounts { operations: 2, enabled: 2, threads: 2, dependencies: 1, levels: 0 };
    assert_eq!(faces.counts(), Ok(before));
    assert!(matches!(faces.assigned("fast"), Err(AssignedError::NotScheduled(_))));
    assert!(matches!(faces.assigned("none"), Err(AssignedError::NoOperation(_))));
    assert!(matches!(faces.declared("none"), Err(DeclaredError::NoOperation(_))));
    bench.scheduler.recompute_scheduling(1, 99).unwrap();
    // Events from "fast" make "slow" run at the same rate, so that both operations share a queue.
    assert_eq!(faces.counts().unwrap().levels, 1);
    assert_eq!(bench.scheduler.get_config_infos().unwrap().len(), 1);
    assert_eq!(faces.threads(), Ok(2));
    let declared = faces.declared("slow").unwrap();
    // `declared` returns nanoseconds; the operation was created with times in units of 100 ns.
    assert_eq!((declared.worst_case, declared.period), (2_000, 40_000));
    assert_eq!((declared.handle, declared.dependencies, declared.enabled), (slow, 1, true));
    let assigned = faces.assigned("slow").unwrap();
    assert_eq!(
        (assigned.os_priority, assigned.subpriority, assigned.preemption_priority),
        bench.scheduler.entry_point_priority("slow").unwrap()
    );
}

/// Clients cannot change a service that is served read-only.
#[test]
fn a_read_only_service_refuses_every_change() {
    let server = oxorb::Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = Scheduling::new(rms());
    let created = scheduling.change(|service| service.create("a")).unwrap();
    let served = oxorb_scheduler::serve_read_only(&server, &scheduling).unwrap();
    let client = oxorb::Orb::builder().build().unwrap();
    let scheduler: oxorb_scheduler::rtec_scheduler::SchedulerRef =
        client.resolve(&served.scheduler().to_ior()).unwrap();
    assert_eq!(scheduler.lookup("a"), Ok(created.0));
    match scheduler.create("b") {
        Err(CreateError::System(error)) => {
            assert_eq!(error.minor, oxorb::minor::no_permission::READ_ONLY);
        }
        other => panic!("{other:?}"),
    }
    assert!(set(&scheduler, created.0, 1, 10).is_err());
    assert!(scheduler.recompute_scheduling(1, 99).is_err());
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
