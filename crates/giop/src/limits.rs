//! Limits on the memory that a peer may use.

use oxorb_cdr as cdr;

use crate::{Side, Violation};

/// Limits on what is received and sent over one connection.
///
/// The defaults are safe for a server on an open network; each field documents the cost of raising
/// it. Memory of one connection never exceeds `max_message + max_partial_octets + kept_capacity`
/// octets, and is only allocated for octets that have arrived: an announced size alone allocates at
/// most 1 MiB.
///
/// ```
/// let limits = oxorb_giop::MessageLimits { max_message: 1 << 20, ..Default::default() };
/// assert!(limits.check_outgoing(2 << 20).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct MessageLimits {
    /// Maximum size of a complete message in octets, header included, received (reassembled, if
    /// fragmented) or sent. Default 64 MiB. Setting `MaxMessage`. A peer can occupy this much
    /// memory.
    pub max_message: usize,
    /// Maximum number of incomplete fragmented messages at a time. Default 16. Setting
    /// `MaxPartialMessages`. Each message costs its octets; the table is searched once per
    /// Fragment.
    pub max_partial_messages: usize,
    /// Maximum total size in octets of all incomplete fragmented messages of a connection. Default
    /// 64 MiB. Setting `MaxPartialOctets`.
    pub max_partial_octets: usize,
    /// Maximum size of a receive buffer retained between messages, in octets. Default 9 MiB.
    /// Setting `KeptCapacity`. A larger value saves allocations for larger messages, and costs that
    /// much memory per connection that received one: without it the system has to allocate and
    /// clear a page for each 4 KiB of each message.
    pub kept_capacity: usize,
    /// Limits of decoding: nesting depth (setting `MaxDepth`) and the like.
    pub cdr: cdr::DecoderLimits,
}

impl MessageLimits {
    /// Checks whether a message of `size` octets may be sent, before its first octet is sent.
    ///
    /// # Errors
    /// [`Violation::Limit`] on the sending side, which raises IMP_LIMIT, completed NO.
    #[inline]
    pub fn check_outgoing(&self, size: usize) -> Result<(), Violation> {
        if size > self.max_message {
            return Err(self.too_large(size as u64, Side::Sent));
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn too_large(&self, size: u64, side: Side) -> Violation {
        Violation::Limit {
            what: "size in octets of a message",
            size,
            limit: self.max_message as u64,
            setting: setting::MAX_MESSAGE,
            side,
        }
    }
}

/// Names of the settings that raise a limit, in the ORB's table of settings as in the text of a
/// [`Violation::Limit`]: an error must name a setting that exists.
pub mod setting {
    /// Setting of [`max_message`](super::MessageLimits::max_message).
    pub const MAX_MESSAGE: &str = "MaxMessage";
    /// Setting of [`max_partial_messages`](super::MessageLimits::max_partial_messages).
    pub const MAX_PARTIAL_MESSAGES: &str = "MaxPartialMessages";
    /// Setting of [`max_partial_octets`](super::MessageLimits::max_partial_octets).
    pub const MAX_PARTIAL_OCTETS: &str = "MaxPartialOctets";
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            max_message: 64 << 20,
            max_partial_messages: 16,
            max_partial_octets: 64 << 20,
            kept_capacity: 9 << 20,
            cdr: cdr::DecoderLimits::default(),
        }
    }
}
