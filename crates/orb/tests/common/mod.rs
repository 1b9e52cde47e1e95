//! What the tests of the whole ORB share: a servant written by hand, and calls to it.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod fake;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oxorb::__gen::{Op, Ref};
use oxorb::{
    ClientConnections, Concurrency, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    Upcall,
};

pub static PING: Op = Op::twoway("ping");
pub static NOTE: Op = Op::oneway("note");
pub static SLEEP: Op = Op::twoway("sleep");
pub static STOP: Op = Op::twoway("stop");

/// For what must happen: no machine, however loaded, takes that long.
pub const LONG: Duration = Duration::from_secs(60);

pub const PINGER: &str = "IDL:test/Pinger:1.0";

/// Answers `ping` with the next number.
#[derive(Default)]
pub struct Pinger {
    pub notes: AtomicU32,
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
            "sleep" => {
                std::thread::sleep(Duration::from_millis(300));
                upcall.done()
            }
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

pub const EVERY_CONCURRENCY: [Concurrency; 2] = [
    Concurrency::ThreadPerConnection,
    Concurrency::LeaderFollowers { threads: 3 },
];

pub const EVERY_SHARING: [ClientConnections; 2] =
    [ClientConnections::Private, ClientConnections::Cached];

pub fn server(concurrency: Concurrency) -> Orb {
    Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .concurrency(concurrency)
        .build()
        .unwrap()
}

pub fn client(connections: ClientConnections) -> Orb {
    Orb::builder()
        .client_connections(connections)
        .build()
        .unwrap()
}

/// A new [`Pinger`] of `server`, as another process would have its reference.
pub fn pinger(server: &Orb, client: &Orb) -> ObjectRef {
    let local = server
        .root_poa()
        .activate_servant(Arc::new(Pinger::default()))
        .unwrap();
    elsewhere(client, &local)
}

/// The reference as another process would have it.
pub fn elsewhere(orb: &Orb, reference: &Ref) -> ObjectRef {
    orb.string_to_object(&reference.to_string()).unwrap()
}

/// Where the object listens.
pub fn address(object: &ObjectRef) -> SocketAddr {
    let profile = Interface::as_ref(object)
        .ior()
        .iiop_profiles()
        .next()
        .unwrap();
    SocketAddr::new(profile.host.parse().unwrap(), profile.port)
}

pub fn ping(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    Interface::as_ref(object).invoke(
        &PING,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// The same without waiting for the answer.
pub fn ping_async(object: &ObjectRef, n: i64) -> oxorb::AsyncReply<i64, SystemException> {
    Interface::as_ref(object).invoke_async(
        &PING,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

pub fn call(object: &ObjectRef, op: &'static Op) -> Result<(), SystemException> {
    Interface::as_ref(object).invoke(op, |_| Ok(()), |_| Ok(()))
}
