//! Whole ORBs over TLS, as used by applications.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::poa::RtPolicies;
use oxorb::rt::{PriorityModel, PriorityModelPolicy, Threadpool};
use oxorb::{
    Builder, CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::watchdog;

static PING: Op = Op::twoway("ping");

#[derive(Default)]
struct Pinger(AtomicU64);

impl Servant for Pinger {
    fn repository_id(&self) -> &str {
        "IDL:test/Pinger:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let count = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        upcall.reply(|e| {
            e.ulonglong(count);
            Ok(())
        })
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn ping(object: &ObjectRef) -> Result<u64, SystemException> {
    object.reference().invoke(&PING, |_| Ok(()), |d| d.ulonglong())
}

fn build(builder: Builder) -> Orb {
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

struct Parties {
    authority: Authority,
    server: Box<dyn Fn(&str) -> Builder>,
    client: Box<dyn Fn() -> Builder>,
}

fn parties() -> Parties {
    let authority = Authority::new("Test CA");
    let file = |path: std::path::PathBuf| path.display().to_string();
    let (roots, server) = (file(authority.roots()), file(authority.sign("server", &["127.0.0.1"])));
    let client = file(authority.sign("alice", &[]));
    let trusting = {
        let roots = roots.clone();
        move || Orb::builder().setting("TlsRoots", &roots)
    };
    Parties {
        server: Box::new({
            let trusting = trusting.clone();
            move |endpoints| trusting().setting("TlsCertificate", &server).listen(endpoints)
        }),
        client: Box::new(move || trusting().setting("TlsCertificate", &client)),
        authority,
    }
}

/// Returns an object of a server as a client sees it.
fn seen(server: &Orb, client: &Orb) -> ObjectRef {
    let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    client.string_to_object(&local.to_string()).unwrap()
}

fn text(object: &ObjectRef) -> String {
    object.reference().ior().to_string()
}

fn places(object: &ObjectRef) -> String {
    oxorb::ior::corbaloc(object.reference().ior()).unwrap_or_default()
}

#[test]
fn a_first_ping() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let (server, client) = (build(server("iiops://127.0.0.1:0")), build(client()));
    let object = seen(&server, &client);
    for count in 1..=3 {
        assert_eq!(ping(&object), Ok(count));
    }
    // A client without trusted authorities cannot call, and a plain one finds no address.
    let blind = build(Orb::builder());
    let object = blind.string_to_object(&text(&object)).unwrap();
    let error = ping(&object).unwrap_err();
    assert_eq!(error.completed, CompletionStatus::No, "{error}");
    for orb in [&blind, &client, &server] {
        orb.shutdown(true).unwrap();
    }
    drop(authority);
}

#[test]
fn urls_lead_there() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let (server, client) = (build(server("iiops://127.0.0.1:0")), build(client()));
    let url = places(&seen(&server, &client));
    let rest = url.strip_prefix("corbaloc:iiops:1.2@127.0.0.1:").unwrap_or_else(|| panic!("{url}"));
    for word in ["iiops", "ssliop"] {
        let object = client.string_to_object(&format!("corbaloc:{word}:127.0.0.1:{rest}")).unwrap();
        assert!(ping(&object).is_ok());
    }
    server.shutdown(true).unwrap();
    client.shutdown(true).unwrap();
    drop(authority);
}

#[test]
fn beside_a_plain_port_who_trusts_somebody_takes_tls() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let server = build(server("iiop://127.0.0.1:0;iiops://127.0.0.1:0"));
    let object = seen(&server, &server);
    assert_eq!(object.reference().ior().profiles.len(), 1, "one profile tells of both");
    let called_over = |client: &Orb| {
        let object = client.string_to_object(&text(&object)).unwrap();
        ping(&object).unwrap();
        let threads = format!("{:?}", client.connection_statistics());
        drop(threads);
        client.shutdown(true).unwrap();
    };
    called_over(&build(client()));
    called_over(&build(Orb::builder()));
    called_over(&build(client().setting("SecureOnly", "yes")));
    server.shutdown(true).unwrap();
    drop(authority);
}

#[test]
fn who_must_show_a_certificate_and_does_not_is_told() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let server = build(server("iiops://127.0.0.1:0").setting("TlsClients", "required"));
    let roots = authority.roots().display().to_string();
    let stranger = build(Orb::builder().setting("TlsRoots", &roots));
    let object = seen(&server, &stranger);
    let error = ping(&object).unwrap_err();
    assert_eq!(error.kind, SystemExceptionKind::Transient, "{error}");
    assert_eq!(error.completed, CompletionStatus::No, "nobody read the request");
    assert!(error.to_string().contains("it requires a certificate"), "{error}");
    assert!(server.connection_statistics().count(Incident::HandshakeRefused) > 0);

    let known = build(client());
    assert_eq!(ping(&seen(&server, &known)), Ok(1));
    for orb in [&stranger, &known, &server] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn secure_only_neither_publishes_nor_uses_a_plain_address() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let plain = build(Orb::builder().listen("iiop://127.0.0.1:0"));
    let strict = build(client().setting("SecureOnly", "yes"));
    let error = ping(&seen(&plain, &strict)).unwrap_err();
    assert_eq!(error.completed, CompletionStatus::No, "{error}");
    let error = server("iiop://127.0.0.1:0").setting("SecureOnly", "yes").build().err().unwrap();
    assert!(error.to_string().contains("SecureOnly yes permits only protocols"), "{error}");

    // A server with SecureOnly can listen over TLS.
    let strict_server = build(server("iiops://127.0.0.1:0").setting("SecureOnly", "yes"));
    let object = seen(&strict_server, &strict);
    assert!(places(&object).starts_with("corbaloc:iiops:"), "{}", places(&object));
    assert_eq!(ping(&object), Ok(1));
    for orb in [&plain, &strict, &strict_server] {
        orb.shutdown(true).unwrap();
    }
    drop(authority);
}

#[test]
fn every_architecture_serves_it() {
    let _bound = watchdog(Duration::from_secs(120));
    let Parties { authority, server, client } = parties();
    for concurrency in
        ["thread-per-connection", "reactive", "leader-followers:2", "worker-pool:2:16"]
    {
        for connections in ["private", "cached", "multiplexed", "leader-followers"] {
            let server = server("iiops://127.0.0.1:0").setting("Concurrency", concurrency);
            let server = build(server);
            let client = build(client().setting("ClientConnections", connections));
            let object = seen(&server, &client);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..50).for_each(|_| assert!(ping(&object).is_ok())));
                }
            });
            client.shutdown(true).unwrap();
            server.shutdown(true).unwrap();
        }
    }
    drop(authority);
}

#[test]
fn lanes_listen_at_ports_of_their_own() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let (server, client) = (build(server("iiops://127.0.0.1:0")), build(client()));
    let lanes = [10, 20].map(|priority| {
        let priority = oxorb::rt::Priority::new(priority).unwrap();
        oxorb::rt::ThreadpoolLane::new(priority, 1)
    });
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let policies = oxorb::poa::Policies {
        realtime: RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ClientPropagated,
                server_priority: 10,
            }),
            ..RtPolicies::default()
        },
        ..oxorb::poa::Policies::default()
    };
    let poa = server.root_poa().create_poa("lanes", policies).unwrap();
    let local = poa.activate_servant(Arc::new(Pinger::default())).unwrap();
    let object = client.string_to_object(&local.to_string()).unwrap();
    assert_eq!(ping(&object), Ok(1));
    assert_eq!(places(&object).matches("iiops:").count(), 2, "{}", places(&object));
    server.shutdown(true).unwrap();
    client.shutdown(true).unwrap();
    drop(authority);
}

#[test]
fn certificates_that_are_made_here_work() {
    let _bound = watchdog(Duration::from_secs(60));
    let folder = Authority::new("only for its folder");
    let made = oxorb::tls::make(&oxorb::tls::WantedCertificates {
        hosts: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        clients: vec!["alice".to_owned()],
        days: 1,
    });
    for one in made.unwrap() {
        std::fs::write(folder.folder.join(&one.name), &one.content).unwrap();
    }
    let file = |name: &str| folder.folder.join(name).display().to_string();
    let with = |own: &str| {
        Orb::builder()
            .setting("TlsRoots", &file("ca.pem"))
            .setting("TlsCertificate", &file(own))
            .setting("TlsClients", "required")
    };
    let server = build(with("server.pem").listen("iiops://127.0.0.1:0"));
    let client = build(with("alice.pem"));
    assert_eq!(ping(&seen(&server, &client)), Ok(1));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
