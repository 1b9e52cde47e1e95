//! A client that writes garbage into the memory of its own connections during calls: its server and all other clients
//! are not affected.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::incident::Incident;
use oxorb::{Orb, SystemException};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::{rounds, watchdog};

use crate::common::*;

/// Variable set in the garbage-writing process: the reference to call.
const SCRIBBLING: &str = "OXORB_FAULTS_SCRIBBLING";

/// Returns the number of writes.
fn strokes_in_all() -> u64 {
    rounds(3000, 30_000)
}

/// Limit on each process's address space, in kilobytes.
const ADDRESSES: u64 = 3 << 20;

/// Name of the mapped shared-memory segments of a process.
const SEGMENTS: &str = "memfd:oxorb-shm";

/// Size in octets of the header of a segment.
const HEADER: u64 = 4096;

#[test]
fn a_client_that_scribbles_harms_nobody_else() {
    let _guard = watchdog(3 * LONG);
    let path = oxorb_testkit::net::socket_folder()
        .join(format!("oxorb-faults-scribbler-{}", std::process::id()));
    // Short time limit for the end of a message that never ends.
    let endpoint = format!("shm://{}|ring=16K&blocks=256K", path.display());
    let settings = [("ListenEndpoints", &*endpoint), ("StallTimeout", "500")];
    let server = Server::with_addresses(ADDRESSES, &settings);
    let honest = client();
    let object = server.object(&honest);
    assert_eq!(ping(&object, 1), Ok(2));
    let before = (server.sockets(), server.mappings(SEGMENTS), server.status("Threads"));
    assert_eq!(before.1, 1, "of this client");

    let mut command = Command::new("sh");
    let run = rerun(test_name(scribble));
    command.args(["-c", &format!("ulimit -v {ADDRESSES}; exec \"$0\" \"$@\"")]);
    command.arg(run.get_program()).args(run.get_args());
    command.env(SCRIBBLING, server.ior());
    let mut scribbler = Process::spawn(command);
    scribbler.wait_for_line("at it", LONG);
    let (calls, line) = thread::scope(|scope| {
        let spoilt = scope.spawn(|| scribbler.wait_for_line("spoilt", LONG));
        let mut calls = 0;
        while !spoilt.is_finished() {
            calls += 1;
            assert_eq!(ping(&object, calls), Ok(calls + 1));
            if calls % 50 == 0 {
                assert_eq!(swallow(&object, 100_000 + calls as usize), Ok(100_000 + calls));
            }
        }
        (calls, spoilt.join().expect("it tells"))
    });
    println!("{calls} calls of another client meanwhile; {line}");
    let said = scribbler.wait_success(LONG);
    assert!(said.iter().all(|line| !line.text.contains("panicked")), "{said:?}");
    println!(
        "the server noted {} violations, and {} connections that stalled",
        count(&object, Incident::Violation),
        count(&object, Incident::Stalled)
    );
    server.await_sockets(before.0);
    server.await_threads(before.2);
    let end = Instant::now() + LONG;
    while server.mappings(SEGMENTS) > before.1 {
        assert!(Instant::now() < end, "segments are left");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(ping(&object, 1), Ok(2));
    honest.shutdown(true).expect("nothing runs");
    let said = server.stop_and_tell();
    assert!(!said.contains("panicked"), "{said}");
    let _ = fs::remove_file(path);
}

/// Garbage-writing process: one thread calls, and another one writes into all shared memory.
#[test]
fn scribble() {
    let Ok(ior) = std::env::var(SCRIBBLING) else {
        return;
    };
    let orb = Orb::builder().setting("RoundTripTimeout", "300").build();
    let orb = orb.expect("a client");
    let object = orb.string_to_object(&ior).expect("a reference");
    assert_eq!(ping(&object, 1), Ok(2));
    println!("at it");
    std::io::stdout().flush().expect("a pipe");
    let (over, strokes) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut answers, mut failures) = (0, std::collections::BTreeMap::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(std::process::id().into());
            while !over.load(Ordering::Relaxed) {
                strokes.fetch_add(stroke(&mut random), Ordering::Relaxed);
                // Some calls must succeed, so that the server has something to decode.
                let pause = [0, 10, 50, 300][random.below(4) as usize];
                thread::sleep(Duration::from_micros(pause));
            }
        });
        let mut number = 0;
        // The garbage may also make this process crash.
        while strokes.load(Ordering::Relaxed) < strokes_in_all()
            || answers == 0
            || failures.is_empty()
        {
            number += 1;
            let answer = match number % 4 {
                0 => swallow(&object, 40_000).map(drop),
                1 => swallow(&object, 3000).map(drop),
                _ => ping(&object, number).map(drop),
            };
            match answer {
                Ok(()) => answers += 1,
                Err(exception) => *failures.entry(first_words(&exception)).or_insert(0) += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let strokes = strokes.into_inner();
    println!("spoilt by {strokes} strokes: {answers} answers, {failures:?}");
    let _ = orb.shutdown(false);
}

/// Knuth's pseudo-random generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        let Self(state) = self;
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) % limit
    }
}

/// Writes once into each mapped segment of this process; returns the number of writes.
fn stroke(random: &mut Random) -> u64 {
    let memory = File::options().write(true).open("/proc/self/mem").expect("procfs");
    let maps = fs::read_to_string("/proc/self/maps").expect("procfs");
    let mut strokes = 0;
    for line in maps.lines().filter(|line| line.contains(SEGMENTS)) {
        let range = line.split(' ').next().expect("addresses");
        let (from, to) = range.split_once('-').expect("two of them");
        let address = |text| u64::from_str_radix(text, 16).expect("a number");
        let (from, octets) = (address(from), address(to) - address(from));
        let (at, what) = match random.below(6) {
            // A word of the header: usually one in use, with a plausible value.
            0 | 1 => (random.below(14) * 128, (random.below(40_000) as u32).to_ne_bytes().to_vec()),
            2 => (
                random.below(HEADER / 4) * 4,
                (random.below(u64::MAX) as u32).to_ne_bytes().to_vec(),
            ),
            // An octet of a message, or many.
            3 | 4 => (HEADER + random.below(1000), vec![random.below(256) as u8]),
            _ => match random.below(20) {
                0 => (0, vec![random.below(256) as u8; octets as usize]),
                _ => {
                    let at = random.below(octets - 100);
                    (at, (0..100).map(|_| random.below(256) as u8).collect())
                }
            },
        };
        // A segment that was unmapped meanwhile is skipped.
        strokes += u64::from(memory.write_at(&what, from + at).is_ok());
    }
    strokes
}

fn first_words(exception: &SystemException) -> String {
    let text = exception.to_string();
    text.split([':', ',', ' ']).next().unwrap_or_default().to_owned()
}
