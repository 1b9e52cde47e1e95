//! Kinds of messages.

use core::fmt;

use oxorb_object::Version;

/// Kind of a message, as on the wire; unknown values are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageType(pub u8);

impl MessageType {
    /// Invocation of an operation.
    pub const REQUEST: Self = Self(0);
    /// Answer to a Request.
    pub const REPLY: Self = Self(1);
    /// Notice that the client no longer waits for a reply.
    pub const CANCEL_REQUEST: Self = Self(2);
    /// Query for the location of an object.
    pub const LOCATE_REQUEST: Self = Self(3);
    /// Answer to a LocateRequest.
    pub const LOCATE_REPLY: Self = Self(4);
    /// Orderly end of the connection; unanswered requests were not processed.
    pub const CLOSE_CONNECTION: Self = Self(5);
    /// Report that the peer did not understand a message.
    pub const MESSAGE_ERROR: Self = Self(6);
    /// Continuation of a fragmented message.
    pub const FRAGMENT: Self = Self(7);

    /// Returns the specification's name, if the value is one of the eight.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 8] = [
            "Request",
            "Reply",
            "CancelRequest",
            "LocateRequest",
            "LocateReply",
            "CloseConnection",
            "MessageError",
            "Fragment",
        ];
        NAMES.get(usize::from(self.0)).copied()
    }

    /// Reports whether a message of this kind may announce fragments.
    #[inline]
    pub fn fragmentable(self, version: Version) -> bool {
        match self {
            Self::REQUEST | Self::REPLY | Self::FRAGMENT => version >= Version::V1_1,
            Self::LOCATE_REQUEST | Self::LOCATE_REPLY => version >= Version::V1_2,
            _ => false,
        }
    }
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "MessageType({:#04x})", self.0),
        }
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "message type {}", self.0),
        }
    }
}
