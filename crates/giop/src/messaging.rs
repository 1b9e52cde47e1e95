//! Trait of protocols that carry CORBA's messages, and the data that their messages hold beyond
//! GIOP's.

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

/// Protocol that carries CORBA's messages in an encoding other than GIOP.
///
/// The messages are GIOP's: requests, replies, locating, cancelling, closing. A messaging defines
/// the encoding of their header fields. It does no I/O and holds no state: one `static` of it
/// serves all connections. The inboxes of a connection store the meaning of its aliases, in a
/// protocol that [has some](Needs::aliases).
///
/// GIOP itself does not implement this trait: it is built into [`Wire`](crate::Wire), [`Frame`] and
/// [`Inbox`](crate::Inbox), which call a `Messaging` for every other protocol. The conformance
/// suite checks implementations.
pub trait Messaging: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of the protocol, as in endpoints and reports: `giop-lite`. Two messagings
    /// are equal exactly when their names are.
    fn name(&self) -> &'static str;

    /// Returns the protocol's requirements on a transport, and its restrictions.
    fn needs(&self) -> Needs;

    /// Returns the GIOP version whose CDR rules apply to values, such as the layout of wide
    /// characters.
    fn version(&self) -> Version {
        Version::V1_2
    }

    /// Returns the CDR dialect of a connection without negotiated code sets, which is permanent if
    /// messages carry no service contexts. Wide text is UTF-16, as clients send it to servers that
    /// publish no code sets.
    fn dialect(&self) -> Dialect {
        Dialect { giop_minor: self.version().minor, ..Dialect::GIOP_1_2 }
    }

    /// Returns the number of octets from which [`header`](Self::header) reads a header: 1 to 255.
    fn start(&self) -> usize;

    /// Parses a header from exactly [`start`](Self::start) octets, and checks what can be
    /// determined from it alone.
    ///
    /// [`Header::len`] of the result is [`start`](Self::start), [`Header::version`] is [`version`](Self::version), and
    /// [`Header::more_fragments`] is `false`: messages of other protocols than GIOP arrive in one piece.
    ///
    /// # Errors
    /// A [`Violation`] for octets that are not a valid header.
    fn header(&self, start: &[u8]) -> Result<Header, Violation>;

    /// Returns the positions of the fields in common Request and Reply headers, with which an inbox
    /// parses them itself. `None`, the default, makes it call [`header`](Self::header) for each.
    fn framing(&self) -> Option<Framing> {
        None
    }

    /// Returns the positions of the varying fields in common Requests and Replies, with which a
    /// client writes and reads them itself. `None`, the default, makes it call this messaging. Only
    /// for a protocol of [`version`](Self::version) 1.2.
    fn form(&self) -> Option<&'static Form> {
        None
    }

    /// Returns the violation by a message that starts with these octets and exceeds a limit:
    /// `limit`, unless the protocol can be more specific.
    fn oversized(&self, start: &[u8], limit: Violation) -> Violation {
        let _ = start;
        limit
    }

    /// Parses the aliases and names in a Request, and nothing else. The default is for protocols
    /// without aliases.
    ///
    /// # Errors
    /// A [`Violation`] for invalid names.
    fn numbered<'f>(&self, frame: &Frame<'f>) -> Result<Numbered<'f>, Violation> {
        let _ = frame;
        Ok(Numbered::default())
    }

    /// Parses the header fields of a Request. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn request<'f>(&self, frame: &Frame<'f>) -> Result<Request<'f>, Violation>;

    /// Parses priority and time limit of a Request that [`request`](Self::request) accepted, in a
    /// protocol with such fields. Separate from `request` because GIOP has none, and its requests
    /// should stay small.
    fn terms(&self, frame: &Frame<'_>) -> Option<Terms> {
        let _ = frame;
        None
    }

    /// Parses the header fields of a Reply. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn reply<'f>(&self, frame: &Frame<'f>) -> Result<Reply<'f>, Violation>;

    /// Parses a LocateRequest. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn locate_request<'f>(&self, frame: &Frame<'f>) -> Result<LocateRequest<'f>, Violation>;

    /// Parses a LocateReply. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn locate_reply(&self, frame: &Frame<'_>) -> Result<LocateReply, Violation>;

    /// Parses a CancelRequest. Allocates nothing.
    ///
    /// # Errors
    /// A [`Violation`] for malformed fields.
    fn cancel_request(&self, frame: &Frame<'_>) -> Result<CancelRequest, Violation>;

    /// Returns the id of the Request or LocateRequest in `frame`; 0 if it cannot be read.
    fn request_id(&self, frame: &Frame<'_>) -> u32 {
        if frame.header.kind == MessageType::LOCATE_REQUEST {
            self.locate_request(frame).map_or(0, |locate| locate.id)
        } else {
            self.request(frame).map_or(0, |request| request.id)
        }
    }

    /// Starts a Request in an empty encoder: writes the header without the size, and positions `e`
    /// at the arguments.
    fn begin_request(&self, e: &mut Encoder<'_>, header: &RequestHeader<'_>) -> Begun;

    /// Starts a Reply in an empty encoder: writes the header without the size, and positions `e` at
    /// the body.
    fn begin_reply(
        &self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun;

    /// Returns the octets of common Replies, which are then written without this messaging. `None`,
    /// the default, makes the writer [begin](Self::begin_reply) each reply through this messaging.
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

    /// Starts a LocateReply in an empty encoder, and positions `e` at the body.
    fn begin_locate_reply(&self, e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun;

    /// Finishes a message: fills in its size.
    ///
    /// # Errors
    /// [`Violation::Limit`] on the sending side when the size does not fit the header.
    fn finish(&self, e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation>;

    /// Returns the octets of a CancelRequest for request `id`; `None` if the protocol has no such
    /// message.
    fn cancel(&self, order: ByteOrder, id: u32) -> Option<Short>;

    /// Returns the octets of a CloseConnection; `None` if the protocol has no such message.
    fn close(&self, order: ByteOrder) -> Option<Short>;

    /// Returns the octets of a MessageError; `None` if the protocol has no such message.
    fn error(&self) -> Option<Short>;
}

/// Requirements of a messaging on a transport, and restrictions of its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Whether messages require a stream: octets in order, without loss, in any split.
    pub stream: bool,
    /// Whether both ends must have the same byte order, because the messages do not declare theirs.
    pub same_order: bool,
    /// Whether messages carry no service contexts.
    pub no_contexts: bool,
    /// Whether a large message cannot be sent as several smaller ones.
    pub no_fragments: bool,
    /// Maximum number of aliases for (object key, operation) per connection; 0 if the messaging has
    /// none.
    pub aliases: u16,
    /// Maximum length of the object key and operation of an alias together, in octets.
    pub alias_octets: u16,
}

/// Positions of size and kind in the first eight octets of a message. The size counts the octets
/// after the header, of which there is at least one. Headers in non-native byte order are parsed by
/// [`Messaging::header`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Offset of the octet that is 0 for big-endian and 1 for little-endian messages; `None` if
    /// both ends share the byte order.
    pub order_at: Option<u8>,
    /// Offset of the octet that contains the kind.
    pub kind_at: u8,
    /// Value of that octet in a Request, an even number; in a Reply it is one more.
    pub request: u8,
    /// Offset of the size, an unsigned long; at most 4.
    pub size_at: u8,
    /// Minimum number of octets after the header of a Request or Reply.
    pub least: u8,
    /// Positions of the alias, in protocols with aliases.
    pub alias: Option<AliasAt>,
}

/// Positions of an alias in the second eight octets of a Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AliasAt {
    /// Offset of the number, an unsigned short.
    pub number_at: u8,
    /// Offset of the octet that indicates whether object key and operation follow in full.
    pub names_at: u8,
    /// Bits of that octet that are set if they do.
    pub names: u8,
    /// Form of a Request with an alias and no other header data.
    pub bare: BareRequest,
}

/// Context of the messages of a connection that does not use GIOP: their messaging, and the alias
/// of a message.
#[derive(Debug)]
pub struct FrameContext {
    messaging: &'static dyn Messaging,
    reply: Option<ReplyForm>,
    aliased: Option<Aliased>,
}

impl FrameContext {
    /// Returns the context of messages without an alias.
    pub fn new(messaging: &'static dyn Messaging) -> Self {
        Self { messaging, reply: messaging.reply_form(), aliased: None }
    }

    /// Returns the context of messages whose alias stands for `aliased`.
    pub(crate) fn of_alias(messaging: &'static dyn Messaging, aliased: Aliased) -> Self {
        Self { messaging, reply: messaging.reply_form(), aliased: Some(aliased) }
    }

    /// Returns the context of messages of `wire` without an alias; `None` for GIOP.
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

    /// Returns the key and operation of the message's alias, if it has one.
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

/// Priority and time limit of a request, in protocols that carry them as header fields. GIOP
/// carries them in service contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// RT-CORBA priority of the call, 0 or more.
    pub priority: Option<i16>,
    /// Time limit for the reply from the moment when the request was written, in units of 100 ns.
    pub within: Option<u64>,
}

/// Number that replaces an object key and an operation on one connection, in protocols with such
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The number.
    pub number: u16,
    /// Whether an earlier request has defined the number for the peer. Otherwise this request
    /// defines it.
    pub known: bool,
}

/// Complete message without arguments, of at most 16 octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    octets: [u8; Self::MAX],
    len: u8,
}

impl Short {
    /// Maximum length of such a message, in octets.
    pub const MAX: usize = 16;

    /// Creates the message from its octets.
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
