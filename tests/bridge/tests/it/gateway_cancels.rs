//! Requests that clients of a gateway or bridge cancel, or leave behind.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::bridge::{Bridge, Interfaces};
use oxorb::client::AsyncReply;
use oxorb::dynamic::{Signature, TypeCode};
use oxorb::gateway::{Gateway, GatewaySettings};
use oxorb::servant::request_is_cancelled;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    Builder, Interface as _, ObjectRef, Orb, Outcome, Ref, Servant, SystemException, Upcall,
};
use oxorb_testkit::{until, watchdog};

use crate::bridge::{LONG, TCP, listening};
use crate::gateway::{
    Echoing, call, calling_back, end, reference, references, resolve, settings, start, target,
};

const PATIENT: &str = "IDL:Patient:1.0";

static WAIT: Op = Op::twoway("wait");
static HOLD: Op = Op::twoway("hold");
/// The operation `hold`, of a client that waits for no answer.
static HOLD_UNANSWERED: Op = Op::oneway("hold");
static RETURN: Op = Op::twoway("return_at_once");

/// Servant whose operation `wait` runs until it is cancelled, and whose operation `hold` runs until it is released.
struct Patient {
    entered: Mutex<Sender<()>>,
    cancelled: Mutex<Sender<()>>,
    released: AtomicBool,
}

impl Servant for Patient {
    fn repository_id(&self) -> &str {
        PATIENT
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let can_be_released = match upcall.operation() {
            "wait" => false,
            "hold" => true,
            _ => return upcall.done(),
        };
        self.entered.lock().unwrap().send(()).unwrap();
        let began = Instant::now();
        while began.elapsed() < LONG / 2 {
            if can_be_released && self.released.load(SeqCst) {
                return upcall.done();
            }
            if request_is_cancelled() {
                self.cancelled.lock().unwrap().send(()).unwrap();
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        upcall.done()
    }
}

/// Returns a [`Patient`], and the receivers that report its requests and their cancellations.
fn patient() -> (Arc<Patient>, Receiver<()>, Receiver<()>) {
    let ((entered, has_entered), (cancelled, is_cancelled)) = (mpsc::channel(), mpsc::channel());
    let (entered, cancelled) = (Mutex::new(entered), Mutex::new(cancelled));
    let patient = Patient { entered, cancelled, released: AtomicBool::new(false) };
    (Arc::new(patient), has_entered, is_cancelled)
}

/// Returns an interface whose requests are decoded.
fn decoded() -> Interfaces {
    let mut interfaces = Interfaces::default();
    let operation = |name: &str| Signature::new(name).with_in("who", TypeCode::OBJECT);
    interfaces.add(PATIENT, ["wait", "hold", "return_at_once"].map(operation));
    interfaces
}

/// Waits until the servant runs a request.
#[track_caller]
fn entered(has_entered: &Receiver<()>) {
    has_entered.recv_timeout(LONG / 2).expect("the servant is called");
}

/// Waits until the servant has noticed that a request is cancelled.
#[track_caller]
fn cancelled(is_cancelled: &Receiver<()>) {
    is_cancelled.recv_timeout(LONG / 2).expect("the servant is not waited for any more");
}

/// Calls an operation of a [`Patient`].
fn begin(object: &Ref, op: &'static Op) -> AsyncReply<(), SystemException> {
    object.invoke_async(op, |e| oxorb::__gen::encode_ref::<ObjectRef>(e, None), |_| Ok(()))
}

/// Begins a request, cancels it when its servant runs, and waits until the servant has noticed that.
#[track_caller]
fn cancel_one(object: &Ref, has_entered: &Receiver<()>, is_cancelled: &Receiver<()>) {
    let call = begin(object, &WAIT);
    entered(has_entered);
    drop(call);
    cancelled(is_cancelled);
}

const CONNECTIONS: [ClientConnections; 4] = [
    ClientConnections::Cached,
    ClientConnections::Private,
    ClientConnections::Multiplexed,
    ClientConnections::LeaderFollowers,
];

#[test]
fn cancelled_requests_are_cancelled_at_their_servers() {
    let _guard = watchdog(LONG);
    for sharing in CONNECTIONS {
        for interfaces in [Interfaces::default(), decoded()] {
            let server = listening(TCP).build().unwrap();
            let (servant, has_entered, is_cancelled) = patient();
            let there = server.root_poa().activate_servant(servant).unwrap();
            let settings = GatewaySettings { interfaces, ..settings() };
            let inside = listening(TCP).client_connections(sharing);
            let gateway = Gateway::new(listening(TCP), inside, settings).unwrap();
            gateway.open("Target", &there.ior().to_string()).unwrap();
            gateway.listen().unwrap();
            let client = Orb::builder().build().unwrap();
            let object = resolve(&client, &target(&gateway));
            begin(&object, &RETURN).wait().unwrap();

            cancel_one(&object, &has_entered, &is_cancelled);
            until("the request has failed", || gateway.statistics().failed == 1);
            begin(&object, &RETURN).wait().unwrap();

            // A client that disconnects waits for nothing either. Its call is kept, so that it sends no CancelRequest.
            let leaving = Orb::builder().build().unwrap();
            let kept = begin(&resolve(&leaving, &target(&gateway)), &WAIT);
            entered(&has_entered);
            leaving.shutdown(true).unwrap();
            cancelled(&is_cancelled);
            until("the request has failed", || gateway.statistics().failed == 2);
            drop(kept);
            end(&gateway, &[&client, &server]);
        }
    }
}

#[test]
fn other_requests_of_the_client_go_on_when_one_is_cancelled() {
    let _guard = watchdog(LONG);
    let pool: fn(Builder) -> Builder =
        |builder| builder.concurrency(Concurrency::WorkerPool { threads: 8, queue: 100 });
    let threads: fn(Builder) -> Builder = |builder| builder;
    let all = [threads, pool].map(|change| CONNECTIONS.map(|sharing| (change, sharing)));
    for (change, sharing) in all.into_iter().flatten() {
        let server = listening(TCP).build().unwrap();
        let (servant, has_entered, is_cancelled) = patient();
        let there = server.root_poa().activate_servant(servant.clone()).unwrap();
        let inside = listening(TCP).client_connections(sharing);
        let gateway = Gateway::new(change(listening(TCP)), inside, settings()).unwrap();
        gateway.open("Target", &there.ior().to_string()).unwrap();
        gateway.listen().unwrap();
        let client = Orb::builder().build().unwrap();
        let object = resolve(&client, &target(&gateway));
        // All requests are sent over one connection, and with two of the strategies also forwarded over one.
        let before = begin(&object, &WAIT);
        entered(&has_entered);
        let other = begin(&object, &HOLD);
        entered(&has_entered);
        drop(before);
        cancelled(&is_cancelled);
        until("the request before it has failed", || gateway.statistics().failed == 1);
        cancel_one(&object, &has_entered, &is_cancelled);
        until("the request after it has failed", || gateway.statistics().failed == 2);
        begin(&object, &RETURN).wait().unwrap();
        servant.released.store(true, SeqCst);
        other.wait().unwrap();
        assert_eq!(gateway.statistics().failed, 2);
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn requests_without_an_answer_go_on_when_the_client_leaves() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let (servant, has_entered, is_cancelled) = patient();
    let there = server.root_poa().activate_servant(servant.clone()).unwrap();
    // A request that is decoded is forwarded as its type requires it, and so waits for the answer of the target.
    let settings = GatewaySettings { interfaces: decoded(), ..settings() };
    let gateway = start(TCP, settings, &there.ior().to_string());
    let leaving = Orb::builder().client_connections(ClientConnections::Multiplexed);
    let leaving = leaving.build().unwrap();
    let object = resolve(&leaving, &target(&gateway));
    let kept = begin(&object, &WAIT);
    entered(&has_entered);
    object.send(&HOLD_UNANSWERED, |e| oxorb::__gen::encode_ref::<ObjectRef>(e, None)).unwrap();
    entered(&has_entered);
    leaving.shutdown(true).unwrap();
    // The gateway has noticed the end of the connection when it ends the request that has an answer.
    cancelled(&is_cancelled);
    until("that request has failed", || gateway.statistics().failed == 1);
    servant.released.store(true, SeqCst);
    until("the other request has ended", || gateway.statistics().oneways == 1);
    assert_eq!(gateway.statistics().failed, 1);
    drop(kept);
    end(&gateway, &[&server]);
}

#[test]
fn cancelled_callbacks_are_cancelled_at_the_client() {
    let _guard = watchdog(LONG);
    let echoing = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &echoing.ior.to_string());
    let client = listening(TCP).build().unwrap();
    let (servant, has_entered, is_cancelled) = patient();
    let outer = client.root_poa().activate_servant(servant).unwrap();
    let echo = resolve(&client, &target(&gateway));
    call(&echo, "object", reference(outer.ior())).unwrap();
    let inside = references(&echoing.seen.lock().unwrap()[0]).remove(0);
    let object = resolve(&echoing.orb, &inside);
    cancel_one(&object, &has_entered, &is_cancelled);
    begin(&object, &RETURN).wait().unwrap();
    end(&gateway, &[&client, &echoing.orb]);
}

#[test]
fn a_bridge_forwards_cancellations() {
    let _guard = watchdog(LONG);
    for (before, behind) in [(TCP, TCP), ("uiop://", "shm://"), ("shm://", TCP)] {
        let server = listening(behind).build().unwrap();
        let (servant, has_entered, is_cancelled) = patient();
        let there = server.root_poa().activate_servant(servant).unwrap();
        let middle = listening(before).build().unwrap();
        let bridge = Bridge::new(&middle, Interfaces::default()).unwrap();
        let here = bridge.open("Patient", &there.ior().to_string()).unwrap();
        let client = Orb::builder().build().unwrap();
        let object = resolve(&client, here.reference().ior());
        cancel_one(&object, &has_entered, &is_cancelled);
        until("the request has failed", || bridge.statistics().failed == 1);
        begin(&object, &RETURN).wait().unwrap();
        for orb in [&client, &middle, &server] {
            orb.shutdown(true).unwrap();
        }
        bridge.close();
    }
}
