//! Object lookup costs the same with one and with a hundred POAs. The test counts instructions, not time; a
//! linear search fails the same gate.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the instructions counted are those by which a request
//! finds its object.

use std::sync::Arc;

use oxorb::poa::{IdAssignment, Lifespan, Lookup, ObjectId, Policies};
use oxorb::{Interface, ObjectRef, Orb};

use oxorb_testkit::process::test_name;

use crate::common::{Pinger, ping};

/// Environment variable that is set in the counted process: kind of ids, numbers of objects and POAs, and number of
/// calls.
const COUNTED: &str = "OXORB_TEST_DEMUX";

/// Numbers of calls in two runs, whose difference is free of the cost of starting and ending.
const FEW: usize = 200;
const MANY: usize = 700;

#[derive(Clone, Copy)]
struct Shape {
    /// `system`, `user`, `persistent` or `linear`.
    ids: &'static str,
    objects: usize,
    poas: usize,
}

/// Runs the calls in the counted process; does nothing in any other.
#[test]
fn counted() {
    let Ok(wanted) = std::env::var(COUNTED) else {
        return;
    };
    let mut words = wanted.split(':');
    let ids = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<usize>().unwrap();
    let (objects, poas, calls) = (number(), number(), number());
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let policies = Policies {
        id_assignment: match ids {
            "system" => IdAssignment::System,
            _ => IdAssignment::User,
        },
        lifespan: match ids {
            "persistent" => Lifespan::Persistent,
            _ => Lifespan::Transient,
        },
        lookup: match ids {
            "system" => Lookup::Active,
            "linear" => Lookup::Linear,
            _ => Lookup::Hash,
        },
        id_uniqueness: oxorb::poa::IdUniqueness::Multiple,
        ..Policies::default()
    };
    let pinger: Arc<dyn oxorb::Servant> = Arc::new(Pinger::default());
    let mut last = None;
    for poa in 0..poas {
        let poa = orb.root_poa().create_poa(&format!("poa-{poa}"), policies);
        let poa = poa.unwrap();
        poa.manager().activate().unwrap();
        for object in 0..objects / poas {
            let servant = Arc::clone(&pinger);
            last = Some(match ids {
                "system" => poa.activate_servant(servant).unwrap(),
                _ => {
                    let id = ObjectId::from(format!("object-{object}").as_str());
                    poa.activate_servant_with_id(&id, servant).unwrap()
                }
            });
        }
    }
    let object = ObjectRef::from_ref(last.unwrap());
    for call in 0..calls as i64 {
        assert_eq!(ping(&object, call), Ok(call + 1));
    }
    orb.shutdown(true).unwrap();
}

/// Returns the instructions of the whole process; `None` without valgrind, or a failure if `OXORB_REQUIRE_TOOLS`
/// requires it.
fn instructions(shape: Shape, calls: usize) -> Option<u64> {
    let Shape { ids, objects, poas } = shape;
    let wanted = format!("{ids}:{objects}:{poas}:{calls}");
    oxorb_testkit::instructions(test_name(counted), COUNTED, &wanted)
}

/// Returns the instructions of one call.
fn cost(ids: &'static str, objects: usize, poas: usize) -> Option<f64> {
    let shape = Shape { ids, objects, poas };
    let few = instructions(shape, FEW)?;
    let many = instructions(shape, MANY)?;
    Some(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
}

/// Tolerance with many objects: longer ids and keys, and the variation of hashing.
const SLACK: f64 = 1.2;

#[test]
#[ignore = "minutes under valgrind: .ci/full valgrind"]
fn finding_a_poa_costs_the_same_among_any_number() {
    for ids in ["system", "persistent"] {
        let Some(one) = cost(ids, 1, 1) else {
            return;
        };
        let among = cost(ids, 100, 100).unwrap();
        assert!(
            among <= one * SLACK,
            "{ids} ids: {among} instructions among 100 POAs, {one} alone"
        );
    }
}

/// Checks that the comparison detects a lookup whose cost grows.
#[test]
#[ignore = "minutes under valgrind: .ci/full valgrind"]
fn a_linear_search_is_seen() {
    let Some(one) = cost("linear", 1, 1) else {
        return;
    };
    let among = cost("linear", 200, 1).unwrap();
    assert!(among > one * SLACK, "{among} instructions, {one} alone");
}
