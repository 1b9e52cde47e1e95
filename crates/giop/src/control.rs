//! Messages without arguments: CancelRequest, CloseConnection and MessageError.

use oxorb_cdr::ByteOrder;
use oxorb_object::Version;

use crate::order::ulong_octets;
use crate::{Frame, Header, MessageType, Violation};

/// Received CancelRequest. It is only advice: the server may reply nevertheless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CancelRequest {
    /// Id of the Request or LocateRequest whose reply is no longer awaited.
    pub id: u32,
}

impl CancelRequest {
    /// Reads a CancelRequest.
    ///
    /// # Errors
    /// [`Violation`] for a frame of another kind, or one that is truncated.
    pub fn parse(frame: &Frame<'_>) -> Result<Self, Violation> {
        if let Some(context) = frame.context {
            return context.messaging().cancel_request(frame);
        }
        let mut fields = frame.fields(MessageType::CANCEL_REQUEST)?;
        Ok(Self { id: fields.ulong()? })
    }
}

/// Returns the octets of a CancelRequest for request `id`.
pub fn cancel_request(version: Version, order: ByteOrder, id: u32) -> [u8; 16] {
    let header = Header { size: 4, ..Header::new(version, order, MessageType::CANCEL_REQUEST) };
    let mut message = [0; 16];
    message[..Header::LEN].copy_from_slice(&header.to_bytes());
    message[Header::LEN..].copy_from_slice(&ulong_octets(order, id));
    message
}

/// Returns the octets of a CloseConnection, which states that no unanswered request has been or will be processed.
pub fn close_connection(version: Version, order: ByteOrder) -> [u8; 12] {
    Header::new(version, order, MessageType::CLOSE_CONNECTION).to_bytes()
}

/// Returns the octets of a MessageError, in native byte order.
pub fn message_error(version: Version) -> [u8; 12] {
    Header::new(version, ByteOrder::NATIVE, MessageType::MESSAGE_ERROR).to_bytes()
}
