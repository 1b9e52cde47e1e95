//! Oneway operations whose servants raise system exceptions. Callers that wait for the servant receive the exceptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use alarm::tower::{AmhClock, Clock, ClockRef, Watched};
use alarm::{Bell, BellRef};
use oxorb::policy::SyncScope;
use oxorb::servant::{Amh, DelegatesTo};
use oxorb::{CompletionStatus, Interface, Orb, Result, SystemException, SystemExceptionKind};
use oxorb_codegen_tests::alarm;
use oxorb_testkit::until;

/// Exception raised by every servant.
const CRACKED: SystemException = SystemException::no_resources(7, CompletionStatus::No);

#[derive(Default)]
struct Cracked {
    rung: AtomicUsize,
    hushed: AtomicUsize,
}

impl Bell for Cracked {
    fn ring(&self, place: &str) -> Result<()> {
        self.rung.fetch_add(1, Ordering::SeqCst);
        match place {
            "here" => Err(CRACKED),
            _ => Ok(()),
        }
    }

    fn hush(&self) {
        self.hushed.fetch_add(1, Ordering::SeqCst);
    }

    fn rings(&self) -> Result<bool> {
        Ok(true)
    }
}

/// Servant whose bell is elsewhere.
#[derive(Default)]
struct Tower {
    bell: Arc<Cracked>,
}

impl DelegatesTo<dyn Bell> for Tower {
    fn delegate(&self) -> &dyn Bell {
        &*self.bell
    }
}

impl Watched for Tower {
    fn look(&self, times: i32) -> Result<()> {
        (times < 3).then_some(()).ok_or(CRACKED)
    }
}

impl Clock for Tower {
    fn strike(&self, hour: i32) -> Result<()> {
        (hour < 12).then_some(()).ok_or(CRACKED)
    }

    fn wind(&self) {}
}

/// Servant that answers two-way calls later; only the bell has any.
struct Later;

impl alarm::AmhBell for Later {
    fn ring(&self, place: &str) -> Result<()> {
        (place != "here").then_some(()).ok_or(CRACKED)
    }

    fn hush(&self) {}

    fn rings(&self, answer: alarm::bell::RingsAnswer) {
        answer.reply(true);
    }
}

impl alarm::tower::AmhWatched for Later {
    fn look(&self, _: i32) -> Result<()> {
        Err(CRACKED)
    }
}

impl AmhClock for Later {
    fn strike(&self, _: i32) -> Result<()> {
        Err(CRACKED)
    }

    fn wind(&self) {}
}

fn server() -> Orb {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0");
    orb.build().unwrap()
}

fn raised(result: Result<()>) {
    let raised = result.unwrap_err();
    assert_eq!(raised.kind, SystemExceptionKind::NoResources);
    assert_eq!((raised.minor, raised.completed), (7, CompletionStatus::No));
}

/// Checks a client's calls, over the wire or in the servant's process.
fn scopes(bell: &BellRef, servant: &Cracked) {
    raised(bell.with(SyncScope::WithTarget).ring("here"));
    bell.with(SyncScope::WithTarget).ring("there").unwrap();
    for scope in [SyncScope::None, SyncScope::WithTransport, SyncScope::WithServer] {
        bell.with(scope).ring("here").unwrap();
    }
    bell.with(SyncScope::WithTarget).hush().unwrap();
    assert_eq!(servant.hushed.load(Ordering::SeqCst), 1);
    // The connection can still be used, because oneways got no replies.
    assert!(bell.rings().unwrap());
}

#[test]
fn a_oneway_with_target_tells_what_its_servant_raised() {
    let (server, client) = (server(), Orb::builder().build().unwrap());
    let servant = Arc::new(Cracked::default());
    let local: BellRef = server.root_poa().activate(Arc::clone(&servant)).unwrap();
    let bell: BellRef = client.resolve(&local.to_ior()).unwrap();
    scopes(&bell, &servant);
    // The oneway of SYNC_NONE has a separate connection, which the server may leave unread at its end.
    until("each has run", || servant.rung.load(Ordering::SeqCst) == 5);
    client.shutdown(true).unwrap();
    // A oneway that was only sent may still be in transit.
    let begun = Instant::now();
    while servant.rung.load(Ordering::SeqCst) < 5 && begun.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(1));
    }
    server.shutdown(true).unwrap();
    assert_eq!(servant.rung.load(Ordering::SeqCst), 5, "each once");
}

#[test]
fn so_does_one_to_an_object_of_the_same_process() {
    let server = server();
    let servant = Arc::new(Cracked::default());
    let bell: BellRef = server.root_poa().activate(Arc::clone(&servant)).unwrap();
    scopes(&bell, &servant);
    server.shutdown(true).unwrap();
    assert_eq!(servant.rung.load(Ordering::SeqCst), 5, "each has run");
}

#[test]
fn inherited_delegated_and_late_servants_raise_as_well() {
    let (server, client) = (server(), Orb::builder().build().unwrap());
    let locals: [ClockRef; 2] = [
        server.root_poa().activate(Tower::default()).unwrap(),
        server.root_poa().activate(Amh(Later)).unwrap(),
    ];
    for local in locals {
        let clock: ClockRef = client.resolve(&local.to_ior()).unwrap();
        let clock = clock.with(SyncScope::WithTarget);
        raised(clock.ring("here"));
        clock.ring("there").unwrap();
        raised(clock.strike(12));
        raised(clock.look(3));
        clock.hush().unwrap();
        clock.wind().unwrap();
        assert!(clock.rings().unwrap());
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
