//! GIOPlite/RT: `docs/design/giop-lite-rt.md` specifies the octets, with the rationale.
//!
//! | offset | size | all messages | Request | Reply, LocateReply |
//! |---|---|---|---|---|
//! | 0 | 1 | byte order: 0 big, 1 little | | |
//! | 1 | 1 | 0x10 (the version), and the type as in GIOP | | |
//! | 2 | 2 | 0 | priority, a short; -1: none | status, then content flags (1: service contexts) |
//! | 4 | 4 | octets after these eight | | |
//! | 8 | 4 | request id, except in CloseConnection and MessageError | | |
//! | 12 | 2 | | alias of object key and operation; 0xffff: none | body, or service contexts |
//! | 14 | 1 | | response flags: 0, 1, 3 as in GIOP 1.2 | |
//! | 15 | 1 | | content flags: 1 names, 2 deadline, 4 service contexts | |

mod control;
mod header;
mod locate;
mod reply;
mod request;
mod terms;

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{
    AliasAt, Begun, CancelRequest, Form, Frame, Framing, Header, LocateReply, LocateRequest,
    LocateStatus, MessageType, Messaging, Needs, Numbered, Reply, ReplyForm, ReplyStatus, Request,
    RequestHeader, Short, TargetAddress, Terms, Violation, finish_at,
};
use oxorb_object::{ServiceContext, Version};

use crate::octets::{expect, ulong_from};

use header::{LEN, SIZE_AT, parse};
/// Number of aliases of a connection: 0 to 1,023.
pub(crate) const NUMBERS: u16 = 1024;

/// Maximum length of the object key and operation of an alias together, in octets.
pub(crate) const PAIR_OCTETS: usize = 256;

/// GIOPlite/RT, with aliases that each connection stores.
#[derive(Debug)]
pub(crate) struct GiopLiteRt;

impl Messaging for GiopLiteRt {
    fn name(&self) -> &'static str {
        "giop-lite-rt"
    }

    fn needs(&self) -> Needs {
        Needs {
            stream: true,
            same_order: false,
            no_contexts: false,
            no_fragments: true,
            aliases: NUMBERS,
            alias_octets: PAIR_OCTETS as u16,
        }
    }

    fn start(&self) -> usize {
        LEN
    }

    fn header(&self, start: &[u8]) -> Result<Header, Violation> {
        let start = start.first_chunk().expect("as many octets as `start` says");
        let (order, kind, size) = parse(start)?;
        Ok(Header {
            version: Version::V1_2,
            order,
            more_fragments: false,
            kind,
            len: LEN as u8,
            size,
        })
    }

    fn framing(&self) -> Option<Framing> {
        Some(Framing {
            order_at: Some(0),
            kind_at: 1,
            request: header::VERSION,
            size_at: SIZE_AT as u8,
            least: header::LEAST as u8,
            alias: Some(AliasAt {
                number_at: request::NUMBER_AT as u8,
                names_at: request::FOLLOWS_AT as u8,
                names: request::NAMES,
                bare: request::BARE,
            }),
        })
    }

    fn form(&self) -> Option<&'static Form> {
        const FORM: &Form = &Form {
            header: LEN as u8,
            size_at: SIZE_AT as u8,
            id_at: header::ID_AT as u8,
            // The first four octets are fixed: byte order and kind, and 0 for status and content
            // flags.
            reply: [
                ByteOrder::NATIVE.flag() as u8,
                header::VERSION | MessageType::REPLY.0,
                0,
                0,
                0,
                0,
                0,
                0,
            ],
            mask: [u8::MAX, u8::MAX, u8::MAX, u8::MAX, 0, 0, 0, 0],
            zeros_at: 0,
            zeros: 0,
            body: reply::REST_AT as u8,
        };
        Some(FORM)
    }

    fn numbered<'f>(&self, frame: &Frame<'f>) -> Result<Numbered<'f>, Violation> {
        request::numbered(frame.bytes, frame.header.order)
    }

    fn request<'f>(&self, frame: &Frame<'f>) -> Result<Request<'f>, Violation> {
        expect(frame, MessageType::REQUEST)?;
        let meaning = frame.context.and_then(|context| context.aliased());
        request::parse(frame.bytes, frame.header.order, meaning)
    }

    fn request_id(&self, frame: &Frame<'_>) -> u32 {
        let start = frame.bytes.first_chunk::<{ reply::REST_AT }>();
        start.map_or(0, |[.., i0, i1, i2, i3]| ulong_from(frame.header.order, [*i0, *i1, *i2, *i3]))
    }

    #[inline]
    fn terms(&self, frame: &Frame<'_>) -> Option<Terms> {
        request::terms(frame.bytes, frame.header.order)
    }

    fn reply<'f>(&self, frame: &Frame<'f>) -> Result<Reply<'f>, Violation> {
        expect(frame, MessageType::REPLY)?;
        reply::parse(frame.bytes, frame.header.order)
    }

    fn locate_request<'f>(&self, frame: &Frame<'f>) -> Result<LocateRequest<'f>, Violation> {
        expect(frame, MessageType::LOCATE_REQUEST)?;
        locate::parse_request(frame.bytes, frame.header.order)
    }

    fn locate_reply(&self, frame: &Frame<'_>) -> Result<LocateReply, Violation> {
        expect(frame, MessageType::LOCATE_REPLY)?;
        locate::parse_reply(frame.bytes, frame.header.order)
    }

    fn cancel_request(&self, frame: &Frame<'_>) -> Result<CancelRequest, Violation> {
        expect(frame, MessageType::CANCEL_REQUEST)?;
        control::parse_cancel(frame.bytes, frame.header.order)
    }

    fn begin_request(&self, e: &mut Encoder<'_>, header: &RequestHeader<'_>) -> Begun {
        request::begin(e, header)
    }

    fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun {
        reply::begin(e, id, status, contexts)
    }

    fn reply_form(&self) -> Option<ReplyForm> {
        Some(reply::FORM)
    }

    fn begin_locate_request(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        target: TargetAddress<'_>,
    ) -> Begun {
        locate::begin_request(e, id, target)
    }

    fn begin_locate_reply(&self, e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun {
        locate::begin_reply(e, id, status)
    }

    fn finish(&self, e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation> {
        finish_at(e, begun, LEN, SIZE_AT)
    }

    fn cancel(&self, order: ByteOrder, id: u32) -> Option<Short> {
        Some(Short::new(&control::cancel_request(order, id)))
    }

    fn close(&self, order: ByteOrder) -> Option<Short> {
        let message = control::bare(order, MessageType::CLOSE_CONNECTION);
        Some(Short::new(&message))
    }

    fn error(&self) -> Option<Short> {
        let message = control::bare(ByteOrder::NATIVE, MessageType::MESSAGE_ERROR);
        Some(Short::new(&message))
    }
}
