//! kill -9 of either side in each state: the other one is told, and nothing is left.

use std::fs;
use std::io::{IoSlice, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_conformance::guard;
use oxorb_shm::{MAX_SPIN, Shm};
use oxorb_sys::poll::{Poller, Token};
use oxorb_testkit::process::{Process, rerun};
use oxorb_transport::{Acceptor, Endpoint, Link, Notation, Part, Properties, Transport, connect};

/// Processes killed in each state, on each side.
const KILLED: u64 = 40;

/// What the process that is killed does, in its environment, before a space the address of a server.
const TASK: &str = "OXORB_SHM_TASK";

const LONG: Duration = Duration::from_secs(20);

/// What the survivor does meanwhile.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Reads; the other one is silent.
    Reads,
    /// Spins, and reads.
    Spins,
    /// Waits at a descriptor.
    Watches,
    /// Looks whether the other one is there.
    Looks,
    /// Writes; the other one reads nothing.
    Writes,
    /// Reads what the other one writes all the time.
    Drinks,
    /// Sends to and fro.
    Talks,
}

const STATES: [State; 7] = [
    State::Looks,
    State::Reads,
    State::Spins,
    State::Watches,
    State::Writes,
    State::Drinks,
    State::Talks,
];

fn listen() -> Box<dyn Acceptor> {
    let read = Shm.endpoints(Notation::Url, Part::new("@|ring=4K"));
    let endpoint: &Endpoint = &read.unwrap()[0];
    Shm.listen(endpoint).unwrap()
}

/// The process that is killed.
#[test]
fn victim() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let (task, address) = task.split_once(' ').unwrap();
    let link = if address.is_empty() {
        let acceptor = listen();
        println!("at {}", Shm.own_address(acceptor.endpoint()));
        acceptor.accept().unwrap()
    } else {
        connect(&Shm, &address.parse().unwrap(), LONG).unwrap()
    };
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut buffer = Vec::new();
    loop {
        match task {
            "writes" => link.write(&mut [IoSlice::new(&[1; 3000])]).unwrap(),
            "echoes" => {
                buffer.clear();
                assert_ne!(link.read(&mut buffer, 4096).unwrap(), 0);
                link.write(&mut [IoSlice::new(&buffer)]).unwrap();
            }
            _ => thread::sleep(LONG),
        }
    }
}

#[test]
fn whoever_survives_is_told_and_nothing_is_left() {
    let _guard = guard();
    // The descriptor that a process has once, for all connections that a thread waits at.
    survive(State::Watches, true, Duration::ZERO);
    let before = descriptors();
    for state in STATES {
        for victim_serves in [false, true] {
            let slowest = AtomicU64::new(0);
            for round in 0..KILLED {
                // Before and after a reader has gone from the word to the socket.
                let delay = Duration::from_micros(round * 250);
                let told = survive(state, victim_serves, delay);
                slowest.fetch_max(told.as_micros() as u64, Ordering::Relaxed);
            }
            let slowest = slowest.load(Ordering::Relaxed);
            println!("{state:?}, server killed {victim_serves}: told within {slowest} us");
        }
    }
    // Threads that read what the last processes wrote may have theirs a moment longer.
    while descriptors() > before {
        thread::yield_now();
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("oxorb-shm"), "{maps}");
}

/// Kills the other side while this one is in `state`; the time until it knew.
fn survive(state: State, victim_serves: bool, delay: Duration) -> Duration {
    let task = match state {
        State::Drinks => "writes",
        State::Talks => "echoes",
        _ => "sleeps",
    };
    let mut command: Command = rerun("victim");
    let (mut victim, link) = if victim_serves {
        command.env(TASK, format!("{task} "));
        let mut victim = Process::spawn(command);
        let line = victim.wait_for_line("at shm:", LONG);
        let (_, address) = line.split_once("at ").unwrap();
        let address = address.trim().parse().unwrap();
        let link = connect(&Shm, &address, LONG).unwrap();
        (victim, link)
    } else {
        let acceptor = listen();
        let address = Shm.own_address(acceptor.endpoint());
        command.env(TASK, format!("{task} {address}"));
        let victim = Process::spawn(command);
        (victim, acceptor.accept().unwrap())
    };
    victim.wait_for_line("ready", LONG);
    thread::scope(|scope| {
        let survivor = scope.spawn(|| {
            run(&*link, state);
            Instant::now()
        });
        thread::sleep(delay);
        victim.kill();
        let killed = Instant::now();
        let told = survivor.join().unwrap();
        told.saturating_duration_since(killed)
    })
}

/// Works until the end comes.
fn run(link: &dyn Link, state: State) {
    let mut buffer = Vec::new();
    match state {
        State::Spins => {
            let busy_poll = Some(MAX_SPIN);
            let properties = Properties {
                busy_poll,
                ..Properties::default()
            };
            link.apply(&properties).unwrap();
        }
        State::Watches => {
            let poller = Poller::new().unwrap();
            poller.add(link.poll_fd().unwrap(), Token(1)).unwrap();
            assert_eq!(poller.wait_one(None).unwrap(), Some(Token(1)));
            assert_eq!(link.read_now(&mut buffer, 9).unwrap(), 0);
            return;
        }
        State::Looks => {
            while !link.is_dead() {
                assert!(!link.has_input().unwrap() || link.is_dead());
                thread::yield_now();
            }
            return;
        }
        _ => {}
    }
    loop {
        buffer.clear();
        match state {
            State::Writes => {
                if let Err(failure) = link.write(&mut [IoSlice::new(&[2; 1000])]) {
                    assert!(link.is_dead(), "{failure}");
                    return;
                }
            }
            State::Talks => {
                let sent = link.write(&mut [IoSlice::new(&[3; 100])]);
                if sent.is_err() || link.read(&mut buffer, 100).unwrap() == 0 {
                    return;
                }
            }
            _ => {
                if link.read(&mut buffer, 4096).unwrap() == 0 {
                    return;
                }
            }
        }
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
