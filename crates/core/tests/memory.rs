//! ORBs of one process that communicate over memory, without sockets, object adapter, or stubs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use oxorb_core::protocol::{Mismatch, Placed, ProtocolStack, Protocols};
use oxorb_core::{
    Adapter, ClientConnections, Failure, Interface as _, Located, Op, Options, Orb, Outcome, Ref,
    SetupError, Upcall,
};
use oxorb_object::profile_tag;
use oxorb_object::{CompletionStatus, IiopProfile, SystemException, SystemExceptionKind};
use oxorb_testkit::watchdog;
use oxorb_transport::mem::Memory;
use oxorb_transport::{
    Acceptor, Address, Endpoint, EndpointError, Facts, ListenError, Notation, Part, Publish,
    Scheme, Start, Transport,
};

const LIMIT: Duration = Duration::from_secs(60);
const KEY: &[u8] = b"counter";
const TYPE: &str = "IDL:test/Counter:1.0";

static ADD: Op = Op::twoway("add");
static NOTE: Op = Op::oneway("note");

/// Servant that adds one to numbers, and keeps the sum of those in oneways.
#[derive(Default)]
struct Counter {
    notes: AtomicI32,
    closed: AtomicBool,
}

impl Adapter for Counter {
    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let number = match upcall.args(|d| d.long()) {
            Ok(number) => number,
            Err(rejected) => return upcall.reject(rejected),
        };
        match upcall.operation() {
            "add" => upcall.reply(|e| {
                e.long(number + 1);
                Ok(())
            }),
            "note" => {
                self.notes.fetch_add(number, Ordering::SeqCst);
                upcall.done()
            }
            _ => upcall.unknown_operation(),
        }
    }

    fn locate(&self, key: &[u8]) -> Located {
        match key == KEY {
            true => Located::Here,
            false => Located::Unknown,
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

fn options(protocols: impl IntoIterator<Item = ProtocolStack>) -> Options {
    let mut options = Options::default();
    options.protocols = Protocols::of(protocols).unwrap();
    options
}

fn server(mut options: Options, endpoints: &str) -> (Orb, Ref, Arc<Counter>) {
    options.listen_on(endpoints).unwrap();
    let orb = Orb::new(options);
    let counter = Arc::new(Counter::default());
    orb.set_adapter(Arc::clone(&counter) as Arc<dyn Adapter>);
    let object = orb.create_reference(TYPE, KEY).unwrap();
    (orb, object, counter)
}

fn add(object: &Ref, number: i32) -> Result<i32, SystemException> {
    object.invoke(
        &ADD,
        |e| {
            e.long(number);
            Ok(())
        },
        |d| d.long(),
    )
}

/// Returns the reference as another ORB parses it from text.
fn passed_to(client: &Orb, object: &Ref) -> Ref {
    let passed = client.string_to_object(&object.ior().to_string()).unwrap();
    passed.reference().clone()
}

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn two_orbs_talk_without_sockets() {
    let _guard = watchdog(LIMIT);
    let sharing = [
        ClientConnections::Private,
        ClientConnections::Cached,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ];
    for connections in sharing {
        let memory = Memory::new();
        let both = || ProtocolStack::memory(memory.clone());
        let (server, object, counter) = server(options([both()]), "mem://bank");
        let mut shared = options([both()]);
        shared.client_connections = connections;
        let client = Orb::new(shared);
        let object = passed_to(&client, &object);
        for number in 0..100 {
            assert_eq!(add(&object, number), Ok(number + 1), "{connections:?}");
        }
        thread::scope(|scope| {
            for start in 0..4 {
                let object = &object;
                scope.spawn(move || {
                    for number in 0..25 {
                        assert_eq!(add(object, start * number), Ok(start * number + 1));
                    }
                });
            }
        });
        let told = |e: &mut oxorb_cdr::Encoder<'_>| {
            e.long(7);
            Ok(())
        };
        object.send(&NOTE, told).unwrap();
        // The call is served after the oneway, whether it uses the same connection or a later one.
        assert_eq!(add(&object, 1), Ok(2));
        end(&[&client, &server]);
        assert_eq!(counter.notes.load(Ordering::SeqCst), 7);
        assert!(counter.closed.load(Ordering::SeqCst));
    }
}

#[test]
fn a_url_names_a_place_in_memory() {
    let _guard = watchdog(LIMIT);
    let memory = Memory::new();
    let (server, _, _) = server(options([ProtocolStack::memory(memory.clone())]), "mem://here");
    let client = Orb::new(options([ProtocolStack::memory(memory)]));
    let object = client.string_to_object("corbaloc:mem:1.2@nowhere,mem:1.2@here/counter");
    assert_eq!(add(object.unwrap().reference(), 1), Ok(2));
    let gone = client.string_to_object("corbaloc:mem:nowhere/counter").unwrap();
    let error = add(gone.reference(), 1).unwrap_err();
    assert_eq!(
        (error.kind, error.completed),
        (SystemExceptionKind::Transient, CompletionStatus::No)
    );
    let told = Failure::of(&error).unwrap().to_string();
    assert!(told.contains("mem:nowhere"), "{told}");
    end(&[&client, &server]);
}

#[test]
fn one_object_is_published_under_the_profiles_of_all_protocols() {
    let _guard = watchdog(LIMIT);
    let memory = Memory::new();
    let both = options([ProtocolStack::iiop(), ProtocolStack::memory(memory.clone())]);
    let (server, object, _) = server(both, "mem://both;iiop://127.0.0.1:0");
    let tags: Vec<_> = object.ior().profiles.iter().map(|it| it.tag).collect();
    assert_eq!(tags, [profile_tag::OXORB_MEMORY, profile_tag::INTERNET_IOP]);
    let clients = [
        options([ProtocolStack::memory(memory.clone())]),
        options([ProtocolStack::iiop()]),
        options([ProtocolStack::memory(Memory::new()), ProtocolStack::iiop()]),
    ];
    for options in clients {
        let client = Orb::new(options);
        let object = passed_to(&client, &object);
        assert_eq!(add(&object, 1), Ok(2));
        assert_eq!(object.ior().profiles.len(), 2, "profiles it cannot use are kept");
        end(&[&client]);
    }
    let nobody = Orb::new(options([ProtocolStack::iiop()]));
    let (other, far, _) = self::server(options([ProtocolStack::memory(memory)]), "mem://");
    let error = add(&passed_to(&nobody, &far), 1).unwrap_err();
    assert_eq!(error.kind, SystemExceptionKind::Transient, "no usable profile");
    end(&[&server, &other, &nobody]);
}

#[test]
fn an_orb_finds_its_own_objects_there() {
    let _guard = watchdog(LIMIT);
    let (server, object, _) = server(options([ProtocolStack::memory(Memory::new())]), "mem://");
    let again = passed_to(&server, &object);
    assert_eq!(add(&again, 1), Ok(2));
    assert_eq!(server.connection_statistics().accepted, 0, "it did not connect");
    end(&[&server]);
}

#[test]
fn alternates_of_one_port_share_an_iiop_profile() {
    let (server, object, _) = server(
        Options::default(),
        "iiop://127.0.0.1:0/hostname_in_ior=a.example;iiop://127.0.0.1:0",
    );
    let profiles: Vec<_> = object.ior().iiop_profiles().collect();
    assert_eq!(profiles.len(), 2, "other ports, other profiles");
    let hosts: Vec<_> = profiles.iter().map(|it: &IiopProfile| it.host.as_str()).collect();
    assert_eq!(hosts, ["a.example", "127.0.0.1"]);
    end(&[&server]);
}

#[test]
fn endpoints_wait_for_their_protocol() {
    let mut waits = Options::default();
    waits.set("ListenEndpoints", "mem://later").unwrap();
    waits.set("LaneListenEndpoints", "1:0=mem://lane").unwrap();
    let problem = waits.check_protocols().unwrap_err().to_string();
    assert!(problem.contains("begins with iiop://"), "{problem}");
    let orb = Orb::new(waits.clone());
    let refused = orb.listen().unwrap_err();
    assert!(matches!(refused, SetupError::Setting(_)), "{refused}");
    end(&[&orb]);
    waits.add_protocol(ProtocolStack::memory(Memory::new())).unwrap();
    waits.check_protocols().unwrap();
    assert_eq!(waits.listen[0].to_string(), "mem://later");
    let lane = &waits.realtime.lane_endpoints[0];
    assert_eq!(lane.endpoints[0].to_string(), "mem://lane");
    let error = waits.set("ListenEndpoints", "iiop://a b").unwrap_err();
    assert!(error.to_string().contains("letters"), "{error}");
}

/// A transport that may lose messages.
#[derive(Debug)]
struct Lossy;

impl Transport for Lossy {
    fn scheme(&self) -> Scheme {
        Scheme::new("lossy")
    }

    fn facts(&self) -> Facts {
        Facts { reliable: false, stream: false, mtu: Some(1400), ..Facts::RELIABLE_STREAM }
    }

    fn endpoints(&self, _: Notation, text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
        Err(text.error("none"))
    }

    fn listen(&self, _: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        unreachable!("no protocol has it")
    }

    fn published(&self, _: &Endpoint, _: &[Publish]) -> std::io::Result<Vec<Address>> {
        Ok(Vec::new())
    }

    fn own_address(&self, _: &Endpoint) -> Address {
        Address::new(self.scheme(), "")
    }

    fn is_fixed(&self, _: &Endpoint) -> bool {
        false
    }

    fn is_local(&self, _: &Endpoint) -> bool {
        false
    }

    fn following(&self, _: &Endpoint, _: u32) -> Option<Endpoint> {
        None
    }

    fn start(&self, _: &Address) -> std::io::Result<Start> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[test]
fn a_transport_that_loses_octets_carries_no_giop() {
    let error: Mismatch =
        ProtocolStack::new("lossy", Placed::MEMORY, None, Arc::new(Lossy)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the protocol \"lossy\" cannot be added: GIOP needs a reliable transport, but this one may lose messages"
    );
}
