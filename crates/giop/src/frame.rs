//! Whole messages in memory.

use crate::prelude::*;
use alloc::sync::Arc;

use oxorb_cdr::{Decoder, Dialect, Encoder, Gap, copies};
use oxorb_object::{ServiceContext, ServiceContexts};

use crate::order::ulong_from;
use crate::{
    Begun, CancelRequest, FrameContext, Header, LocateReply, LocateRequest, MessageType,
    Misbehaviour, Reply, ReplyStatus, Request, Terms, Violation, Wire, begin_reply,
};

/// A whole message, header included, fragments already joined.
///
/// Offsets in it ([`Request::body`], [`cdr::Error::at`](oxorb_cdr::Error)) count from the first octet of the header,
/// which is also the origin of CDR alignment. A GIOP 1.1 message that came in fragments keeps their boundaries, because each
/// fragment aligns anew: only its [`decoder`](Frame::decoder) knows where the data continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// The parsed header. Of a reassembled message: with the whole size, and without the more-fragments flag, which only
    /// GIOP 1.1 messages keep that are [in pieces](Frame::in_pieces).
    pub header: Header,
    /// The message from its first octet to its last.
    pub bytes: &'a [u8],
    /// Context that explains a message of another protocol. `None`: a message of GIOP.
    pub context: Option<&'a Arc<FrameContext>>,
    /// Octets of a Request's arguments, or a Reply's results, that lie elsewhere, and not in `bytes`: see [`whole`](Self::whole). `None` in most
    /// messages.
    pub gap: Option<&'a Gap>,
}

impl<'a> Frame<'a> {
    /// Looks at octets that are exactly one message, for instance those moved out by [`Inbox::take`](crate::Inbox::take).
    ///
    /// # Errors
    /// Those of [`Header::parse`], and a message that is shorter or longer than its header says.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Violation> {
        let Some(start) = bytes.first_chunk::<{ Header::LEN }>() else {
            return Err(Violation::Truncated {
                what: "the GIOP header",
                needed: Header::LEN,
                left: bytes.len(),
            });
        };
        let header = Header::parse(start)?;
        Self::exactly(header, bytes, None)
    }

    /// Looks at octets that are exactly one message of a protocol, as [`Inbox::take`](crate::Inbox::take) moved them out
    /// and [`Inbox::context`](crate::Inbox::context) told how to understand them. Without `context` the message is GIOP's.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    #[inline]
    pub fn parse_in(
        bytes: &'a [u8],
        context: Option<&'a Arc<FrameContext>>,
    ) -> Result<Self, Violation> {
        match context {
            None => Self::parse(bytes),
            Some(context) => Self::parse_other(bytes, context),
        }
    }

    /// Looks at a message that [`Inbox::take_apart`](crate::Inbox::take_apart) moved out: as
    /// [`parse_in`](Self::parse_in) does where no octets of it lie in a gap.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    #[inline]
    pub fn parse_lent(
        bytes: &'a [u8],
        context: Option<&'a Arc<FrameContext>>,
        gap: Option<&'a Gap>,
    ) -> Result<Self, Violation> {
        match gap {
            None => Self::parse_in(bytes, context),
            Some(_) => Ok(Self { gap, ..Self::beginning(bytes, context)? }),
        }
    }

    /// Looks at the beginning of a message, of which octets at the end may be missing: its header fields can be read as
    /// far as they are there.
    ///
    /// # Errors
    /// Those of [`Header::parse`].
    pub fn beginning(
        bytes: &'a [u8],
        context: Option<&'a Arc<FrameContext>>,
    ) -> Result<Self, Violation> {
        let messaging = context.map(|context| context.messaging());
        let needed = messaging.map_or(Header::LEN, |messaging| messaging.start());
        let Some(start) = bytes.get(..needed) else {
            return Err(Violation::Truncated { what: "the header", needed, left: bytes.len() });
        };
        let header = match (messaging, start.first_chunk()) {
            (Some(messaging), _) => messaging.header(start)?,
            (None, Some(start)) => Header::parse(start)?,
            (None, None) => unreachable!("`needed` octets are there"),
        };
        Ok(Self { header, bytes, context, gap: None })
    }

    #[inline(never)]
    fn parse_other(bytes: &'a [u8], context: &'a Arc<FrameContext>) -> Result<Self, Violation> {
        let header = Self::beginning(bytes, Some(context))?.header;
        Self::exactly(header, bytes, Some(context))
    }

    fn exactly(
        header: Header,
        bytes: &'a [u8],
        context: Option<&'a Arc<FrameContext>>,
    ) -> Result<Self, Violation> {
        if header.total() != bytes.len() {
            let (announced, given) = (header.total(), bytes.len());
            return Err(Violation::Peer(Misbehaviour::SizeMismatch { announced, given }));
        }
        Ok(Self { header, bytes, context, gap: None })
    }

    /// Returns how the sender writes its messages, and so how an answer is to be written.
    #[inline]
    pub fn wire(&self) -> Wire {
        let messaging = self.context.map(|context| context.messaging());
        Wire::of(messaging, self.header.version)
    }

    /// Starts the Reply to this Request in an empty encoder, as [`Wire::begin_reply`] does with [`wire`](Self::wire).
    #[inline(always)]
    pub fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun {
        match self.context {
            None => begin_reply(e, self.header.version, id, status, contexts),
            Some(context) => context.begin_reply(e, id, status, contexts),
        }
    }

    /// A decoder over the whole message that starts right after the header. Use
    /// [`Decoder::at`] with a `body` offset to read arguments or results.
    #[inline]
    pub fn decoder(&self, dialect: Dialect) -> Decoder<'a> {
        self.decoder_at(dialect, usize::from(self.header.len))
    }

    /// Returns a decoder over the whole message that starts at an offset, such as that of a body.
    // In place: a decoder is large, and made in as few instructions as it takes to move it.
    #[inline(always)]
    pub fn decoder_at(&self, dialect: Dialect, position: usize) -> Decoder<'a> {
        let decoder = match self.in_pieces() {
            false => Decoder::new(self.whole(), self.header.order, dialect),
            true => Decoder::in_pieces(self.bytes, self.header.order, dialect),
        };
        decoder.at(position)
    }

    /// Returns a decoder as [`decoder_at`](Self::decoder_at) does, which may find that octets of the body lie elsewhere
    /// ([`Octets`](oxorb_cdr::Octets)). What it reads is right only if nothing lay elsewhere, or was
    /// [taken](Gap::was_taken); otherwise it is to be read again from `decoder_at`.
    pub fn decoder_in_place(&self, dialect: Dialect, position: usize) -> Decoder<'a> {
        match self.gap {
            None => self.decoder_at(dialect, position),
            Some(gap) => {
                Decoder::new(self.bytes, self.header.order, dialect).with_gap(gap).at(position)
            }
        }
    }

    /// Returns all octets of the message. Copies them once where some lie elsewhere; none are there once those were taken.
    #[inline(always)]
    pub fn whole(&self) -> &'a [u8] {
        match self.gap {
            None => self.bytes,
            Some(gap) => gap.whole(self.bytes),
        }
    }

    /// Returns a copy of all octets of the message, and leaves those where they are that lie elsewhere. Allocates. Once those
    /// were taken, the copy lacks them.
    pub fn to_whole(&self) -> Vec<u8> {
        match self.gap {
            None => copies::to_vec(self.bytes),
            Some(gap) => gap.to_whole(self.bytes),
        }
    }

    /// Whether the message came in GIOP 1.1 fragments, so that what follows the header in `bytes` is not contiguous.
    #[inline]
    pub fn in_pieces(&self) -> bool {
        self.header.more_fragments && self.header.version.minor == 1
    }

    /// Reads the message's own header fields, whatever kind it is.
    ///
    /// Costs some tens of nanoseconds; allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] naming what is wrong.
    #[inline]
    pub fn message(&self) -> Result<Message<'a>, Violation> {
        Ok(match self.header.kind {
            MessageType::REQUEST => Message::Request(Request::parse(self)?),
            MessageType::REPLY => Message::Reply(Reply::parse(self)?),
            MessageType::CANCEL_REQUEST => Message::CancelRequest(CancelRequest::parse(self)?),
            MessageType::LOCATE_REQUEST => Message::LocateRequest(LocateRequest::parse(self)?),
            MessageType::LOCATE_REPLY => Message::LocateReply(LocateReply::parse(self)?),
            MessageType::CLOSE_CONNECTION => Message::CloseConnection,
            MessageType::MESSAGE_ERROR => Message::MessageError,
            // The inbox joins fragments, so one here continues nothing.
            _ => return Err(Violation::Peer(Misbehaviour::OrphanFragment { id: None })),
        })
    }

    /// Returns priority and time limit of a Request, where the protocol has fields for them; GIOP has not.
    #[inline]
    pub fn terms(&self) -> Option<Terms> {
        let context = self.context?;
        context.messaging().terms(self)
    }

    /// The number of the request that this Request or LocateRequest is, without a look at anything else where the message
    /// allows that: always, but for Requests of GIOP 1.0 and 1.1 with service contexts. 0 when it cannot be read.
    #[inline]
    pub fn request_id(&self) -> u32 {
        if let Some(context) = self.context {
            return context.messaging().request_id(self);
        }
        if self.header.version.minor < 2 && self.header.kind == MessageType::REQUEST {
            return self.request_id_behind();
        }
        self.ulong_at(Header::LEN).unwrap_or(0)
    }

    /// Reads the number that comes after the service contexts.
    #[cold]
    #[inline(never)]
    fn request_id_behind(&self) -> u32 {
        match self.ulong_at(Header::LEN) {
            Some(0) => self.ulong_at(Header::LEN + 4).unwrap_or(0),
            Some(_) => Request::parse(self).map_or(0, |request| request.id),
            None => 0,
        }
    }

    #[inline]
    fn ulong_at(&self, at: usize) -> Option<u32> {
        let octets = self.bytes.get(at..)?.first_chunk::<4>()?;
        Some(ulong_from(self.header.order, *octets))
    }

    /// A decoder for this message's header fields, once its kind is what the caller expects.
    ///
    /// # Errors
    /// [`Misbehaviour::Kind`] for a message of another kind.
    #[inline]
    pub fn fields(&self, expected: MessageType) -> Result<Decoder<'a>, Violation> {
        if self.header.kind != expected {
            return Err(Violation::Peer(Misbehaviour::Kind { expected, found: self.header.kind }));
        }
        let dialect = Dialect::new(self.header.version.minor);
        Ok(match self.gap {
            None => self.decoder(dialect),
            // Fields stand before it: nothing is to be copied for them.
            Some(gap) => Decoder::new(&self.bytes[..gap.at()], self.header.order, dialect)
                .at(usize::from(self.header.len)),
        })
    }

    /// Reads the service contexts at `fields`, a decoder of this message, and leaves `fields` after them.
    #[inline]
    pub(crate) fn contexts(
        &self,
        fields: &mut Decoder<'a>,
    ) -> Result<ServiceContexts<'a>, Violation> {
        Ok(ServiceContexts::read(self.bytes, self.in_pieces(), fields)?)
    }

    /// Returns where a Request's or Reply's body starts, given where its header fields end: the
    /// next multiple of 8 in GIOP 1.2, but only if octets follow.
    #[inline]
    pub(crate) fn body_after(&self, fields_end: usize) -> usize {
        if self.header.version.minor >= 2 {
            (fields_end.wrapping_add(7) & !7).min(self.bytes.len())
        } else {
            fields_end
        }
    }
}

/// Any whole message, as a borrowed view.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// Invoke an operation.
    Request(Request<'a>),
    /// The answer to a Request.
    Reply(Reply<'a>),
    /// The sender no longer waits for an answer.
    CancelRequest(CancelRequest),
    /// Asks where an object is.
    LocateRequest(LocateRequest<'a>),
    /// The answer to a LocateRequest.
    LocateReply(LocateReply),
    /// Orderly end of the connection; nothing unanswered was processed.
    CloseConnection,
    /// The peer did not understand a message.
    MessageError,
}
