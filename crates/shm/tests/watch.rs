//! The descriptor of a connection that somebody asks for while another thread reads.

use std::io::IoSlice;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use oxorb_conformance::guard;
use oxorb_shm::Shm;
use oxorb_sys::poll;
use oxorb_transport::{Link, Notation, Part, Start, Transport};

/// A hang shows after so long.
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

/// One octet is read of two, or both, one after the other: whatever is left, the descriptor tells of it, and of what
/// comes later.
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
        // A bell that came late may wake once.
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
    asked_for_while_read(3_000, |round| round * 7 % 4_000);
}
