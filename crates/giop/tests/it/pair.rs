//! A client and a server connected through memory: complete exchanges with every octet under
//! control.

use std::io::IoSlice;

use oxorb_cdr::{ByteOrder, CharSet, Dialect, Encoded, Encoder};
use oxorb_giop::{
    Fragments, Inbox, LocateStatus, Message, MessageLimits, ReplyStatus, RequestHeader, Response,
    TargetAddress, begin_reply, begin_request, finish, locate_reply, system_exception_reply,
};
use oxorb_object::code_sets::{CodeSetComponentInfo, negotiate};
use oxorb_object::{
    CodeSetContext, CompletionStatus, ServiceContext, SystemException, Version, context_id, minor,
};
use oxorb_testkit::alloc::allocations;

use crate::common::{self, ORDERS, VERSIONS, feed};

/// End of a connection: received octets, and octets to send, in pieces of limited size.
struct Side {
    inbox: Inbox,
    order: ByteOrder,
    largest: usize,
    buffer: Vec<u8>,
    sent: Vec<u8>,
}

impl Side {
    fn new(order: ByteOrder, largest: usize) -> Self {
        let inbox = Inbox::new(&MessageLimits::default());
        Self { inbox, order, largest, buffer: Vec::new(), sent: Vec::new() }
    }

    /// Writes a message and sends it, in fragments if it is large.
    fn send<'a>(&mut self, dialect: Dialect, write: impl FnOnce(&mut Encoder<'a>)) {
        let buffer = core::mem::take(&mut self.buffer);
        let mut e = Encoder::new(buffer, self.order, dialect).gather_above(256);
        write(&mut e);
        let message = e.finish();
        let mut room = [IoSlice::new(&[]); Encoded::MAX_SLICES];
        let slices = message.io_slices(&mut room);
        for piece in Fragments::new(slices, self.largest).expect("we write GIOP") {
            let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
            for slice in piece.slices(slices, &mut slots) {
                self.sent.extend_from_slice(slice);
            }
        }
        self.buffer = message.into_buffer();
    }

    /// Receives everything that the other side has sent, in reads of at most `read` octets; the
    /// message must then be complete.
    fn receive(&mut self, from: &mut Side, read: usize) {
        let mut rest = &from.sent[..];
        while self.inbox.poll().expect("we write GIOP").is_none() {
            assert!(!rest.is_empty(), "the message is whole");
            let n = feed(&mut self.inbox, &rest[..read.min(rest.len())]);
            rest = &rest[n..];
        }
        assert!(rest.is_empty(), "one message at a time");
        from.sent.clear();
    }
}

/// Serves one object, `key`: `add` adds a long, `echo` returns octets, anything else is
/// BAD_OPERATION.
fn serve(server: &mut Side, client: &mut Side, read: usize) {
    server.receive(client, read);
    let inbox = core::mem::replace(&mut server.inbox, Inbox::new(&MessageLimits::default()));
    let frame = inbox.frame();
    let version = frame.header.version;
    match frame.message().expect("a message") {
        Message::LocateRequest(locate) => {
            let known = locate.target.object_key() == Ok(b"key");
            let status =
                if known { LocateStatus::OBJECT_HERE } else { LocateStatus::UNKNOWN_OBJECT };
            server.send(Dialect::new(2), |e| locate_reply(e, version, locate.id, status).unwrap());
        }
        Message::Request(request) => {
            let sets = request.contexts.find(context_id::CODE_SETS);
            let sets =
                sets.map_or(CodeSetContext::DEFAULT, |c| CodeSetContext::parse(c.data).unwrap());
            let dialect = sets.dialect(version.minor).unwrap();
            let mut args = frame.decoder(dialect).at(request.body);
            let id = request.id;
            let exception = |e: &mut Encoder<'_>, exception| {
                system_exception_reply(e, version, id, exception, &[]).unwrap();
            };
            match (request.target.object_key(), request.operation) {
                (Ok(b"key"), "add") => {
                    let sum = args.long().unwrap() + args.long().unwrap();
                    args.finish().unwrap();
                    server.send(dialect, |e| {
                        let begun = begin_reply(e, version, id, ReplyStatus::NO_EXCEPTION, &[]);
                        e.long(sum);
                        finish(e, begun).unwrap();
                    });
                }
                (Ok(b"key"), "echo") => {
                    let text = args.string().unwrap();
                    let length = args.length(None, 1).unwrap();
                    let octets = args.octets(length).unwrap();
                    server.send(dialect, |e| {
                        let begun = begin_reply(e, version, id, ReplyStatus::NO_EXCEPTION, &[]);
                        e.string(&text).unwrap();
                        e.ulong(octets.len() as u32);
                        e.octets(octets);
                        e.double(0.5);
                        finish(e, begun).unwrap();
                    });
                }
                (Ok(b"key"), _) => server.send(dialect, |e| {
                    exception(
                        e,
                        SystemException::bad_operation(
                            minor::bad_operation::UNKNOWN_OPERATION,
                            CompletionStatus::No,
                        ),
                    );
                }),
                _ => server.send(dialect, |e| {
                    exception(
                        e,
                        SystemException::object_not_exist(
                            minor::object_not_exist::NO_OBJECT,
                            CompletionStatus::No,
                        ),
                    );
                }),
            }
        }
        other => panic!("{other:?}"),
    }
    server.inbox = inbox;
}

fn header<'h>(
    key: &'h [u8],
    operation: &'h str,
    contexts: &'h [ServiceContext<'h>],
) -> RequestHeader<'h> {
    RequestHeader {
        id: 7,
        response: Response::WithTarget,
        key: TargetAddress::Key(key),
        operation,
        contexts,
        terms: None,
        alias: None,
    }
}

#[test]
fn calls_in_every_version_order_and_size_of_fragments() {
    let sets = negotiate(Some(&CodeSetComponentInfo::ours())).unwrap();
    let data = sets.to_bytes();
    let contexts = [ServiceContext { id: context_id::CODE_SETS, data: &data }];
    let large: Vec<u8> = (0..2000).map(|i| i as u8).collect();
    for version in VERSIONS {
        let dialect = sets.dialect(version.minor).unwrap();
        assert_eq!(dialect.chars, CharSet::Utf8);
        for (ours, theirs) in
            [(ORDERS[0], ORDERS[1]), (ORDERS[1], ORDERS[0]), (ORDERS[1], ORDERS[1])]
        {
            for (largest, read) in [(usize::MAX, usize::MAX), (1024, 100), (48, 1)] {
                let mut client = Side::new(ours, largest);
                let mut server = Side::new(theirs, largest);
                client.send(dialect, |e| {
                    let begun = begin_request(e, version, &header(b"key", "echo", &contexts));
                    e.string("grüß Gott").unwrap();
                    e.ulong(large.len() as u32);
                    e.copy_octets(&large);
                    finish(e, begun).unwrap();
                });
                serve(&mut server, &mut client, read);
                client.receive(&mut server, read);
                let frame = client.inbox.frame();
                let Ok(Message::Reply(reply)) = frame.message() else { panic!("{frame:?}") };
                assert_eq!((reply.id, reply.status), (7, ReplyStatus::NO_EXCEPTION));
                let mut results = frame.decoder(dialect).at(reply.body);
                assert_eq!(results.string().unwrap(), "grüß Gott");
                let length = results.length(None, 1).unwrap();
                assert_eq!(results.octets(length).unwrap(), large);
                assert_eq!(results.double(), Ok(0.5), "alignment survived the fragments");
                results.finish().unwrap();
            }
        }
    }
}

#[test]
fn failures_come_back_as_exceptions() {
    use oxorb_cdr::Decode;
    for version in VERSIONS {
        for (key, operation, expected) in [
            (
                &b"key"[..],
                "subtract",
                "BAD_OPERATION (minor OMG 2: the object has no such operation or attribute), completed NO",
            ),
            (b"other", "add", "OBJECT_NOT_EXIST (minor OMG 1: no such object), completed NO"),
        ] {
            let mut client = Side::new(ByteOrder::Big, usize::MAX);
            let mut server = Side::new(ByteOrder::Little, usize::MAX);
            client.send(Dialect::new(version.minor), |e| {
                let begun = begin_request(e, version, &header(key, operation, &[]));
                finish(e, begun).unwrap();
            });
            serve(&mut server, &mut client, usize::MAX);
            client.receive(&mut server, usize::MAX);
            let frame = client.inbox.frame();
            let Ok(Message::Reply(reply)) = frame.message() else { panic!("{frame:?}") };
            assert_eq!(reply.status, ReplyStatus::SYSTEM_EXCEPTION);
            let mut body = common::decoder(&frame, reply.body);
            assert_eq!(SystemException::decode(&mut body).unwrap().to_string(), expected);
        }
    }
}

/// Performs one call of `add`, both sides, through existing buffers.
fn call(client: &mut Inbox, server: &mut Inbox, buffers: &mut [Vec<u8>; 2]) {
    let [ours, theirs] = buffers;
    let dialect = Dialect::new(2);
    let mut e = Encoder::new(core::mem::take(ours), ByteOrder::NATIVE, dialect);
    let begun = begin_request(&mut e, Version::V1_2, &header(b"key", "add", &[]));
    e.long(2);
    e.long(3);
    finish(&mut e, begun).unwrap();
    let message = e.finish();
    assert_eq!(feed(server, message.contiguous()), message.len());
    *ours = message.into_buffer();

    server.poll().unwrap().unwrap();
    let frame = server.frame();
    let Ok(Message::Request(request)) = frame.message() else { panic!("{frame:?}") };
    assert_eq!((request.target.object_key(), request.operation), (Ok(&b"key"[..]), "add"));
    let mut args = frame.decoder(dialect).at(request.body);
    let sum = args.long().unwrap() + args.long().unwrap();
    let mut e = Encoder::new(core::mem::take(theirs), ByteOrder::NATIVE, dialect);
    let begun = begin_reply(&mut e, Version::V1_2, request.id, ReplyStatus::NO_EXCEPTION, &[]);
    e.long(sum);
    finish(&mut e, begun).unwrap();
    let message = e.finish();
    assert_eq!(feed(client, message.contiguous()), message.len());
    *theirs = message.into_buffer();
    assert_eq!(server.poll(), Ok(None));

    client.poll().unwrap().unwrap();
    let frame = client.frame();
    let Ok(Message::Reply(reply)) = frame.message() else { panic!("{frame:?}") };
    assert_eq!(frame.decoder(dialect).at(reply.body).long(), Ok(5));
    assert_eq!(client.poll(), Ok(None));
}

#[test]
fn a_call_allocates_nothing_once_warm() {
    let (mut client, mut server) =
        (Inbox::new(&MessageLimits::default()), Inbox::new(&MessageLimits::default()));
    let mut buffers = [Vec::new(), Vec::new()];
    call(&mut client, &mut server, &mut buffers);
    let ((), made) = allocations(|| {
        for _ in 0..100 {
            call(&mut client, &mut server, &mut buffers);
        }
    });
    assert_eq!(made.count, 0);
}

#[test]
fn a_reference_costs_no_more_memory_than_its_octets_justify() {
    use oxorb_cdr::{Decode, Decoder};
    // The number of profiles is possible for a message of this size, but the first profile claims to be longer than the
    // message.
    let mut octets = common::octets("00000001 00000000 00010000 00000000 7fffffff");
    octets.resize(1 << 20, 0);
    let (ior, made) = allocations(|| {
        oxorb_object::Ior::decode(&mut Decoder::new(&octets, ByteOrder::Big, Dialect::new(2)))
    });
    assert!(ior.is_err());
    assert!(made.octets < 4096, "{made:?}");
}
