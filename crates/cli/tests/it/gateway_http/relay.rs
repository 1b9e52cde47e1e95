//! Server between the gateway and the account, which holds calls back.

use std::io::copy;
use std::net::{TcpListener, TcpStream};
use std::thread::spawn;

use oxorb_testkit::watchdog;

use super::LIMIT;

/// Server that forwards calls when a test permits it. Until then, they run and have no reply.
pub(super) struct Relay(TcpListener);

impl Relay {
    pub(super) fn new() -> Relay {
        Relay(TcpListener::bind("127.0.0.1:0").expect("a port"))
    }

    /// Returns the option of the gateway for the account behind the relay.
    pub(super) fn option(&self) -> String {
        let address = self.0.local_addr().expect("an address");
        format!("Relayed=corbaloc::1.2@{address}/Account")
    }

    /// Waits until a call begins.
    pub(super) fn accept(&self) -> TcpStream {
        let _guard = watchdog(LIMIT);
        self.0.accept().expect("a connection").0
    }

    /// Forwards a connection, and all further ones, to the port of the account.
    pub(super) fn forward(self, first: TcpStream, port: &str) {
        let address = format!("127.0.0.1:{port}");
        spawn(move || {
            let further = self.0.incoming().map_while(Result::ok);
            for outer in std::iter::once(first).chain(further) {
                let inner = TcpStream::connect(&address).expect("the server listens");
                let ways = [(outer.try_clone(), inner.try_clone()), (Ok(inner), Ok(outer))];
                for (from, to) in ways {
                    let (mut from, mut to) = (from.expect("a socket"), to.expect("a socket"));
                    // The thread ends when either side closes its connection.
                    spawn(move || copy(&mut from, &mut to));
                }
            }
        });
    }
}
