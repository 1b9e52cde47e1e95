//! Obligations of [`Transport`] and [`Acceptor`], with one test each.

use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb_transport::{
    Acceptor, Address, Endpoint, Link, Notation, Part, Transport, connect, connect_first,
};

use crate::link::Pair;

/// Instantiates the suites of [`Transport`], of its acceptors, and of [`Link`] over its connections, in a separate
/// module.
///
/// `transport!(name, || (Arc::new(transport), "endpoint"))`: the endpoint is the text after `PROTOCOL://`, and requests
/// any free address. An optional function as last argument reports whether this machine supports the transport; if not,
/// the tests do nothing.
#[macro_export]
macro_rules! transport {
    ($name:ident, $make:expr $(,)?) => {
        $crate::transport!($name, $make, || true);
    };
    ($name:ident, $make:expr, $is_there:expr $(,)?) => {
        mod $name {
            #[allow(unused_imports, reason = "not every transport needs them all")]
            use super::*;

            fn subject() -> $crate::transport::Subject {
                let (transport, endpoint) = ($make)();
                $crate::transport::Subject::new(transport, endpoint)
            }

            mod links {
                $crate::link!(@all $is_there, || super::subject().pair());
            }

            $crate::transport!(@each $is_there,
                an_endpoint_reads_back,
                the_acceptor_has_the_real_place,
                published_addresses_are_canonical,
                peers_come_in_order_and_once,
                a_peer_that_is_gone_does_not_stop_the_next,
                close_wakes_every_accept_and_links_live_on,
                where_nobody_listens_connecting_fails,
                a_place_that_is_taken_is_refused,
                a_place_is_free_again_after_close,
                lanes_have_endpoints_of_their_own,
                the_first_that_answers_wins,
                all_connections_of_a_process_are_one_client,
                both_ends_have_the_facts_of_the_transport,
            );
        }
    };
    (@each $is_there:expr, $($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                let _guard = $crate::guard();
                if ($is_there)() {
                    $crate::transport::$test(&subject());
                }
            }
        )*
    };
}

/// Time limit for a connection that will succeed.
const LONG: Duration = Duration::from_secs(20);

/// Transport, and an endpoint at which it listens.
pub struct Subject {
    transport: Arc<dyn Transport>,
    endpoint: Endpoint,
}

impl Subject {
    /// Parses the endpoint as a protocol would.
    pub fn new(transport: Arc<dyn Transport>, endpoint: impl AsRef<str>) -> Self {
        let read = transport.endpoints(Notation::Url, Part::new(endpoint.as_ref()));
        let mut endpoints = read.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(endpoints.len(), 1, "one endpoint is wanted");
        Self { endpoint: endpoints.remove(0), transport }
    }

    /// Returns both ends of a connection.
    pub fn pair(&self) -> Pair {
        let acceptor = self.listen();
        let client = self.connect(&*acceptor);
        (client, acceptor.accept().unwrap())
    }

    fn listen(&self) -> Box<dyn Acceptor> {
        self.transport.listen(&self.endpoint).unwrap()
    }

    fn connect(&self, to: &dyn Acceptor) -> Box<dyn Link> {
        connect(&*self.transport, &self.address(to), LONG).unwrap()
    }

    fn address(&self, of: &dyn Acceptor) -> Address {
        self.transport.own_address(of.endpoint())
    }
}

/// Checks that an endpoint parsed from its own text is the same.
pub fn an_endpoint_reads_back(subject: &Subject) {
    let acceptor = subject.listen();
    for endpoint in [&subject.endpoint, acceptor.endpoint()] {
        let text = endpoint.to_string();
        let prefix = format!("{}://", subject.transport.scheme());
        let whole = Part::new(&text);
        let part = whole.after(&prefix).expect("the scheme, as nobody set another protocol");
        let read = subject.transport.endpoints(Notation::Url, part).unwrap();
        assert_eq!(read, std::slice::from_ref(endpoint), "{text}");
    }
}

/// Checks that this process reaches the acceptor at its endpoint.
pub fn the_acceptor_has_the_real_place(subject: &Subject) {
    let acceptor = subject.listen();
    assert!(subject.transport.is_fixed(acceptor.endpoint()));
    let client = subject.connect(&*acceptor);
    let server = acceptor.accept().unwrap();
    exchange(&*client, &*server);
}

/// Checks that published addresses belong to the transport, and parse back.
pub fn published_addresses_are_canonical(subject: &Subject) {
    let acceptor = subject.listen();
    let published = subject.transport.published(acceptor.endpoint(), &[]).unwrap();
    assert!(!published.is_empty());
    for address in published {
        assert_eq!(address.scheme(), subject.transport.scheme().as_str());
        assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
    }
}

/// Checks that each peer is accepted once, in the order of connecting.
pub fn peers_come_in_order_and_once(subject: &Subject) {
    let acceptor = subject.listen();
    let clients: Vec<_> = (0..20_u8).map(|_| subject.connect(&*acceptor)).collect();
    for (number, client) in (0..).zip(&clients) {
        client.write(&mut [IoSlice::new(&[number])]).unwrap();
    }
    for number in 0..20 {
        let mut buffer = Vec::new();
        let server = acceptor.accept().unwrap();
        server.read(&mut buffer, 1).unwrap();
        assert_eq!(buffer, [number]);
    }
}

/// Checks that a peer that leaves before it is accepted does not stop the acceptance of later peers.
pub fn a_peer_that_is_gone_does_not_stop_the_next(subject: &Subject) {
    let acceptor = subject.listen();
    for _ in 0..5 {
        drop(subject.connect(&*acceptor));
    }
    let client = subject.connect(&*acceptor);
    client.write(&mut [IoSlice::new(b"here")]).unwrap();
    let mut buffer = Vec::new();
    while buffer.is_empty() {
        let link = acceptor.accept().unwrap();
        // The read returns 0 or an error if the peer no longer exists.
        let _ = link.read(&mut buffer, 4);
    }
    assert_eq!(buffer, b"here");
}

/// Checks that closing wakes all accepting threads, refuses peers, and preserves links.
pub fn close_wakes_every_accept_and_links_live_on(subject: &Subject) {
    let acceptor = subject.listen();
    let client = subject.connect(&*acceptor);
    let server = acceptor.accept().unwrap();
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| acceptor.accept().err())).collect();
        // The threads are probably waiting by then. If they are not, they must end nevertheless.
        thread::sleep(Duration::from_millis(20));
        acceptor.close();
        acceptor.close();
        for thread in waiting {
            let error = thread.join().unwrap().expect("no peer came");
            assert_eq!(error.kind(), ErrorKind::NotConnected);
        }
    });
    let again = acceptor.accept().err().expect("it is closed");
    assert_eq!(again.kind(), ErrorKind::NotConnected);
    let address = subject.address(&*acceptor);
    assert!(connect(&*subject.transport, &address, LONG).is_err());
    exchange(&*client, &*server);
}

/// Checks that connecting without a listener fails at once, and that the error names the address.
pub fn where_nobody_listens_connecting_fails(subject: &Subject) {
    let acceptor = subject.listen();
    let address = subject.address(&*acceptor);
    acceptor.close();
    drop(acceptor);
    let error = connect(&*subject.transport, &address, LONG).err().unwrap();
    assert_ne!(error.error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains(address.for_people()), "{error}");
}

/// Checks that an address in use is refused with advice, and that its user is not affected.
pub fn a_place_that_is_taken_is_refused(subject: &Subject) {
    let acceptor = subject.listen();
    let error = subject.transport.listen(acceptor.endpoint()).err();
    let error = error.expect("somebody listens there");
    assert_eq!(error.error.kind(), ErrorKind::AddrInUse, "{error}");
    assert!(error.advice.is_some(), "{error}");
    // The first acceptor is not affected.
    let client = subject.connect(&*acceptor);
    exchange(&*client, &*acceptor.accept().unwrap());
}

/// Checks that an address can be reused once its acceptor is closed.
pub fn a_place_is_free_again_after_close(subject: &Subject) {
    let acceptor = subject.listen();
    let endpoint = acceptor.endpoint().clone();
    acceptor.close();
    drop(acceptor);
    let acceptor = subject.transport.listen(&endpoint).unwrap();
    let client = subject.connect(&*acceptor);
    exchange(&*client, &*acceptor.accept().unwrap());
}

/// Checks that the endpoints of lanes differ.
pub fn lanes_have_endpoints_of_their_own(subject: &Subject) {
    let acceptor = subject.listen();
    let following = |number| {
        let next = subject.transport.following(acceptor.endpoint(), number);
        next.map(|endpoint| endpoint.to_string())
    };
    let own = acceptor.endpoint().to_string();
    let (first, second) = (following(1), following(2));
    assert_ne!(first, Some(own.clone()));
    assert_ne!(second, Some(own));
    assert!(first.is_none() || first != second);
}

/// Checks that a race is won by the target that answers.
pub fn the_first_that_answers_wins(subject: &Subject) {
    let (dead, live) = (subject.listen(), subject.listen());
    let addresses = [&dead, &live].map(|acceptor| subject.address(&**acceptor));
    dead.close();
    drop(dead);
    let targets = [0, 1].map(|at| (&*subject.transport, &addresses[at]));
    let (won, client) = connect_first(&targets, LONG).unwrap();
    assert_eq!(won, 1);
    exchange(&*client, &*live.accept().unwrap());
}

/// Checks that limits count all connections of one process as those of one client.
pub fn all_connections_of_a_process_are_one_client(subject: &Subject) {
    let acceptor = subject.listen();
    let clients = [subject.connect(&*acceptor), subject.connect(&*acceptor)];
    let servers = clients.map(|_client| acceptor.accept().unwrap().identity().client());
    assert_eq!(servers[0], servers[1]);
}

/// Checks that links have the abilities announced by the transport.
pub fn both_ends_have_the_facts_of_the_transport(subject: &Subject) {
    let (client, server) = subject.pair();
    assert_eq!(client.facts(), subject.transport.facts());
    assert_eq!(server.facts(), subject.transport.facts());
}

/// Sends some octets in each direction.
fn exchange(client: &dyn Link, server: &dyn Link) {
    for (from, to) in [(client, server), (server, client)] {
        from.write(&mut [IoSlice::new(b"alive")]).unwrap();
        let mut buffer = Vec::new();
        while buffer.len() < 5 {
            assert_ne!(to.read(&mut buffer, 5).unwrap(), 0);
        }
        assert_eq!(buffer, b"alive");
    }
}
