//! Reply message (CORBA 3.4, 15.4.3).

use core::fmt;

use oxorb_cdr::Encoder;
use oxorb_object::{ServiceContext, ServiceContexts, SystemException, Version, write_contexts};

use crate::order::{ulong_from, ulong_octets};
use crate::{Begun, Frame, Header, MessageType, Violation, finish, header};

/// Received Reply, borrowed from its frame.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// Id of the answered request.
    pub id: u32,
    /// Status, which determines the contents of the body.
    pub status: ReplyStatus,
    /// Service contexts.
    pub contexts: ServiceContexts<'a>,
    /// Offset of the body in [`Frame::bytes`]; equal to its length if there is no body.
    pub body: usize,
}

impl<'a> Reply<'a> {
    /// Parses the header fields of a Reply of any version. Allocates nothing.
    ///
    /// # Errors
    /// [`Violation`] for a frame of another kind, or malformed fields. Unknown statuses are
    /// preserved, for the caller to reject.
    #[inline]
    pub fn parse(frame: &Frame<'a>) -> Result<Self, Violation> {
        if let Some(context) = frame.context {
            return context.messaging().reply(frame);
        }
        match Self::parse_common(frame) {
            Some(reply) => Ok(reply),
            None => Self::parse_any(frame),
        }
    }

    /// Parses the most common form of a reply: GIOP 1.2 without service contexts, with all numbers
    /// at fixed offsets.
    #[inline]
    fn parse_common(frame: &Frame<'a>) -> Option<Self> {
        let Header { version, order, kind, .. } = frame.header;
        if kind != MessageType::REPLY || version < Version::V1_2 {
            return None;
        }
        let start: &[u8; BODY_AT] = frame.bytes.first_chunk()?;
        let ulong =
            |at: usize| ulong_from(order, [start[at], start[at + 1], start[at + 2], start[at + 3]]);
        (ulong(CONTEXTS_AT) == 0).then(|| Self {
            id: ulong(Header::LEN),
            status: ReplyStatus(ulong(STATUS_AT)),
            contexts: ServiceContexts::none(order),
            body: frame.body_after(BODY_AT),
        })
    }

    #[cold]
    fn parse_any(frame: &Frame<'a>) -> Result<Self, Violation> {
        let mut fields = frame.fields(MessageType::REPLY)?;
        if frame.header.version >= Version::V1_2 {
            let id = fields.ulong()?;
            let status = ReplyStatus(fields.ulong()?);
            let contexts = frame.contexts(&mut fields)?;
            Ok(Self { id, status, contexts, body: frame.body_after(fields.position()) })
        } else {
            let contexts = frame.contexts(&mut fields)?;
            let id = fields.ulong()?;
            let status = ReplyStatus(fields.ulong()?);
            Ok(Self { id, status, contexts, body: fields.position() })
        }
    }
}

/// Offsets in a GIOP 1.2 Reply without service contexts.
const STATUS_AT: usize = Header::LEN + 4;
const CONTEXTS_AT: usize = STATUS_AT + 4;
const BODY_AT: usize = CONTEXTS_AT + 4;

/// Outcome of a request, as on the wire; unknown values are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplyStatus(pub u32);

impl ReplyStatus {
    /// The body holds the return value, then inout and out arguments.
    pub const NO_EXCEPTION: Self = Self(0);
    /// The body holds a repository id and the exception's members.
    pub const USER_EXCEPTION: Self = Self(1);
    /// The body holds a [`SystemException`].
    pub const SYSTEM_EXCEPTION: Self = Self(2);
    /// The body holds a reference to use instead, for now.
    pub const LOCATION_FORWARD: Self = Self(3);
    /// The body holds a reference to use instead from now on (GIOP 1.2).
    pub const LOCATION_FORWARD_PERM: Self = Self(4);
    /// The body holds the required [`AddressingDisposition`](crate::AddressingDisposition) (GIOP
    /// 1.2).
    pub const NEEDS_ADDRESSING_MODE: Self = Self(5);

    /// Returns the specification's name, if the value has one.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 6] = [
            "NO_EXCEPTION",
            "USER_EXCEPTION",
            "SYSTEM_EXCEPTION",
            "LOCATION_FORWARD",
            "LOCATION_FORWARD_PERM",
            "NEEDS_ADDRESSING_MODE",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl fmt::Debug for ReplyStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "ReplyStatus({})", self.0),
        }
    }
}

/// Starts a Reply: writes its header with size 0, and positions `e` at the body.
///
/// `version` is the request's. `e` must be empty. GIOP 1.0 and 1.1 lack LOCATION_FORWARD_PERM; it
/// is written as LOCATION_FORWARD there. Allocates only if the buffer must grow.
// Inlined, because a Reply without service contexts takes only about six stores.
#[inline(always)]
pub fn begin_reply(
    e: &mut Encoder<'_>,
    version: Version,
    id: u32,
    status: ReplyStatus,
    contexts: &[ServiceContext<'_>],
) -> Begun {
    if version >= Version::V1_2 && contexts.is_empty() {
        let start = start_1_2(e, version, id, status);
        e.copy_octets(&start);
        return Begun::aligned(e);
    }
    begin_any(e, version, id, status, contexts)
}

/// Returns the header of a GIOP 1.2 Reply with the fields at fixed offsets.
#[inline(always)]
fn start_1_2(e: &Encoder<'_>, version: Version, id: u32, status: ReplyStatus) -> [u8; BODY_AT] {
    let order = e.order();
    let mut start = [0; BODY_AT];
    start[..Header::LEN].copy_from_slice(&header::octets_of(e, version, MessageType::REPLY));
    start[Header::LEN..STATUS_AT].copy_from_slice(&ulong_octets(order, id));
    start[STATUS_AT..CONTEXTS_AT].copy_from_slice(&ulong_octets(order, status.0));
    start
}

/// Starts a Reply of any version, with service contexts.
#[inline(never)]
fn begin_any(
    e: &mut Encoder<'_>,
    version: Version,
    id: u32,
    status: ReplyStatus,
    contexts: &[ServiceContext<'_>],
) -> Begun {
    if version >= Version::V1_2 {
        let start = start_1_2(e, version, id, status);
        e.copy_octets(&start[..CONTEXTS_AT]);
        write_contexts(e, contexts);
        Begun::aligned(e)
    } else {
        header::begin(e, version, MessageType::REPLY);
        let status = if status == ReplyStatus::LOCATION_FORWARD_PERM {
            ReplyStatus::LOCATION_FORWARD
        } else {
            status
        };
        write_contexts(e, contexts);
        e.ulong(id);
        e.ulong(status.0);
        Begun::unaligned(e)
    }
}

/// Writes a complete Reply that carries a system exception.
///
/// # Errors
/// [`Violation::Limit`] when the contexts make the message too large.
pub fn system_exception_reply(
    e: &mut Encoder<'_>,
    version: Version,
    id: u32,
    exception: SystemException,
    contexts: &[ServiceContext<'_>],
) -> Result<(), Violation> {
    let begun = begin_reply(e, version, id, ReplyStatus::SYSTEM_EXCEPTION, contexts);
    exception.write(e);
    finish(e, begun)
}
