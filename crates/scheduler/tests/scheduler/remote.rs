//! Typed client: what is loaded is read back.

use oxorb_sched::level::Criticality;
use oxorb_sched::repository::{CallKind, Characteristics, Constraints, InfoType, Repository};
use oxorb_sched::time::MILLISECOND;
use oxorb_scheduler::{Loaded, Remote};

use super::Bench;

fn operations() -> Repository {
    let mut made = Repository::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| made.create(name).unwrap());
    let said = |worst_case, period| Characteristics {
        worst_case: worst_case * MILLISECOND,
        period: period * MILLISECOND,
        criticality: Criticality::VeryHigh,
        ..Characteristics::default()
    };
    made.set(a, said(2, 10)).unwrap();
    made.set(b, said(2, 0)).unwrap();
    let joins = Characteristics { info_type: InfoType::Disjunction, ..said(0, 0) };
    made.set(c, joins).unwrap();
    made.add_dependency(a, b, 3, CallKind::TwoWay).unwrap();
    made.add_dependency(c, a, 1, CallKind::OneWay).unwrap();
    made
}

#[test]
fn what_is_loaded_is_read_and_loading_again_changes_nothing() {
    let bench = Bench::configuration();
    // Create another operation first, so that handles in the service differ from those in `operations()`.
    bench.operation("first", 1, 100_000);
    let remote = Remote::new(bench.scheduler.clone());
    let loaded = remote.load(&operations()).unwrap();
    let expected = Loaded { created: 3, dependencies: 2, ..Loaded::default() };
    assert_eq!(loaded, expected);
    let read = remote.repository().unwrap();
    let names: Vec<_> = read.infos().iter().map(|info| &*info.entry_point).collect();
    assert_eq!(names, ["first", "a", "b", "c"]);
    for info in operations().infos() {
        let handle = read.lookup(&info.entry_point).unwrap();
        let found = read.get(handle).unwrap();
        assert_eq!(found.characteristics, info.characteristics);
        assert_eq!(found.dependencies.len(), info.dependencies.len());
    }
    let again = remote.load(&operations()).unwrap();
    let expected = Loaded { updated: 3, ..Loaded::default() };
    assert_eq!(again, expected);
    assert_eq!(remote.levels(), Ok(None));
    assert_eq!(remote.priority("a"), Ok(None));
    let anomalies = remote.compute(1, 99).unwrap();
    assert_eq!(anomalies, []);
    assert_eq!(remote.priority("a").unwrap().unwrap().os_priority, 99);
    assert_eq!(remote.levels().unwrap().unwrap().len(), 1);
}

#[test]
fn what_stays_behind_is_counted() {
    let bench = Bench::configuration();
    let mut operations = operations();
    let a = operations.lookup("a").unwrap();
    let said = Characteristics {
        constraints: Constraints { deadline: Some(5 * MILLISECOND), ..Constraints::default() },
        ..operations.get(a).unwrap().characteristics
    };
    operations.set(a, said).unwrap();
    let remote = Remote::new(bench.scheduler.clone());
    assert_eq!(remote.load(&operations).unwrap().constrained, 1);
}

#[test]
fn errors_say_what_was_tried() {
    let bench = Bench::configuration();
    let remote = Remote::new(bench.scheduler.clone());
    let refused = remote.compute(9, 1).unwrap_err().to_string();
    assert!(
        refused.starts_with(
            "the scheduling service: cannot compute with priorities from 9 to 1: BAD_PARAM"
        ),
        "{refused}"
    );
    let refused = remote.priority("nobody").unwrap_err().to_string();
    assert!(refused.ends_with("RtecScheduler::UNKNOWN_TASK"), "{refused}");
    bench.server.shutdown(true).unwrap();
    let refused = remote.repository().unwrap_err().to_string();
    assert!(refused.contains("127.0.0.1:"), "{refused}");
}
