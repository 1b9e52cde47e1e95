//! The trait of protocols that carry CORBA's messages, and what their messages hold beyond GIOP's.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_object::{ServiceContext, Version};

use crate::{
    Aliased, BareRequest, Begun, CancelRequest, Form, Frame, Header, LocateReply, LocateRequest,
    LocateStatus, MessageType, Numbered, Reply, ReplyForm, ReplyStatus, Request, RequestHeader,
    TargetAddress, Violation, Wire,
};

/// A protocol that carries CORBA's messages in octets of its own form.
///
/// The messages are GIOP's: requests, replies, locating, cancelling, closing. A messaging decides how their header fields
/// look on the wire. It does no I/O and holds no state: one `static` of it serves all connections. What the aliases of a
/// connection stand for, in a protocol that [has some](Needs::aliases), is remembered by its inboxes.
///
/// GIOP itself is no implementation of this trait: it is built into [`Wire`](crate::Wire), [`Frame`] and
/// [`Inbox`](crate::Inbox), which ask a `Messaging` for every other protocol. Implementations are checked by the
/// conformance suite.
pub trait Messaging: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of the protocol, as in endpoints and reports: `giop-lite`. Two messagings are the same exactly
    /// when their names are.
    fn name(&self) -> &'static str;

    /// Returns what the protocol asks of a transport, and what it cannot carry.
    fn needs(&self) -> Needs;

    /// Returns the GIOP version whose rules values follow in CDR: how wide characters and the like are laid out.
    fn version(&self) -> Version {
        Version::V1_2
    }

    /// Returns the CDR dialect of a connection on which no code sets were agreed on: for good, where messages carry no
    /// service contexts to do so. Wide text is UTF-16, as clients send it to servers that name no code sets.
    fn dialect(&self) -> Dialect {
        Dialect { giop_minor: self.version().minor, ..Dialect::GIOP_1_2 }
    }

    /// Returns the number of octets from which [`header`](Self::header) reads a header: 1 to 255.
    fn start(&self) -> usize;

    /// Reads a header from exactly [`start`](Self::start) octets, and checks what can be known from it alone.
    ///
    /// [`Header::len`] of the result is [`start`](Self::start), [`Header::version`] is [`version`](Self::version), and
    /// [`Header::more_fragments`] is `false`: messages of other protocols than GIOP arrive in one piece.
    ///
    /// # Errors
    /// A [`Violation`] for octets that are no header.
    fn header(&self, start: &[u8]) -> Result<Header, Violation>;

    /// Returns where the headers of usual Requests and Replies have what an inbox asks for, so that it reads those
    /// itself. `None`, the default: it asks [`header`](Self::header) for each.
    fn framing(&self) -> Option<Framing> {
        None
    }

    /// Returns where usual Requests and Replies have what differs among them, so that a client writes and reads them
    /// without asking for each. `None`, the default: it asks. Only for a protocol of [`version`](Self::version) 1.2.
    fn form(&self) -> Option<&'static Form> {
        None
    }

    /// Returns what is wrong with a message that starts so and is larger than a limit allows: `limit`, unless the
    /// protocol knows better.
    fn oversized(&self, start: &[u8], limit: Violation) -> Violation {
        let _ = start;
        limit
    }

    /// Reads what a Request says of aliases, and nothing else. The default is for protocols without.
    ///
    /// # Errors
    /// A [`Violation`] for names that cannot be read.
    fn numbered<'f>(&self, frame: &Frame<'f>) -> Result<Numbered<'f>, Violation> {
        let _ = frame;
        Ok(Numbered::default())
    }

    /// Reads the header fields of a Request. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn request<'f>(&self, frame: &Frame<'f>) -> Result<Request<'f>, Violation>;

    /// Reads priority and time limit of a Request that [`request`](Self::request) accepted, in a protocol that has fields
    /// for them. They are apart because GIOP has none, and its requests are to stay small.
    fn terms(&self, frame: &Frame<'_>) -> Option<Terms> {
        let _ = frame;
        None
    }

    /// Reads the header fields of a Reply. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn reply<'f>(&self, frame: &Frame<'f>) -> Result<Reply<'f>, Violation>;

    /// Reads a LocateRequest. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn locate_request<'f>(&self, frame: &Frame<'f>) -> Result<LocateRequest<'f>, Violation>;

    /// Reads a LocateReply. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn locate_reply(&self, frame: &Frame<'_>) -> Result<LocateReply, Violation>;

    /// Reads a CancelRequest. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn cancel_request(&self, frame: &Frame<'_>) -> Result<CancelRequest, Violation>;

    /// Returns the number of the Request or LocateRequest that `frame` is; 0 when it cannot be read.
    fn request_id(&self, frame: &Frame<'_>) -> u32 {
        if frame.header.kind == MessageType::LOCATE_REQUEST {
            self.locate_request(frame).map_or(0, |locate| locate.id)
        } else {
            self.request(frame).map_or(0, |request| request.id)
        }
    }

    /// Starts a Request in an empty encoder: writes the header, size still open, and leaves `e` where the arguments go.
    fn begin_request(&self, e: &mut Encoder<'_>, header: &RequestHeader<'_>) -> Begun;

    /// Starts a Reply in an empty encoder: writes the header, size still open, and leaves `e` where the body goes.
    fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun;

    /// Returns the octets of usual Replies, so that they are written without this messaging. `None`, the default: it is
    /// asked to [begin](Self::begin_reply) each.
    fn reply_form(&self) -> Option<ReplyForm> {
        None
    }

    /// Starts a LocateRequest in an empty encoder. No body follows.
    fn begin_locate_request(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        target: TargetAddress<'_>,
    ) -> Begun;

    /// Starts a LocateReply in an empty encoder, and leaves `e` where the body goes.
    fn begin_locate_reply(&self, e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun;

    /// Ends a message: fills in its size.
    ///
    /// # Errors
    /// [`Violation::Limit`] on our side when the size does not fit the header.
    fn finish(&self, e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation>;

    /// Returns the octets of a CancelRequest for request `id`. `None` when the protocol has no such message.
    fn cancel(&self, order: ByteOrder, id: u32) -> Option<Short>;

    /// Returns the octets of a CloseConnection. `None` when the protocol has no such message.
    fn close(&self, order: ByteOrder) -> Option<Short>;

    /// Returns the octets of a MessageError. `None` when the protocol has no such message.
    fn error(&self) -> Option<Short>;
}

/// Demands of a messaging on a transport, and what its messages cannot carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Whether messages may only travel over a stream: octets in order, none missing, in any split.
    pub stream: bool,
    /// Whether both ends must have the same byte order, because the messages do not tell theirs.
    pub same_order: bool,
    /// Whether messages carry no service contexts.
    pub no_contexts: bool,
    /// Whether a large message cannot be sent as several smaller ones.
    pub no_fragments: bool,
    /// Number of aliases a connection may define for (object key, operation); 0: the messaging knows none.
    pub aliases: u16,
    /// Most octets that object key and operation of an alias have together.
    pub alias_octets: u16,
}

/// Places of size and kind in the first eight octets of a message. The size counts the octets after the header, of which
/// there are some. Numbers of a byte order that is not this machine's are read by [`Messaging::header`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Offset of the octet that is 0 for big-endian and 1 for little-endian messages. `None`: both ends share the byte
    /// order.
    pub order_at: Option<u8>,
    /// Offset of the octet that tells the kind.
    pub kind_at: u8,
    /// Value of that octet in a Request, an even number; in a Reply it is one more.
    pub request: u8,
    /// Offset of the size, an unsigned long: 4 at most.
    pub size_at: u8,
    /// Fewest octets after the header of a Request or Reply.
    pub least: u8,
    /// Places of the alias, in protocols that know some.
    pub alias: Option<AliasAt>,
}

/// Places of an alias in the second eight octets of a Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AliasAt {
    /// Offset of the number, an unsigned short.
    pub number_at: u8,
    /// Offset of the octet that tells whether object key and operation follow in full.
    pub names_at: u8,
    /// Bits of that octet that are set where they do.
    pub names: u8,
    /// Form of a Request that has nothing but an alias.
    pub bare: BareRequest,
}

/// Context of the messages of a connection that does not speak GIOP: their messaging, and what a
/// message refers to.
#[derive(Debug)]
pub struct FrameContext {
    messaging: &'static dyn Messaging,
    reply: Option<ReplyForm>,
    aliased: Option<Aliased>,
}

impl FrameContext {
    /// Returns the context of messages that are understood alone.
    pub fn new(messaging: &'static dyn Messaging) -> Self {
        Self { messaging, reply: messaging.reply_form(), aliased: None }
    }

    /// Returns the context of messages with an alias that stands for `aliased`.
    pub(crate) fn of_alias(messaging: &'static dyn Messaging, aliased: Aliased) -> Self {
        Self { messaging, reply: messaging.reply_form(), aliased: Some(aliased) }
    }

    /// Returns the context of messages of `wire` that are understood alone; `None` for GIOP.
    pub fn of(wire: Wire) -> Option<Arc<Self>> {
        wire.messaging().map(|messaging| Arc::new(Self::new(messaging)))
    }

    /// Returns the messaging.
    #[inline]
    pub fn messaging(&self) -> &'static dyn Messaging {
        self.messaging
    }

    /// Starts the Reply to a message, as [`Wire::begin_reply`] does.
    #[inline(always)]
    pub(crate) fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun {
        if contexts.is_empty()
            && let Some(form) = &self.reply
            && let Some(begun) = form.begin(e, id, status)
        {
            return begun;
        }
        self.messaging.begin_reply(e, id, status, contexts)
    }

    /// Returns what the alias of the message stands for, if it has one.
    #[inline]
    pub fn aliased(&self) -> Option<&Aliased> {
        self.aliased.as_ref()
    }
}

impl PartialEq for FrameContext {
    fn eq(&self, other: &Self) -> bool {
        self.messaging.name() == other.messaging.name() && self.aliased == other.aliased
    }
}

impl Eq for FrameContext {}

/// Priority and time limit of a request, in protocols that carry them as header fields. GIOP carries them as service
/// contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// RT-CORBA priority of the call, 0 or more.
    pub priority: Option<i16>,
    /// Units of 100 ns from the moment the request was written until its reply is of no use.
    pub within: Option<u64>,
}

/// A number that stands for an object key and an operation on one connection, in protocols that know such numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The number.
    pub number: u16,
    /// Whether the peer knows the number, because a request that was sent before defined it. Otherwise this request
    /// defines it.
    pub known: bool,
}

/// A whole message without arguments: 16 octets at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    octets: [u8; Self::MAX],
    len: u8,
}

impl Short {
    /// Most octets of such a message.
    pub const MAX: usize = 16;

    /// Returns the message with these octets.
    ///
    /// # Panics
    /// When there are more than [`MAX`](Self::MAX).
    pub fn new(message: &[u8]) -> Self {
        assert!(message.len() <= Self::MAX, "a short message has 16 octets at most");
        let mut octets = [0; Self::MAX];
        octets[..message.len()].copy_from_slice(message);
        Self { octets, len: message.len() as u8 }
    }
}

impl Deref for Short {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}
