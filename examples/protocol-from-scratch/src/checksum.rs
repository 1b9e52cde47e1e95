//! A messaging: CORBA's messages after a header of twelve octets, which includes a checksum of the message.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | `SU` |
//! | 2 | 1 | byte order of all that follows: 0 big, 1 little |
//! | 3 | 1 | type of the message, as in GIOP |
//! | 4 | 4 | octets after the header |
//! | 8 | 4 | Adler-32 of all other octets; 0: not summed |
//!
//! The header is followed by the request number and the fields of the CORBA message, in CDR. A message that is not
//! contiguous when it is finished, because a large sequence is sent from its place (CDRTradeoff), is sent without a
//! sum, as UDP permits.

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder};
use oxorb_giop::{
    Begun, CancelRequest, Frame, Header, LocateReply, LocateRequest, LocateStatus, MessageType,
    Messaging, Misbehaviour, Needs, Reply, ReplyStatus, Request, RequestHeader, Response, Short,
    Target, TargetAddress, Unsupported, Violation, finish_at,
};
use oxorb_object::{ServiceContext, ServiceContexts, Version, write_contexts};

/// Messaging with checksums.
pub static CHECKSUM: &dyn Messaging = &Checksum;

/// Size in octets of a header.
const LEN: usize = 12;
/// Offset of the size.
const SIZE_AT: usize = 4;
/// Offset of the sum.
const SUM_AT: usize = 8;
/// First two octets of a message.
const MAGIC: [u8; 2] = *b"SU";
/// Name of the protocol.
const NAME: &str = "checksum";

#[derive(Debug)]
struct Checksum;

impl Messaging for Checksum {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self) -> Needs {
        Needs { stream: true, no_fragments: true, ..Needs::default() }
    }

    fn start(&self) -> usize {
        LEN
    }

    fn header(&self, start: &[u8]) -> Result<Header, Violation> {
        let start: &[u8; LEN] = start.try_into().expect("as many octets as `start` says");
        let [m0, m1, mark, kind, s0, s1, s2, s3, ..] = *start;
        if [m0, m1] != MAGIC || mark > 1 {
            return Err(Violation::Peer(Misbehaviour::Protocol {
                expected: NAME,
                start: [m0, m1, mark, kind],
            }));
        }
        let kind = MessageType(kind);
        if kind.0 > MessageType::MESSAGE_ERROR.0 {
            return Err(Violation::Unsupported(Unsupported::MessageType(kind)));
        }
        let order = ByteOrder::from_flag(mark == 1);
        Ok(Header {
            version: Version::V1_2,
            order,
            more_fragments: false,
            kind,
            len: LEN as u8,
            size: number(order, [s0, s1, s2, s3]),
        })
    }

    fn request<'f>(&self, frame: &Frame<'f>) -> Result<Request<'f>, Violation> {
        let mut fields = fields(frame, MessageType::REQUEST)?;
        let id = fields.ulong()?;
        let response = Response::from_flags(fields.octet()?);
        let key = octets(&mut fields)?;
        let operation = std::str::from_utf8(octets(&mut fields)?).ok();
        let operation = operation.filter(|name| !name.is_empty());
        let operation = operation.ok_or(Violation::Peer(Misbehaviour::OperationName))?;
        Ok(Request {
            id,
            response,
            target: Target::Key(key),
            operation,
            contexts: ServiceContexts::read(frame.bytes, false, &mut fields)?,
            has_terms: false,
            body: body(frame, &fields),
        })
    }

    fn reply<'f>(&self, frame: &Frame<'f>) -> Result<Reply<'f>, Violation> {
        let mut fields = fields(frame, MessageType::REPLY)?;
        Ok(Reply {
            id: fields.ulong()?,
            status: ReplyStatus(fields.ulong()?),
            contexts: ServiceContexts::read(frame.bytes, false, &mut fields)?,
            body: body(frame, &fields),
        })
    }

    fn locate_request<'f>(&self, frame: &Frame<'f>) -> Result<LocateRequest<'f>, Violation> {
        let mut fields = fields(frame, MessageType::LOCATE_REQUEST)?;
        let id = fields.ulong()?;
        let target = Target::Key(octets(&mut fields)?);
        Ok(LocateRequest { id, target })
    }

    fn locate_reply(&self, frame: &Frame<'_>) -> Result<LocateReply, Violation> {
        let mut fields = fields(frame, MessageType::LOCATE_REPLY)?;
        Ok(LocateReply {
            id: fields.ulong()?,
            status: LocateStatus(fields.ulong()?),
            body: body(frame, &fields),
        })
    }

    fn cancel_request(&self, frame: &Frame<'_>) -> Result<CancelRequest, Violation> {
        let id = fields(frame, MessageType::CANCEL_REQUEST)?.ulong()?;
        Ok(CancelRequest { id })
    }

    fn request_id(&self, frame: &Frame<'_>) -> u32 {
        let id = frame.bytes.get(LEN..).and_then(|rest| rest.first_chunk());
        id.map_or(0, |id| number(frame.header.order, *id))
    }

    fn begin_request(&self, e: &mut Encoder<'_>, header: &RequestHeader<'_>) -> Begun {
        begin(e, MessageType::REQUEST, header.id);
        e.octet(header.response.flags());
        for name in [header.key.key(), header.operation.as_bytes()] {
            write_octets(e, name);
        }
        write_contexts(e, header.contexts);
        Begun::aligned(e)
    }

    fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun {
        begin(e, MessageType::REPLY, id);
        e.ulong(status.0);
        write_contexts(e, contexts);
        Begun::aligned(e)
    }

    fn begin_locate_request(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        target: TargetAddress<'_>,
    ) -> Begun {
        begin(e, MessageType::LOCATE_REQUEST, id);
        write_octets(e, target.key());
        Begun::unaligned(e)
    }

    fn begin_locate_reply(&self, e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun {
        begin(e, MessageType::LOCATE_REPLY, id);
        e.ulong(status.0);
        Begun::aligned(e)
    }

    fn finish(&self, e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation> {
        finish_at(e, begun, LEN, SIZE_AT)?;
        if let Some(message) = e.contiguous() {
            let sum = sum(message);
            e.patch_ulong(SUM_AT, sum);
        }
        Ok(())
    }

    fn cancel(&self, order: ByteOrder, id: u32) -> Option<Short> {
        Some(short(order, MessageType::CANCEL_REQUEST, Some(id)))
    }

    fn close(&self, order: ByteOrder) -> Option<Short> {
        Some(short(order, MessageType::CLOSE_CONNECTION, None))
    }

    fn error(&self) -> Option<Short> {
        let order = ByteOrder::NATIVE;
        Some(short(order, MessageType::MESSAGE_ERROR, None))
    }
}

/// Returns a decoder after the header of a message of this kind, once its sum was verified.
fn fields<'f>(frame: &Frame<'f>, expected: MessageType) -> Result<Decoder<'f>, Violation> {
    let Header { kind, order, .. } = frame.header;
    if kind != expected {
        let found = kind;
        return Err(Violation::Peer(Misbehaviour::Kind { expected, found }));
    }
    // A message that is inspected before it is complete has no known sum.
    if frame.bytes.len() == frame.header.total() {
        let told = frame.bytes[SUM_AT..LEN].try_into().expect("a header's");
        let told = number(order, told);
        if told != 0 && told != sum(frame.bytes) {
            return Err(Violation::Peer(Misbehaviour::Undefined {
                protocol: NAME,
                what: "sum of a message that has another one",
                value: told,
            }));
        }
    }
    Ok(Decoder::new(frame.bytes, order, Dialect::new(2)).at(LEN))
}

/// Returns the Adler-32 of a message, with its own field as zeros; never 0.
fn sum(message: &[u8]) -> u32 {
    const LARGEST_PRIME: u32 = 65_521;
    let (mut low, mut high) = (1, 0);
    let parts = [&message[..SUM_AT], &[0; 4], &message[LEN..]];
    for octet in parts.into_iter().flatten() {
        low = (low + u32::from(*octet)) % LARGEST_PRIME;
        high = (high + low) % LARGEST_PRIME;
    }
    (high << 16 | low).max(1)
}

/// Writes the header of a message, with size and sum still zero, and its number.
fn begin(e: &mut Encoder<'_>, kind: MessageType, id: u32) {
    e.copy_octets(&header(e.order(), kind, 0));
    e.ulong(id);
}

fn header(order: ByteOrder, kind: MessageType, size: u32) -> [u8; LEN] {
    let mut header = [0; LEN];
    header[..2].copy_from_slice(&MAGIC);
    header[2] = u8::from(order.flag());
    header[3] = kind.0;
    header[SIZE_AT..SUM_AT].copy_from_slice(&octets_of(order, size));
    header
}

/// Returns a message that consists of a header, and at most a number.
fn short(order: ByteOrder, kind: MessageType, id: Option<u32>) -> Short {
    let id = id.map(|id| octets_of(order, id));
    let id = id.as_ref().map_or(&[][..], |id| id);
    let mut message = header(order, kind, id.len() as u32).to_vec();
    message.extend_from_slice(id);
    let sum = sum(&message);
    message[SUM_AT..LEN].copy_from_slice(&octets_of(order, sum));
    Short::new(&message)
}

fn write_octets(e: &mut Encoder<'_>, octets: &[u8]) {
    e.ulong(octets.len() as u32);
    e.copy_octets(octets);
}

fn octets<'f>(fields: &mut Decoder<'f>) -> Result<&'f [u8], Violation> {
    let length = fields.length(None, 1)?;
    Ok(fields.octets(length)?)
}

/// Returns the offset of the arguments: a multiple of eight, if there are any.
fn body(frame: &Frame<'_>, fields: &Decoder<'_>) -> usize {
    let end = fields.position().next_multiple_of(8);
    end.min(frame.header.total())
}

fn number(order: ByteOrder, octets: [u8; 4]) -> u32 {
    match order {
        ByteOrder::Big => u32::from_be_bytes(octets),
        ByteOrder::Little => u32::from_le_bytes(octets),
    }
}

fn octets_of(order: ByteOrder, number: u32) -> [u8; 4] {
    match order {
        ByteOrder::Big => number.to_be_bytes(),
        ByteOrder::Little => number.to_le_bytes(),
    }
}
