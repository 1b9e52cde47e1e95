//! A gateway between a client and a server, each of which is killed, started again or cut off. No call that raised
//! COMPLETED_NO has run, and none has run twice.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::gateway::{Gateway, GatewaySettings, Side, SigningKey};
use oxorb::ior::Ior;
use oxorb::{Interface as _, Orb, Outcome, Servant, Upcall};
use oxorb_testkit::net::free_port;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::{rounds, until, watchdog};

use crate::common::cable::Cable;
use crate::common::*;
use crate::gateway_soak::Steady;

/// Variable set in the gateway's process: the reference of the server.
const TARGET: &str = "OXORB_FAULTS_ORDERLY_GATEWAY_TARGET";

/// Variable with the port of the gateway outside.
const PORT: &str = "OXORB_FAULTS_ORDERLY_GATEWAY_PORT";

/// Time limit of the client's calls. The test waits as long when it cuts a cable.
const HURRY: Duration = Duration::from_millis(500);

/// Runs the gateway in a separate process, until killed or terminated. Its references stay valid when it runs again.
#[test]
fn gateway_until_terminated() {
    let Ok(server) = std::env::var(TARGET) else {
        return;
    };
    let port = std::env::var(PORT).unwrap();
    let outside = Orb::builder().listen(&format!("iiop://127.0.0.1:{port}"));
    let inside = Orb::builder().listen("iiop://127.0.0.1:0");
    let settings = GatewaySettings::new(SigningKey::from_octets(&[7; 32]).unwrap());
    let gateway = Gateway::new(outside, inside, settings).unwrap();
    gateway.open("Worker", &server).unwrap();
    gateway.listen().unwrap();
    gateway.orb(Side::Outside).shutdown_on_signal().unwrap();
    println!("at {}", gateway.reference("Worker").unwrap().to_ior());
    gateway.run();
}

fn start(target: &str, port: u16) -> (Process, String) {
    let mut command = rerun(test_name(gateway_until_terminated));
    command.env(TARGET, target).env(PORT, port.to_string());
    let mut gateway = Process::spawn(command);
    let line = gateway.wait_for_line("at IOR:", LONG);
    let reference = line.rsplit_once(' ').unwrap().1.to_owned();
    (gateway, reference)
}

/// Returns a reference with another address.
fn through(ior: &str, address: SocketAddr) -> String {
    let ior: Ior = ior.parse().unwrap();
    let mut profile = ior.iiop_profiles().next().unwrap();
    profile.host = address.ip().to_string();
    profile.port = address.port();
    let profiles = vec![profile.to_profile()];
    Ior { type_id: ior.type_id, profiles }.to_string()
}

/// Sends SIGTERM to a gateway.
fn signal(gateway: &Process) {
    let sent = Command::new("kill").arg(gateway.id().to_string()).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn no_call_through_a_gateway_that_raised_completed_no_has_run() {
    let _guard = watchdog(10 * LONG);
    let mut server = Server::restartable(&[]);
    let behind = Cable::to(server.address());
    let target = through(server.ior(), behind.address());
    let port = free_port();
    let (mut gateway, reference) = start(&target, port);
    let before = Cable::to(SocketAddr::from(([127, 0, 0, 1], port)));
    let orb = client();
    let worker = orb.string_to_object(&through(&reference, before.address())).unwrap();
    let steady = Arc::new(Steady::new(within(&worker, HURRY)));
    let stop = Arc::<AtomicBool>::default();
    let calling = {
        let (steady, stop) = (Arc::clone(&steady), Arc::clone(&stop));
        thread::spawn(move || steady.call_while(|| !stop.load(SeqCst)))
    };
    let goes_on = |after: &str| {
        let answered = steady.answered();
        until(after, || steady.answered() >= answered + 5);
    };
    goes_on("calls are answered");
    for _ in 0..rounds(1, 5) {
        server.restart();
        goes_on("the server runs again");
        gateway.kill();
        (gateway, _) = start(&target, port);
        goes_on("the gateway runs again");
        signal(&gateway);
        gateway.wait_success(LONG);
        (gateway, _) = start(&target, port);
        goes_on("the gateway that was terminated runs again");
        for cable in [&before, &behind] {
            let failed = steady.failed();
            cable.cut();
            until("a call fails", || steady.failed() > failed);
            cable.repair();
            goes_on("the cable is repaired");
        }
    }
    stop.store(true, SeqCst);
    calling.join().unwrap();
    steady.check(&server.journal());
    orb.shutdown(true).unwrap();
}

/// Servant whose operation `run` waits.
struct Waiting {
    entered: Mutex<Sender<()>>,
    released: Mutex<Receiver<()>>,
}

impl Servant for Waiting {
    fn repository_id(&self) -> &str {
        "IDL:oxorb.org/Faults/Worker:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let number = match upcall.args(|d| d.longlong()) {
            Ok(number) => number,
            Err(rejected) => return upcall.reject(rejected),
        };
        if upcall.operation() == "run" {
            self.entered.lock().unwrap().send(()).unwrap();
            self.released.lock().unwrap().recv().unwrap();
        }
        upcall.reply(|e| {
            e.longlong(number + 1);
            Ok(())
        })
    }
}

#[test]
fn a_gateway_that_is_terminated_answers_the_running_requests() {
    let _guard = watchdog(5 * LONG);
    let ((entered, has_entered), (release, released)) = (mpsc::channel(), mpsc::channel());
    let servant = Waiting { entered: Mutex::new(entered), released: Mutex::new(released) };
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let there = server.root_poa().activate_servant(Arc::new(servant)).unwrap();
    let (mut gateway, reference) = start(&there.ior().to_string(), free_port());
    let (orb, other) = (client(), client());
    let running = run_async(&orb.string_to_object(&reference).unwrap(), 1);
    has_entered.recv_timeout(LONG).expect("the request runs");
    signal(&gateway);
    let late = within(&other.string_to_object(&reference).unwrap(), HURRY);
    until("the gateway serves no further requests", || ping(&late, 1).is_err());
    release.send(()).unwrap();
    assert_eq!(running.wait(), Ok(2));
    gateway.wait_success(LONG);
    for orb in [&orb, &other, &server] {
        orb.shutdown(true).unwrap();
    }
}
