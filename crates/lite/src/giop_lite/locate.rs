//! LocateRequests and LocateReplies of GIOPlite.

use oxorb_cdr::Encoder;
use oxorb_giop::{
    Begun, LocateReply, LocateRequest, LocateStatus, MessageType, Target, TargetAddress, Violation,
};

use super::header::{self, FIELDS_AT};
use super::native::Native;

/// Offset of the length of the object key, or of the status.
const SECOND_AT: usize = FIELDS_AT + 4;
/// Offset of the object key, or of the body.
const THIRD_AT: usize = SECOND_AT + 4;

/// Starts a LocateRequest, which has no body.
pub(super) fn begin_request(e: &mut Encoder<'_>, id: u32, target: TargetAddress<'_>) -> Begun {
    let key = target.key();
    start(e, MessageType::LOCATE_REQUEST, id, key.len() as u32);
    e.copy_octets(key);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Starts a LocateReply. A permanent forward is sent as a temporary one, as in a Reply.
pub(super) fn begin_reply(e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun {
    let status = match status {
        LocateStatus::OBJECT_FORWARD_PERM => LocateStatus::OBJECT_FORWARD,
        other => other,
    };
    start(e, MessageType::LOCATE_REPLY, id, status.0);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Parses a LocateRequest.
///
/// # Errors
/// [`Violation`] for truncated fields.
pub(super) fn parse_request(message: &[u8]) -> Result<LocateRequest<'_>, Violation> {
    let fields = Native(message);
    let id = fields.ulong("the request id", FIELDS_AT)?;
    let length = fields.ulong("the length of the object key", SECOND_AT)?;
    let key = fields.octets("the object key", THIRD_AT, length as usize)?;
    Ok(LocateRequest { id, target: Target::Key(key) })
}

/// Parses a LocateReply.
///
/// # Errors
/// [`Violation`] for truncated fields. Unknown statuses are preserved, for the caller to reject.
pub(super) fn parse_reply(message: &[u8]) -> Result<LocateReply, Violation> {
    let fields = Native(message);
    let id = fields.ulong("the request id", FIELDS_AT)?;
    let status = fields.ulong("the locate status", SECOND_AT)?;
    Ok(LocateReply { id, status: LocateStatus(status), body: THIRD_AT })
}

/// Writes header and two numbers.
fn start(e: &mut Encoder<'_>, kind: MessageType, id: u32, second: u32) {
    let mut start = [0; THIRD_AT];
    start[..header::LEN].copy_from_slice(&header::octets(kind, 0));
    start[FIELDS_AT..SECOND_AT].copy_from_slice(&id.to_ne_bytes());
    start[SECOND_AT..].copy_from_slice(&second.to_ne_bytes());
    e.copy_octets(&start);
}
