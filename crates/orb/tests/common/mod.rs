//! Code shared by the tests of whole ORBs: a hand-written servant, and calls to it.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test file uses its part")]

pub(crate) mod child;
pub(crate) mod fake;
pub(crate) mod lanes;
pub(crate) mod openmetrics;
pub(crate) mod peer;
pub(crate) mod transport;
pub(crate) mod worker;

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::{Op, Ref};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::transport::Address;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_cdr::{ByteOrder, Decoder, Encoder, Result as CdrResult};
use oxorb_giop::{RequestHeader, TargetAddress};

pub(crate) use oxorb_testkit::at_once;
pub(crate) use oxorb_testkit::process::alone;
pub(crate) use oxorb_testkit::until;
pub(crate) use transport::only_over;
use transport::wire;

pub(crate) static PING: Op = Op::twoway("ping");
pub(crate) static NOTE: Op = Op::oneway("note");
pub(crate) static NAP: Op = Op::oneway("nap");
pub(crate) static SLEEP: Op = Op::twoway("sleep");
pub(crate) static STOP: Op = Op::twoway("stop");
pub(crate) static BIG: Op = Op::twoway("big");
pub(crate) static DEEP: Op = Op::twoway("deep");
pub(crate) static ALLOCATED: Op = Op::twoway("allocated");
pub(crate) static WAIT: Op = Op::twoway("wait");
pub(crate) static HANG: Op = Op::twoway("hang");
pub(crate) static HANGING: Op = Op::twoway("hanging");

/// Time limit for events that must happen, even on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const PINGER: &str = "IDL:test/Pinger:1.0";

/// Answers `ping` with the next number.
#[derive(Default)]
pub(crate) struct Pinger {
    pub(crate) notes: AtomicU32,
    /// Gate that holds `wait` calls while a test has it locked.
    pub(crate) gate: Mutex<()>,
    /// Number of calls that wait at the gate or hang.
    pub(crate) at_gate: AtomicU32,
}

/// Size in octets of the reply to `big`: more than any socket buffer holds.
pub(crate) const BIG_ANSWER: usize = 32 << 20;

impl Pinger {
    /// Waits until `count` calls are at the gate.
    pub(crate) fn until_at_gate(&self, count: u32) {
        until("calls come to the gate", || self.at_gate.load(Ordering::SeqCst) >= count);
    }
}

impl Servant for Pinger {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "ping" => match upcall.args(|d| d.longlong()) {
                Ok(n) => upcall.reply(|e| {
                    e.longlong(n + 1);
                    Ok(())
                }),
                Err(rejected) => upcall.reject(rejected),
            },
            "note" => {
                self.notes.fetch_add(1, Ordering::SeqCst);
                upcall.done()
            }
            "nap" => {
                thread::sleep(Duration::from_micros(100));
                upcall.done()
            }
            "fail" => upcall.fail(SystemException::no_permission(7, CompletionStatus::Yes)),
            "panic" => panic!("as the test wants it"),
            "sleep" => {
                thread::sleep(Duration::from_millis(300));
                upcall.done()
            }
            "wait" => {
                self.at_gate.fetch_add(1, Ordering::SeqCst);
                drop(self.gate.lock());
                upcall.done()
            }
            "hang" => {
                self.at_gate.fetch_add(1, Ordering::SeqCst);
                thread::sleep(2 * LONG);
                upcall.done()
            }
            "hanging" => upcall.reply(|e| {
                e.ulong(self.at_gate.load(Ordering::SeqCst));
                Ok(())
            }),
            "big" => upcall.reply(|e| {
                e.length(BIG_ANSWER, None)?;
                e.copy_octets(&vec![7; BIG_ANSWER]);
                Ok(())
            }),
            "deep" => match upcall.args(nested) {
                Ok(()) => upcall.done(),
                Err(rejected) => upcall.reject(rejected),
            },
            "allocated" => upcall.reply(|e| {
                e.ulonglong(oxorb_testkit::alloc::global().octets);
                Ok(())
            }),
            "stop" => match upcall.orb().shutdown(true) {
                Ok(()) => upcall.done(),
                Err(exception) => upcall.fail(exception),
            },
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// A sequence of sequences of itself, as recursive IDL types are decoded.
fn nested(d: &mut Decoder<'_>) -> CdrResult<()> {
    d.nested(|d| {
        for _ in 0..d.length(None, 4)? {
            nested(d)?;
        }
        Ok(())
    })
}

pub(crate) const EVERY_CONCURRENCY: [Concurrency; 2] =
    [Concurrency::ThreadPerConnection, Concurrency::LeaderFollowers { threads: 3 }];

pub(crate) const EVERY_SHARING: [ClientConnections; 4] = [
    ClientConnections::Private,
    ClientConnections::Cached,
    ClientConnections::Multiplexed,
    ClientConnections::LeaderFollowers,
];

/// Strategies in which a connection carries one call at a time: a hanging call delays no other, and an abandoned call
/// costs its connection.
pub(crate) const UNSHARED: [ClientConnections; 2] =
    [ClientConnections::Private, ClientConnections::Cached];

/// All concurrency strategies.
pub(crate) const ARCHITECTURES: [Concurrency; 5] = [
    Concurrency::ThreadPerConnection,
    Concurrency::LeaderFollowers { threads: 3 },
    Concurrency::Reactive,
    Concurrency::ThreadPerRequest { threads: 64 },
    Concurrency::WorkerPool { threads: 3, queue: 64 },
];

pub(crate) fn server(concurrency: Concurrency) -> Orb {
    transport::listening().concurrency(concurrency).build().unwrap()
}

pub(crate) fn client(connections: ClientConnections) -> Orb {
    transport::builder().client_connections(connections).build().unwrap()
}

/// Returns a new [`Pinger`] of `server`, with a reference as another process would have it.
pub(crate) fn pinger(server: &Orb, client: &Orb) -> ObjectRef {
    let local = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    elsewhere(client, &local)
}

/// Returns the reference as another process would have it.
pub(crate) fn elsewhere(orb: &Orb, reference: &Ref) -> ObjectRef {
    orb.string_to_object(&reference.to_string()).unwrap()
}

/// Returns the object's address over the chosen protocol.
pub(crate) fn address(object: &ObjectRef) -> Address {
    let profile = transport::profile_of(object.reference());
    // A TLS profile that publishes lanes has no other addresses, so consider those of the lanes as well.
    let lanes = profile.lanes.into_iter().map(|(address, _)| address);
    let mut all = profile.addresses.into_iter().chain(lanes);
    all.next().expect("an address")
}

pub(crate) fn object_key(object: &ObjectRef) -> Vec<u8> {
    transport::profile_of(object.reference()).key
}

pub(crate) fn ping(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    object.reference().invoke(
        &PING,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Starts a `ping` without waiting for the answer.
pub(crate) fn ping_async(
    object: &ObjectRef,
    n: i64,
) -> oxorb::client::AsyncReply<i64, SystemException> {
    object.reference().invoke_async(
        &PING,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

pub(crate) fn call(object: &ObjectRef, op: &'static Op) -> Result<(), SystemException> {
    object.reference().invoke(op, |_| Ok(()), |_| Ok(()))
}

/// Returns a Request message as a client would send it to `object`.
pub(crate) fn request(
    object: &ObjectRef,
    op: &Op,
    id: u32,
    args: impl FnOnce(&mut Encoder<'_>),
) -> Vec<u8> {
    let key = object_key(object);
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire().dialect());
    let header = RequestHeader {
        id,
        response: op.response,
        key: TargetAddress::Key(&key),
        operation: op.name,
        contexts: &[],
        terms: None,
        alias: None,
    };
    let begun = wire().begin_request(&mut e, &header);
    args(&mut e);
    wire().finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

/// Short time limit, long enough to connect on a loaded machine.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

#[track_caller]
pub(crate) fn assert_raised(
    exception: SystemException,
    kind: SystemExceptionKind,
    status: CompletionStatus,
) {
    assert_eq!((exception.kind, exception.completed), (kind, status), "{exception}");
}

/// Repeats a call until its time limit expires after the request was sent, and returns that TIMEOUT. On a loaded
/// machine the limit may expire before the request is sent; the call has then not run, and is repeated.
#[track_caller]
pub(crate) fn timed_out<T: Debug>(
    mut call: impl FnMut() -> Result<T, SystemException>,
) -> SystemException {
    loop {
        let late = call().unwrap_err();
        if late.completed != CompletionStatus::No {
            assert_eq!(late.kind, SystemExceptionKind::Timeout, "{late}");
            return late;
        }
    }
}

/// Waits until the server executes a `hang`.
pub(crate) fn until_hanging(object: &ObjectRef) {
    let hanging = || -> Result<u32, SystemException> {
        object.reference().invoke(&HANGING, |_| Ok(()), |d| d.ulong())
    };
    while hanging().unwrap() == 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a client that checks a connection before each use, however short the pause.
pub(crate) fn wary_client(sharing: ClientConnections) -> Orb {
    transport::builder().client_connections(sharing).setting("TrustIdle", "0").build().unwrap()
}

/// Returns a URL of an object at an address without listener.
pub(crate) fn nowhere(key: &str) -> String {
    transport::url(&[&transport::free_place().address], key)
}

/// Returns the port of a TCP or TLS address.
pub(crate) fn port(address: &Address) -> u16 {
    let (_, port) = address.place().rsplit_once(':').expect("host and port");
    port.parse().expect("a port")
}

/// Reports whether an error text says that there is no listener; a missing socket file has its own
/// text.
pub(crate) fn nobody_listens(text: &str) -> bool {
    text.contains("refused") || text.contains("No such file")
}
