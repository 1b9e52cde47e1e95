//! Pages of connections: resident, locked, huge, and given back.

use std::fs;
use std::io::{ErrorKind, IoSlice};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use oxorb_conformance::guard;
use oxorb_protocols::shm::Shm;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::{at_once, rounds};
use oxorb_transport::{Link, Notation, Pages, Part, Properties, Start, Transport};

/// Size of a page, in octets.
const PAGE: usize = 4096;

/// Environment variable of a process of its own.
const CHILD: &str = "OXORB_SHM_PAGES";

const LONG: Duration = Duration::from_secs(60);

type Ends = (Box<dyn Link>, Box<dyn Link>);

fn ends(options: &str) -> Ends {
    let endpoint = &Shm.endpoints(Notation::Url, Part::new(options)).unwrap()[0];
    let acceptor = Shm.listen(endpoint).unwrap();
    let address = Shm.own_address(acceptor.endpoint());
    let Start::Done(client) = Shm.start(&address).unwrap() else {
        panic!("nobody waits there");
    };
    (client, acceptor.accept().unwrap())
}

fn set(link: &dyn Link, pages: Pages) -> std::io::Result<()> {
    link.apply(&Properties { pages: Some(pages), ..Properties::default() })
}

/// Each test runs in a process of its own, whose memory and threads are not shared.
#[test]
fn pages_are_as_they_were_asked_for() {
    let _guard = guard();
    let refused = test_name(refused);
    at_once([test_name(resident), test_name(give_back), test_name(torn), refused], |test| {
        let run = rerun(test);
        let mut command = Command::new("sh");
        // The test of refusals must not have the privilege to lock more memory than this limit.
        let limits = match test == refused {
            true => {
                "ulimit -l 64 && exec setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock \"$@\""
            }
            false => "exec \"$@\"",
        };
        command.args(["-c", limits, "sh"]);
        command.arg(run.get_program()).args(run.get_args());
        command.env(CHILD, "1");
        let mut process = Process::spawn(command);
        process.wait_success(LONG);
    });
}

#[test]
fn resident() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let (client, server) = ends("@|ring=64K&blocks=1M");
    let all = 2 * (64 << 10) + 2 * (1 << 20) + PAGE;
    assert_eq!(told("Rss"), 0);
    let resident = |huge, locked| Pages::Resident { huge, locked };
    set(&*client, resident(false, false)).unwrap();
    assert_eq!(told("Rss"), all);
    assert_eq!(told("Locked"), 0);
    // The pages exist already, so this end only maps them.
    set(&*server, resident(false, true)).unwrap();
    assert_eq!(told("Rss"), 2 * all);
    // If a page is mapped twice, each mapping counts half of it.
    assert_eq!(told("Locked"), all / 2);

    let huge = ends("@|ring=1M&blocks=0");
    match set(&*huge.0, resident(true, false)) {
        Ok(()) => assert_eq!(told("ShmemPmdMapped"), 2 << 20),
        Err(error) => println!("THIS SYSTEM HAS NO HUGE PAGES: {error}"),
    }
    exchange(&huge, 1 << 20);
}

#[test]
fn give_back() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let ends = ends("@");
    let rest = Pages::GivenBack(Duration::from_millis(20));
    set(&*ends.0, rest).unwrap();
    set(&*ends.1, rest).unwrap();
    let again = set(&*ends.0, rest).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidInput, "{again}");
    for _ in 0..5 {
        // The exchange may be repeated: if the machine stalls after it, pages are given back before the check.
        await_that(|| {
            exchange(&ends, 1 << 20);
            told("Rss") > 1 << 20
        });
        // Finally, only the header remains, which each end maps.
        await_that(|| told("Rss") <= 2 * PAGE);
    }
    // Pages with unread octets are not given back.
    ends.0.write(&mut [IoSlice::new(&[5; 3000])]).unwrap();
    thread::sleep(Duration::from_millis(100));
    let mut buffer = Vec::new();
    assert_eq!(ends.1.read(&mut buffer, 4000).unwrap(), 3000);
    assert!(buffer.iter().all(|octet| *octet == 5));
    drop(ends);
    await_that(|| {
        fs::read_dir("/proc/self/task").unwrap().all(|task| !is_keeper(&task.unwrap().path()))
    });
    assert_eq!(told("Size"), 0);
}

/// Writes of all sizes while pages are given back continuously: every octet arrives.
#[test]
fn torn() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let (client, server) = ends("@|ring=32K&blocks=64K");
    for end in [&client, &server] {
        set(&**end, Pages::GivenBack(Duration::from_millis(1))).unwrap();
    }
    let end = Instant::now() + Duration::from_secs(rounds(1, 4));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = Vec::new();
            loop {
                buffer.clear();
                if server.read(&mut buffer, 30_000).unwrap() == 0 {
                    return;
                }
                server.write(&mut [IoSlice::new(&buffer)]).unwrap();
            }
        });
        let (mut round, mut buffer) = (0_u32, Vec::new());
        while Instant::now() < end {
            round += 1;
            let length = 1 + (round * 7919) as usize % 20_000;
            let octets: Vec<u8> =
                (0..length).map(|at| 1 + (at as u32 ^ round) as u8 % 255).collect();
            client.write(&mut [IoSlice::new(&octets)]).unwrap();
            buffer.clear();
            while buffer.len() < length {
                assert_ne!(client.read(&mut buffer, length).unwrap(), 0);
            }
            assert_eq!(buffer, octets, "round {round}");
            // The pauses are about as long as the idle time after which pages are given back, so that many writes begin
            // while that happens.
            thread::sleep(Duration::from_micros(u64::from(round * 37 % 4000)));
        }
        println!("{round} rounds");
        client.close();
    });
}

#[test]
fn refused() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let (client, _server) = ends("@");
    let locked = Pages::Resident { huge: false, locked: true };
    let error = set(&*client, locked).unwrap_err().to_string();
    assert!(error.contains("octets of shared memory cannot be locked in RAM"), "{error}");
    assert!(error.contains("ulimit -l"), "{error}");
    let (client, _server) = ends("@|ring=4K&blocks=0");
    let huge = Pages::Resident { huge: true, locked: false };
    let error = set(&*client, huge).unwrap_err().to_string();
    assert!(error.contains("larger rings or blocks"), "{error}");
}

/// Sends this many octets back and forth.
fn exchange((client, server): &Ends, octets: usize) {
    for (from, to) in [(client, server), (server, client)] {
        let (octets, mut buffer) = (vec![9; octets], Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| from.write(&mut [IoSlice::new(&octets)]).unwrap());
            while buffer.len() < octets.len() {
                assert_ne!(to.read(&mut buffer, octets.len()).unwrap(), 0);
            }
        });
        assert_eq!(buffer, octets);
    }
}

fn await_that(holds: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_keeper(task: &std::path::Path) -> bool {
    fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("oxorb-shm"))
}

/// Returns the octets that the system reports for all segments of this process.
fn told(what: &str) -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut ours, mut octets) = (false, 0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or_default();
        if !word.ends_with(':') {
            ours = line.contains("memfd:oxorb-shm");
        } else if ours && word.strip_suffix(':') == Some(what) {
            octets += words.next().unwrap().parse::<usize>().unwrap() * 1024;
        }
    }
    octets
}
