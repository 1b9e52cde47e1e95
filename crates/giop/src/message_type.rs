//! Kinds of messages.

use core::fmt;

use oxorb_object::Version;

/// The kind of a message, as on the wire; unknown values survive.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageType(pub u8);

impl MessageType {
    /// Asks an object for something.
    pub const REQUEST: Self = Self(0);
    /// Answers a Request.
    pub const REPLY: Self = Self(1);
    /// The client no longer waits.
    pub const CANCEL_REQUEST: Self = Self(2);
    /// Asks where an object is.
    pub const LOCATE_REQUEST: Self = Self(3);
    /// Answers a LocateRequest.
    pub const LOCATE_REPLY: Self = Self(4);
    /// Orderly end: nothing unanswered has been processed.
    pub const CLOSE_CONNECTION: Self = Self(5);
    /// The peer could not understand a message.
    pub const MESSAGE_ERROR: Self = Self(6);
    /// Continues a fragmented message.
    pub const FRAGMENT: Self = Self(7);

    /// The specification's name, if the value is one of the eight.
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

    /// Whether a message of this kind may announce that fragments follow.
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
