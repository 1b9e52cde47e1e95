//! Complete messages in memory.

use crate::prelude::*;
use alloc::sync::Arc;

use oxorb_cdr::{Decoder, Dialect, Encoder, Gap, copies};
use oxorb_object::{ServiceContext, ServiceContexts};

use crate::order::ulong_from;
use crate::{
    Begun, CancelRequest, FrameContext, Header, LocateReply, LocateRequest, MessageType,
    Misbehaviour, Reply, ReplyStatus, Request, Terms, Violation, Wire, begin_reply,
};

/// Complete message, header included, with fragments joined.
///
/// Offsets in it ([`Request::body`], [`cdr::Error::at`](oxorb_cdr::Error)) count from the first
/// octet of the header, which is also the origin of CDR alignment. A GIOP 1.1 message received in
/// fragments keeps their boundaries, because each fragment restarts alignment: only its
/// [`decoder`](Frame::decoder) knows where the data continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// Parsed header. For a reassembled message: with the total size, and without the
    /// more-fragments flag, which is kept only in GIOP 1.1 messages [in pieces](Frame::in_pieces).
    pub header: Header,
    /// Octets of the message, from first to last.
    pub bytes: &'a [u8],
    /// Context that interprets a message of another protocol; `None` for a GIOP message.
    pub context: Option<&'a Arc<FrameContext>>,
    /// Octets of a Request's arguments, or a Reply's results, stored outside `bytes`: see
    /// [`whole`](Self::whole). `None` in most messages.
    pub gap: Option<&'a Gap>,
}

impl<'a> Frame<'a> {
    /// Parses octets that form exactly one message, such as those moved out by
    /// [`Inbox::take`](crate::Inbox::take).
    ///
    /// # Errors
    /// Those of [`Header::parse`], and a message whose length differs from the one in its header.
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

    /// Parses octets that form exactly one message of a protocol, as moved out by
    /// [`Inbox::take`](crate::Inbox::take), with the context from
    /// [`Inbox::context`](crate::Inbox::context). Without `context`, parses a GIOP message.
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

    /// Parses a message moved out by [`Inbox::take_apart`](crate::Inbox::take_apart), as
    /// [`parse_in`](Self::parse_in) does for a message without a gap.
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

    /// Parses the beginning of a message that may be truncated: its header fields can be read as
    /// far as they are present.
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

    /// Returns the protocol in which the sender writes its messages, and in which a reply must be
    /// written.
    #[inline]
    pub fn wire(&self) -> Wire {
        let messaging = self.context.map(|context| context.messaging());
        Wire::of(messaging, self.header.version)
    }

    /// Starts the Reply to this Request in an empty encoder, as [`Wire::begin_reply`] of
    /// [`wire`](Self::wire) does.
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

    /// Returns a decoder over the whole message, positioned right after the header. Use
    /// [`Decoder::at`] with a `body` offset to read arguments or results.
    #[inline]
    pub fn decoder(&self, dialect: Dialect) -> Decoder<'a> {
        self.decoder_at(dialect, usize::from(self.header.len))
    }

    /// Returns a decoder over the whole message, positioned at an offset, such as that of a body.
    // Inlined, because a decoder is large, and constructing it takes no more instructions than moving it.
    #[inline(always)]
    pub fn decoder_at(&self, dialect: Dialect, position: usize) -> Decoder<'a> {
        let decoder = match self.in_pieces() {
            false => Decoder::new(self.whole(), self.header.order, dialect),
            true => Decoder::in_pieces(self.bytes, self.header.order, dialect),
        };
        decoder.at(position)
    }

    /// Returns a decoder as [`decoder_at`](Self::decoder_at) does, which can read octets of the
    /// body that are stored elsewhere ([`Octets`](oxorb_cdr::Octets)). The decoded values are valid
    /// only if no octets were stored elsewhere, or if those were [taken](Gap::was_taken); otherwise
    /// decode again from `decoder_at`.
    pub fn decoder_in_place(&self, dialect: Dialect, position: usize) -> Decoder<'a> {
        match self.gap {
            None => self.decoder_at(dialect, position),
            Some(gap) => {
                Decoder::new(self.bytes, self.header.order, dialect).with_gap(gap).at(position)
            }
        }
    }

    /// Returns all octets of the message. If some are stored elsewhere, the first call copies all into
    /// one place; octets that were [taken](Gap::was_taken) before are missing.
    #[inline(always)]
    pub fn whole(&self) -> &'a [u8] {
        match self.gap {
            None => self.bytes,
            Some(gap) => gap.whole(self.bytes),
        }
    }

    /// Returns a copy of all octets of the message, and leaves octets stored elsewhere there.
    /// Allocates. Octets already taken are missing in the copy.
    pub fn to_whole(&self) -> Vec<u8> {
        match self.gap {
            None => copies::to_vec(self.bytes),
            Some(gap) => gap.to_whole(self.bytes),
        }
    }

    /// Reports whether the message arrived in GIOP 1.1 fragments, so that the data after the header
    /// in `bytes` is not contiguous.
    #[inline]
    pub fn in_pieces(&self) -> bool {
        self.header.more_fragments && self.header.version.minor == 1
    }

    /// Parses the message's own header fields, for a message of any kind.
    ///
    /// Costs some tens of nanoseconds; allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] that names the faulty item.
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
            // The inbox joins fragments, so a Fragment that gets here continues no message.
            _ => return Err(Violation::Peer(Misbehaviour::OrphanFragment { id: None })),
        })
    }

    /// Returns priority and time limit of a Request, if the protocol has fields for them; GIOP has
    /// none.
    #[inline]
    pub fn terms(&self) -> Option<Terms> {
        let context = self.context?;
        context.messaging().terms(self)
    }

    /// Returns the id of this Request or LocateRequest, without parsing other fields where the
    /// message allows that: always, except for GIOP 1.0 and 1.1 Requests with service contexts. 0
    /// if it cannot be read.
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

    /// Reads the request id that follows the service contexts.
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

    /// Returns a decoder for this message's header fields, after checking its kind.
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
            // The header fields precede the gap, so the octets before it are enough, and lent octets need not be
            // copied.
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

    /// Returns the offset of a Request's or Reply's body, given the end of its header fields: the
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

/// Complete message of any kind, as a borrowed view.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// Invocation of an operation.
    Request(Request<'a>),
    /// Answer to a Request.
    Reply(Reply<'a>),
    /// Notice that the sender no longer waits for a reply.
    CancelRequest(CancelRequest),
    /// Query for the location of an object.
    LocateRequest(LocateRequest<'a>),
    /// Answer to a LocateRequest.
    LocateReply(LocateReply),
    /// Orderly end of the connection; unanswered requests were not processed.
    CloseConnection,
    /// Report that the peer did not understand a message.
    MessageError,
}
