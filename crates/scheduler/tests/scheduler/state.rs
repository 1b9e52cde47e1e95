//! A service that outlives its process.

use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::{
    CallKind, Characteristics, Constraints, Dependency, Enabled, Handle, InfoType,
};
use oxorb_sched::service::Service;
use oxorb_sched::{DispatchModel, Error, Strategy};
use oxorb_scheduler::{Limits, Refusal, Scheduling};

use super::{Folder, rms};

fn open(folder: &Folder, service: Service) -> Result<Scheduling, oxorb_scheduler::Error> {
    Scheduling::open(folder.state(), service, Limits::default())
}

/// Creates operations in which each field has a distinct value, so that no two fields can be
/// confused.
fn fill(service: &mut Service) -> Result<(), Error> {
    let [a, b] = [service.create("a")?, service.create("b")?];
    service.set(
        a,
        Characteristics {
            criticality: Criticality::VeryHigh,
            worst_case: 1_001,
            typical: 1_002,
            cached: 1_003,
            period: 100_004,
            importance: Importance::Medium,
            quantum: 1_005,
            threads: 6,
            info_type: InfoType::RemoteDependant,
            constraints: Constraints {
                deadline: Some(90_007),
                jitter: 8,
                blocking: 9,
                offset: Some(10),
                best_case: 11,
                burst: Some(oxorb_sched::Burst { most: 3, distance: 12 }),
                overrun: Some(1_013),
            },
        },
    )?;
    service.add_dependency(b, a, 11, CallKind::OneWay)?;
    service.add_dependency(b, a, 12, CallKind::OneWay)?;
    service.enable(&[(a, Enabled::NonVolatile)])?;
    service.enable_dependencies(&[Dependency {
        kind: CallKind::OneWay,
        calls: 12,
        dependent: b,
        on: a,
        enabled: Enabled::Disabled,
    }])
}

#[test]
fn everything_is_there_after_a_restart() {
    let folder = Folder::new("restart");
    let scheduling = open(&folder, rms()).unwrap();
    scheduling.change(fill).unwrap();
    let all = |scheduling: &Scheduling| {
        scheduling
            .look(|service| {
                (
                    service.repository().infos().to_vec(),
                    service.levels().map(<[_]>::to_vec),
                    service.range(),
                )
            })
            .unwrap()
    };
    let unscheduled = all(&scheduling);
    drop(scheduling);
    let scheduling = open(&folder, rms()).unwrap();
    assert_eq!(all(&scheduling), unscheduled);
    // The schedule is stored as well. Remove the burst first, because operations that send events must not have bursts.
    let compute = |service: &mut Service| {
        let mut steady = service.repository().infos()[0].characteristics;
        steady.constraints.burst = None;
        service.set(Handle(1), steady)?;
        service.compute(5, 50)
    };
    scheduling.change(compute).unwrap();
    let scheduled = all(&scheduling);
    assert_eq!(scheduled.2, Ok((5, 50)));
    assert!(scheduled.0.iter().all(|info| info.assigned.is_some()));
    drop(scheduling);
    let scheduling = open(&folder, rms()).unwrap();
    assert_eq!(all(&scheduling), scheduled);
    drop(scheduling);
    // A schedule that was computed under another strategy is not restored.
    let other = Service::configuration(Box::new(Strategy::EDF), Box::new(DispatchModel::Band));
    let scheduling = open(&folder, other).unwrap();
    assert_eq!(all(&scheduling).1, Err(Error::NotScheduled));
    assert_eq!(all(&scheduling).0.len(), 2);
}

#[test]
fn what_is_taken_away_stays_away() {
    let folder = Folder::new("away");
    let scheduling = open(&folder, rms()).unwrap();
    scheduling.change(fill).unwrap();
    scheduling
        .change(|service| service.remove_dependency(Handle(2), Handle(1), 11, CallKind::OneWay))
        .unwrap();
    drop(scheduling);
    let scheduling = open(&folder, rms()).unwrap();
    let left = scheduling.look(|service| service.repository().dependencies().count());
    assert_eq!(left, Ok(1));
    scheduling.destroy().unwrap();
    scheduling.change(|service| service.create("c")).unwrap();
    drop(scheduling);
    let scheduling = open(&folder, rms()).unwrap();
    let names = scheduling.look(|service| {
        let infos = service.repository().infos();
        infos.iter().map(|info| info.entry_point.clone()).collect::<Vec<_>>()
    });
    assert_eq!(names.unwrap(), ["c"]);
}

#[test]
fn what_was_done_before_an_error_is_kept() {
    let folder = Folder::new("before");
    let scheduling = open(&folder, rms()).unwrap();
    let refused = scheduling.change(|service| {
        service.create("a")?;
        service.create("a")
    });
    assert_eq!(refused, Err(Refusal::Scheduling(Error::DuplicateName("a".into()))));
    drop(scheduling);
    let scheduling = open(&folder, rms()).unwrap();
    assert_eq!(scheduling.look(|service| service.lookup("a")), Ok(Ok(Handle(1))));
}

#[test]
fn a_file_that_is_in_use_or_none() {
    let folder = Folder::new("in-use");
    let scheduling = open(&folder, rms()).unwrap();
    let refused = open(&folder, rms()).unwrap_err().to_string();
    assert!(
        refused.contains("another process, or this one, already stores schedules in it"),
        "{refused}"
    );
    drop(scheduling);
    for damage in [&b""[..], b"no database", &[0xff; 8192]] {
        let _ = std::fs::remove_file(folder.state());
        std::fs::write(folder.state(), damage).unwrap();
        match open(&folder, rms()) {
            // If an empty file is accepted at all, it must count as a new state.
            Ok(scheduling) => {
                assert!(damage.is_empty());
                assert!(scheduling.look(|service| service.repository().is_empty()).unwrap());
            }
            Err(refused) => assert!(refused.to_string().contains("schedule.redb"), "{refused}"),
        }
    }
}
