//! Replies of GIOPlite.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{Begun, MessageType, Reply, ReplyForm, ReplyStatus, Violation};
use oxorb_object::ServiceContexts;

use super::header::{self, FIELDS_AT};
use super::native::Native;

/// Offset of the status.
const STATUS_AT: usize = FIELDS_AT + 4;
/// Offset of the body.
pub(super) const BODY_AT: usize = STATUS_AT + 4;

/// Layout of a Reply up to its body.
pub(super) const FORM: ReplyForm = {
    let [a, b, c, d, e] = header::octets(MessageType::REPLY, 0);
    ReplyForm {
        octets: [a, b, c, d, e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        short: BODY_AT == ReplyForm::SHORT,
        id_at: FIELDS_AT as u8,
        status_at: match ByteOrder::NATIVE {
            ByteOrder::Little => STATUS_AT as u8,
            ByteOrder::Big => STATUS_AT as u8 + 3,
        },
        header: header::LEN as u8,
        size_at: header::SIZE_AT as u8,
    }
};

/// Starts a Reply. Omits service contexts, and sends a permanent forward as a temporary one:
/// GIOPlite has neither.
#[inline]
pub(super) fn begin(e: &mut Encoder<'_>, id: u32, status: ReplyStatus) -> Begun {
    let status = match status {
        ReplyStatus::LOCATION_FORWARD_PERM => ReplyStatus::LOCATION_FORWARD,
        other => other,
    };
    let mut start = [0; BODY_AT];
    start[..header::LEN].copy_from_slice(&header::octets(MessageType::REPLY, 0));
    start[FIELDS_AT..STATUS_AT].copy_from_slice(&id.to_ne_bytes());
    start[STATUS_AT..].copy_from_slice(&status.0.to_ne_bytes());
    e.copy_octets(&start);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Parses a Reply.
///
/// # Errors
/// [`Violation`] for truncated fields. Unknown statuses are preserved, for the caller to reject.
#[inline]
pub(super) fn parse(message: &[u8]) -> Result<Reply<'_>, Violation> {
    let fields = Native(message);
    let id = fields.ulong("the request id", FIELDS_AT)?;
    let status = fields.ulong("the reply status", STATUS_AT)?;
    Ok(Reply {
        id,
        status: ReplyStatus(status),
        contexts: ServiceContexts::none(ByteOrder::NATIVE),
        body: BODY_AT,
    })
}
