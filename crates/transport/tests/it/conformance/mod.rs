//! Conformance of every implementation of [`Link`](oxorb_transport::Link) and of
//! [`Transport`](oxorb_transport::Transport), one line each.

use std::sync::Arc;

use oxorb_conformance::link::Pair;
use oxorb_conformance::{link, transport};
use oxorb_transport::faulty::{Faults, Faulty};
use oxorb_transport::mem::{self, Memory};
use oxorb_transport::recorded::Recorded;
use oxorb_transport::tcp::{Place, Tcp};
use oxorb_transport::{Link, Transport as _};

mod acceptor;

transport!(tcp_ipv4, || (Arc::new(Tcp), "127.0.0.1"));
transport!(tcp_ipv6, || (Arc::new(Tcp), "[::1]:0"), oxorb_testkit::net::has_ipv6);
transport!(tcp_dual_stack, || (Arc::new(Tcp), ""));
transport!(memory, || (Arc::new(Memory::new()), ""));

link!(memory_of_one_octet_less_than_a_page, || boxed(mem::pair(4095)));
link!(faulty_in_small_pieces, || {
    let faults = Faults { read_at_most: Some(1000), write_at_most: Some(777), ..Faults::default() };
    let (a, b) = tcp();
    boxed((Faulty::new(a, faults), Faulty::new(b, faults)))
});
link!(recorded, || {
    let (a, b) = tcp();
    boxed((Recorded::new(a).0, Recorded::new(b).0))
});

fn tcp() -> Pair {
    let acceptor = Tcp.listen(&Place::new("127.0.0.1", 0).into()).unwrap();
    let address = Tcp.own_address(acceptor.endpoint());
    let limit = std::time::Duration::from_secs(20);
    let client = oxorb_transport::connect(&Tcp, &address, limit).unwrap();
    (client, acceptor.accept().unwrap())
}

fn boxed<L: Link + 'static>((a, b): (L, L)) -> Pair {
    (Box::new(a), Box::new(b))
}
