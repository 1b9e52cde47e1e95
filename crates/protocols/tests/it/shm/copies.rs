//! Copies of a payload, and leases. Both are counted per process, so each test runs in its own
//! process.

use std::io::IoSlice;

use oxorb_conformance::guard;
use oxorb_protocols::shm::Shm;
use oxorb_testkit::process::alone;
use oxorb_transport::{Lease, Link, Notation, Part, Start, Transport};

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

#[test]
fn copies_and_leases() {
    if !alone(copies_and_leases) {
        return;
    }
    let _guard = guard();
    each_octet_is_copied_once_by_each_side_that_copies();
    a_lease_outlives_the_connection();
    what_the_application_wrote_in_place_is_never_copied();
    rooms_are_few_and_come_back();
    a_room_that_was_sent_is_nobody_elses_while_the_application_has_it();
}

fn leased(link: &dyn Link, octets: usize) -> Lease {
    let lease = link.lender().unwrap().lease(octets, false);
    lease.unwrap().expect("it lies where it was written")
}

/// Neither side copies a filled room. Rooms of another connection, and rooms sent twice, are copied.
fn what_the_application_wrote_in_place_is_never_copied() {
    let [client, server] = pair("@|blocks=1M");
    for round in 0..40_u8 {
        let before = oxorb_sys::shared::copied();
        let mut room = client.rooms().unwrap().room(100_000).unwrap();
        assert!(room.is_in_place());
        room.fill(round);
        let room = room.sealed();
        client.write(&mut [b"head", &room[..], b"end"].map(IoSlice::new)).unwrap();
        assert_eq!(read(&*server, 4), b"head");
        let lease = leased(&*server, 100_000);
        assert_eq!(read(&*server, 3), b"end");
        assert_eq!(oxorb_sys::shared::copied() - before, 14);
        assert_eq!(lease.to_vec(), [round; 100_000]);
        // A room that is sent a second time is copied. The lease is not affected.
        client.write(&mut [IoSlice::new(&room)]).unwrap();
        drop(lease);
        drop(room);
        assert_eq!(read(&*server, 100_000), [round; 100_000]);
    }
    let mut room = client.rooms().unwrap().room(100_000).unwrap();
    room.fill(1);
    let before = oxorb_sys::shared::copied();
    // Unsealed rooms and parts of rooms are sent like any other octets.
    client.write(&mut [IoSlice::new(&room)]).unwrap();
    assert_eq!(oxorb_sys::shared::copied() - before, 100_000);
    room.fill(2);
    let room = room.sealed();
    client.write(&mut [IoSlice::new(&room[1..])]).unwrap();
    assert_eq!(oxorb_sys::shared::copied() - before, 199_999);
    assert_eq!(read(&*server, 100_000), [1; 100_000]);
    assert_eq!(read(&*server, 99_999), [2; 99_999]);
    // A room of another connection is sent like any other octets.
    let [other, reader] = pair("@");
    other.write(&mut [IoSlice::new(&room)]).unwrap();
    assert_eq!(read(&*reader, 100_000), [2; 100_000]);
    assert!(server.rooms().is_none() && pair("@|blocks=0")[0].rooms().is_none());
}

fn rooms_are_few_and_come_back() {
    let [client, server] = pair("@|blocks=256K");
    let rooms = client.rooms().unwrap();
    for octets in [0, 1, (16 << 10) - 1, (256 << 10) + 1, usize::MAX] {
        assert!(rooms.room(octets).is_none(), "{octets}");
    }
    for _ in 0..3 {
        let mut all: Vec<_> = std::iter::from_fn(|| rooms.room(20_000)).collect();
        assert_eq!(all.len(), 13, "as many as there is memory");
        for (room, value) in all.iter_mut().zip(1..) {
            room.fill(value);
        }
        for (room, value) in all.iter().zip(1_u8..) {
            assert!(room.iter().all(|octet| *octet == value));
        }
    }
    let all: Vec<_> = std::iter::from_fn(|| rooms.room(16 << 10)).collect();
    assert_eq!(all.len(), 16);
    // All slots are in use, so another payload finds no block and passes through the ring.
    let payload = [5; 20_000];
    client.write(&mut [IoSlice::new(&payload)]).unwrap();
    assert_eq!(read(&*server, 20_000), payload);
    drop(all);
    assert!(rooms.room(256 << 10).is_some());
}

fn a_room_that_was_sent_is_nobody_elses_while_the_application_has_it() {
    let [client, server] = pair("@|blocks=64K");
    let rooms = client.rooms().unwrap();
    let mut room = rooms.room(64 << 10).unwrap();
    room.fill(3);
    let room = room.sealed();
    client.write(&mut [IoSlice::new(&room)]).unwrap();
    let lease = leased(&*server, 64 << 10);
    assert!(rooms.room(16 << 10).is_none());
    drop(lease);
    assert!(rooms.room(16 << 10).is_none());
    assert!(room.iter().all(|octet| *octet == 3));
    drop(room);
    let room = rooms.room(64 << 10).unwrap();
    // The room stays valid although the connection is dropped first.
    drop(client);
    drop(server);
    assert_eq!(room.len(), 64 << 10);
    drop(room);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("memfd:oxorb-"), "{maps}");
}

/// Number of octets copied for a payload: once into a block and once out of it, or not out of it if
/// read in place.
fn each_octet_is_copied_once_by_each_side_that_copies() {
    let [client, server] = pair("@|blocks=1M");
    for [writer, reader] in [[&client, &server], [&server, &client]] {
        each_octet_is_copied_once(&**writer, &**reader);
    }
}

fn each_octet_is_copied_once(writer: &dyn Link, reader: &dyn Link) {
    let payload = vec![7; 300_000];
    let copied = |work: &dyn Fn()| {
        let before = oxorb_sys::shared::copied();
        work();
        oxorb_sys::shared::copied() - before
    };
    let write = || {
        let mut slices = [b"head", &payload[..]].map(IoSlice::new);
        writer.write(&mut slices).unwrap();
    };
    for _ in 0..3 {
        assert_eq!(copied(&write), 300_004);
        let read_all = || assert_eq!(read(reader, 300_004)[4..], payload);
        assert_eq!(copied(&read_all), 300_004);

        write();
        let lease_it = || {
            assert_eq!(read(reader, 4), b"head");
            let lender = reader.lender().expect("the same user");
            assert!(lender.lease(299_999, false).unwrap().is_none());
            let lease = lender.lease(300_000, false).unwrap().unwrap();
            assert_eq!(lease.len(), 300_000);
        };
        assert_eq!(copied(&lease_it), 4);
    }
}

/// A lease remains valid after its connection and its peer are gone.
fn a_lease_outlives_the_connection() {
    let [client, server] = pair("@");
    client.write(&mut [IoSlice::new(&[9; 20_000])]).unwrap();
    let lease = server.lender().unwrap().lease(20_000, false).unwrap().unwrap();
    drop(client);
    assert_eq!(server.read(&mut Vec::new(), 1).unwrap(), 0);
    drop(server);
    assert_eq!(lease.to_vec(), [9; 20_000]);
    drop(lease);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("memfd:oxorb-shm"), "{maps}");
}
