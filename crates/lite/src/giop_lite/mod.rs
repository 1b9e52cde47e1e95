//! GIOPlite, octet for octet as TAO implemented it.
//!
//! | offset | size | header |
//! |---|---|---|
//! | 0 | 4 | octets after the header, in the byte order that both machines share |
//! | 4 | 1 | message type, as in GIOP |
//!
//! Alignment counts from the first octet of the header, so the first number of every message is at
//! offset 8. Data follow the rules of GIOP 1.2, in ISO 8859-1 and UTF-16.

mod control;
mod header;
mod locate;
mod native;
mod reply;
mod request;

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{
    Begun, CancelRequest, Form, Frame, Framing, Header, LocateReply, LocateRequest, LocateStatus,
    MessageType, Messaging, Needs, Reply, ReplyForm, ReplyStatus, Request, RequestHeader, Short,
    TargetAddress, Violation, finish_at,
};
use oxorb_object::{ServiceContext, Version};

use crate::octets::expect;

use header::{FIELDS_AT, LEN, SIZE_AT, oversized, parse};
use native::Native;

/// GIOPlite, a stateless messaging.
#[derive(Debug)]
pub(crate) struct GiopLite;

impl Messaging for GiopLite {
    fn name(&self) -> &'static str {
        "giop-lite"
    }

    fn needs(&self) -> Needs {
        Needs {
            stream: true,
            same_order: true,
            no_contexts: true,
            no_fragments: true,
            ..Needs::default()
        }
    }

    fn start(&self) -> usize {
        LEN
    }

    fn header(&self, start: &[u8]) -> Result<Header, Violation> {
        let start = start.first_chunk().expect("as many octets as `start` says");
        let (kind, size) = parse(start)?;
        Ok(Header {
            version: Version::V1_2,
            order: ByteOrder::NATIVE,
            more_fragments: false,
            kind,
            len: LEN as u8,
            size,
        })
    }

    fn framing(&self) -> Option<Framing> {
        Some(Framing {
            order_at: None,
            kind_at: 4,
            request: MessageType::REQUEST.0,
            size_at: SIZE_AT as u8,
            least: (FIELDS_AT + 4 - LEN) as u8,
            alias: None,
        })
    }

    fn form(&self) -> Option<&'static Form> {
        const FORM: &Form = &Form {
            header: LEN as u8,
            size_at: 0,
            id_at: header::FIELDS_AT as u8,
            reply: [0, 0, 0, 0, MessageType::REPLY.0, 0, 0, 0],
            mask: [0, 0, 0, 0, u8::MAX, 0, 0, 0],
            // The status of a reply without an exception is 0.
            zeros_at: header::FIELDS_AT as u8 + 4,
            zeros: 4,
            body: reply::BODY_AT as u8,
        };
        Some(FORM)
    }

    fn oversized(&self, start: &[u8], limit: Violation) -> Violation {
        oversized(start, limit)
    }

    fn request<'f>(&self, frame: &Frame<'f>) -> Result<Request<'f>, Violation> {
        expect(frame, MessageType::REQUEST)?;
        request::parse(frame.bytes)
    }

    fn request_id(&self, frame: &Frame<'_>) -> u32 {
        Native(frame.bytes).ulong("the request id", FIELDS_AT).unwrap_or(0)
    }

    fn reply<'f>(&self, frame: &Frame<'f>) -> Result<Reply<'f>, Violation> {
        expect(frame, MessageType::REPLY)?;
        reply::parse(frame.bytes)
    }

    fn locate_request<'f>(&self, frame: &Frame<'f>) -> Result<LocateRequest<'f>, Violation> {
        expect(frame, MessageType::LOCATE_REQUEST)?;
        locate::parse_request(frame.bytes)
    }

    fn locate_reply(&self, frame: &Frame<'_>) -> Result<LocateReply, Violation> {
        expect(frame, MessageType::LOCATE_REPLY)?;
        locate::parse_reply(frame.bytes)
    }

    fn cancel_request(&self, frame: &Frame<'_>) -> Result<CancelRequest, Violation> {
        expect(frame, MessageType::CANCEL_REQUEST)?;
        control::parse_cancel(frame.bytes)
    }

    fn begin_request(&self, e: &mut Encoder<'_>, header: &RequestHeader<'_>) -> Begun {
        request::begin(e, header)
    }

    fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        _: &[ServiceContext<'_>],
    ) -> Begun {
        reply::begin(e, id, status)
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

    fn cancel(&self, _: ByteOrder, id: u32) -> Option<Short> {
        Some(Short::new(&control::cancel_request(id)))
    }

    fn close(&self, _: ByteOrder) -> Option<Short> {
        Some(Short::new(&control::close_connection()))
    }

    fn error(&self) -> Option<Short> {
        Some(Short::new(&control::message_error()))
    }
}
