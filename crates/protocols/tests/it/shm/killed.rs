//! kill -9 of either side in each state: the other one notices, and nothing is left behind.

use std::fs;
use std::io::{IoSlice, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use oxorb_protocols::shm::{MAX_SPIN, Shm};
use oxorb_sys::poll::{Poller, Token};
use oxorb_testkit::process::{Process, alone, rerun, test_name};
use oxorb_testkit::{rounds, watchdog};
use oxorb_transport::{
    Acceptor, Endpoint, Lease, Link, Notation, Part, Properties, Transport, connect,
};

/// Time limit for a survivor to notice: thousands of its sleeps on a word. No machine, however loaded, takes that long;
/// the actual time is printed.
const OUTSIDE: Duration = LONG;

/// Environment variable with the actions of the process to be killed, followed by a space and the
/// address of a server.
const TASK: &str = "OXORB_SHM_TASK";

const LONG: Duration = Duration::from_secs(20);

/// State of the survivor.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Reads; the peer is silent.
    Reads,
    /// Spins, and reads.
    Spins,
    /// Waits at a descriptor.
    Watches,
    /// Checks whether the peer is alive.
    Looks,
    /// Writes; the peer reads nothing.
    Writes,
    /// Reads while the peer writes continuously.
    Drinks,
    /// Sends back and forth.
    Talks,
    /// Reads messages in blocks that the peer writes continuously.
    Receives,
    /// Writes such messages; the peer reads nothing.
    Sends,
    /// Reads such a message in place, and keeps it until the end.
    Borrows,
    /// Writes such messages; the peer keeps the first of them in place.
    Lends,
    /// Fills a room, or waits for the peer's room.
    Fills,
    /// Accepts, or reads without a writer: the peer has not greeted, or was not accepted.
    Greets,
}

const STATES: [State; 13] = [
    State::Looks,
    State::Reads,
    State::Spins,
    State::Watches,
    State::Writes,
    State::Drinks,
    State::Talks,
    State::Receives,
    State::Sends,
    State::Borrows,
    State::Lends,
    State::Fills,
    State::Greets,
];

fn listen() -> Box<dyn Acceptor> {
    let read = Shm.endpoints(Notation::Url, Part::new("@|ring=4K&blocks=256K"));
    let endpoint: &Endpoint = &read.unwrap()[0];
    Shm.listen(endpoint).unwrap()
}

/// Process to be killed.
#[test]
fn victim() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let (task, address) = task.split_once(' ').unwrap();
    let link = if address.is_empty() {
        let acceptor = listen();
        println!("at {}", Shm.own_address(acceptor.endpoint()));
        if task == "mute" {
            println!("ready");
            thread::sleep(LONG);
        }
        acceptor.accept().unwrap()
    } else if task == "mute" {
        greet_in_part(address);
        return;
    } else {
        connect(&Shm, &address.parse().unwrap(), LONG).unwrap()
    };
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut buffer = Vec::new();
    loop {
        match task {
            "sends" => link.write(&mut [IoSlice::new(&[1; LARGE])]).unwrap(),
            "writes" => link.write(&mut [IoSlice::new(&[1; 3000])]).unwrap(),
            "echoes" => {
                buffer.clear();
                assert_ne!(link.read(&mut buffer, 4096).unwrap(), 0);
                link.write(&mut [IoSlice::new(&buffer)]).unwrap();
            }
            "reads" => {
                assert_eq!(link.read(&mut buffer, 9).unwrap(), 3);
                println!("has read");
                std::io::stdout().flush().unwrap();
                thread::sleep(LONG);
            }
            "borrows" => {
                let lease = lease(&*link);
                thread::sleep(LONG);
                drop(lease);
            }
            "fills" => {
                let mut room = link.rooms().unwrap().room(LARGE).unwrap();
                room[..LARGE / 2].fill(4);
                thread::sleep(LONG);
                drop(room);
            }
            _ => thread::sleep(LONG),
        }
    }
}

/// Leases the next message; returns `None` if it never becomes complete.
fn lease(link: &dyn Link) -> Option<Lease> {
    while !link.has_input().unwrap() {
        thread::yield_now();
    }
    link.lender().unwrap().lease(LARGE, true).unwrap()
}

/// Size of a message that is placed in a block, in octets.
const LARGE: usize = 100_000;

/// Connects, and sends only the beginning of a greeting.
fn greet_in_part(address: &str) {
    let name = address.split(['@', '|']).nth(1).unwrap();
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let mut socket = UnixStream::connect_addr(&address).unwrap();
    socket.write_all(b"OxORB").unwrap();
    println!("ready");
    thread::sleep(LONG);
}

#[test]
fn whoever_survives_is_told_and_nothing_is_left() {
    // The test counts descriptors, threads and mappings of its process.
    if !alone(whoever_survives_is_told_and_nothing_is_left) {
        return;
    }
    // This is the number of kills in each state, on each side.
    let killed = std::env::var("OXORB_SHM_KILLED").ok();
    let killed = killed.map_or(rounds(8, 40), |number| number.parse().unwrap());
    let _guard = watchdog(LONG * (30 + killed) / 4);
    // The first run creates what the process keeps, such as its single descriptor for threads that wait at connections.
    survive(State::Watches, true, Duration::ZERO);
    let before = (descriptors(), threads());
    println!("microseconds until the survivor knew, of {killed} kills each");
    for state in STATES {
        for victim_serves in [false, true] {
            // The delays are such that some kills come before, and some after a reader has moved from the word to the
            // socket.
            let delay = |round| Duration::from_millis(10) * round / killed;
            let told = (0..killed).map(|round| survive(state, victim_serves, delay(round)));
            let mut told: Vec<u128> = told.map(|time| time.as_micros()).collect();
            told.sort_unstable();
            let [half, most] = [50, 99].map(|part| told[(told.len() - 1) * part / 100]);
            let (slowest, late) = (told[told.len() - 1], told.iter().filter(|it| **it > 10_000));
            let who = if victim_serves { "server" } else { "client" };
            let late = late.count();
            println!(
                "{state:?}, {who} killed: p50 {half}, p99 {most}, max {slowest}; {late} above 10 ms"
            );
            assert!(slowest < OUTSIDE.as_micros());
        }
    }
    // Threads that read the last processes' output may keep their descriptors a moment longer.
    while descriptors() > before.0 || threads() > before.1 {
        thread::yield_now();
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("oxorb-shm"), "{maps}");
}

/// A writer whose reader was awake learns from the end whether its last message was taken at all.
#[test]
fn whoever_survives_knows_whether_the_last_message_was_read() {
    let _guard = watchdog(LONG * 6);
    for taken in [false, true] {
        let mut command: Command = rerun(test_name(victim));
        command.env(TASK, if taken { "reads " } else { "sleeps " });
        let mut victim = Process::spawn(command);
        let line = victim.wait_for_line("at shm:", LONG);
        let (_, address) = line.split_once("at ").unwrap();
        let link = connect(&Shm, &address.trim().parse().unwrap(), LONG).unwrap();
        victim.wait_for_line("ready", LONG);
        link.write(&mut [IoSlice::new(b"one")]).unwrap();
        if taken {
            victim.wait_for_line("has read", LONG);
        }
        assert!(!link.left_last(), "it lives");
        victim.kill();
        let mut buffer = Vec::new();
        assert_eq!(link.read(&mut buffer, 9).unwrap(), 0);
        assert_eq!(link.left_last(), !taken);
    }
}

/// Kills the peer while this end is in `state`; returns the time until it noticed.
fn survive(state: State, victim_serves: bool, delay: Duration) -> Duration {
    let task = match state {
        State::Drinks => "writes",
        State::Receives => "sends",
        State::Greets => "mute",
        State::Talks => "echoes",
        State::Borrows => "sends",
        State::Lends => "borrows",
        // Only clients have rooms to fill.
        State::Fills if !victim_serves => "fills",
        _ => "sleeps",
    };
    let mut command: Command = rerun(test_name(victim));
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
        let mut victim = Process::spawn(command);
        if matches!(state, State::Greets) {
            victim.wait_for_line("ready", LONG);
            return accept_beside(&*acceptor, &mut victim, delay);
        }
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

/// Kills a client that has not greeted while another one is to be accepted; returns the time until
/// that one is served.
fn accept_beside(acceptor: &dyn Acceptor, victim: &mut Process, delay: Duration) -> Duration {
    let address = Shm.own_address(acceptor.endpoint());
    thread::scope(|scope| {
        let accepting = scope.spawn(|| acceptor.accept().unwrap());
        thread::sleep(delay);
        victim.kill();
        let killed = Instant::now();
        let client = connect(&Shm, &address, LONG).unwrap();
        client.write(&mut [IoSlice::new(b"GIOP")]).unwrap();
        let mut buffer = Vec::new();
        let server = accepting.join().unwrap();
        assert_eq!(server.read(&mut buffer, 9).unwrap(), 4);
        killed.elapsed()
    })
}

/// Runs the state's actions until the end.
fn run(link: &dyn Link, state: State) {
    let mut buffer = Vec::new();
    match state {
        State::Spins => {
            let busy_poll = Some(MAX_SPIN);
            let properties = Properties { busy_poll, ..Properties::default() };
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
        State::Borrows => {
            // The peer may have been killed before it wrote a complete message.
            let lease = lease(link);
            while link.read(&mut buffer, LARGE).unwrap() > 0 {
                buffer.clear();
            }
            if let Some(lease) = lease {
                let octets = lease.to_vec();
                assert!(octets.len() == LARGE && octets.iter().all(|octet| *octet == 1));
            }
            return;
        }
        State::Fills => {
            let room = link.rooms().map(|rooms| rooms.room(LARGE).unwrap());
            let Some(mut room) = room else {
                assert_eq!(link.read(&mut buffer, 4096).unwrap(), 0);
                return;
            };
            // The room is filled at least once, because the peer may be dead before this thread runs.
            loop {
                room.fill(5);
                if link.is_dead() {
                    break;
                }
            }
            let room = room.sealed();
            // If the write needs no wake-up, it succeeds, and only the read reports the death of the peer.
            let _ = link.write(&mut [IoSlice::new(&room)]);
            assert_eq!(link.read(&mut buffer, 4096).unwrap(), 0);
            assert!(room.iter().all(|octet| *octet == 5));
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
            State::Sends | State::Lends => {
                if let Err(failure) = link.write(&mut [IoSlice::new(&[2; LARGE])]) {
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

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
