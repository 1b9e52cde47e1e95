//! Replies of GIOPlite/RT.

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder};
use oxorb_giop::{Begun, MessageType, Misbehaviour, Reply, ReplyForm, ReplyStatus, Violation};
use oxorb_object::{ServiceContext, ServiceContexts, write_contexts};

use super::header::{self, ID_AT, NAME, ulong_octets};
use crate::octets::{octets, ulong_from};

/// Offset of the data after the request id.
pub(crate) const REST_AT: usize = ID_AT + 4;

/// Offset of the status.
const STATUS_AT: usize = 2;

/// Content flag: service contexts follow.
const CONTEXTS: u8 = 1;

/// Layout of a Reply up to its body.
pub(super) const FORM: ReplyForm = ReplyForm {
    octets: header::padded(header::octets(ByteOrder::NATIVE, MessageType::REPLY, [0; 2], 0)),
    short: REST_AT == ReplyForm::SHORT,
    id_at: ID_AT as u8,
    status_at: STATUS_AT as u8,
    header: header::LEN as u8,
    size_at: header::SIZE_AT as u8,
};

/// Starts a Reply.
#[inline]
pub(crate) fn begin(
    e: &mut Encoder<'_>,
    id: u32,
    status: ReplyStatus,
    contexts: &[ServiceContext<'_>],
) -> Begun {
    if !contexts.is_empty() {
        return begin_long(e, id, status, contexts);
    }
    start(e, MessageType::REPLY, [status.0 as u8, 0], id);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Starts a Reply with service contexts.
#[inline(never)]
fn begin_long(
    e: &mut Encoder<'_>,
    id: u32,
    status: ReplyStatus,
    contexts: &[ServiceContext<'_>],
) -> Begun {
    start(e, MessageType::REPLY, [status.0 as u8, CONTEXTS], id);
    write_contexts(e, contexts);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Writes a header and a request id.
#[inline]
pub(crate) fn start(e: &mut Encoder<'_>, kind: MessageType, fields: [u8; 2], id: u32) {
    let order = e.order();
    let mut start = [0; REST_AT];
    start[..ID_AT].copy_from_slice(&header::octets(order, kind, fields, 0));
    start[ID_AT..].copy_from_slice(&ulong_octets(order, id));
    e.copy_octets(&start);
}

/// Parses a Reply.
///
/// # Errors
/// [`Violation`] for truncated fields, and content flags that this version does not define.
#[inline]
pub(crate) fn parse(message: &[u8], order: ByteOrder) -> Result<Reply<'_>, Violation> {
    let Some(start) = message.first_chunk::<REST_AT>() else {
        return Err(octets(message, "the fields of a reply", 0, REST_AT).unwrap_err());
    };
    let [_, _, status, follows, _, _, _, _, i0, i1, i2, i3] = *start;
    let (id, status) = (ulong_from(order, [i0, i1, i2, i3]), ReplyStatus(u32::from(status)));
    match follows {
        // Build the common reply here: a `Reply` is large, and constructing it takes as few
        // instructions as moving it.
        0 => Ok(Reply { id, status, contexts: ServiceContexts::none(order), body: REST_AT }),
        CONTEXTS => with_contexts(message, order, id, status),
        other => Err(Violation::Peer(Misbehaviour::Undefined {
            protocol: NAME,
            what: "set of fields that follow",
            value: u32::from(other),
        })),
    }
}

#[cold]
fn with_contexts(
    message: &[u8],
    order: ByteOrder,
    id: u32,
    status: ReplyStatus,
) -> Result<Reply<'_>, Violation> {
    let mut fields = Decoder::new(message, order, Dialect::new(2)).at(REST_AT);
    let contexts = ServiceContexts::read(message, false, &mut fields)?;
    Ok(Reply { id, status, contexts, body: fields.position() })
}
