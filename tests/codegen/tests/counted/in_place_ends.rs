//! Calls that end while octets are lent: by a time-out, a cancellation, a shutdown, and `kill -9` of either side. The
//! holder of the lease still reads the octets that it was sent, and the other side is notified. In the end no resource
//! of the connection is left.
//!
//! Descriptors, threads and mapped memory are counted for the whole process, so the test runs in a separate one.

use std::fs;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use in_place::{Holder, HolderRef};
use oxorb::policy::RelativeRoundtripTimeout;
use oxorb::values::Octets;
use oxorb::{CompletionStatus, Interface as _, Orb, Result, SystemExceptionKind};
use oxorb_codegen_tests::in_place;
use oxorb_testkit::process::{Process, alone, rerun, test_name};
use oxorb_testkit::watchdog;

/// Variable with the task of the process to be killed, followed by a space and the reference to call.
const TASK: &str = "OXORB_IN_PLACE_TASK";

/// Duration of a failing wait.
const LONG: Duration = Duration::from_secs(60);

/// Size in octets of a lent payload.
const LARGE: usize = 50_000;

/// Servant that answers with equal octets, and holds those lent to it.
struct Servant {
    /// Signalled for each request that holds octets.
    begun: SyncSender<()>,
    /// Releases the servant.
    go_on: Mutex<Receiver<()>>,
    /// Contents after the release.
    held: SyncSender<Vec<u8>>,
}

impl Holder for Servant {
    fn read(&self, octets: i32) -> Result<Octets<'_>> {
        Ok(vec![7; octets as usize].into())
    }

    fn back<'a>(&'a self, image: Octets<'a>) -> Result<Octets<'a>> {
        assert!(image.is_leased());
        self.begun.send(()).unwrap();
        self.go_on.lock().unwrap().recv_timeout(LONG).unwrap();
        self.held.send(image.into_vec()).unwrap();
        Ok((&[1, 2, 3]).into())
    }

    fn pause(&self) -> Result<()> {
        self.begun.send(()).unwrap();
        self.go_on.lock().unwrap().recv_timeout(LONG).unwrap();
        Ok(())
    }
}

struct Setting {
    server: Orb,
    client: Orb,
    source: HolderRef,
    begun: Receiver<()>,
    go_on: SyncSender<()>,
    held: Receiver<Vec<u8>>,
}

fn servant() -> (Servant, Receiver<()>, SyncSender<()>, Receiver<Vec<u8>>) {
    let (begin, begun) = sync_channel(9);
    let (go_on, went_on) = sync_channel(9);
    let (held, hold) = sync_channel(9);
    let servant = Servant { begun: begin, go_on: Mutex::new(went_on), held };
    (servant, begun, go_on, hold)
}

fn serving() -> Orb {
    Orb::builder().listen("shm://").build().unwrap()
}

fn setting(connections: &str) -> Setting {
    let client = Orb::builder().setting("ClientConnections", connections);
    let (server, client) = (serving(), client.build().unwrap());
    let (servant, begun, go_on, held) = servant();
    let local: HolderRef = server.root_poa().activate(servant).unwrap();
    let source = client.resolve(&local.to_ior()).unwrap();
    Setting { server, client, source, begun, go_on, held }
}

impl Setting {
    fn end(self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

fn image() -> Vec<u8> {
    (0..LARGE).map(|at| (at % 251) as u8).collect()
}

fn assert_leased(image: &Octets<'_>) {
    assert!(image.is_leased());
    let mut octets = 0;
    image.for_each_chunk::<4096>(|chunk| {
        assert!(chunk.iter().all(|octet| *octet == 7));
        octets += chunk.len();
    });
    assert_eq!(octets, LARGE);
}

/// Returns the numbers of mapped segments, descriptors, and threads of ORBs.
fn used() -> [usize; 3] {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let segments = maps.matches("memfd:oxorb-shm").count();
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().count();
    let names = fs::read_dir("/proc/self/task").unwrap().filter_map(|task| {
        // A thread may have ended meanwhile.
        fs::read_to_string(task.ok()?.path().join("comm")).ok()
    });
    let threads = names.filter(|name| name.starts_with("oxorb-")).count();
    [segments, descriptors, threads]
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let since = Instant::now();
    while !is() {
        assert!(since.elapsed() < LONG, "{what}: {:?}", used());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a case, and checks that it leaves no resources. A process creates one descriptor, for a signal, when the
/// descriptor of a connection is first requested, in whichever case; every other leftover descriptor is an error.
fn leaves_nothing(what: &str, first: [usize; 3], case: impl FnOnce()) {
    case();
    wait_until(what, || {
        let [segments, descriptors, threads] = used();
        segments == 0 && descriptors <= first[1] + 1 && threads <= first[2]
    });
}

#[test]
fn calls_that_end_while_octets_are_lent_leave_nothing() {
    if !alone(calls_that_end_while_octets_are_lent_leave_nothing) {
        return;
    }
    let _guard = watchdog(4 * LONG);
    // Creates the permanent resources of a process.
    timed_out(setting("cached"));
    wait_until("the first one", || used()[0] == 0 && used()[2] == 0);
    let first = used();
    for connections in ["cached", "multiplexed"] {
        leaves_nothing("a time-out", first, || timed_out(setting(connections)));
        leaves_nothing("a cancel", first, || cancelled(setting(connections)));
        leaves_nothing("a late reply", first, || late(setting(connections)));
        leaves_nothing("an end of the client", first, || client_ends(setting(connections)));
        leaves_nothing("an end of the server", first, || server_ends(setting(connections)));
        leaves_nothing("a killed server", first, || server_killed(connections));
    }
    leaves_nothing("a killed client", first, client_killed);
}

/// The client's time-out expires while the servant reads.
fn timed_out(setting: Setting) {
    // Makes the connection before the time-out starts.
    setting.source.read(1).unwrap();
    let limit = RelativeRoundtripTimeout(Duration::from_millis(300));
    let hurried = setting.source.with(limit);
    // On a loaded machine, the time-out may expire before the request is sent.
    let error = loop {
        let error = hurried.back((&image()).into()).unwrap_err();
        if error.completed != CompletionStatus::No {
            break error;
        }
    };
    assert_eq!(error.kind, SystemExceptionKind::Timeout);
    setting.begun.recv_timeout(LONG).unwrap();
    // Other calls use other blocks.
    assert_leased(&setting.source.read(LARGE as i32).unwrap());
    setting.go_on.send(()).unwrap();
    assert_eq!(setting.held.recv_timeout(LONG).unwrap(), image());
    setting.end();
}

/// The call is cancelled while the servant reads.
fn cancelled(setting: Setting) {
    let answer = setting.source.back_async((&image()).into());
    setting.begun.recv_timeout(LONG).unwrap();
    drop(answer);
    // The next calls use the same connection. Its thread still serves the cancelled request, which must end first.
    setting.go_on.send(()).unwrap();
    assert_eq!(setting.held.recv_timeout(LONG).unwrap(), image());
    for _ in 0..40 {
        let answer = setting.source.read_async(LARGE as i32);
        assert_leased(&answer.wait().unwrap());
    }
    setting.end();
}

/// Unclaimed replies return their blocks.
fn late(setting: Setting) {
    for _ in 0..40 {
        let mut answer = setting.source.read_async(LARGE as i32);
        let since = Instant::now();
        while !answer.is_ready() {
            assert!(since.elapsed() < LONG);
            thread::yield_now();
        }
        drop(answer);
    }
    assert_leased(&setting.source.read_async(LARGE as i32).wait().unwrap());
    setting.end();
}

/// The servant reads while the client shuts down.
fn client_ends(setting: Setting) {
    let source = setting.source.clone();
    let caller = thread::spawn(move || source.back((&image()).into()).map(Octets::into_vec));
    setting.begun.recv_timeout(LONG).unwrap();
    setting.client.shutdown(false).unwrap();
    setting.go_on.send(()).unwrap();
    assert_eq!(setting.held.recv_timeout(LONG).unwrap(), image());
    // The caller has received an answer, or an exception.
    if let Ok(answer) = caller.join().unwrap() {
        assert_eq!(answer, [1, 2, 3]);
    }
    setting.end();
}

/// The client reads while the server shuts down, and after both ORBs are gone.
fn server_ends(setting: Setting) {
    let image = setting.source.read(LARGE as i32).unwrap();
    setting.server.shutdown(true).unwrap();
    assert_leased(&image);
    let error = setting.source.read(1).unwrap_err();
    assert!(is_lost(error.kind), "{error}");
    setting.end();
    assert_leased(&image);
    // The server's own mapping is removed, and that of the lease stays.
    wait_until("the memory of the server", || used()[0] == 1);
    assert_leased(&image);
}

fn is_lost(kind: SystemExceptionKind) -> bool {
    matches!(kind, SystemExceptionKind::CommFailure | SystemExceptionKind::Transient)
}

/// The client reads octets of a killed server, whose death is reported with its next call.
fn server_killed(connections: &str) {
    let mut command = rerun(test_name(victim));
    command.env(TASK, "serve ");
    let mut victim = Process::spawn(command);
    let line = victim.wait_for_line("at IOR:", LONG);
    let client = Orb::builder().setting("ClientConnections", connections);
    let client = client.build().unwrap();
    let (_, ior) = line.split_once("at ").unwrap();
    let source: HolderRef = client.resolve(ior.trim()).unwrap();
    let image = source.read(LARGE as i32).unwrap();
    let waiting = source.clone();
    let caller = thread::spawn(move || waiting.pause());
    victim.wait_for_line("begun", LONG);
    victim.kill();
    let error = caller.join().unwrap().unwrap_err();
    assert!(is_lost(error.kind), "{error}");
    assert_leased(&image);
    client.shutdown(true).unwrap();
    assert_leased(&image);
}

/// The servant reads octets of a killed client.
fn client_killed() {
    let (servant, begun, go_on, held) = servant();
    let server = serving();
    let local: HolderRef = server.root_poa().activate(servant).unwrap();
    let mut command = rerun(test_name(victim));
    command.env(TASK, format!("call {}", local.to_ior()));
    let mut victim = Process::spawn(command);
    begun.recv_timeout(LONG).unwrap();
    victim.kill();
    go_on.send(()).unwrap();
    assert_eq!(held.recv_timeout(LONG).unwrap(), image());
    // The memory is released without a shutdown.
    wait_until("the memory of a killed client", || used()[0] == 0);
    server.shutdown(true).unwrap();
}

/// Process to be killed.
#[test]
fn victim() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let (task, ior) = task.split_once(' ').unwrap();
    if task == "call" {
        let orb = Orb::builder().build().unwrap();
        let source: HolderRef = orb.resolve(ior).unwrap();
        let _ = source.back((&image()).into());
        return;
    }
    let (servant, begun, _go_on, _held) = servant();
    let server = serving();
    let local: HolderRef = server.root_poa().activate(servant).unwrap();
    println!("at {}", local.to_ior());
    begun.recv_timeout(LONG).unwrap();
    println!("begun");
    thread::sleep(LONG);
}
