//! Reasons for the end of a connection, for both halves of a call.

use std::io;

use oxorb_giop::{MessageType, Violation};
use oxorb_object::{CompletionStatus, SystemException};
use oxorb_transport::{Link, RefusedConnection};

use crate::error::{failure, raise};

/// Reason for the end of a connection.
#[derive(Debug)]
pub(crate) enum ConnectionEnd {
    /// Closed by this side after use.
    Here,
    /// Closed by this side as idle.
    Idle,
    /// The peer closed it without a message.
    Vanished,
    /// The peer sent CloseConnection: unanswered requests, and those sent since, were not run.
    Closed,
    /// The peer sent MessageError, because it could not decode a message.
    Refused,
    Unreadable(io::Error),
    /// Octets that are not a message, or a malformed message.
    Malformed(Violation),
    /// A message type that this side never receives.
    Unexpected(MessageType),
    /// The time limit of the only call over the connection has expired.
    Late,
    /// The request for which the only call over the connection was made has been cancelled.
    Cancelled,
    /// A fragmented message stalled.
    Stalled,
    /// The peer closed it without having read anything since its beginning.
    Untaken,
    /// The peer closed it before it read any of the last request.
    Unread,
    /// A message of this side was sent only in part, so that nothing after it can be read. Contains the cause in words.
    CutOff(String),
}

impl ConnectionEnd {
    /// Returns the reason for a message that belongs to no call and no servant. Only this function interprets
    /// CloseConnection and MessageError.
    #[cold]
    pub(crate) fn by(kind: MessageType) -> ConnectionEnd {
        match kind {
            MessageType::CLOSE_CONNECTION => ConnectionEnd::Closed,
            MessageType::MESSAGE_ERROR => ConnectionEnd::Refused,
            other => ConnectionEnd::Unexpected(other),
        }
    }

    /// Refines the reason by what the link reports about the peer.
    #[cold]
    pub(crate) fn seen_at<'e>(&'e self, link: &dyn Link) -> &'e ConnectionEnd {
        match self {
            // This error already names the cause, so it is returned unchanged.
            ConnectionEnd::Unreadable(error) if RefusedConnection::of(error).is_some() => self,
            ConnectionEnd::Vanished | ConnectionEnd::Unreadable(_) if link.took_nothing() => {
                &ConnectionEnd::Untaken
            }
            _ => self,
        }
    }

    /// Refines the reason as [`seen_at`](Self::seen_at) does, for the only call over a link, whose request was the last
    /// write.
    #[cold]
    pub(crate) fn seen_by_the_last<'e>(&'e self, link: &dyn Link) -> &'e ConnectionEnd {
        match self.seen_at(link) {
            ConnectionEnd::Vanished | ConnectionEnd::Unreadable(_) if link.left_last() => {
                &ConnectionEnd::Unread
            }
            seen => seen,
        }
    }

    /// Returns the exception of outstanding calls.
    #[cold]
    pub(crate) fn exception(&self) -> SystemException {
        match self {
            ConnectionEnd::Closed | ConnectionEnd::Idle => raise::CONNECTION_CLOSED,
            ConnectionEnd::Refused => raise::MESSAGE_ERROR,
            ConnectionEnd::Untaken => raise::CONNECT_FAILED,
            ConnectionEnd::Unread => raise::REQUEST_UNREAD,
            ConnectionEnd::Unreadable(error) if RefusedConnection::of(error).is_some() => {
                raise::CONNECT_FAILED
            }
            ConnectionEnd::Late | ConnectionEnd::Cancelled => {
                raise::timeout(CompletionStatus::Maybe)
            }
            ConnectionEnd::Malformed(violation) => raise::bad_reply(violation),
            ConnectionEnd::Here
            | ConnectionEnd::Vanished
            | ConnectionEnd::Unreadable(_)
            | ConnectionEnd::Unexpected(_)
            | ConnectionEnd::Stalled
            | ConnectionEnd::CutOff(_) => raise::CONNECTION_LOST,
        }
    }

    /// Returns the cause in words.
    #[cold]
    pub(crate) fn cause(&self) -> String {
        match self {
            ConnectionEnd::Here | ConnectionEnd::Idle => {
                "this side closed the connection".to_owned()
            }
            ConnectionEnd::Vanished => {
                "the server closed the connection while a call was running".to_owned()
            }
            ConnectionEnd::Closed => {
                "the server closed the connection before it took the request".to_owned()
            }
            ConnectionEnd::Refused => {
                "the server answered MessageError: it could not read a request".to_owned()
            }
            ConnectionEnd::Unreadable(error) => match RefusedConnection::of(error) {
                Some(refused) => format!("the server rejected the connection: {}", refused.why),
                None => format!("reading replies failed: {error}"),
            },
            ConnectionEnd::Malformed(violation) => format!("bad reply: {violation}"),
            ConnectionEnd::Unexpected(kind) => {
                format!(
                    "the server sent a message of a kind that a client cannot receive: {kind:?}"
                )
            }
            ConnectionEnd::Late => "no reply within the time limit".to_owned(),
            ConnectionEnd::Cancelled => {
                "the client of the forwarded request no longer waits".to_owned()
            }
            ConnectionEnd::Unread => {
                "the server closed the connection before it read any of the request".to_owned()
            }
            ConnectionEnd::Untaken => {
                "the server closed the connection before it read anything: it may not accept \
                               memory of this size (ring=, blocks=), or no shared memory at all"
                    .to_owned()
            }
            ConnectionEnd::Stalled => "a fragmented message was not continued in time".to_owned(),
            ConnectionEnd::CutOff(cause) => format!("a message was cut off: {cause}"),
        }
    }

    /// Returns the exception of outstanding calls, and records `peer` and the cause with it unless the exception alone
    /// suffices.
    #[cold]
    pub(crate) fn told(&self, peer: impl FnOnce() -> String) -> SystemException {
        match self {
            ConnectionEnd::Here | ConnectionEnd::Idle | ConnectionEnd::Closed => self.exception(),
            _ => failure::noted(self.exception(), peer(), self.cause()),
        }
    }
}
