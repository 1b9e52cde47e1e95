//! Protocols of an ORB that is yet to be made.

use crate::protocol::ProtocolStack;
use crate::{Options, SetupError};

impl Options {
    /// Adds a protocol, and reads the endpoints of earlier settings that name it.
    ///
    /// # Errors
    /// [`Mismatch`](crate::protocol::Mismatch) if the protocol cannot be distinguished from another; a setting whose
    /// endpoints it does not understand.
    pub fn add_protocol(&mut self, protocol: ProtocolStack) -> Result<(), SetupError> {
        self.protocols.add(protocol).map_err(SetupError::Protocol)?;
        Ok(self.read_unread()?)
    }
}
