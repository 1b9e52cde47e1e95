//! Repeated kill -9 of servers and clients over UNIX sockets and shared memory: nothing is left of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use oxorb::{ObjectRef, Orb};
use oxorb_testkit::process::{Process, alone, rerun, test_name};
use oxorb_testkit::{rounds, watchdog};

use crate::common::*;

/// Returns the number of processes of each kind to kill: few would reveal a leftover.
fn killed() -> usize {
    rounds(60, 1000)
}

/// Number of simultaneous processes.
const AT_ONCE: usize = 4;

/// Size in octets of the first payload of a client.
const LARGE: usize = 300_000;

/// Variable set in a client process: the reference to call.
const CALLING: &str = "OXORB_FAULTS_CALLING";

/// Calls until killed, in a separate client process.
#[test]
fn call() {
    let Ok(ior) = std::env::var(CALLING) else {
        return;
    };
    let orb = Orb::builder().build().expect("a client");
    let object = orb.string_to_object(&ior).expect("a reference");
    assert_eq!(ping(&object, 0), Ok(1));
    println!("calling");
    for octets in LARGE.. {
        assert_eq!(swallow(&object, octets), Ok(octets as i64));
        assert_eq!(ping(&object, 1), Ok(2));
    }
}

/// Directory of one test, removed with its contents.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Self {
        let name = format!("oxorb-faults-{test}-{}", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a directory of its own");
        Self(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.0).expect("the directory");
        files.map(|file| file.expect("a file").path()).collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn endpoint(word: &str, path: &Path) -> String {
    format!("{word}://{}", path.display())
}

/// Name of the mapped shared-memory segments of a process.
const SEGMENTS: &str = "memfd:oxorb-shm";

/// Returns the segments that this process has mapped.
fn segments() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").expect("procfs");
    maps.lines().filter(|line| line.contains(SEGMENTS)).count()
}

/// Returns the descriptors that this process has open.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("procfs").count()
}

/// Starts a server on a socket.
fn server(word: &str, path: &Path) -> Server {
    Server::start(&[("ListenEndpoints", &endpoint(word, path))])
}

#[test]
fn killed_clients_and_servers_leave_nothing() {
    // Descriptors are counted for the whole process.
    if !alone(killed_clients_and_servers_leave_nothing) {
        return;
    }
    let _guard = watchdog(4 * LONG);
    for word in ["uiop", "shm"] {
        killed_clients(word);
        killed_servers(word);
    }
}

fn killed_clients(word: &str) {
    let directory = Directory::new("clients");
    let server = server(word, &directory.0.join("s"));
    let observer = client();
    let object = server.object(&observer);
    assert_eq!(ping(&object, 1), Ok(2));
    let (before, mapped) = (server.sockets(), server.mappings(SEGMENTS));
    assert_eq!(mapped, usize::from(word == "shm"), "of the observer");
    let ior = server.ior();
    each_killed(|_| {
        let mut command: Command = rerun(test_name(call));
        command.env(CALLING, ior);
        let mut client = Process::spawn(command);
        client.wait_for_line("calling", LONG);
        // The client is probably killed in the middle of a call with a payload.
        client.kill();
    });
    server.await_sockets(before);
    while server.mappings(SEGMENTS) > mapped {
        thread::yield_now();
    }
    assert_eq!(ping(&object, 2), Ok(3));
    observer.shutdown(true).expect("nothing runs");
}

/// Runs servers one after the other on each of a few paths. Each server takes over the file of the previous one.
fn killed_servers(word: &str) {
    let directory = Directory::new("servers");
    let observer = client();
    let paths: [PathBuf; AT_ONCE] = std::array::from_fn(|at| directory.0.join(format!("s{at}")));
    let lines = paths.each_ref().map(|path| Mutex::new((path, None::<ObjectRef>)));
    let before = descriptors();
    each_killed(|thread| {
        let mut line = lines[thread].lock().expect("one thread for each");
        let (path, known) = &mut *line;
        let server = server(word, path);
        let object = known.get_or_insert_with(|| server.object(&observer));
        // The same reference refers to each of them; the call detects that the connection to the previous one has
        // ended.
        assert_eq!(ping(object, 1), Ok(2));
        drop(server);
        assert!(path.exists(), "nobody was left to remove it");
    });
    for line in &lines {
        let (path, object) = &*line.lock().expect("no thread is left");
        let last = Orb::builder().listen(&endpoint(word, path)).build();
        let last = last.expect("the file is taken over");
        assert!(ping(object.as_ref().expect("it was called"), 1).is_err(), "another server");
        last.shutdown(true).expect("nothing runs");
    }
    observer.shutdown(true).expect("nothing runs");
    assert_eq!(directory.files(), [] as [PathBuf; 0]);
    // With shared memory, one descriptor is left: the epoll for all connections at which a thread has waited.
    while descriptors() > before + usize::from(word == "shm") || segments() > 0 {
        thread::yield_now();
    }
}

/// Runs `one` for each process to kill, in a few threads.
fn each_killed(one: impl Fn(usize) + Sync) {
    let (begun, killed) = (AtomicUsize::new(0), killed());
    let (begun, one) = (&begun, &one);
    thread::scope(|scope| {
        for thread in 0..AT_ONCE {
            scope.spawn(move || {
                while begun.fetch_add(1, Ordering::Relaxed) < killed {
                    one(thread);
                }
            });
        }
    });
}
