//! Listening and connecting over TCP, beyond what every transport does.

use std::io::{ErrorKind, IoSlice};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use oxorb_conformance::guard;
use oxorb_transport::mem::Memory;
use oxorb_transport::tcp::{Place, Tcp, connect};
use oxorb_transport::{Acceptor, ListenError, Notation, Part, Transport, connect as connect_to};

const LONG: Duration = Duration::from_secs(20);

fn loopback() -> Box<dyn Acceptor> {
    listen(Place::new("127.0.0.1", 0)).unwrap()
}

fn listen(place: Place) -> Result<Box<dyn Acceptor>, ListenError> {
    Tcp.listen(&place.into())
}

/// Parses the text after `iiop://`.
fn place(text: &str) -> Option<Place> {
    let read = Tcp.endpoints(Notation::Url, Part::new(text));
    Some(Place::of(&read.ok()?[0]))
}

fn port(acceptor: &dyn Acceptor) -> u16 {
    Place::of(acceptor.endpoint()).port
}

#[test]
fn a_peer_that_is_gone_does_not_stop_the_next() {
    let _guard = guard();
    let acceptor = loopback();
    let port = port(&*acceptor);
    for hard in [true, false, true, true, false] {
        let gone = TcpStream::connect(("127.0.0.1", port)).unwrap();
        if hard {
            // With a linger time of zero, closing the socket resets the connection instead of ending the stream.
            rustix::net::sockopt::set_socket_linger(&gone, Some(Duration::ZERO)).unwrap();
        }
    }
    let client = connect("127.0.0.1", port, LONG).unwrap();
    client.write(&mut [IoSlice::new(b"here")]).unwrap();
    let found = loop {
        let link = acceptor.accept().unwrap();
        if link.peer() == client.local() {
            break link;
        }
    };
    let mut buffer = Vec::new();
    found.read(&mut buffer, 4).unwrap();
    assert_eq!(buffer, b"here");
}

/// Clients may have sent requests before the close, and must be notified that those did not run.
#[test]
fn peers_that_had_connected_are_accepted_after_the_end() {
    let _guard = guard();
    let memory = Memory::new();
    for (transport, place) in [(&Tcp as &dyn Transport, "127.0.0.1"), (&memory, "")] {
        let endpoints = transport.endpoints(Notation::Url, Part::new(place));
        let acceptor = transport.listen(&endpoints.unwrap()[0]).unwrap();
        let address = transport.own_address(acceptor.endpoint());
        let clients = [(); 3].map(|()| connect_to(transport, &address, LONG).unwrap());
        for client in &clients {
            client.write(&mut [IoSlice::new(b"here")]).unwrap();
        }
        acceptor.close();
        for _ in &clients {
            let mut buffer = Vec::new();
            acceptor.accept().unwrap().read(&mut buffer, 4).unwrap();
            assert_eq!(buffer, b"here");
        }
        let end = acceptor.accept().err().expect("no more have connected");
        assert_eq!(end.kind(), ErrorKind::NotConnected);
    }
}

/// A client that disconnected before the close must not hide the others, which wait for the notice.
#[test]
fn a_peer_that_is_gone_does_not_hide_one_that_had_connected_before_the_end() {
    let _guard = guard();
    let acceptor = loopback();
    let port = port(&*acceptor);
    let reset = || {
        let gone = TcpStream::connect(("127.0.0.1", port)).unwrap();
        rustix::net::sockopt::set_socket_linger(&gone, Some(Duration::ZERO)).unwrap();
    };
    reset();
    let client = connect("127.0.0.1", port, LONG).unwrap();
    client.write(&mut [IoSlice::new(b"here")]).unwrap();
    reset();
    acceptor.close();
    let found = loop {
        let link = acceptor.accept().unwrap();
        if link.peer() == client.local() {
            break link;
        }
    };
    let mut buffer = Vec::new();
    found.read(&mut buffer, 4).unwrap();
    assert_eq!(buffer, b"here");
}

#[test]
fn the_endpoint_has_the_real_port() {
    let acceptor = loopback();
    let endpoint = Place::of(acceptor.endpoint());
    assert_ne!(endpoint.port, 0);
    assert_eq!(endpoint.host, "127.0.0.1");
}

#[test]
fn all_interfaces_serve_both_families() {
    let _guard = guard();
    let acceptor = listen(place("").unwrap()).unwrap();
    let v6 = oxorb_testkit::net::has_ipv6().then_some("::1");
    for host in ["127.0.0.1", "localhost"].into_iter().chain(v6) {
        let client = connect(host, port(&*acceptor), LONG).unwrap();
        let server = acceptor.accept().unwrap();
        assert_eq!(server.peer(), client.local(), "an IPv4 peer is shown as one");
    }
}

#[test]
fn a_port_that_is_taken_says_so_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = listen(Place::new("127.0.0.1", port)).err().unwrap();
    assert_eq!(error.error.kind(), ErrorKind::AddrInUse);
    let text = error.to_string();
    assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(text.contains("choose another port"), "{text}");
}

#[test]
fn a_span_of_ports_passes_over_one_that_is_taken() {
    // The ports that follow this one are free, too.
    let first = oxorb_testkit::net::free_port();
    let _taken = TcpListener::bind(("127.0.0.1", first)).unwrap();
    let both = place(&format!("127.0.0.1:{first}/portspan=2")).unwrap();
    assert_eq!(port(&*listen(both).unwrap()), first + 1);
}

#[test]
fn a_foreign_address_and_an_unknown_name_are_explained() {
    let foreign = listen(Place::new("192.0.2.1", 0)).err().unwrap().to_string();
    assert!(foreign.contains("no interface of this host"), "{foreign}");
    let unknown = listen(Place::new("no-such-host.invalid", 0)).err().unwrap().to_string();
    assert!(unknown.contains("no-such-host.invalid"), "{unknown}");
}

#[test]
fn a_refused_connection_names_every_address() {
    let _guard = guard();
    let port = oxorb_testkit::net::free_port();
    let error = connect("127.0.0.1", port, LONG).err().unwrap();
    assert_eq!(error.error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(error.attempts.len(), 1);
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot connect to 127.0.0.1:{port}: ")), "{text}");

    let error = connect("localhost", port, LONG).err().unwrap();
    let text = error.to_string();
    for attempt in &error.attempts {
        assert!(text.contains(attempt.address.for_people()), "{text}");
    }
}

#[test]
fn an_unknown_host_is_named() {
    let error = connect("no-such-host.invalid", 1, LONG).err().unwrap();
    assert!(error.attempts.is_empty());
    let text = error.to_string();
    assert!(text.starts_with(r#"cannot resolve "no-such-host.invalid": "#), "{text}");
}

#[test]
fn a_host_that_swallows_packets_times_out() {
    let _guard = guard();
    // When the backlog is full, the kernel drops the packets of further attempts, and those clients keep trying.
    let how = oxorb_sys::socket::Listen { reuse_address: true, dual_stack: false, backlog: 0 };
    let full = oxorb_sys::socket::listen("127.0.0.1:0".parse().unwrap(), how).unwrap();
    let port = oxorb_sys::socket::local_address(&full).unwrap().port();
    let mut waiting = Vec::new();
    let error = (0..20).find_map(|_| match connect("127.0.0.1", port, Duration::from_millis(50)) {
        Ok(link) => {
            waiting.push(link);
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(error.expect("the backlog is full").error.kind(), ErrorKind::TimedOut);
}
