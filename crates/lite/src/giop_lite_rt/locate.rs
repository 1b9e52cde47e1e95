//! LocateRequests and LocateReplies of GIOPlite/RT.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{
    Begun, LocateReply, LocateRequest, LocateStatus, MessageType, Target, TargetAddress, Violation,
};

use super::header::{self, ID_AT};
use super::reply::{REST_AT, start};
use crate::octets::{octets, ulong};

/// Offset of the status of a LocateReply.
const STATUS_AT: usize = 2;

/// Starts a LocateRequest, which has no body.
pub(crate) fn begin_request(e: &mut Encoder<'_>, id: u32, target: TargetAddress<'_>) -> Begun {
    let key = target.key();
    start(e, MessageType::LOCATE_REQUEST, [0; 2], id);
    e.ulong(key.len() as u32);
    e.copy_octets(key);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Starts a LocateReply.
pub(crate) fn begin_reply(e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun {
    start(e, MessageType::LOCATE_REPLY, [status.0 as u8, 0], id);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Parses a LocateRequest.
///
/// # Errors
/// [`Violation`] for truncated fields.
pub(crate) fn parse_request(
    message: &[u8],
    order: ByteOrder,
) -> Result<LocateRequest<'_>, Violation> {
    let id = ulong(message, order, "the request id", ID_AT)?;
    let length = ulong(message, order, "the length of the object key", REST_AT)?;
    let key = octets(message, "the object key", REST_AT + 4, length as usize)?;
    Ok(LocateRequest { id, target: Target::Key(key) })
}

/// Parses a LocateReply.
///
/// # Errors
/// [`Violation`] for truncated fields.
pub(crate) fn parse_reply(message: &[u8], order: ByteOrder) -> Result<LocateReply, Violation> {
    let status = octets(message, "the locate status", STATUS_AT, 1)?;
    Ok(LocateReply {
        id: ulong(message, order, "the request id", ID_AT)?,
        status: LocateStatus(u32::from(status[0])),
        body: REST_AT,
    })
}
