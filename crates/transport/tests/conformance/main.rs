//! Every implementation of [`Link`](oxorb_transport::Link), against every obligation.
//!
//! A new implementation inherits the whole suite with one line below: its name, and a function
//! that makes a connected pair.

use std::time::Duration;

use oxorb_conformance::link;
use oxorb_conformance::link::Pair;
use oxorb_transport::faulty::{Faults, Faulty};
use oxorb_transport::recorded::Recorded;
use oxorb_transport::{Link, mem};

mod acceptor;

link!(tcp_ipv4, || tcp("127.0.0.1"));
link!(tcp_ipv6, || tcp("::1"));
link!(tcp_dual_stack, || tcp_to("", "127.0.0.1"));
link!(memory, || boxed(mem::pair(64 * 1024)));
link!(memory_of_one_octet_less_than_a_page, || boxed(mem::pair(
    4095
)));
link!(faulty_in_small_pieces, || {
    let faults = Faults {
        read_at_most: Some(1000),
        write_at_most: Some(777),
        ..Faults::default()
    };
    let (a, b) = tcp("127.0.0.1");
    boxed((Faulty::new(a, faults), Faulty::new(b, faults)))
});
link!(recorded, || {
    let (a, b) = tcp("127.0.0.1");
    boxed((Recorded::new(a).0, Recorded::new(b).0))
});

fn tcp(host: &str) -> Pair {
    tcp_to(host, host)
}

fn tcp_to(listen: &str, connect: &str) -> Pair {
    let endpoint = oxorb_transport::Endpoint::new(listen, 0);
    let acceptor = oxorb_transport::listen(&endpoint).unwrap();
    let port = acceptor.endpoint().port;
    let client = oxorb_transport::connect(connect, port, Duration::from_secs(20)).unwrap();
    (client, acceptor.accept().unwrap())
}

fn boxed<L: Link + 'static>((a, b): (L, L)) -> Pair {
    (Box::new(a), Box::new(b))
}
