//! Messages of GIOPlite/RT without arguments.

use oxorb_cdr::ByteOrder;
use oxorb_giop::{CancelRequest, MessageType, Violation};

use super::header::{self, ID_AT, LEN, ulong_octets};
use super::reply::REST_AT;
use crate::octets::ulong;

/// Returns the octets of a CancelRequest.
pub(crate) fn cancel_request(order: ByteOrder, id: u32) -> [u8; REST_AT] {
    let mut message = [0; REST_AT];
    let size = (REST_AT - LEN) as u32;
    let header = header::octets(order, MessageType::CANCEL_REQUEST, [0; 2], size);
    message[..ID_AT].copy_from_slice(&header);
    message[ID_AT..].copy_from_slice(&ulong_octets(order, id));
    message
}

/// Parses a CancelRequest.
///
/// # Errors
/// [`Violation`] for a truncated message.
pub(crate) fn parse_cancel(message: &[u8], order: ByteOrder) -> Result<CancelRequest, Violation> {
    let id = ulong(message, order, "the request id", ID_AT)?;
    Ok(CancelRequest { id })
}

/// Returns the octets of a message that is only a header.
pub(crate) fn bare(order: ByteOrder, kind: MessageType) -> [u8; LEN] {
    header::octets(order, kind, [0; 2], 0)
}
