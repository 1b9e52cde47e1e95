//! Descriptor of a connection that is requested while another thread reads.

use std::io::IoSlice;
use std::os::fd::AsFd as _;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use oxorb_conformance::guard;
use oxorb_protocols::shm::Shm;
use oxorb_sys::poll::{self, Poller, Token};
use oxorb_testkit::process::alone;
use oxorb_testkit::rounds;
use oxorb_transport::{Link, Notation, Part, Start, Transport};

/// Time after which a hang is reported.
const LATE: Duration = Duration::from_secs(20);

fn pairs(count: usize, mut each: impl FnMut([Box<dyn Link>; 2])) {
    let endpoint = &Shm.endpoints(Notation::Url, Part::new("@")).unwrap()[0];
    let acceptor = Shm.listen(endpoint).unwrap();
    let address = Shm.own_address(acceptor.endpoint());
    for _ in 0..count {
        let Start::Done(client) = Shm.start(&address).unwrap() else {
            panic!("nobody waits there");
        };
        each([client, acceptor.accept().unwrap()]);
    }
}

fn write(link: &dyn Link, octets: &[u8]) {
    link.write(&mut [IoSlice::new(octets)]).unwrap();
}

/// The reader takes one of two octets, or both, one after the other: the descriptor reports
/// remaining and later octets.
fn asked_for_while_read(rounds: usize, spins: impl Fn(usize) -> usize) {
    let mut round = 0;
    pairs(rounds, |[client, server]| {
        let (start, spin) = (Barrier::new(3), spins(round));
        let spun = |count| (0..count).for_each(|_| std::hint::spin_loop());
        let reads = round % 2 + 1;
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for _ in 0..reads {
                    assert_eq!(server.read(&mut Vec::new(), 1).unwrap(), 1);
                }
            });
            scope.spawn(|| {
                start.wait();
                spun(spin);
                server.poll_fd().unwrap();
            });
            start.wait();
            spun(2000 - spin.min(2000));
            write(&*client, b"xy");
        });
        let descriptor = server.poll_fd().unwrap();
        if reads == 2 {
            write(&*client, b"z");
        }
        let told = || poll::readable(descriptor, Some(LATE)).unwrap();
        assert!(told(), "nobody learns of what is left in round {round}");
        assert_eq!(server.read_now(&mut Vec::new(), 9).unwrap(), 1);
        // An octet that arrives late over the socket may make the descriptor readable once more, which this read
        // undoes.
        let _ = server.read_now(&mut Vec::new(), 9);
        assert!(!poll::readable(descriptor, Some(Duration::ZERO)).unwrap());
        write(&*client, b"later");
        assert!(told(), "nobody learns of what comes later in round {round}");
        round += 1;
    });
}

#[test]
fn the_descriptor_tells_of_what_is_left_whoever_asks_for_it_first() {
    let _guard = guard();
    asked_for_while_read(rounds(1_000, 3_000), |round| round * 7 % 4_000);
}

/// Linux allows 10 epolls to watch one file where each of them is watched through three more.
#[test]
fn many_connections_are_watched_by_a_poller_that_others_watch_in_turn() {
    // The test counts the descriptors of its process.
    if !alone(many_connections_are_watched_by_a_poller_that_others_watch_in_turn) {
        return;
    }
    let _guard = guard();
    const CONNECTIONS: usize = 120;
    let pollers: Vec<Poller> = (0..4).map(|_| Poller::new().unwrap()).collect();
    for two in pollers.windows(2) {
        two[1].add(two[0].as_fd(), Token(0)).unwrap();
    }
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let mut ends = Vec::new();
    pairs(CONNECTIONS, |[client, server]| {
        let token = Token(ends.len() as u64);
        let descriptor = server.poll_fd().expect("a descriptor");
        pollers[0].add(descriptor, token).unwrap();
        ends.push((client, server));
    });
    // Each connection has a descriptor of the client, one of the server, and one of the watch.
    assert!(descriptors() <= before + 3 * CONNECTIONS + 8);
    for (number, (client, server)) in ends.iter().enumerate() {
        write(&**client, b"xy");
        let told = || pollers[0].wait_one(Some(LATE)).unwrap();
        assert_eq!(told(), Some(Token(number as u64)));
        // After this read an octet remains, so the server's end makes its descriptor readable.
        assert_eq!(server.read_now(&mut Vec::new(), 1).unwrap(), 1);
        pollers[0].rearm(server.poll_fd().unwrap(), Token(number as u64)).unwrap();
        assert!(poll::readable(pollers[3].as_fd(), Some(LATE)).unwrap());
        assert_eq!(told(), Some(Token(number as u64)));
        assert_eq!(server.read_now(&mut Vec::new(), 9).unwrap(), 1);
        let again = server.read_now(&mut Vec::new(), 9).unwrap_err();
        assert_eq!(again.kind(), std::io::ErrorKind::WouldBlock);
        pollers[0].rearm(server.poll_fd().unwrap(), Token(number as u64)).unwrap();
        assert_eq!(pollers[0].wait_one(Some(Duration::ZERO)).unwrap(), None);
    }
}
