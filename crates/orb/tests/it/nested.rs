//! Callbacks over a connection that the client multiplexes do not deadlock.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use oxorb::__gen::Op;
use oxorb::settings::ClientConnections;
use oxorb::{ObjectRef, Outcome, Servant, SystemException, Upcall};
use oxorb_giop::{Inbox, Message, MessageLimits};
use oxorb_testkit::watchdog;

use crate::common::fake::FakeServer;
use crate::common::peer::Peer;
use crate::common::transport::wire;
use crate::common::{
    self, EVERY_CONCURRENCY, LONG, PING, PINGER, address, elsewhere, ping, request, server,
};

static RELAY: Op = Op::twoway("relay");
static RELAY_LATER: Op = Op::twoway("relay_later");

/// Servant that answers `relay` with the result of another object's `ping`.
struct Relay(ObjectRef);

impl Servant for Relay {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let answer = match upcall.operation() {
            "relay" => ping(&self.0, 7),
            "relay_later" => common::ping_async(&self.0, 7).wait(),
            "ping" => match upcall.args(|d| d.longlong()) {
                Ok(n) => Ok(n + 1),
                Err(rejected) => return upcall.reject(rejected),
            },
            _ => return upcall.unknown_operation(),
        };
        match answer {
            Ok(n) => upcall.reply(|e| {
                e.longlong(n);
                Ok(())
            }),
            Err(exception) => upcall.fail(exception),
        }
    }
}

/// A client with a single connection, like JacORB's.
struct Multiplexing {
    stream: Peer,
    inbox: Inbox,
}

impl Multiplexing {
    fn to(object: &ObjectRef) -> Self {
        Multiplexing {
            stream: Peer::connect(&address(object)),
            inbox: Inbox::new(&MessageLimits::default()).speaking(wire()),
        }
    }

    fn send(&mut self, messages: &[Vec<u8>]) {
        self.stream.write_all(&messages.concat()).unwrap();
    }

    /// Receives the next reply: request id and result.
    fn receive(&mut self) -> (u32, Result<i64, SystemException>) {
        loop {
            if self.inbox.poll().unwrap().is_some() {
                let frame = self.inbox.frame();
                let Message::Reply(reply) = frame.message().unwrap() else {
                    panic!("only replies come to a client");
                };
                let mut d = frame.decoder(wire().dialect()).at(reply.body);
                return (reply.id, Ok(d.longlong().unwrap()));
            }
            let (buffer, room) = self.inbox.room();
            let mut octets = vec![0; room];
            let count = self.stream.read(&mut octets).unwrap();
            assert_ne!(count, 0, "the server closed the connection");
            buffer.extend(&octets[..count]);
        }
    }
}

/// Calls `relay`, whose servant waits for a callback, which in turn makes a call over the
/// connection of `relay`.
fn nested(op: &'static Op, together: bool) {
    let _watchdog = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server(concurrency);
        let callback = FakeServer::start();
        let client = common::client(ClientConnections::Cached);
        let relay = Relay(callback.object(&server));
        let local = server.root_poa().activate_servant(Arc::new(relay)).unwrap();
        let object = elsewhere(&client, &local);

        let mut connection = Multiplexing::to(&object);
        let outer = request(&object, op, 0, |_| ());
        let inner = request(&object, &PING, 2, |e| e.longlong(41));
        let mut called_back;
        if together {
            // Send both requests in one write, so that they arrive in one read.
            connection.send(&[outer, inner]);
            called_back = callback.accept();
        } else {
            connection.send(&[outer]);
            called_back = callback.accept();
            connection.send(&[inner]);
        }
        let id = called_back.request();
        assert_eq!(connection.receive(), (2, Ok(42)), "served during the callback");
        called_back.answer(id, 99);
        assert_eq!(connection.receive(), (0, Ok(99)));

        // The connection still works.
        for n in 0..10 {
            let again = request(&object, &PING, 4 + 2 * n, |e| e.longlong(n.into()));
            connection.send(&[again]);
            assert_eq!(connection.receive(), (4 + 2 * n, Ok(i64::from(n) + 1)));
        }
        server.shutdown(true).unwrap();
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_request_that_comes_during_a_callback_is_served() {
    nested(&RELAY, false);
}

#[test]
fn so_is_one_that_came_with_the_outer_request() {
    nested(&RELAY, true);
}

#[test]
fn and_one_that_comes_while_a_servant_awaits_an_asynchronous_call() {
    nested(&RELAY_LATER, false);
}

#[test]
fn shutdown_waits_for_a_request_whose_connection_has_a_stand_in() {
    let _watchdog = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server(concurrency);
        let callback = FakeServer::start();
        let client = common::client(ClientConnections::Cached);
        let relay = Relay(callback.object(&server));
        let local = server.root_poa().activate_servant(Arc::new(relay)).unwrap();
        let object = elsewhere(&client, &local);
        let mut connection = Multiplexing::to(&object);
        connection.send(&[request(&object, &RELAY, 0, |_| ())]);
        let mut called_back = callback.accept();
        connection.send(&[request(&object, &PING, 2, |e| e.longlong(1))]);
        let id = called_back.request();
        assert_eq!(connection.receive(), (2, Ok(2)));

        std::thread::scope(|scope| {
            let ending = scope.spawn(|| server.shutdown(true));
            called_back.answer(id, 5);
            assert_eq!(connection.receive(), (0, Ok(5)), "its reply goes out");
            ending.join().unwrap().unwrap();
        });
        client.shutdown(true).unwrap();
    }
}
