//! A thousand connections: descriptors and memory.

use std::fs;
use std::io::IoSlice;

use oxorb_conformance::guard;
use oxorb_protocols::shm::{DEFAULT_RING, Shm};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_transport::{LARGE, Link, Notation, Part, Start, Transport};

const CONNECTIONS: usize = 1000;

/// Size of a page, in octets.
const PAGE: usize = 4096;

const CHILD: &str = "OXORB_SHM_MANY";

/// Runs in a process of its own, which may open that many descriptors and whose memory is not
/// shared.
#[test]
fn a_thousand_connections_take_what_is_documented() {
    let _guard = guard();
    let mut command = std::process::Command::new("sh");
    let run = rerun(test_name(measure));
    let shell = command.args(["-c", "ulimit -n 4096 && exec \"$@\"", "sh"]);
    shell.arg(run.get_program()).args(run.get_args());
    shell.env(CHILD, "1");
    Process::spawn(command).wait_success(std::time::Duration::from_secs(100));
}

#[test]
fn measure() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let endpoint = &Shm.endpoints(Notation::Url, Part::new("@")).unwrap()[0];
    let acceptor = Shm.listen(endpoint).unwrap();
    let address = Shm.own_address(acceptor.endpoint());
    let before = (descriptors(), resident());
    let mut ends: Vec<(Box<dyn Link>, Box<dyn Link>)> = Vec::new();
    for _ in 0..CONNECTIONS {
        let Start::Done(client) = Shm.start(&address).unwrap() else {
            panic!("nobody waits there");
        };
        ends.push((client, acceptor.accept().unwrap()));
    }
    // Each end has one descriptor.
    assert_eq!(descriptors(), before.0 + 2 * CONNECTIONS);
    let idle = resident() - before.1;
    // This process maps both ends of each connection. No page except the header is touched before the first write.
    assert!(idle <= 2 * CONNECTIONS * PAGE, "{idle}");

    for (client, server) in &ends {
        for (from, to) in [(client, server), (server, client)] {
            from.write(&mut [IoSlice::new(&[7; 100])]).unwrap();
            let mut buffer = Vec::new();
            assert_eq!(to.read(&mut buffer, 200).unwrap(), 100);
        }
    }
    let used = resident() - before.1;
    println!("{idle} and {used} octets in {CONNECTIONS} connections, twice mapped");
    // Each mapping uses the header and one page of each ring.
    assert!(used <= 2 * CONNECTIONS * 3 * PAGE, "{used}");

    // A connection whose rings have wrapped around uses all pages of the rings, and never more.
    let (client, server) = &ends[0];
    // A larger payload would be placed in a block.
    let octets = vec![1; LARGE / 2];
    for (from, to) in [(client, server), (server, client)] {
        for _ in 0..4 * DEFAULT_RING as usize / octets.len() {
            from.write(&mut [IoSlice::new(&octets)]).unwrap();
            let mut buffer = Vec::new();
            while buffer.len() < octets.len() {
                assert_ne!(to.read(&mut buffer, octets.len()).unwrap(), 0);
            }
        }
    }
    let full = resident() - before.1 - used;
    let rings = 2 * 2 * DEFAULT_RING as usize;
    // A page of each ring, twice mapped, was counted before.
    assert!((rings - 4 * PAGE..=rings + 2 * PAGE).contains(&full), "{full}");

    drop(ends);
    assert_eq!(descriptors(), before.0);
    assert_eq!(resident(), before.1);
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns the octets of segments that this process has touched and mapped, counted page by page.
fn resident() -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut ours, mut octets) = (false, 0);
    for line in maps.lines() {
        // The first line of a mapping begins with addresses; the others begin with a word and a colon.
        let word = line.split_whitespace().next().unwrap_or_default();
        if !word.ends_with(':') {
            ours = line.contains("memfd:oxorb-shm");
        } else if ours && word == "Rss:" {
            let number = line.split_whitespace().nth(1).unwrap();
            octets += number.parse::<usize>().unwrap() * 1024;
        }
    }
    octets
}
