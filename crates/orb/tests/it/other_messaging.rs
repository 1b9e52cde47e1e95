//! ORBs that use a message format other than GIOP: all functions of the core that handle messages.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests one messaging over two transports.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_core::protocol::{Iiop, Placed, ProtocolStack, Protocols};
use oxorb_core::{
    Adapter, ClientConnections, Interface as _, Located, Op, Options, Orb, Outcome, Ref,
    ResponseHandler, Upcall,
};
use oxorb_giop::{
    Alias, Frame, Inbox, MessageLimits, Reply, ReplyStatus, RequestHeader, Response, TargetAddress,
    Wire,
};
use oxorb_lite::GIOP_LITE_RT;
use oxorb_object::{SystemException, SystemExceptionKind};
use oxorb_testkit::watchdog;
use oxorb_transport::mem::Memory;
use oxorb_transport::tcp::Tcp;

const LIMIT: Duration = Duration::from_secs(60);
const KEY: &[u8] = b"counter";
const TYPE: &str = "IDL:test/Counter:1.0";
const WIRE: Wire = Wire::Other(GIOP_LITE_RT);

static ADD: Op = Op::twoway("add");
static ADD_LATER: Op = Op::twoway("add_later");
static ADD_ELSEWHERE: Op = Op::twoway("add_elsewhere");
static UNKNOWN: Op = Op::twoway("unknown");
static NOTE: Op = Op::oneway("note");

/// Servant that adds one to numbers, in several ways.
#[derive(Default)]
struct Counter {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Counter {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
    }
}

fn done(later: ResponseHandler, number: i32) {
    later.reply(|e| {
        e.long(number + 1);
        Ok(())
    });
}

impl Adapter for Counter {
    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let number = match upcall.args(|d| d.long()) {
            Ok(number) => number,
            Err(rejected) => return upcall.reject(rejected),
        };
        match upcall.operation() {
            "add_later" => upcall.later(|later| {
                thread::spawn(move || done(later, number));
            }),
            "add_elsewhere" => {
                let copy = upcall.detach();
                let orb = upcall.orb().clone();
                let answer = thread::spawn(move || {
                    copy.serve(&orb, |upcall| {
                        assert_eq!(upcall.operation(), "add_elsewhere");
                        upcall.reply(|e| {
                            e.long(number + 1);
                            Ok(())
                        })
                    })
                });
                upcall.relay(answer.join().unwrap())
            }
            "note" => upcall.done(),
            operation @ ("add" | "wait") => {
                if operation == "wait" {
                    self.wait();
                }
                upcall.reply(|e| {
                    e.long(number + 1);
                    Ok(())
                })
            }
            _ => upcall.unknown_operation(),
        }
    }

    fn locate(&self, key: &[u8]) -> Located {
        match key == KEY {
            true => Located::Here,
            false => Located::Unknown,
        }
    }

    fn close(&self) {}
}

fn options(protocol: ProtocolStack) -> Options {
    let mut options = Options::default();
    options.protocols = Protocols::of([protocol]).unwrap();
    options
}

fn server(mut options: Options, endpoint: &str) -> (Orb, Ref, Arc<Counter>) {
    options.listen_on(endpoint).unwrap();
    let orb = Orb::new(options);
    let counter = Arc::new(Counter::default());
    orb.set_adapter(Arc::clone(&counter) as Arc<dyn Adapter>);
    let object = orb.create_reference(TYPE, KEY).unwrap();
    (orb, object, counter)
}

fn call(object: &Ref, op: &'static Op, number: i32) -> Result<i32, SystemException> {
    object.invoke(
        op,
        |e| {
            e.long(number);
            Ok(())
        },
        |d| d.long(),
    )
}

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn calls_of_all_kinds_over_connections_of_all_kinds() {
    let _guard = watchdog(LIMIT);
    let sharing = [
        ClientConnections::Private,
        ClientConnections::Cached,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ];
    for connections in sharing {
        let memory = Memory::new();
        let protocol = || {
            let (memory, messaging) = (Arc::new(memory.clone()), Some(GIOP_LITE_RT));
            ProtocolStack::new("rt", Placed::MEMORY, messaging, memory).unwrap()
        };
        let (server, object, _) = server(options(protocol()), "rt://bank");
        let mut shared = options(protocol());
        shared.client_connections = connections;
        let client = Orb::new(shared);
        let object = client.string_to_object(&object.ior().to_string()).unwrap();
        let object = object.reference();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for number in 0..30 {
                        for op in [&ADD, &ADD_LATER, &ADD_ELSEWHERE] {
                            assert_eq!(call(object, op, number), Ok(number + 1));
                        }
                        let refused = call(object, &UNKNOWN, number).unwrap_err();
                        assert_eq!(refused.kind, SystemExceptionKind::BadOperation);
                        let told = |e: &mut Encoder<'_>| {
                            e.long(7);
                            Ok(())
                        };
                        object.send(&NOTE, told).unwrap();
                    }
                });
            }
        });
        end(&[&client, &server]);
    }
}

/// A client that writes the protocol's octets itself.
struct Raw {
    stream: TcpStream,
    inbox: Inbox,
}

impl Raw {
    fn send(&mut self, id: u32, operation: &str, alias: Alias) {
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, WIRE.dialect());
        let header = RequestHeader {
            id,
            response: Response::WithTarget,
            key: TargetAddress::Key(KEY),
            operation,
            contexts: &[],
            terms: None,
            alias: Some(alias),
        };
        let begun = WIRE.begin_request(&mut e, &header);
        e.long(id as i32);
        WIRE.finish(&mut e, begun).unwrap();
        self.stream.write_all(&e.finish().to_vec()).unwrap();
    }

    /// Returns the number of the next reply, and checks that the reply holds that number plus one.
    fn answered(&mut self) -> u32 {
        loop {
            if self.inbox.poll().unwrap().is_some() {
                let frame: Frame<'_> = self.inbox.frame();
                let reply = Reply::parse(&frame).unwrap();
                assert_eq!(reply.status, ReplyStatus::NO_EXCEPTION);
                let result = frame.decoder(WIRE.dialect()).at(reply.body).long();
                assert_eq!(result, Ok(reply.id as i32 + 1));
                return reply.id;
            }
            let mut octets = [0; 512];
            let got = self.stream.read(&mut octets).unwrap();
            assert_ne!(got, 0, "the server closed the connection");
            self.inbox.room().0.extend_from_slice(&octets[..got]);
        }
    }
}

/// A thread that continues to read a connection knows the aliases that another thread read.
#[test]
fn aliases_are_known_to_the_thread_that_takes_a_connection_over() {
    let _guard = watchdog(LIMIT);
    let protocol = ProtocolStack::new("rt", Iiop, Some(GIOP_LITE_RT), Arc::new(Tcp)).unwrap();
    let mut options = options(protocol);
    options.max_requests_per_connection = 8;
    let (server, object, counter) = server(options, "rt://127.0.0.1:0");
    let port = object.ior().iiop_profiles().next().unwrap().port;
    let mut client = Raw {
        stream: TcpStream::connect(("127.0.0.1", port)).unwrap(),
        inbox: Inbox::new(&MessageLimits::default()).speaking(WIRE),
    };
    let known = |number| Alias { number, known: true };
    let new = |number| Alias { number, known: false };
    client.send(0, "add", new(0));
    assert_eq!(client.answered(), 0);
    // Send a request that blocks, alone and followed by others.
    for (round, behind) in [0, 1, 3].into_iter().enumerate() {
        *counter.open.lock().unwrap() = false;
        let first = 100 * (round as u32 + 1);
        let waits = match round {
            0 => new(1),
            _ => known(1),
        };
        client.send(first, "wait", waits);
        for id in 1..=behind {
            client.send(first + id, "add", known(0));
        }
        // The requests run concurrently, so their replies come in any order.
        let mut answered: Vec<u32> = (0..behind).map(|_| client.answered()).collect();
        answered.sort_unstable();
        assert!(answered.into_iter().eq(first + 1..=first + behind));
        // Another thread reads input that arrives while the first request is blocked.
        client.send(first + 50, "add_later", new(2 + round as u16));
        assert_eq!(client.answered(), first + 50);
        client.send(first + 51, "add", known(0));
        assert_eq!(client.answered(), first + 51);
        client.send(first + 52, "add_later", known(2 + round as u16));
        assert_eq!(client.answered(), first + 52);
        counter.open();
        assert_eq!(client.answered(), first);
    }
    client.stream.shutdown(std::net::Shutdown::Both).unwrap();
    end(&[&server]);
}
