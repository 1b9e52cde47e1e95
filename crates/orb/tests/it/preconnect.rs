//! Connections opened before the first call (`-ORBPreconnect`).

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use oxorb::rt::{PriorityModel, PriorityModelPolicy};
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, ObjectRef, Orb, SetupError};
use oxorb_object::RtPolicyValue;
use oxorb_rt::Priority;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::lanes::Lanes;
use crate::common::*;

const PRIORITIES: [i16; 3] = [10, 20, 30];

/// Returns a server with three lanes, and the reference of an object on it.
fn lanes() -> (Lanes, String) {
    let server = Lanes::start(&PRIORITIES);
    let reader = client(ClientConnections::Cached);
    let propagated = RtPolicyValue::Model(PriorityModelPolicy {
        model: PriorityModel::ClientPropagated,
        server_priority: 0,
    });
    let ior = server.object(&reader, &[propagated]).to_ior();
    reader.shutdown(true).unwrap();
    (server, ior)
}

fn until_accepted(server: &Lanes, connections: usize) {
    while server.accepted.load(Ordering::SeqCst) < connections {
        thread::sleep(Duration::from_millis(1));
    }
}

fn ping_all(orb: &Orb, object: &ObjectRef) {
    for priority in PRIORITIES {
        orb.set_thread_priority(Priority::new(priority).unwrap()).unwrap();
        assert_eq!(ping(object, 1), Ok(7));
    }
}

#[test]
fn no_call_connects_after_the_orb_has() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let (server, ior) = lanes();
        let client = transport::builder()
            .client_connections(sharing)
            .init_ref("Radar", &ior)
            .args(["-ORBPreconnect", "Radar"].map(String::from))
            .build()
            .unwrap();
        until_accepted(&server, PRIORITIES.len());
        server.seen();
        let object = client.resolve_initial_references("Radar").unwrap();
        ping_all(&client, &object);
        let used = server.seen();
        assert!(used.iter().all(|one| one.operation == "ping"), "{used:?}");
        let accepted = || server.accepted.load(Ordering::SeqCst);
        assert_eq!(accepted(), PRIORITIES.len(), "{sharing:?}");

        // If connections are private, another thread has its own.
        thread::scope(|scope| {
            scope.spawn(|| {
                client.preconnect().unwrap();
                let before = accepted();
                ping_all(&client, &object);
                assert_eq!(accepted(), before, "{sharing:?}");
            });
        });
        let all = match sharing {
            ClientConnections::Private => 2 * PRIORITIES.len(),
            _ => PRIORITIES.len(),
        };
        assert_eq!(accepted(), all, "{sharing:?}");
        client.shutdown(true).unwrap();
    }
}

/// Asynchronous calls have separate shared connections if those of other calls are private or
/// cached; they are opened in advance, too.
#[test]
fn connections_of_asynchronous_calls_are_there_ahead_too() {
    let _guard = watchdog(LONG);
    for sharing in common::UNSHARED {
        let (server, ior) = lanes();
        let client = transport::builder()
            .client_connections(sharing)
            .preconnect(&ior)
            .setting("PreconnectAsynchronous", "1")
            .build()
            .unwrap();
        let accepted = || server.accepted.load(Ordering::SeqCst);
        until_accepted(&server, 2 * PRIORITIES.len());
        let object: ObjectRef = client.resolve(&ior).unwrap();
        ping_all(&client, &object);
        for priority in PRIORITIES {
            let priority = Priority::new(priority).unwrap();
            client.set_thread_priority(priority).unwrap();
            assert_eq!(common::ping_async(&object, 1).wait(), Ok(7));
        }
        assert_eq!(accepted(), 2 * PRIORITIES.len(), "{sharing:?}");
        client.shutdown(true).unwrap();
    }
}

#[test]
fn several_objects_are_named_by_builder_argument_and_file() {
    let _guard = watchdog(LONG);
    let servers = [(); 4].map(|()| lanes());
    let [first, second, third, fourth] = servers.each_ref().map(|(_, ior)| ior.clone());
    let file = std::env::temp_dir().join(format!("oxorb-preconnect-{}.toml", std::process::id()));
    std::fs::write(&file, format!("[orb]\nPreconnect = [\"{first}\"]\n")).unwrap();
    let client = transport::builder()
        .config_file(&file)
        .preconnect(&second)
        .setting("Preconnect", &format!("{third}; {fourth}"))
        .build();
    std::fs::remove_file(&file).unwrap();
    for (server, _) in &servers {
        until_accepted(server, PRIORITIES.len());
    }
    client.unwrap().shutdown(true).unwrap();
}

#[test]
fn what_cannot_be_reached_is_named_when_the_orb_is_made() {
    let _guard = watchdog(LONG);
    let place = transport::free_place().address;
    let nobody = transport::url(&[&place], "Radar");
    let failed = |builder: oxorb::Builder| {
        let error = builder.build().unwrap_err();
        assert!(matches!(error, SetupError::Preconnect(_)), "{error}");
        error.to_string()
    };
    let builder = || transport::builder().init_ref("Radar", &nobody);
    let refused = failed(builder().preconnect("Radar"));
    assert!(nobody_listens(&refused), "{refused}");
    for part in ["\"Radar\"", place.for_people(), "-ORBPreconnect"] {
        assert!(refused.contains(part), "{part} is not in {refused}");
    }
    let unknown = failed(builder().preconnect("Sonar"));
    assert!(unknown.contains("no initial reference \"Sonar\""), "{unknown}");
    let nonsense = failed(builder().preconnect("corbaloc:nonsense"));
    assert!(nonsense.contains("corbaloc:nonsense"), "{nonsense}");

    let server = server(oxorb::settings::Concurrency::ThreadPerConnection);
    let object = pinger(&server, &server).to_ior();
    let live = transport::builder().preconnect(&object).build().unwrap();
    live.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
