//! GIOPlite/RT and GIOPlite, as applications use them.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests the protocols of GIOPlite and GIOPlite/RT.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::{LocateFirst, RelativeRoundtripTimeout, SyncScope};
use oxorb::protocol::Protocols;
use oxorb::rt::{
    Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane, current_deadline,
};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_object::{IiopProfile, PlaceProfile, Version, profile_tag};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Endpoints of both protocols over sockets.
const ENDPOINTS: &[&str] = &[
    "giop-lite-rt+tcp://127.0.0.1:0",
    "giop-lite-rt+unix://",
    "giop-lite+tcp://127.0.0.1:0",
    "giop-lite+unix://",
];

/// Endpoint of the protocol that carries priorities and deadlines.
const RT: &str = ENDPOINTS[0];

static ECHO: Op = Op::twoway("echo");
static WATCH: Op = Op::twoway("watch");

fn listening(endpoints: &str, concurrency: Concurrency) -> Orb {
    let builder = Orb::builder().listen(endpoints).concurrency(concurrency);
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a new [`Pinger`] of `server`, with a reference as another process would have it.
fn pinger(server: &Orb, client: &Orb) -> ObjectRef {
    let servant = Arc::new(Pinger::default());
    elsewhere(client, &server.root_poa().activate_servant(servant).unwrap())
}

fn end(orbs: [&Orb; 2]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

/// Runs a test with a server at each endpoint, and with a client that caches its connections.
fn each(test: impl Fn(&Orb, &Orb)) {
    let _guard = watchdog(LONG);
    for endpoint in ENDPOINTS {
        let server = listening(endpoint, Concurrency::ThreadPerConnection);
        let client = client(ClientConnections::Cached);
        test(&server, &client);
        end([&client, &server]);
    }
}

/// Returns the address in the only profile of a reference: host and port, or a path.
fn place(object: &ObjectRef) -> String {
    let [profile] = &object.reference().ior().profiles[..] else {
        panic!("{:?}", object.reference().ior());
    };
    PlaceProfile::parse(profile).unwrap().place
}

#[test]
fn every_architecture_answers() {
    let _guard = watchdog(LONG);
    for endpoint in ENDPOINTS {
        for concurrency in ARCHITECTURES {
            for sharing in EVERY_SHARING {
                let server = listening(endpoint, concurrency);
                let client = client(sharing);
                let servant = Arc::new(Pinger::default());
                let local = server.root_poa().activate_servant(servant.clone()).unwrap();
                let object = elsewhere(&client, &local);
                for n in 0..20 {
                    assert_eq!(ping(&object, n), Ok(n + 1));
                    object.reference().send(&NOTE, |_| Ok(())).unwrap();
                }
                assert_eq!(ping_async(&object, 7).wait(), Ok(8));
                while servant.notes.load(Ordering::SeqCst) < 20 {
                    thread::yield_now();
                }
                end([&client, &server]);
            }
        }
    }
}

#[test]
fn threads_and_objects_do_not_mix_up_their_numbers() {
    each(|server, client| {
        let objects: Vec<_> = (0..40).map(|_| pinger(server, client)).collect();
        thread::scope(|scope| {
            for start in 0..6 {
                let objects = &objects;
                scope.spawn(move || {
                    for n in 0..400i64 {
                        let object = &objects[(start * 7 + n as usize * 3) % objects.len()];
                        match n % 5 {
                            0 => assert_eq!(call(object, &HANGING), Ok(())),
                            1 => object.reference().send(&NOTE, |_| Ok(())).unwrap(),
                            _ => assert_eq!(ping(object, n), Ok(n + 1)),
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn more_objects_than_there_are_numbers_are_called_all_the_same() {
    each(|server, client| {
        let objects: Vec<_> = (0..1100).map(|_| pinger(server, client)).collect();
        for round in 0..2 {
            for object in &objects {
                assert_eq!(ping(object, round), Ok(round + 1));
            }
        }
    });
}

#[test]
fn exceptions_come_back_and_the_connection_lives_on() {
    static FAIL: Op = Op::twoway("fail");
    static PANIC: Op = Op::twoway("panic");
    static MISSING: Op = Op::twoway("missing");
    each(|server, client| {
        let object = pinger(server, client);
        assert_eq!(
            call(&object, &FAIL),
            Err(SystemException::no_permission(7, CompletionStatus::Yes))
        );
        let unknown = call(&object, &MISSING).unwrap_err();
        assert_eq!(unknown.kind, SystemExceptionKind::BadOperation);
        let panicked = call(&object, &PANIC).unwrap_err();
        assert_eq!(panicked.kind, SystemExceptionKind::Unknown);
        let gone = pinger(server, client);
        server.root_poa().deactivate(&gone).unwrap();
        let missing = ping(&gone, 1).unwrap_err();
        assert_eq!(missing.kind, SystemExceptionKind::ObjectNotExist);
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

/// Servant that forwards its callers to another object.
struct Moved(ObjectRef);

impl Servant for Moved {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.forward(self.0.reference())
    }
}

#[test]
fn forwards_are_followed_also_to_other_protocols() {
    let _guard = watchdog(LONG);
    for endpoint in ENDPOINTS {
        let server = listening(endpoint, Concurrency::ThreadPerConnection);
        let other = listening("iiop://127.0.0.1:0", Concurrency::ThreadPerConnection);
        let client = client(ClientConnections::Cached);
        for target in [pinger(&server, &client), pinger(&other, &client)] {
            let moved = server.root_poa().activate_servant(Arc::new(Moved(target)));
            let moved = elsewhere(&client, &moved.unwrap());
            assert_eq!(ping(&moved, 1), Ok(2));
            assert_eq!(ping(&moved, 2), Ok(3));
            assert_eq!(ping_async(&moved, 3).wait(), Ok(4));
        }
        end([&client, &server]);
        other.shutdown(true).unwrap();
    }
}

#[test]
fn oneways_go_with_every_sync_scope() {
    each(|server, client| {
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(client, &local);
        let scopes = [
            SyncScope::None,
            SyncScope::WithTransport,
            SyncScope::WithServer,
            SyncScope::WithTarget,
        ];
        for (sent, scope) in scopes.into_iter().enumerate() {
            // Wait for the earlier oneways, which this one might overtake if each request has a
            // thread of its own.
            while servant.notes.load(Ordering::SeqCst) < sent as u32 {
                thread::yield_now();
            }
            object.with(scope).reference().send(&NOTE, |_| Ok(())).unwrap();
            if scope == SyncScope::WithTarget {
                assert_eq!(servant.notes.load(Ordering::SeqCst), sent as u32 + 1);
            }
            assert_eq!(ping(&object, 1), Ok(2));
            // Wait for the oneway, which may still run after the ping, because it used another
            // connection.
            while servant.notes.load(Ordering::SeqCst) <= sent as u32 {
                thread::yield_now();
            }
        }
    });
}

#[test]
fn a_request_may_ask_for_the_object_first() {
    each(|server, client| {
        let object = pinger(server, client).with(LocateFirst::Always);
        assert_eq!(ping(&object, 1), Ok(2));
        assert!(object.reference().validate_connection().is_ok());
    });
}

#[test]
fn large_messages_arrive_whole() {
    each(|server, client| {
        let object = pinger(server, client);
        let big: Result<_, SystemException> = object.reference().invoke(
            &BIG,
            |_| Ok(()),
            |d| {
                let length = d.length(None, 1)?;
                Ok(d.octets(length)? == vec![7; BIG_ANSWER])
            },
        );
        assert_eq!(big, Ok(true));
        let octets = vec![7; 8 << 20];
        let sent: Result<(), SystemException> = object.reference().invoke(
            &NOTED,
            |e| {
                e.length(octets.len(), None)?;
                e.octets(&octets);
                Ok(())
            },
            |_| Ok(()),
        );
        assert_eq!(sent, Ok(()));
    });
}

static NOTED: Op = Op::twoway("note");

/// Servant that runs until the request is cancelled.
#[derive(Default)]
struct Watcher {
    cancelled: AtomicBool,
    served: Mutex<Vec<(Option<i16>, Option<Instant>)>>,
}

impl Servant for Watcher {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "watch" => {
                while !oxorb::servant::request_is_cancelled() {
                    thread::sleep(Duration::from_millis(1));
                }
                self.cancelled.store(true, Ordering::SeqCst);
                upcall.done()
            }
            "echo" => match upcall.args(|d| Ok((d.string()?.into_owned(), d.wstring()?))) {
                Ok((narrow, wide)) => upcall.reply(|e| {
                    e.string(&narrow)?;
                    e.wstring(&wide)
                }),
                Err(rejected) => upcall.reject(rejected),
            },
            _ => {
                let priority = upcall.priority().unwrap().map(Priority::get);
                self.served.lock().unwrap().push((priority, current_deadline()));
                upcall.done()
            }
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn a_call_that_is_given_up_is_cancelled_at_its_server() {
    let _guard = watchdog(LONG);
    at_once(ENDPOINTS, |endpoint| {
        let server = listening(endpoint, Concurrency::LeaderFollowers { threads: 3 });
        let client = client(ClientConnections::Cached);
        let watcher = Arc::new(Watcher::default());
        let local = server.root_poa().activate_servant(watcher.clone()).unwrap();
        let object = elsewhere(&client, &local);
        let hurried = object.with_timeout(SHORT);
        let late = timed_out(|| call(&hurried, &WATCH));
        assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        while !watcher.cancelled.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        assert_eq!(call(&object, &PING), Ok(()));
        end([&client, &server]);
    });
}

#[test]
fn text_travels_in_code_sets_that_both_sides_know() {
    each(|server, client| {
        let local = server.root_poa().activate_servant(Arc::new(Watcher::default()));
        let object = elsewhere(client, &local.unwrap());
        let echoed: Result<_, SystemException> = object.reference().invoke(
            &ECHO,
            |e| {
                e.string("Größe")?;
                e.wstring("Größe 長さ 𝄞")
            },
            |d| Ok((d.string()?.into_owned(), d.wstring()?)),
        );
        assert_eq!(echoed, Ok(("Größe".to_owned(), "Größe 長さ 𝄞".to_owned())));
    });
}

#[test]
fn priority_and_deadline_come_to_the_servant() {
    let _guard = watchdog(LONG);
    let server = listening(RT, Concurrency::ThreadPerConnection);
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
    let poa = server.root_poa().create_poa("priorities", policies).unwrap();
    let watcher = Arc::new(Watcher::default());
    let client = client(ClientConnections::Cached);
    let object = elsewhere(&client, &poa.activate_servant(watcher.clone()).unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            call(&object, &PING).unwrap();
            client.set_thread_priority(Priority::new(300).unwrap()).unwrap();
            for _ in 0..2 {
                call(&object, &PING).unwrap();
                let hurried = object.with(RelativeRoundtripTimeout(Duration::from_secs(3600)));
                call(&hurried, &PING).unwrap();
            }
        });
    });
    let served = watcher.served.lock().unwrap().clone();
    let seen: Vec<_> =
        served.iter().map(|(priority, deadline)| (*priority, deadline.is_some())).collect();
    assert_eq!(
        seen[1..],
        [(Some(300), false), (Some(300), true), (Some(300), false), (Some(300), true)]
    );
    let left = served[2].1.unwrap() - Instant::now();
    assert!(left <= Duration::from_secs(3600) && left > Duration::from_secs(600));
    end([&client, &server]);
}

#[test]
fn lanes_listen_with_the_same_protocol() {
    let _guard = watchdog(LONG);
    let server = listening(RT, Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let priority = |value| Priority::new(value).unwrap();
    let lanes = [10, 20].map(|value| ThreadpoolLane::new(priority(value), 2));
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes));
    let policies = Policies {
        realtime: RtPolicies {
            threadpool: Some(pool.unwrap()),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ClientPropagated,
                server_priority: 10,
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("lanes", policies).unwrap();
    let watcher = Arc::new(Watcher::default());
    let object = elsewhere(&client, &poa.activate_servant(watcher.clone()).unwrap());
    let [profile] = &object.reference().ior().profiles[..] else { panic!("one profile") };
    assert_eq!(profile.tag, profile_tag::OXORB_LITE_RT_TCP);
    thread::scope(|scope| {
        for value in [10, 20] {
            let (object, client) = (&object, &client);
            scope.spawn(move || {
                client.set_thread_priority(priority(value)).unwrap();
                for _ in 0..3 {
                    call(object, &PING).unwrap();
                }
            });
        }
    });
    let mut served = watcher.served.lock().unwrap().clone();
    served.sort();
    let served: Vec<_> = served.iter().map(|(priority, _)| *priority).collect();
    let (low, high) = (Some(10), Some(20));
    assert_eq!(served, [low, low, low, high, high, high]);
    end([&client, &server]);
}

#[test]
fn clients_that_know_no_such_profile_use_the_one_beside_it() {
    let _guard = watchdog(LONG);
    for endpoint in ENDPOINTS {
        let both = format!("{endpoint};iiop://127.0.0.1:0");
        let server = listening(&both, Concurrency::ThreadPerConnection);
        let knowing = client(ClientConnections::Cached);
        let plain = Orb::builder()
            .configure(|options| options.protocols = Protocols::default())
            .build()
            .unwrap();
        let object = pinger(&server, &plain);
        let profiles = &object.reference().ior().profiles;
        assert_eq!(profiles.len(), 2);
        assert_ne!(profiles[0].tag, profile_tag::INTERNET_IOP);
        assert_eq!(profiles[1].tag, profile_tag::INTERNET_IOP);
        assert_eq!(object.reference().ior().iiop_profiles().count(), 1);
        assert_eq!(ping(&object, 1), Ok(2));
        // The first profile is that of the protocol that the server prefers, and suffices for a
        // client that speaks it. Make the second one unusable.
        let mut ior = object.reference().ior().clone();
        let nowhere = IiopProfile::new(Version::V1_2, "127.0.0.1", 1, &object_key(&object));
        ior.profiles[1] = nowhere.to_profile();
        let object = knowing.string_to_object(&ior.to_string()).unwrap();
        assert_eq!(ping(&object, 1), Ok(2));
        let object = plain.string_to_object(&ior.to_string()).unwrap();
        assert!(ping(&object, 1).is_err());
        end([&knowing, &server]);
        plain.shutdown(true).unwrap();
    }
}

#[test]
fn corbaloc_names_the_protocol() {
    each(|server, client| {
        let object = pinger(server, client);
        let url = object.reference().to_corbaloc().unwrap();
        let word = &server.options().listen[0].protocol;
        assert!(url.starts_with(&format!("corbaloc:{word}:1.2@")), "{url}");
        let object = client.string_to_object(&url).unwrap();
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

/// A client of another protocol is refused, and no other client is affected.
#[test]
fn a_peer_of_another_protocol_is_refused() {
    each(|server, client| {
        let object = pinger(server, client);
        let place = place(&object);
        let mut giop: Box<dyn Octets> = match place.contains(':') {
            true => Box::new(TcpStream::connect(&place).unwrap()),
            false => Box::new(UnixStream::connect(&place).unwrap()),
        };
        giop.write_all(b"GIOP\x01\x02\x01\x00\x08\x00\x00\x00\x07\x00\x00\x00\x03\x00\x00\x00")
            .unwrap();
        let mut answer = Vec::new();
        // Ignore an error, because the server may also reset the connection.
        let _ = giop.read_to_end(&mut answer);
        assert_eq!(answer, b"");
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

trait Octets: std::io::Read + std::io::Write {}

impl<T: std::io::Read + std::io::Write> Octets for T {}

/// The server reads part of a request and answers in another protocol, which raises COMM_FAILURE.
#[test]
fn a_server_of_another_protocol_is_told_apart() {
    let _guard = watchdog(LONG);
    for endpoint in ENDPOINTS.iter().filter(|it| it.contains("+tcp")) {
        let server = listening(endpoint, Concurrency::ThreadPerConnection);
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        let fake = TcpListener::bind("127.0.0.1:0").unwrap();
        let profile = &object.reference().ior().profiles[0];
        let mut parsed = PlaceProfile::parse(profile).unwrap();
        parsed.place = fake.local_addr().unwrap().to_string();
        let mut ior = object.reference().ior().clone();
        ior.profiles = vec![parsed.to_profile()];
        let answering = thread::spawn(move || {
            let (mut stream, _) = fake.accept().unwrap();
            let mut start = [0; 16];
            stream.read_exact(&mut start).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let object = client.string_to_object(&ior.to_string()).unwrap();
        let error = ping(&object, 1).unwrap_err();
        assert_eq!(error.kind, SystemExceptionKind::CommFailure);
        client.shutdown(true).unwrap();
        answering.join().unwrap();
        server.shutdown(true).unwrap();
    }
}
