//! GIOP over UNIX sockets (UIOP), as applications use it.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests UNIX sockets.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use oxorb::__gen::Op;
use oxorb::client::Failure;
use oxorb::incident::Incident;
use oxorb::ior::Ior;
use oxorb::policy::{LocateFirst, RelativeRoundtripTimeout, SyncScope};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_cdr::Encoder;
use oxorb_object::components::DecodedComponent;
use oxorb_object::components::tag::{OMNIORB_UNIX, OXORB_SOCKET};
use oxorb_object::{IiopProfile, PlaceProfile, SocketIdentity, TaggedComponent, profile_tag};
use oxorb_testkit::tap::{Conversation, Tap};
use oxorb_testkit::watchdog;

use crate::common::child::Child;
use crate::common::*;

/// A unique path, whose file is removed when the value is dropped.
struct Path(PathBuf);

impl Path {
    fn new(test: &str) -> Self {
        let name = format!("oxorb-test-{test}-{}", oxorb_testkit::unique());
        Self(oxorb_testkit::net::socket_folder().join(name))
    }

    fn endpoint(&self) -> String {
        format!("uiop://{}", self.0.display())
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn listening(endpoints: &str, concurrency: Concurrency) -> Orb {
    let builder = Orb::builder().listen(endpoints).concurrency(concurrency);
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

fn server_at(endpoints: &str) -> Orb {
    listening(endpoints, Concurrency::ThreadPerConnection)
}

/// Returns a pinger as `common::pinger` does, whatever the chosen transport.
fn pinger(server: &Orb, client: &Orb) -> ObjectRef {
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant).unwrap();
    elsewhere(client, &local)
}

fn cached() -> Orb {
    client(ClientConnections::Cached)
}

/// Returns the only profile of a reference.
fn profile(object: &ObjectRef) -> PlaceProfile {
    let [profile] = &object.reference().ior().profiles[..] else {
        panic!("{:?}", object.reference().ior());
    };
    assert_eq!(profile.tag, profile_tag::TAO_UIOP);
    PlaceProfile::parse(profile).unwrap()
}

fn end(orbs: [&Orb; 2]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

/// Returns the number of open descriptors of this process.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn every_architecture_answers() {
    let _guard = watchdog(LONG);
    for concurrency in ARCHITECTURES {
        for sharing in EVERY_SHARING {
            let server = listening("uiop://", concurrency);
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

#[test]
fn large_messages_arrive_whole_and_in_fragments() {
    let _guard = watchdog(LONG);
    for fragments in ["0", "65536"] {
        let with = || Orb::builder().setting("FragmentSize", fragments);
        let server = with().listen("uiop://").build().unwrap();
        let client = with().build().unwrap();
        let object = pinger(&server, &client);
        let big: Result<_, oxorb::SystemException> = object.reference().invoke(
            &BIG,
            |_| Ok(()),
            |d| {
                let length = d.length(None, 1)?;
                Ok(d.octets(length)? == vec![7; BIG_ANSWER])
            },
        );
        assert_eq!(big, Ok(true), "fragments of {fragments}");
        // Send arguments that the operation does not decode.
        let octets = vec![7; 8 << 20];
        let sent: Result<(), oxorb::SystemException> = object.reference().invoke(
            &HANGING,
            |e| {
                e.length(octets.len(), None)?;
                e.copy_octets(&octets);
                Ok(())
            },
            |d| d.ulong().map(drop),
        );
        assert_eq!(sent, Ok(()), "fragments of {fragments}");
        end([&client, &server]);
    }
}

#[test]
fn references_are_those_of_tao_and_read_back_as_urls() {
    let _guard = watchdog(LONG);
    let path = Path::new("url");
    let (server, client) = (server_at(&path.endpoint()), cached());
    let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    server.bind("Pinger", &ObjectRef::from_ref(local.clone()));
    let object = elsewhere(&client, &local);
    assert_eq!(profile(&object).place, path.0.to_str().unwrap());
    let url = object.to_corbaloc().expect("it has an address");
    let begin = format!("corbaloc:uiop:1.2@{}|", path.0.display());
    assert!(url.starts_with(&begin), "{url}");
    for url in [
        url,
        format!("corbaloc:uiop:{}|Pinger", path.0.display()),
        format!("corbaloc:iiop:127.0.0.1:1,uiop:1.1@{}|Pinger", path.0.display()),
        format!("corbaloc:uiop:/nobody|,uiop:{}|Pinger", path.0.display()),
    ] {
        let object = client.string_to_object(&url).unwrap();
        assert_eq!(ping(&object, 1), Ok(2), "{url}");
    }
    let error = client.string_to_object("corbaloc:uiop:/run/bank/key").unwrap_err();
    assert!(error.to_string().contains("does not end with |"), "{error}");
    end([&client, &server]);
}

#[test]
fn one_object_is_published_under_both_protocols() {
    let _guard = watchdog(LONG);
    let (server, client) = (server_at("uiop://;iiop://127.0.0.1:0"), cached());
    let object = pinger(&server, &client);
    let ior = object.reference().ior().clone();
    let tags: Vec<_> = ior.profiles.iter().map(|profile| profile.tag).collect();
    assert_eq!(tags, [profile_tag::TAO_UIOP, profile_tag::INTERNET_IOP]);
    assert_eq!(ping(&object, 1), Ok(2));
    for profile in &ior.profiles {
        let mut alone = ior.clone();
        alone.profiles = vec![profile.clone()];
        let object = client.string_to_object(&alone.to_string()).unwrap();
        assert_eq!(ping(&object, 1), Ok(2), "{:#x}", profile.tag);
    }
    // The second address is tried when the first fails.
    let mut nobody = ior.clone();
    let mut gone = PlaceProfile::parse(&ior.profiles[0]).unwrap();
    gone.place = "/nobody/listens/here".to_owned();
    nobody.profiles[0] = gone.to_profile();
    let object = client.string_to_object(&nobody.to_string()).unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    end([&client, &server]);
}

/// Lets a new client make calls until none is outstanding, and returns it.
fn conversation(ior: &Ior) -> Result<Orb, SystemException> {
    static FAIL: Op = Op::twoway("fail");
    let client = Orb::builder().setting("FragmentSize", "4096").build()?;
    let object = client.string_to_object(&ior.to_string())?;
    ping(&object.with(LocateFirst::Always), 1)?;
    object.reference().send(&NOTE, |_| Ok(()))?;
    object.with(SyncScope::WithTarget).reference().send(&NOTE, |_| Ok(()))?;
    let long = |e: &mut Encoder<'_>| {
        e.copy_octets(&[7; 20_000]);
        Ok(())
    };
    let hanging: Result<u32, SystemException> =
        object.reference().invoke(&HANGING, long, |d| d.ulong());
    assert_eq!(hanging, Ok(0));
    let refused = call(&object, &FAIL).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::NoPermission);
    assert!(object.is_a(PINGER)? && !object.non_existent()?);
    assert_eq!(ping(&object, 2), Ok(3));
    Ok(client)
}

#[test]
fn the_octets_are_those_of_iiop() {
    let _guard = watchdog(LONG);
    let [own, between] = ["octets", "octets-tap"].map(Path::new);
    let endpoints = format!("{};iiop://127.0.0.1:0", own.endpoint());
    let server = server_at(&endpoints);
    let servant = Arc::new(Pinger::default());
    let object = server.root_poa().activate_servant(servant).unwrap();
    let ior = |profile| {
        let mut ior = object.ior().clone();
        ior.profiles = vec![profile];
        ior
    };
    let [uiop, iiop] = &object.ior().profiles[..] else {
        panic!("{:?}", object.ior());
    };

    let tap = Tap::unix(&between.0, &own.0);
    let mut profile = PlaceProfile::parse(uiop).unwrap();
    profile.place = tap.address().to_str().unwrap().to_owned();
    let client = conversation(&ior(profile.to_profile())).unwrap();
    let over_uiop = said(&tap.heard());
    client.shutdown(true).unwrap();

    let mut profile = IiopProfile::parse(iiop).unwrap();
    profile.components.retain(|it| !tells_of_a_socket(it));
    let tap = Tap::tcp(SocketAddr::new(profile.host.parse().unwrap(), profile.port));
    profile.port = tap.address().port();
    let client = conversation(&ior(profile.to_profile())).unwrap();
    let over_iiop = said(&tap.heard());
    for (uiop, iiop) in over_uiop.iter().zip(&over_iiop) {
        assert_eq!(uiop.len(), iiop.len());
        let mut octets = uiop.iter().zip(iiop);
        assert_eq!(octets.position(|(uiop, iiop)| uiop != iiop), None);
    }
    end([&client, &server]);
}

/// Returns the octets of the requests and of the replies of the only connection.
fn said(heard: &[Conversation]) -> [Vec<u8>; 2] {
    assert_eq!(heard.len(), 1, "connections");
    let Conversation { requests, replies } = heard[0].clone();
    assert!(requests.starts_with(b"GIOP\x01\x02") && requests.len() > 20_000);
    assert!(replies.starts_with(b"GIOP\x01\x02"));
    [requests, replies]
}

fn tells_of_a_socket(component: &TaggedComponent) -> bool {
    [OMNIORB_UNIX, OXORB_SOCKET].contains(&component.tag)
}

/// A TCP object whose reference also names a socket, at which the test listens instead of its server.
struct Impostor {
    server: Orb,
    object: oxorb::Ref,
    listener: UnixListener,
    path: Path,
}

impl Impostor {
    fn new(test: &str) -> Self {
        let path = Path::new(test);
        let server = server_at(&format!("iiop://127.0.0.1:0;{}", path.endpoint()));
        let servant = Arc::new(Pinger::default());
        let object = server.root_poa().activate_servant(servant).unwrap();
        fs::remove_file(&path.0).unwrap();
        let listener = UnixListener::bind(&path.0).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { server, object, listener, path }
    }

    /// Returns the identity that the server published.
    fn identity(&self) -> SocketIdentity {
        let ior = self.object.ior();
        let profile = IiopProfile::parse(&ior.profiles[0]).unwrap();
        let mut said = profile.components.iter().map(|it| it.decode().unwrap());
        let found = said.find_map(|component| match component {
            DecodedComponent::OxorbSocket { name, identity } => Some((name, identity)),
            _ => None,
        });
        let (name, identity) = found.unwrap();
        assert_eq!(name, self.path.0.to_str().unwrap());
        identity
    }

    /// Calls the object with another component, and returns the octets received over each connection to the socket.
    fn call(&self, component: &TaggedComponent) -> Vec<Vec<u8>> {
        let mut profile = IiopProfile::parse(&self.object.ior().profiles[0]).unwrap();
        profile.components.retain(|it| !tells_of_a_socket(it));
        profile.components.push(component.clone());
        let mut ior = self.object.ior().clone();
        ior.profiles = vec![profile.to_profile()];
        let client = cached();
        let object = client.string_to_object(&ior.to_string()).unwrap();
        assert_eq!(ping(&object, 1), Ok(2), "over TCP");
        client.shutdown(true).unwrap();
        let mut brought = Vec::new();
        while let Ok((mut connection, _)) = self.listener.accept() {
            use std::io::Read as _;
            connection.set_nonblocking(false).unwrap();
            let mut octets = Vec::new();
            connection.read_to_end(&mut octets).unwrap();
            brought.push(octets);
        }
        brought
    }
}

/// A socket of the server's name on another host, in another container, or of another user is not used.
#[test]
fn a_socket_that_is_not_the_servers_gets_no_octet() {
    let _guard = watchdog(LONG);
    let impostor = Impostor::new("impostor");
    let good = impostor.identity();
    let told = |change: &dyn Fn(&mut SocketIdentity)| {
        let mut identity = good;
        change(&mut identity);
        TaggedComponent::oxorb_socket(impostor.path.0.to_str().unwrap(), &identity)
    };
    let nobody: Vec<Vec<u8>> = Vec::new();
    assert_eq!(impostor.call(&told(&|it| it.host[0] ^= 1)), nobody);
    assert_eq!(impostor.call(&told(&|it| it.users += 1)), nobody);
    assert_eq!(impostor.call(&told(&|it| it.device += 1)), nobody);
    assert_eq!(impostor.call(&told(&|it| it.inode += 1)), nobody);
    // The client learns the listener's user only by a connection, which it then closes without sending an octet.
    assert_eq!(impostor.call(&told(&|it| it.uid += 1)), [b""]);
    impostor.server.shutdown(true).unwrap();
}

/// A reference to socket endpoints alone has to stay valid across restarts: it carries no identity, as TAO's do not.
#[test]
fn a_reference_without_a_fallback_goes_by_the_name() {
    let _guard = watchdog(LONG);
    let path = Path::new("name-only");
    for (endpoints, identified) in
        [(path.endpoint(), false), (format!("{};iiop://127.0.0.1:0", path.endpoint()), true)]
    {
        let (server, client) = (server_at(&endpoints), cached());
        let object = pinger(&server, &client);
        let uiop = PlaceProfile::parse(&object.reference().ior().profiles[0]).unwrap();
        assert_eq!(uiop.place, path.0.to_str().unwrap());
        let has = uiop.components.iter().any(|it| it.tag == OXORB_SOCKET);
        assert_eq!(has, identified);
        assert_eq!(ping(&object, 1), Ok(2));
        // The server recognizes both forms of the reference as its own object.
        for text in
            [object.reference().ior().to_string(), object.reference().to_corbaloc().unwrap()]
        {
            let own = server.string_to_object(&text).unwrap();
            assert_eq!(ping(&own, 1), Ok(2));
        }
        assert_eq!(server.connection_statistics().accepted, 1, "calls to itself take none");
        end([&client, &server]);
    }
}

/// Compatible with omniORB's clients and servers (TAG_OMNIORB_UNIX_TRANS), and with OxORB's component.
#[test]
fn a_profile_of_iiop_leads_to_the_socket_on_the_same_host() {
    let _guard = watchdog(LONG);
    let (server, client) = (server_at("iiop://127.0.0.1:0/deny=all;uiop://"), cached());
    let object = pinger(&server, &client);
    let mut iiop = object.reference().ior().clone();
    iiop.profiles.truncate(1);
    assert_eq!(iiop.profiles[0].tag, profile_tag::INTERNET_IOP);
    let object = client.string_to_object(&iiop.to_string()).unwrap();
    assert_eq!(ping(&object, 1), Ok(2), "by the socket: TCP admits nobody");

    let read = IiopProfile::parse(&iiop.profiles[0]).unwrap();
    let without = |profile: &IiopProfile| {
        let mut ior = iiop.clone();
        ior.profiles = vec![profile.to_profile()];
        client.string_to_object(&ior.to_string()).unwrap()
    };
    for ours in [OMNIORB_UNIX, OXORB_SOCKET] {
        let mut one = read.clone();
        one.components.retain(|it| it.tag != ours);
        assert_eq!(ping(&without(&one), 1), Ok(2), "either component is enough");
    }
    let mut elsewhere = read.clone();
    elsewhere.components.retain(|it| !tells_of_a_socket(it));
    let refused = ping(&without(&elsewhere), 1).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::Transient);
    elsewhere.components.push(TaggedComponent::omniorb_unix("another-host", "/tmp/x"));
    let refused = ping(&without(&elsewhere), 1).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::Transient);
    // An omniORB server that listens only on a socket publishes port 0.
    let mut only = read;
    only.port = 0;
    assert_eq!(ping(&without(&only), 1), Ok(2));
    end([&client, &server]);
}

#[test]
fn an_abstract_name_needs_no_file() {
    let _guard = watchdog(LONG);
    let name = format!("@oxorb-test-{}", std::process::id());
    let (server, client) = (server_at(&format!("uiop://{name}")), cached());
    let object = pinger(&server, &client);
    assert_eq!(profile(&object).place, name);
    assert_eq!(ping(&object, 1), Ok(2));
    let taken = Orb::builder().listen(&format!("uiop://{name}")).build();
    let error = taken.expect_err("the first lives").to_string();
    assert!(error.contains("choose another name"), "{error}");
    end([&client, &server]);
}

#[test]
fn a_call_that_takes_too_long_times_out() {
    let _guard = watchdog(LONG);
    at_once(EVERY_SHARING, |sharing| {
        let (server, client) = (server_at("uiop://"), client(sharing));
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(&client, &local);
        let gate = servant.gate.lock().unwrap();
        let hurried = object.with(RelativeRoundtripTimeout(SHORT));
        let error = timed_out(|| call(&hurried, &WAIT));
        assert_raised(error, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        drop(gate);
        assert_eq!(ping(&object, 1), Ok(2));
        end([&client, &server]);
    });
}

#[test]
fn a_server_that_answers_nothing_times_out() {
    let _guard = watchdog(LONG);
    let path = Path::new("silent");
    let _silent = UnixListener::bind(&path.0).unwrap();
    let client = cached();
    let url = format!("corbaloc:uiop:{}|key", path.0.display());
    let object = client.string_to_object(&url).unwrap();
    let hurried = object.with(RelativeRoundtripTimeout(SHORT));
    let error = timed_out(|| ping(&hurried, 1));
    assert_raised(error, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    client.shutdown(true).unwrap();
}

/// The server dies while it works, while the connection is idle, and before the first call; its socket file remains,
/// and its successor takes it over.
#[test]
fn what_callers_are_told_when_the_server_is_killed() {
    let _guard = watchdog(LONG);
    let path = Path::new("killed");
    for concurrency in EVERY_CONCURRENCY {
        for sharing in UNSHARED {
            let start = || Child::start(&path.endpoint(), concurrency);
            let client = wary_client(sharing);
            let mut child = start();
            let object = child.object(&client);
            let waiting = {
                let object = object.clone();
                thread::spawn(move || call(&object, &HANG))
            };
            until_hanging(&object);
            child.process.kill();
            let error = waiting.join().unwrap().unwrap_err();
            assert_raised(error, SystemExceptionKind::CommFailure, CompletionStatus::Maybe);
            assert!(path.0.exists(), "nobody was left to remove it");
            let error = ping(&object, 1).unwrap_err();
            assert_raised(error, SystemExceptionKind::Transient, CompletionStatus::No);
            let text = Failure::of(&error).unwrap().to_string();
            assert!(text.contains(path.0.to_str().unwrap()), "{text}");

            let mut child = start();
            assert_eq!(ping(&object, 1), Ok(2), "after it was taken over");
            child.process.kill();
            let _child = start();
            assert_eq!(ping(&object, 1), Ok(2), "the idle connection was noticed");
            client.shutdown(true).unwrap();
        }
    }
}

#[test]
fn killing_servers_and_clients_leaves_nothing() {
    // Run in a process of its own, because the descriptors of the whole process are counted.
    if !alone(killing_servers_and_clients_leaves_nothing) {
        return;
    }
    let _guard = watchdog(LONG);
    let path = Path::new("loop");
    for _ in 0..20 {
        let mut child = Child::start(&path.endpoint(), Concurrency::ThreadPerConnection);
        child.process.kill();
    }
    let server = server_at(&path.endpoint());
    let client = cached();
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2));
    let before = descriptors();
    for number in 0..1000 {
        // Close a connection as a killed client does, every other time in the middle of a message.
        let gone = UnixStream::connect(&path.0).unwrap();
        if number % 2 == 0 {
            use std::io::Write as _;
            (&gone).write_all(b"GIOP\x01\x02\x01\0\x00\x00").unwrap();
        }
    }
    while server.connection_statistics().open > 1 {
        thread::yield_now();
    }
    while descriptors() > before {
        thread::yield_now();
    }
    assert_eq!(ping(&object, 1), Ok(2));
    end([&client, &server]);
    assert!(!path.0.exists(), "shutting down removes the file");
}

#[test]
fn a_file_in_use_or_no_socket_is_refused_with_advice() {
    let _guard = watchdog(LONG);
    let path = Path::new("refused");
    let refused = || {
        let orb = Orb::builder().listen(&path.endpoint()).build();
        orb.expect_err("something is there").to_string()
    };
    let server = server_at(&path.endpoint());
    let client = cached();
    let object = pinger(&server, &client);
    let text = refused();
    assert!(text.contains("a process listens there; stop that process"), "{text}");
    assert_eq!(ping(&object, 1), Ok(2), "it was not harmed");
    end([&client, &server]);
    fs::write(&path.0, "precious").unwrap();
    assert!(refused().contains("not a socket"), "{}", refused());
    assert_eq!(fs::read_to_string(&path.0).unwrap(), "precious");
    let long = format!("uiop:///{}", "x".repeat(200));
    let error = Orb::builder().listen(&long).build().err().unwrap().to_string();
    assert!(error.contains("at most 107 octets"), "{error}");
}

#[test]
fn the_file_has_the_mode_asked_for() {
    let path = Path::new("mode");
    let server = server_at(&format!("{}|mode=0620", path.endpoint()));
    let there = fs::metadata(&path.0).unwrap();
    assert!(there.file_type().is_socket());
    assert_eq!(there.permissions().mode() & 0o777, 0o620);
    server.shutdown(true).unwrap();
}

#[test]
fn users_are_admitted_by_rules() {
    let _guard = watchdog(LONG);
    let uid = oxorb_sys::unix::own_credentials().uid;
    for (rules, admitted) in [
        (format!("allow=uid:{uid}&deny=all"), true),
        (format!("deny=uid:{uid}"), false),
        (format!("allow=uid:{}", uid + 1), false),
        ("allow=10.0.0.0/8".to_owned(), false),
    ] {
        let server = server_at(&format!("uiop://|{rules}"));
        let client = cached();
        let object = pinger(&server, &client);
        let answer = ping(&object, 1);
        if admitted {
            assert_eq!(answer, Ok(2), "{rules}");
        } else {
            assert_raised(
                answer.unwrap_err(),
                SystemExceptionKind::Transient,
                CompletionStatus::No,
            );
            assert!(server.connection_statistics().count(Incident::AccessDenied) > 0);
        }
        end([&client, &server]);
    }
}

#[test]
fn connections_are_counted_by_user() {
    let _guard = watchdog(LONG);
    let server =
        Orb::builder().listen("uiop://").setting("MaxConnectionsPerClient", "2").build().unwrap();
    let clients = [(); 3].map(|()| cached());
    let [first, second, third] = clients.each_ref().map(|client| {
        let object = pinger(&server, client);
        ping(&object, 1)
    });
    assert_eq!((first, second), (Ok(2), Ok(2)));
    assert_raised(third.unwrap_err(), SystemExceptionKind::Transient, CompletionStatus::No);
    assert!(server.connection_statistics().count(Incident::TooManyFromClient) > 0);
    for client in &clients {
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}

/// BI_DIR_IIOP has no field for paths, so they travel in OxORB's own context. The server verifies the socket's owner by
/// a connection that ends at once; callbacks open none.
#[test]
fn callbacks_take_the_connection_that_is_offered() {
    let _guard = watchdog(LONG);
    let orb = |setting| {
        let builder = Orb::builder().listen("uiop://").setting(setting, "1");
        builder.build().unwrap()
    };
    let (server, client) = (orb("AcceptBiDirectionalGIOP"), orb("OfferBiDirectionalGIOP"));
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2));
    let callback = pinger(&client, &server);
    assert_eq!(ping(&callback, 1), Ok(2));
    assert_eq!(ping(&object, 1), Ok(2));
    let taken = server.connection_statistics().count(Incident::BidirectionalAccepted);
    assert_eq!(taken, 1);
    while client.connection_statistics().accepted == 0 {
        thread::yield_now();
    }
    assert_eq!(client.connection_statistics().accepted, 1, "it was looked at");
    end([&client, &server]);
}
