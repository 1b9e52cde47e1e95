//! Large payloads in blocks, and through the ring if no block is free.

use std::io::IoSlice;
use std::thread;
use std::time::Duration;

use oxorb_conformance::guard;
use oxorb_protocols::shm::Shm;
use oxorb_transport::{Link, Notation, Part, Start, Transport};

fn pair(options: &str) -> [Box<dyn Link>; 2] {
    let endpoint = &Shm.endpoints(Notation::Url, Part::new(options)).unwrap()[0];
    let acceptor = Shm.listen(endpoint).unwrap();
    let address = Shm.own_address(acceptor.endpoint());
    let Start::Done(client) = Shm.start(&address).unwrap() else {
        panic!("nobody waits there");
    };
    [client, acceptor.accept().unwrap()]
}

fn read(link: &dyn Link, octets: usize) -> Vec<u8> {
    let mut buffer = Vec::new();
    while buffer.len() < octets {
        let left = octets - buffer.len();
        assert_ne!(link.read(&mut buffer, left).unwrap(), 0);
    }
    buffer
}

/// Reads return a complete message without waiting, because the peer is woken only once.
#[test]
fn a_payload_larger_than_the_ring_is_there_at_once() {
    let _guard = guard();
    let [client, server] = pair("@|ring=4K&blocks=1M");
    let payload: Vec<u8> = (0..1 << 20).map(|octet: u32| (octet % 251) as u8).collect();
    for (from, to) in [(&client, &server), (&server, &client)] {
        for _ in 0..3 {
            let mut slices = [b"head", &payload[..], b"end"].map(IoSlice::new);
            // The write does not wait, although no thread reads yet.
            from.write(&mut slices).unwrap();
            let mut buffer = Vec::new();
            let octets = payload.len() + 7;
            while buffer.len() < octets {
                let left = octets - buffer.len();
                assert_ne!(to.read_now(&mut buffer, left).unwrap(), 0);
            }
            assert_eq!(buffer, [b"head", &payload[..], b"end"].concat());
        }
    }
}

#[test]
fn what_finds_no_block_goes_through_the_ring() {
    let _guard = guard();
    for options in ["@|ring=4K&blocks=64K", "@|ring=4K&blocks=0", "@"] {
        let [client, server] = pair(options);
        let payloads: Vec<Vec<u8>> = (0..60).map(|n| vec![n; 5000 * usize::from(n)]).collect();
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for payload in &payloads {
                    let mut slices = [b"head", &payload[..]].map(IoSlice::new);
                    client.write(&mut slices).unwrap();
                }
            });
            for payload in &payloads {
                let octets = read(&*server, payload.len() + 4);
                assert!(octets == [b"head", &payload[..]].concat(), "{options}");
            }
            writer.join().unwrap();
        });
    }
}

/// A block that could not be sent is free again, and nothing of the message was sent.
#[test]
fn a_write_that_is_late_leaves_the_connection_as_it_was() {
    let _guard = guard();
    let [client, server] = pair("@|ring=4K&blocks=64K");
    client.write(&mut [IoSlice::new(&[1; 4096])]).unwrap();
    let soon = Some(Duration::from_millis(1));
    client.set_write_timeout(soon).unwrap();
    for _ in 0..20 {
        let late = client.write(&mut [IoSlice::new(&[2; 60_000])]).unwrap_err();
        assert_eq!(late.written, 0);
    }
    assert_eq!(read(&*server, 4096), [1; 4096]);
    client.write(&mut [IoSlice::new(&[3; 60_000])]).unwrap();
    assert_eq!(read(&*server, 60_000), [3; 60_000]);
}

/// Sends two adjacent blocks at the end of a piece of the ring.
#[test]
fn blocks_may_lie_behind_each_other() {
    let _guard = guard();
    let [client, server] = pair("@|ring=64K&blocks=1M");
    let (head, block) = (vec![1; (32 << 10) - 1], vec![2; 20_000]);
    let parts = [&head[..], &block, &block, b"end"];
    client.write(&mut parts.map(IoSlice::new)).unwrap();
    assert!(read(&*server, parts.concat().len()) == parts.concat());
}

/// A message that was written before the close may still be read and served.
#[test]
fn who_closes_does_not_know_that_its_last_request_is_unread() {
    let _guard = guard();
    let [client, server] = pair("@");
    client.write(&mut [IoSlice::new(b"request")]).unwrap();
    client.close();
    assert!(!client.took_nothing() && !client.left_last());
    assert_eq!(read(&*server, 7), b"request");
}
