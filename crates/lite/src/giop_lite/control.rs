//! Messages of GIOPlite without arguments.

use oxorb_giop::{CancelRequest, MessageType, Violation};

use super::header::{self, FIELDS_AT, LEN};
use super::native::Native;

/// Length of a CancelRequest, in octets.
const CANCEL: usize = FIELDS_AT + 4;

/// Returns the octets of a CancelRequest.
pub(super) fn cancel_request(id: u32) -> [u8; CANCEL] {
    let mut message = [0; CANCEL];
    let size = (CANCEL - LEN) as u32;
    message[..LEN].copy_from_slice(&header::octets(MessageType::CANCEL_REQUEST, size));
    message[FIELDS_AT..].copy_from_slice(&id.to_ne_bytes());
    message
}

/// Parses a CancelRequest.
///
/// # Errors
/// [`Violation`] for a truncated message.
pub(super) fn parse_cancel(message: &[u8]) -> Result<CancelRequest, Violation> {
    let id = Native(message).ulong("the request id", FIELDS_AT)?;
    Ok(CancelRequest { id })
}

/// Returns the octets of a CloseConnection.
pub(super) const fn close_connection() -> [u8; LEN] {
    header::octets(MessageType::CLOSE_CONNECTION, 0)
}

/// Returns the octets of a MessageError. TAO wrote the type at offset 0, where no receiver could
/// read it.
pub(super) const fn message_error() -> [u8; LEN] {
    header::octets(MessageType::MESSAGE_ERROR, 0)
}
