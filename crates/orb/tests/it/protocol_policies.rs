//! Choice of the protocol by calls, and of the published protocols by POAs; references with profiles of
//! unknown protocols.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests the choice among protocols.

use std::sync::Arc;

use oxorb::__gen::Op;
use oxorb::ior::{Ior, TaggedComponent};
use oxorb::poa::{PoaError, Policies, RtPolicies};
use oxorb::policy::{
    ClientProtocol, FragmentSize, PolicySet, Protocol, ProtocolFallback, ProtocolList, QueueLimit,
    SetOverrideType, SyncScope, TcpProtocolProperties,
};
use oxorb::protocol::ProtocolStack as Spoken;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::transport::mem::Memory;
use oxorb::{
    Builder, CompletionStatus, Interface, ObjectRef, Orb, Outcome, Ref, Servant,
    SystemExceptionKind, Upcall,
};
use oxorb_cdr::Decode as _;
use oxorb_object::{IiopProfile, TaggedProfile, minor, profile_tag};
use oxorb_testkit::watchdog;

use crate::common::{self, LONG, assert_raised, client, elsewhere, ping, ping_async, server};

const IIOP: u32 = profile_tag::INTERNET_IOP;
const MEMORY: u32 = profile_tag::OXORB_MEMORY;
/// Unassigned tag of a protocol.
const NOBODYS: u32 = 0x6e6f_6e65;

static ECHO: Op = Op::twoway("echo");
static LENGTH: Op = Op::twoway("length");
static NOTE: Op = Op::oneway("note");

/// Servant that answers `ping` with its number.
struct Numbered(u32);

impl Servant for Numbered {
    fn repository_id(&self) -> &str {
        "IDL:test/Numbered:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "ping" => upcall.reply(|e| {
                e.longlong(i64::from(self.0));
                Ok(())
            }),
            "echo" => match upcall.args(Ior::decode) {
                Ok(ior) => {
                    // Convert the reference to text and back, as an application might do.
                    let object = upcall.orb().string_to_object(&ior.to_string()).unwrap();
                    let again = object.reference().ior().clone();
                    upcall.reply(|e| {
                        again.write(e);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "length" => match upcall.args(|d| {
                let length = d.length(None, 1)?;
                d.octets(length).map(<[u8]>::len)
            }) {
                Ok(length) => upcall.reply(|e| {
                    e.ulong(length as u32);
                    Ok(())
                }),
                Err(rejected) => upcall.reject(rejected),
            },
            _ => upcall.done(),
        }
    }
}

fn orb(memory: &Memory) -> Builder {
    Orb::builder().protocol(Spoken::memory(memory.clone()))
}

fn serve(memory: &Memory, endpoint: &str, number: u32) -> (Orb, Ior) {
    let server = orb(memory).listen(endpoint).build().unwrap();
    let object = activate(&server, number);
    (server, object.ior().clone())
}

fn activate(server: &Orb, number: u32) -> Ref {
    let servant = Arc::new(Numbered(number));
    server.root_poa().activate_servant(servant).unwrap()
}

fn list(tags: &[u32]) -> ProtocolList {
    let list: Vec<_> = tags.iter().copied().map(Protocol::new).collect();
    ProtocolList::new(&list).unwrap()
}

fn by(tags: &[u32]) -> ClientProtocol {
    list(tags).into()
}

fn tags(ior: &Ior) -> Vec<u32> {
    ior.profiles.iter().map(|profile| profile.tag).collect()
}

#[track_caller]
fn answers(object: &ObjectRef, tag: u32) {
    assert_eq!(ping(object, 1), Ok(i64::from(tag)));
}

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn a_call_takes_the_first_protocol_of_its_list_that_answers() {
    let _guard = watchdog(LONG);
    let memory = Memory::new();
    // Each profile refers to a servant that answers with the tag of the profile.
    let (tcp, mut ior) = serve(&memory, "iiop://127.0.0.1:0", IIOP);
    let (mem, beside) = serve(&memory, "mem://beside", MEMORY);
    ior.profiles.extend(beside.profiles);
    for sharing in common::EVERY_SHARING {
        let client = orb(&memory).client_connections(sharing).build().unwrap();
        let object: ObjectRef = client.resolve(&ior.to_string()).unwrap();
        for _ in 0..2 {
            answers(&object.with(by(&[MEMORY, IIOP])), MEMORY);
            answers(&object.with(by(&[IIOP, MEMORY])), IIOP);
            answers(&object.with(by(&[NOBODYS, MEMORY])), MEMORY);
        }
        for (first, second) in [(MEMORY, IIOP), (IIOP, MEMORY)] {
            let asked = ping_async(&object.with(by(&[first, second])), 1);
            assert_eq!(asked.wait(), Ok(i64::from(first)), "{sharing:?}");
        }
        // The policy may also be set for the ORB. The object's policy takes precedence.
        client.policies().set(by(&[MEMORY])).unwrap();
        answers(&object, MEMORY);
        answers(&object.with(by(&[IIOP])), IIOP);

        let nowhere = object.with(by(&[NOBODYS]));
        let refused = ping(&nowhere, 1).unwrap_err();
        let kind = SystemExceptionKind::InvPolicy;
        assert_raised(refused, kind, CompletionStatus::No);
        assert_eq!(refused.minor, minor::inv_policy::NO_PROTOCOL);
        assert!(ping(&nowhere.with(ProtocolFallback::AnyOther), 1).is_ok());
        end(&[&client]);
    }
    end(&[&tcp, &mem]);
}

#[test]
fn a_protocol_that_does_not_answer_gives_way_and_comes_back() {
    let _guard = watchdog(LONG);
    let memory = Memory::new();
    let (tcp, mut ior) = serve(&memory, "iiop://127.0.0.1:0", IIOP);
    let (early, place) = serve(&memory, "mem://later", MEMORY);
    end(&[&early]);
    ior.profiles.extend(place.profiles);
    for sharing in common::EVERY_SHARING {
        let client = orb(&memory).client_connections(sharing).build().unwrap();
        let object: ObjectRef = client.resolve(&ior.to_string()).unwrap();
        let object = object.with(by(&[MEMORY, IIOP]));
        for _ in 0..3 {
            answers(&object, IIOP);
            assert_eq!(ping_async(&object, 1).wait(), Ok(i64::from(IIOP)));
        }
        end(&[&client]);
    }
    let client = orb(&memory).build().unwrap();
    let object: ObjectRef = client.resolve(&ior.to_string()).unwrap();
    let object = object.with(by(&[MEMORY, IIOP]));
    answers(&object, IIOP);
    // A new server listens at the memory address, with other objects. Calls stay with the server that has answered so
    // far.
    let (again, _) = serve(&memory, "mem://later", MEMORY);
    answers(&object, IIOP);
    end(&[&tcp]);
    let failed = ping(&object, 1).unwrap_err();
    assert_eq!(failed.kind, SystemExceptionKind::ObjectNotExist, "{failed}");
    end(&[&client, &again]);
}

#[test]
fn a_poa_publishes_the_protocols_of_its_policy_in_their_order() {
    let _guard = watchdog(LONG);
    let memory = Memory::new();
    let both = "iiop://127.0.0.1:0;mem://published";
    let server = orb(&memory).listen(both).build().unwrap();
    let deaf = orb(&memory).listen("iiop://127.0.0.1:0").build().unwrap();
    let poa = |orb: &Orb, name: &str, tags: &[u32]| {
        let realtime = RtPolicies { server_protocols: Some(list(tags)), ..RtPolicies::default() };
        let policies = Policies { realtime, ..Policies::default() };
        orb.root_poa().create_poa(name, policies)
    };
    for (name, wanted) in [("both", &[MEMORY, IIOP][..]), ("tcp", &[IIOP]), ("mem", &[MEMORY])] {
        let poa = poa(&server, name, wanted).unwrap();
        let object = poa.activate_servant(Arc::new(Numbered(0))).unwrap();
        assert_eq!(tags(object.ior()), wanted);
    }
    for (orb, tag, why) in
        [(&server, NOBODYS, "tag of its profiles"), (&deaf, MEMORY, "listens with none")]
    {
        match poa(orb, "refused", &[tag]) {
            Err(PoaError::InvalidPolicy(error)) => {
                assert!(error.to_string().contains(why), "{error}");
            }
            _ => panic!("{why}"),
        }
    }
    end(&[&server, &deaf]);
}

/// Properties of TCP do not apply to the memory transport, and cause no failure.
#[test]
fn a_protocol_ignores_properties_that_it_does_not_know() {
    let _guard = watchdog(LONG);
    let memory = Memory::new();
    let (server, ior) = serve(&memory, "mem://properties", MEMORY);
    let client = orb(&memory).build().unwrap();
    let object: ObjectRef = client.resolve(&ior.to_string()).unwrap();
    let tcp =
        TcpProtocolProperties { send_buffer_size: 1 << 20, ..TcpProtocolProperties::default() };
    let policy = ClientProtocol::new(&[Protocol::with(MEMORY, tcp)]).unwrap();
    answers(&object.with(policy), MEMORY);
    end(&[&client, &server]);
}

#[test]
fn fragments_and_queues_are_bounded_by_the_call() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    for sharing in common::EVERY_SHARING {
        let client = client(sharing);
        let object = elsewhere(&client, &activate(&server, 0));
        let long = |object: &ObjectRef, size: usize| {
            let octets = vec![7; size];
            let args = |e: &mut oxorb_cdr::Encoder<'_>| {
                e.ulong(octets.len() as u32);
                e.copy_octets(&octets);
                Ok(())
            };
            let length = object.reference().invoke(&LENGTH, args, |d| d.ulong());
            let length: Result<u32, oxorb::SystemException> = length;
            assert_eq!(length, Ok(size as u32), "{sharing:?}");
        };
        long(&object, 100_000);
        for fragment in [1024, 4096] {
            long(&object.with(FragmentSize(Some(fragment))), 100_000);
        }
        // The oneway is larger than the limit of the call's policy, and smaller than that of the ORB.
        let note = |object: &ObjectRef| {
            let args = |e: &mut oxorb_cdr::Encoder<'_>| {
                e.copy_octets(&[7; 4000]);
                Ok(())
            };
            object.reference().send(&NOTE, args)
        };
        let later = object.with(SyncScope::None);
        let noted: Result<(), oxorb::SystemException> = note(&later.with(QueueLimit(100_000)));
        noted.unwrap();
        let full: oxorb::SystemException = note(&later.with(QueueLimit(1000))).unwrap_err();
        assert_eq!(full.minor, minor::transient::BUFFER_FULL, "{full}");
        end(&[&client]);
    }
    let tiny = [FragmentSize(Some(1023)).into()];
    let set = PolicySet::new().overridden(&tiny, SetOverrideType::Add);
    assert!(set.unwrap_err().to_string().contains("1,024"));
    end(&[&server]);
}

#[test]
fn foreign_profiles_and_components_survive_octet_for_octet() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Cached);
    let mut ior = activate(&server, 7).ior().clone();
    // Use odd lengths, an unknown component, and octets that are not an encapsulation.
    let mut iiop = IiopProfile::parse(&ior.profiles[0]).unwrap();
    iiop.components.push(TaggedComponent { tag: NOBODYS, data: vec![5, 4, 3] });
    let foreign = TaggedProfile { tag: NOBODYS, data: vec![0xff, 0, 7, 1, 0xfe] };
    let components = TaggedProfile {
        tag: profile_tag::MULTIPLE_COMPONENTS,
        data: vec![0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9, 0, 0, 0, 3, 9, 8, 7],
    };
    ior.profiles = vec![foreign, iiop.to_profile(), components];
    let text = ior.to_string();

    let object = client.string_to_object(&text).unwrap();
    assert_eq!(object.to_ior(), text);
    // The call succeeds, because profiles of unknown protocols are skipped.
    answers(&object, 7);
    // Send the reference as an argument to a servant, which returns it.
    let args = |e: &mut oxorb_cdr::Encoder<'_>| {
        ior.write(e);
        Ok(())
    };
    #[expect(
        clippy::redundant_closure,
        reason = "the function is for one lifetime, the closure for all"
    )]
    let echoed: Result<Ior, oxorb::SystemException> =
        object.reference().invoke(&ECHO, args, |d| Ior::decode(d));
    assert_eq!(echoed.unwrap(), ior);
    end(&[&client, &server]);
}
