//! Connection lookup costs the same with eight and with two hundred connections. The test counts instructions,
//! not time.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the instructions counted are those by which a call
//! chooses its connection.

use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::{PriorityBand, PriorityBandedConnection, PrivateConnection};
use oxorb::rt::{PriorityModel, PriorityModelPolicy};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface, ObjectRef, Orb};
use oxorb_rt::Priority;
use oxorb_testkit::instructions;
use oxorb_testkit::process::test_name;

use crate::common::*;

/// Environment variable that is set in the counted process: sharing strategy, number of connections, and number of
/// calls.
const COUNTED: &str = "OXORB_TEST_CONNECTIONS";

const ALONE: usize = 8;
const AMONG: usize = 200;

/// Numbers of calls in two runs, whose difference is free of the cost of starting and ending.
const FEW: usize = 200;
const MANY: usize = 500;

/// Tolerance for costs outside of connection lookup: the ready list of the server's poller, and pages.
const SLACK: f64 = 1.2;

/// Calls over many connections in turn, so that each call uses the connection that has idled
/// longest.
#[test]
fn counted() {
    let Ok(wanted) = std::env::var(COUNTED) else {
        return;
    };
    let mut words = wanted.split(':');
    let sharing = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<usize>().unwrap();
    let (connections, calls) = (number(), number());
    let server = server(Concurrency::Reactive);
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
    let poa = server.root_poa().create_poa("propagated", policies);
    let poa = poa.unwrap();
    poa.manager().activate().unwrap();
    let client = Orb::builder()
        .client_connections(match sharing {
            "private" => ClientConnections::Private,
            _ => ClientConnections::Cached,
        })
        .configure(|options| options.max_idle_connections = AMONG)
        .build()
        .unwrap();
    let pinger = poa.activate_servant(std::sync::Arc::new(Pinger::default()));
    let pinger = pinger.unwrap();
    client.set_thread_priority(Priority::new(0).unwrap()).unwrap();
    let objects: Vec<ObjectRef> = (0..connections)
        .map(|number| match sharing {
            "private" => elsewhere(&client, &pinger).with(PrivateConnection),
            _ => elsewhere(&client, &pinger).with(band(number)),
        })
        .collect();
    for (call, object) in (0..calls as i64).zip(objects.iter().cycle()) {
        assert_eq!(ping(object, call), Ok(call + 1));
    }
    end(&client, &server);
}

/// Returns a different band for each number.
fn band(number: usize) -> PriorityBandedConnection {
    let high = i16::try_from(number).unwrap();
    PriorityBandedConnection::new(&[PriorityBand { low: 0, high }]).unwrap()
}

fn end(client: &Orb, server: &Orb) {
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Returns the instructions of one call; `None` where they cannot be counted.
fn cost(sharing: &str, connections: usize) -> Option<f64> {
    let run = |calls| {
        instructions(test_name(counted), COUNTED, &format!("{sharing}:{connections}:{calls}"))
    };
    let (few, many) = (run(FEW)?, run(MANY)?);
    Some(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
}

#[test]
#[ignore = "minutes under valgrind: .ci/full valgrind"]
fn a_call_finds_its_connection_among_any_number_at_the_same_cost() {
    for sharing in ["private", "cached"] {
        let Some(alone) = cost(sharing, ALONE) else {
            return;
        };
        let among = cost(sharing, AMONG).unwrap();
        println!("{sharing}: {alone} among {ALONE}, {among} among {AMONG}");
        assert!(
            among <= alone * SLACK,
            "{sharing}: {among} instructions among {AMONG} connections, {alone} among {ALONE}"
        );
    }
}
