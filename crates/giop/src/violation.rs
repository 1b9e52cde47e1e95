//! Violations of the protocol by octets from a peer, classified by blame, with the answer to each.

use core::fmt;

use oxorb_cdr as cdr;
use oxorb_object::{CompletionStatus, Malformed, SystemException, Version, minor};

use crate::MessageType;

/// Reason why a message is rejected.
///
/// Values can be compared and cloned, so tests state exactly what they expect. `Display` prints a
/// full sentence that names the offending value.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum Violation {
    /// A message is truncated.
    Truncated {
        /// Name of the item that was being read.
        what: &'static str,
        /// Number of octets that the item needs.
        needed: usize,
        /// Number of octets left.
        left: usize,
    },
    /// The peer broke a rule of the protocol.
    Peer(Misbehaviour),
    /// Something exceeds what configuration or the protocol allows.
    Limit {
        /// Name of the item that is too large.
        what: &'static str,
        /// Size of the item, in octets for messages, otherwise a count.
        size: u64,
        /// Maximum size.
        limit: u64,
        /// Setting to change, or `fixed` if the protocol or the program determines it.
        setting: &'static str,
        /// Side that the limit protects.
        side: Side,
    },
    /// Something legal that OxORB does not support.
    Unsupported(Unsupported),
    /// A field, target or service context is malformed.
    Malformed(Malformed),
}

/// Direction that a [`Violation::Limit`] stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The peer sent too much.
    Received,
    /// The local side was about to send too much.
    Sent,
}

/// Rule of the protocol that a peer broke.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misbehaviour {
    /// The octets do not start with `GIOP`.
    Magic([u8; 4]),
    /// The octets do not start with a valid header of this protocol.
    Protocol {
        /// Expected protocol.
        expected: &'static str,
        /// The first octets.
        start: [u8; 4],
    },
    /// An implausible size that is plausible in the other byte order, in a protocol whose messages
    /// do not declare theirs.
    OtherByteOrder {
        /// Name of the protocol.
        protocol: &'static str,
        /// Size in native byte order.
        size: u32,
        /// Size in the other byte order.
        swapped: u32,
    },
    /// A value that the protocol does not define.
    Undefined {
        /// Name of the protocol.
        protocol: &'static str,
        /// Name of the item that has the value.
        what: &'static str,
        /// Value found.
        value: u32,
    },
    /// An alias that no request of the connection has defined.
    UnknownAlias {
        /// Number of the alias.
        number: u16,
    },
    /// A GIOP 1.0 byte order other than 0 and 1.
    ByteOrder(u8),
    /// An empty message of a kind that is never empty.
    Empty(MessageType),
    /// The more-fragments flag in, or a Fragment of, something that cannot be fragmented.
    NotFragmentable {
        /// Kind of the message.
        kind: MessageType,
        /// Version of the message.
        version: Version,
    },
    /// Fragment that continues no message.
    OrphanFragment {
        /// Request id that it names; `None` in GIOP 1.1, whose fragments carry none.
        id: Option<u32>,
    },
    /// A second fragmented message with the id of an incomplete one (in 1.1: any second one).
    DuplicatePartial {
        /// Request id; `None` in GIOP 1.1.
        id: Option<u32>,
    },
    /// A Fragment whose version or byte order differs from that of the message it continues.
    FragmentMismatch {
        /// Request id; `None` in GIOP 1.1.
        id: Option<u32>,
    },
    /// A size in the header that differs from the number of octets given.
    SizeMismatch {
        /// Number of octets that the header announces, header included.
        announced: usize,
        /// Number of octets given.
        given: usize,
    },
    /// A message of another kind than expected.
    Kind {
        /// Expected kind of message.
        expected: MessageType,
        /// Actual kind of message.
        found: MessageType,
    },
    /// An operation name that is empty, not terminated, or not text.
    OperationName,
    /// A TargetAddress discriminant other than 0, 1 and 2.
    TargetDiscriminant(i16),
    /// A ReferenceAddr whose index exceeds its profiles.
    ProfileIndex {
        /// Index sent.
        index: u32,
        /// Number of profiles.
        profiles: u32,
    },
}

/// Legal feature that OxORB does not support.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsupported {
    /// A GIOP version other than 1.0, 1.1 and 1.2.
    Version(Version),
    /// A message type above Fragment.
    MessageType(MessageType),
    /// A `ZIOP` message.
    Compression,
}

/// Answer on the wire to a [`Violation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Send MessageError, then close: the peer's framing or header cannot be trusted.
    MessageError,
    /// Close without sending anything.
    Close,
    /// Keep the connection; answer the one request (or fail the one call) with this exception.
    Exception(SystemException),
}

impl Violation {
    /// Reports whether something is larger than a limit of this side allows.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Limit { .. } | Self::Malformed(Malformed::Limit { .. }))
    }

    /// Returns the answer to this violation (CORBA 3.4, 15.4.8 for MessageError).
    ///
    /// No other code decides how to answer. A violation that [`Inbox::poll`](crate::Inbox::poll)
    /// reports is never answered by an `Exception`: once framing is lost, no later octet can be trusted.
    pub fn answer(&self) -> Answer {
        match self {
            // The peer is probably a TLS or HTTP client or a port scanner, which would not understand a MessageError.
            Self::Peer(Misbehaviour::Magic(_) | Misbehaviour::Protocol { .. }) => Answer::Close,
            // A peer that reads every number in the other byte order would not understand a MessageError, either.
            Self::Peer(Misbehaviour::OtherByteOrder { .. }) => Answer::Close,
            Self::Truncated { .. } | Self::Peer(_) | Self::Unsupported(_) => Answer::MessageError,
            Self::Limit { side: Side::Received, .. } => Answer::MessageError,
            Self::Limit { side: Side::Sent, .. } => Answer::Exception(SystemException::imp_limit(
                minor::imp_limit::MESSAGE_TOO_LARGE,
                CompletionStatus::No,
            )),
            // The malformed item belongs to the header. Without a valid header, it is unknown which request to answer.
            Self::Malformed(_) => Answer::MessageError,
        }
    }

    /// Returns the exception that a caller receives when this violation ends its call.
    ///
    /// For the side that waits for a reply; `completed` is what that side knows about the
    /// execution.
    pub fn to_exception(&self, completed: CompletionStatus) -> SystemException {
        match self {
            Self::Limit { side: Side::Sent, .. } => {
                SystemException::imp_limit(minor::imp_limit::MESSAGE_TOO_LARGE, completed)
            }
            Self::Limit { side: Side::Received, .. } => {
                SystemException::imp_limit(minor::imp_limit::RECEIVED_TOO_LARGE, completed)
            }
            Self::Malformed(fault) => fault.to_exception(completed),
            _ => SystemException::comm_failure(minor::comm_failure::PROTOCOL_VIOLATION, completed),
        }
    }
}

impl From<Malformed> for Violation {
    #[inline]
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault)
    }
}

impl From<cdr::Error> for Violation {
    #[inline]
    fn from(error: cdr::Error) -> Self {
        Self::Malformed(error.into())
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Violation {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { what, needed, left } => {
                write!(
                    f,
                    "the message ends inside {what}: {needed} octets are needed and {left} are left"
                )
            }
            Self::Peer(fault) => fault.fmt(f),
            Self::Limit { what, size, limit, setting, side } => {
                let side = match side {
                    Side::Received => "received from the peer",
                    Side::Sent => "about to be sent",
                };
                write!(
                    f,
                    "{what} {side}: {size}, but the limit on this side is {limit} (setting: {setting})"
                )
            }
            Self::Unsupported(what) => what.fmt(f),
            Self::Malformed(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for Misbehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbered = |f: &mut fmt::Formatter<'_>, id: &Option<u32>| match id {
            Some(id) => write!(f, " (request id {id})"),
            None => Ok(()),
        };
        match self {
            Self::Magic(octets) => {
                write!(
                    f,
                    "the peer does not speak GIOP: its message starts with \"{}\"",
                    octets.escape_ascii()
                )
            }
            Self::Protocol { expected, start } => write!(
                f,
                "the peer does not speak {expected}: its message starts with \"{}\"; both sides must name the same \
                 protocol",
                start.escape_ascii()
            ),
            Self::OtherByteOrder { protocol, size, swapped } => write!(
                f,
                "a {protocol} message announces {size} octets, or {swapped} in the other byte order: {protocol} has no \
                 byte-order mark, so both machines must have the same byte order; use giop or giop-lite-rt between these"
            ),
            Self::Undefined { protocol, what, value } => {
                write!(f, "{protocol} has no {what} {value}")
            }
            Self::UnknownAlias { number } => write!(
                f,
                "a request names its object and operation by the number {number}, which no request of this connection \
                 has defined"
            ),
            Self::ByteOrder(value) => {
                write!(f, "the byte order of a GIOP 1.0 message is {value}, not 0 or 1")
            }
            Self::Empty(kind) => write!(f, "a {kind} message has no octets after its header"),
            Self::NotFragmentable { kind, version } => {
                write!(
                    f,
                    "a {kind} message cannot be part of a fragmented message in GIOP {version}"
                )
            }
            Self::OrphanFragment { id } => {
                f.write_str("a Fragment continues no message")?;
                numbered(f, id)
            }
            Self::DuplicatePartial { id } => {
                f.write_str("a fragmented message starts before an earlier one is complete")?;
                numbered(f, id)
            }
            Self::FragmentMismatch { id } => {
                f.write_str(
                    "a Fragment has another version or byte order than the message it continues",
                )?;
                numbered(f, id)
            }
            Self::SizeMismatch { announced, given } => {
                write!(
                    f,
                    "the header announces a message of {announced} octets, but the message has {given}"
                )
            }
            Self::Kind { expected, found } => {
                write!(f, "a {found} message arrived where a {expected} was expected")
            }
            Self::OperationName => {
                f.write_str("the operation name is empty, not terminated, or not text")
            }
            Self::TargetDiscriminant(value) => {
                write!(f, "the target address has unknown discriminant {value}")
            }
            Self::ProfileIndex { index, profiles } => {
                write!(
                    f,
                    "the target selects profile {index} of a reference with {profiles} profiles"
                )
            }
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "GIOP {version} is not supported; 1.0, 1.1 and 1.2 are")
            }
            Self::MessageType(kind) => write!(f, "{kind} is not defined in GIOP 1.0 to 1.2"),
            Self::Compression => f.write_str("compressed messages (ZIOP) are not supported"),
        }
    }
}
