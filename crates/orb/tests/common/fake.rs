//! A server whose replies are written by the test.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use oxorb::transport::{Acceptor, Address, Link};
use oxorb::{ObjectRef, Orb};
use oxorb_cdr::{ByteOrder, Encoder, Result as CdrResult};
use oxorb_giop::{Frame, Inbox, LocateStatus, Message, MessageLimits, ReplyStatus};
use oxorb_object::components::orb_type;
use oxorb_object::{Ior, TaggedComponent};
use oxorb_testkit::watchdog;

use super::peer::Peer;
use super::transport::{self, Place, free_place, has_ports, profile_at, protocol, wire};
use super::{LONG, PINGER};

/// A listening endpoint over the chosen protocol.
pub(crate) struct FakeServer {
    acceptor: Arc<dyn Acceptor>,
    /// Connections accepted over TLS. A thread accepts them, because a client is connected only after the server has
    /// answered its handshake.
    let_in: Option<Mutex<Receiver<Box<dyn Link>>>>,
}

/// Connection from a client.
pub(crate) struct FakeConnection {
    pub(crate) peer: Peer,
    inbox: Inbox,
}

/// A message of the client, decoded for comparison.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Request id, operation, and addressing mode: 0 for a key, 1 for a profile, 2 for a reference.
    Request(u32, String, u16),
    /// Id of the request that the client no longer waits for.
    Cancel(u32),
    /// Id of a LocateRequest.
    Locate(u32),
    /// The client closed the connection.
    End,
    Other(String),
}

impl FakeServer {
    pub(crate) fn start() -> FakeServer {
        FakeServer::start_at(&transport::anywhere())
    }

    pub(crate) fn start_at(endpoint: &str) -> FakeServer {
        let endpoint = transport::endpoint(endpoint);
        let acceptor: Arc<dyn Acceptor> =
            Arc::from(protocol().transport().listen(&endpoint).unwrap());
        let let_in = transport::is_tls().then(|| {
            let (acceptor, (sender, receiver)) = (Arc::clone(&acceptor), mpsc::channel());
            thread::spawn(move || {
                loop {
                    match acceptor.accept() {
                        Ok(link) => drop(sender.send(link)),
                        Err(error) if error.kind() == ErrorKind::NotConnected => return,
                        // Continue with the next client if one fails its handshake.
                        Err(_) => {}
                    }
                }
            });
            Mutex::new(receiver)
        });
        FakeServer { acceptor, let_in }
    }

    pub(crate) fn address(&self) -> Address {
        protocol().transport().own_address(self.acceptor.endpoint())
    }

    /// Returns a reference to an object of this server, as `client` resolves it.
    pub(crate) fn object(&self, client: &Orb) -> ObjectRef {
        let ior = ior_at(&self.address()).to_string();
        client.string_to_object(&ior).unwrap()
    }

    pub(crate) fn accept(&self) -> FakeConnection {
        let link = match &self.let_in {
            Some(let_in) => let_in.lock().unwrap().recv().unwrap(),
            None => self.acceptor.accept().unwrap(),
        };
        FakeConnection {
            peer: Peer::accepted(link),
            inbox: Inbox::new(&MessageLimits::default()).speaking(wire()),
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.acceptor.close();
    }
}

impl FakeConnection {
    /// Waits for the client's next message and returns it.
    pub(crate) fn receive(&mut self) -> Received {
        loop {
            if self.inbox.poll().unwrap().is_some() {
                return look(&self.inbox.frame());
            }
            let (buffer, room) = self.inbox.room();
            let mut octets = vec![0; room];
            match self.peer.read(&mut octets) {
                Ok(0) => return Received::End,
                Ok(count) => buffer.extend(&octets[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Received::End,
                Err(error) => panic!("no message from the client: {error}"),
            }
        }
    }

    /// Waits for the first octets of the client's next message.
    pub(crate) fn await_beginning(&mut self) {
        self.peer.await_input();
    }

    /// Receives a request, and returns its id. Panics on any other message.
    pub(crate) fn request(&mut self) -> u32 {
        match self.receive() {
            Received::Request(id, ..) => id,
            other => panic!("a request was expected, not {other:?}"),
        }
    }

    /// Receives a LocateRequest, and returns its id. Panics on any other message.
    pub(crate) fn locate(&mut self) -> u32 {
        match self.receive() {
            Received::Locate(id) => id,
            other => panic!("a LocateRequest was expected, not {other:?}"),
        }
    }

    /// Answers a LocateRequest.
    pub(crate) fn locate_reply<'a>(
        &mut self,
        id: u32,
        status: LocateStatus,
        body: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>,
    ) {
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire().dialect());
        let begun = wire().begin_locate_reply(&mut e, id, status);
        body(&mut e).unwrap();
        wire().finish(&mut e, begun).unwrap();
        self.send(&e.finish().to_vec());
    }

    pub(crate) fn send(&mut self, octets: &[u8]) {
        self.try_send(octets).unwrap();
    }

    /// Sends octets; fails if the client has closed the connection.
    pub(crate) fn try_send(&mut self, octets: &[u8]) -> std::io::Result<()> {
        self.peer.write_all(octets)
    }

    /// Answers request `id`.
    pub(crate) fn reply<'a>(
        &mut self,
        id: u32,
        status: ReplyStatus,
        body: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>,
    ) {
        self.send(&reply(id, status, body));
    }

    /// Answers a `ping` with `number`.
    pub(crate) fn answer(&mut self, id: u32, number: i64) {
        self.reply(id, ReplyStatus::NO_EXCEPTION, |e| {
            e.longlong(number);
            Ok(())
        });
    }

    /// Receives a `ping` and answers it.
    pub(crate) fn answer_next(&mut self, number: i64) {
        let id = self.request();
        self.answer(id, number);
    }

    pub(crate) fn close_connection(&mut self) {
        let close = wire().close(ByteOrder::NATIVE);
        self.send(&close.expect("every protocol of ours has it"));
    }
}

/// Returns a complete Reply message.
pub(crate) fn reply<'a>(
    id: u32,
    status: ReplyStatus,
    body: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>,
) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire().dialect());
    let begun = wire().begin_reply(&mut e, id, status, &[]);
    body(&mut e).unwrap();
    wire().finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

fn look(frame: &Frame<'_>) -> Received {
    match frame.message().unwrap() {
        Message::Request(request) => {
            let addressing = match request.target {
                oxorb_giop::Target::Key(_) => 0,
                oxorb_giop::Target::Profile(_) => 1,
                _ => 2,
            };
            Received::Request(request.id, request.operation.to_owned(), addressing)
        }
        Message::LocateRequest(request) => Received::Locate(request.id),
        Message::CancelRequest(cancel) => Received::Cancel(cancel.id),
        other => Received::Other(format!("{other:?}")),
    }
}

/// Runs `caller` against a server that executes `script`. Panics if the script still waits for a client long after the
/// caller has returned.
pub(crate) fn played<R: Send>(
    script: impl FnOnce(&FakeServer) + Send,
    caller: impl FnOnce(&FakeServer) -> R,
) -> R {
    let server = FakeServer::start();
    thread::scope(|scope| {
        let playing = scope.spawn(|| script(&server));
        let result = panic::catch_unwind(AssertUnwindSafe(|| caller(&server)));
        let patience = if result.is_ok() { LONG / 2 } else { Duration::ZERO };
        if !has_ended(&playing, patience) {
            // Ends the wait of `accept`, with an error.
            server.acceptor.close();
        }
        let script = playing.join();
        let result = result.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        script.unwrap();
        result
    })
}

/// Waits until a thread has ended, or for a time; returns whether it has.
fn has_ended(thread: &ScopedJoinHandle<'_, ()>, limit: Duration) -> bool {
    let began = Instant::now();
    while !thread.is_finished() && began.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
    thread.is_finished()
}

/// Returns an IOR of an object at `address`.
pub(crate) fn ior_at(address: &Address) -> Ior {
    // Identify the server as OxORB, because the client sends CancelRequest only to ORBs that are known to accept it.
    ior_with(address, vec![TaggedComponent::orb_type(orb_type::OXORB)])
}

/// Returns an IOR of an object at `address`, with these components.
pub(crate) fn ior_with(address: &Address, components: Vec<TaggedComponent>) -> Ior {
    Ior { type_id: PINGER.to_owned(), profiles: vec![profile_at(address, b"fake", components)] }
}

/// Returns an IOR with one profile for each address.
pub(crate) fn ior_of(addresses: &[Address]) -> Ior {
    Ior {
        type_id: PINGER.to_owned(),
        profiles: addresses.iter().flat_map(|address| ior_at(address).profiles).collect(),
    }
}

/// An endpoint that neither accepts nor refuses connections, because its queue is full.
pub(crate) struct BlackHole {
    address: Address,
    _full: Full,
}

#[expect(dead_code, reason = "kept open")]
enum Full {
    Tcp(TcpListener, Vec<TcpStream>),
    Unix(UnixListener, Vec<OwnedFd>),
}

impl BlackHole {
    /// Fills the queue of a new endpoint. The memory transport cannot be used, because it has no queue and refuses
    /// connections.
    pub(crate) fn new() -> BlackHole {
        if has_ports() {
            return BlackHole::tcp();
        }
        let Place { address, .. } = free_place();
        let listener = UnixListener::bind(address.place()).unwrap();
        oxorb_testkit::net::shorten(&listener).unwrap();
        let queued = oxorb_testkit::net::fill(address.place().as_ref()).unwrap();
        BlackHole { address, _full: Full::Unix(listener, queued) }
    }

    fn tcp() -> BlackHole {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut queued = Vec::new();
        // Connect until the listener's queue is full. It holds 128 connections, or fewer if the limit of the system is
        // lower.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(500)) {
            queued.push(stream);
            assert!(queued.len() < 10_000, "the queue has no end");
        }
        let at = transport::endpoint(&format!("{}://{address}", protocol().name()));
        BlackHole {
            address: protocol().transport().own_address(&at),
            _full: Full::Tcp(listener, queued),
        }
    }

    pub(crate) fn address(&self) -> Address {
        self.address.clone()
    }
}

impl Drop for BlackHole {
    fn drop(&mut self) {
        if !has_ports() {
            let _ = std::fs::remove_file(self.address.place());
        }
    }
}

/// Runs two calls to an object whose first endpoint swallows packets. The connect timeout of that endpoint alone
/// exceeds the test's time limit.
pub(crate) fn past_a_hole<R: Send>(calls: impl FnOnce(&ObjectRef) -> R) -> R {
    let _guard = watchdog(LONG);
    let hole = BlackHole::new();
    let client =
        transport::builder().connect_timeout(10 * LONG).round_trip_timeout(None).build().unwrap();
    let answers = played(
        |server| {
            let mut connection = server.accept();
            for number in [1, 2] {
                connection.answer_next(number);
            }
        },
        |server| {
            let ior = ior_of(&[hole.address(), server.address()]);
            calls(&client.string_to_object(&ior.to_string()).unwrap())
        },
    );
    client.shutdown(true).unwrap();
    answers
}
