//! Access rules and limits of a gateway, and peers that violate the protocol: none of them reaches a server inside.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use oxorb::config::GatewayFile;
use oxorb::dynamic::{Dynamic, Signature, invoke};
use oxorb::gateway::{Gateway, GatewaySettings, Side};
use oxorb::incident::Incident;
use oxorb::servant::Context;
use oxorb::{CompletionStatus, Interface as _, Orb, SystemExceptionKind, minor};
use oxorb_bridge_tests::parts::PartRef;
use oxorb_testkit::hostile::{Attack, Attacker};
use oxorb_testkit::process::{rerun, test_name};
use oxorb_testkit::{until, watchdog};

use crate::bridge::{LONG, TCP, listening, parts, serve};
use crate::gateway::{
    ECHO, Echoing, call, calling_back, end, port, resolve, settings, start, target, waiting,
};

/// Rules that allow one operation of the interface of the target.
const RULES: &str = r#"
[outside.access]
default = "deny"

[[outside.access.rule]]
allow = "all"
interface = "IDL:Parts/Part:1.0"
operation = "noted"

[[outside.access.rule]]
allow = "all"
interface = "IDL:Parts/Listener:1.0"
"#;

#[test]
fn access_rules_apply_to_the_interface_of_the_target() {
    let _guard = watchdog(LONG);
    let (server, there) = serve(listening(TCP));
    let file = GatewayFile::parse(RULES, "gateway.toml").unwrap();
    let settings = GatewaySettings { interfaces: parts(), ..settings() };
    let gateway = Gateway::new(file.outside().listen(TCP), listening(TCP), settings).unwrap();
    gateway.open("Target", &there.to_ior()).unwrap();
    gateway.listen().unwrap();
    let client = Orb::builder().build().unwrap();
    let part: PartRef = client.resolve(&target(&gateway).to_string()).unwrap();
    assert_eq!(part.noted().unwrap(), 0);
    part.note("a oneway that is dropped").unwrap();
    let refused = part.sum(&[1.0]).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::NoPermission);
    assert_eq!(refused.minor, minor::no_permission::ACCESS_RULES);
    assert_eq!(refused.completed, CompletionStatus::No);
    assert_eq!(part.noted().unwrap(), 0);
    assert_eq!(gateway.statistics().answered, 2, "the others were not forwarded");
    let outside = gateway.orb(Side::Outside);
    until("both requests are denied", || {
        outside.connection_statistics().count(Incident::RequestDenied) == 2
    });
    end(&gateway, &[&client, &server]);
}

/// Slow calls of one client would otherwise use up the connections that a server accepts from the gateway.
#[test]
fn running_requests_of_a_client_are_limited_by_default_and_by_the_file() {
    for (file, most) in [("", Some(128)), ("[outside.orb]\nMaxRequestsPerClient = 7\n", Some(7))] {
        let file = GatewayFile::parse(file, "gateway.toml").unwrap();
        let orb = file.outside().build().unwrap();
        assert_eq!(orb.options().max_requests_per_client, most);
        orb.shutdown(true).unwrap();
        let orb = file.inside().build().unwrap();
        assert_eq!(orb.options().max_requests_per_client, None);
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn the_environment_changes_the_default_limit_of_running_requests() {
    const VARIABLE: &str = "OXORB_MAXREQUESTSPERCLIENT";
    if std::env::var_os(VARIABLE).is_none() {
        let test = test_name(the_environment_changes_the_default_limit_of_running_requests);
        let output = rerun(test).env(VARIABLE, "9").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let orb = GatewayFile::parse("", "gateway.toml").unwrap().outside().build().unwrap();
    assert_eq!(orb.options().max_requests_per_client, Some(9));
    orb.shutdown(true).unwrap();
}

#[test]
fn running_requests_of_a_client_are_limited() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let (servant, has_entered, release) = waiting();
    let there = server.root_poa().activate_servant(Arc::new(servant)).unwrap();
    let outside = listening(TCP).setting("MaxRequestsPerClient", "1");
    let gateway = Gateway::new(outside, listening(TCP), settings()).unwrap();
    gateway.open("Target", &there.ior().to_string()).unwrap();
    gateway.listen().unwrap();
    let clients = [(); 3].map(|()| Orb::builder().build().unwrap());
    let wait = |client: &Orb| {
        let object = resolve(client, &target(&gateway));
        thread::spawn(move || invoke(&object, &Signature::new("wait"), &[], &Context::new()))
    };
    let running = wait(&clients[0]);
    has_entered.recv_timeout(LONG / 2).unwrap();
    // All clients of this test have one address.
    for other in &clients[1..] {
        let refused = wait(other).join().unwrap().unwrap_err().to_system();
        assert_eq!(refused.kind, SystemExceptionKind::Transient, "{refused}");
        assert_eq!(refused.completed, CompletionStatus::No, "{refused}");
        assert!(has_entered.try_recv().is_err(), "the server is not called");
    }
    release.send(()).unwrap();
    assert!(running.join().unwrap().is_ok());
    until("a further request is served", || {
        release.send(()).unwrap();
        wait(&clients[0]).join().unwrap().is_ok()
    });
    gateway.shutdown().unwrap();
    for orb in clients.iter().chain([&server]) {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn messages_that_are_too_long_end_at_the_gateway() {
    let _guard = watchdog(LONG);
    let (server, there) = serve(listening(TCP));
    let outside = listening(TCP).setting("MaxMessage", "100000");
    let gateway = Gateway::new(outside, listening(TCP), settings()).unwrap();
    gateway.open("Target", &there.to_ior()).unwrap();
    gateway.listen().unwrap();
    let client = Orb::builder().build().unwrap();
    let part: PartRef = client.resolve(&target(&gateway).to_string()).unwrap();
    assert_eq!(part.echo(&[7; 1000]).unwrap(), [7; 1000]);
    assert!(part.echo(&vec![7; 1_000_000]).is_err());
    assert_eq!(gateway.statistics().answered, 1);
    assert_eq!(part.noted().unwrap(), 0);
    end(&gateway, &[&client, &server]);
}

#[test]
fn hostile_peers_reach_no_server_and_harm_no_client() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &server.ior.to_string());
    let client = Orb::builder().build().unwrap();
    let echo = resolve(&client, &target(&gateway));
    let text = Dynamic::String("words".into());
    assert_eq!(call(&echo, "text", text.clone()).unwrap(), text);
    let at = SocketAddr::from(([127, 0, 0, 1], port(&target(&gateway))));
    let mut attackers = Vec::new();
    for attack in Attack::ALL {
        attackers.push(Attacker::start(at, attack));
        assert_eq!(call(&echo, "text", text.clone()).unwrap(), text, "{attack:?}");
    }
    drop(attackers);
    let calls = 1 + Attack::ALL.len();
    assert_eq!(gateway.statistics().answered, calls as u64);
    assert_eq!(server.seen.lock().unwrap().len(), calls);
    end(&gateway, &[&client, &server.orb]);
}

#[test]
fn a_loop_through_another_name_of_the_gateways_host_ends() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    // The gateway does not publish this name of its host, so it does not recognize its own address.
    let outside = listening(TCP).setting("MaxConnectionsPerClient", "10");
    let gateway = Gateway::new(outside, listening(TCP), settings()).unwrap();
    gateway.open("Target", &server.ior.to_string()).unwrap();
    gateway.listen().unwrap();
    let here = target(&gateway);
    let url = format!("corbaloc::1.2@localhost:{}/Loop", port(&here));
    gateway.open_as("Loop", &url, ECHO).unwrap();
    let client = Orb::builder().build().unwrap();
    let text = Dynamic::String("round".into());
    let object = gateway.reference("Loop").unwrap();
    let looped = resolve(&client, object.reference().ior());
    for _ in 0..3 {
        assert!(call(&looped, "text", text.clone()).is_err());
    }
    assert_eq!(call(&resolve(&client, &here), "text", text.clone()).unwrap(), text);
    end(&gateway, &[&client, &server.orb]);
}
