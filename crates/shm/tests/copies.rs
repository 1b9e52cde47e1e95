//! Copies that a payload costs, and leases. One test, as both are counted for the whole process.

use std::io::IoSlice;

use oxorb_conformance::guard;
use oxorb_shm::Shm;
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

#[test]
fn copies_and_leases() {
    let _guard = guard();
    each_octet_is_copied_once_by_each_side_that_copies();
    a_lease_outlives_the_connection();
}

/// Octets that are copied for a payload: into a block and out of it, once each; and not out of it where it is read in place.
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
            assert!(lender.lease(299_999).unwrap().is_none());
            let lease = lender.lease(300_000).unwrap().unwrap();
            assert_eq!(lease.len(), 300_000);
        };
        assert_eq!(copied(&lease_it), 4);
    }
}

/// A lease is good when its connection and its peer are gone.
fn a_lease_outlives_the_connection() {
    let [client, server] = pair("@");
    client.write(&mut [IoSlice::new(&[9; 20_000])]).unwrap();
    let lease = server.lender().unwrap().lease(20_000).unwrap().unwrap();
    drop(client);
    assert_eq!(server.read(&mut Vec::new(), 1).unwrap(), 0);
    drop(server);
    assert_eq!(lease.to_vec(), [9; 20_000]);
    drop(lease);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("oxorb-shm"), "{maps}");
}
