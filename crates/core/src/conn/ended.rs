//! Reasons for the end of a connection, for both halves of a call.

use std::io;

use oxorb_giop::{MessageType, Violation};
use oxorb_object::{CompletionStatus, SystemException};
use oxorb_transport::{Link, Refused};

use crate::error::{failure, raise};

/// Reason for the end of a connection.
#[derive(Debug)]
pub(crate) enum Ended {
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
    /// A fragmented message stalled.
    Stalled,
    /// The peer closed it without having read anything since its beginning.
    Untaken,
    /// The peer closed it before it read any of the last request.
    Unread,
    /// A message of this side was sent only in part, so that nothing after it can be read. Contains the cause in words.
    CutOff(String),
}

impl Ended {
    /// Returns the reason for a message that belongs to no call and no servant. Only this function interprets
    /// CloseConnection and MessageError.
    #[cold]
    pub(crate) fn by(kind: MessageType) -> Ended {
        match kind {
            MessageType::CLOSE_CONNECTION => Ended::Closed,
            MessageType::MESSAGE_ERROR => Ended::Refused,
            other => Ended::Unexpected(other),
        }
    }

    /// Refines the reason by what the link reports about the peer.
    #[cold]
    pub(crate) fn seen_at<'e>(&'e self, link: &dyn Link) -> &'e Ended {
        match self {
            // This error already names the cause, so it is returned unchanged.
            Ended::Unreadable(error) if Refused::of(error).is_some() => self,
            Ended::Vanished | Ended::Unreadable(_) if link.took_nothing() => &Ended::Untaken,
            _ => self,
        }
    }

    /// Refines the reason as [`seen_at`](Self::seen_at) does, for the only call over a link, whose request was the last
    /// write.
    #[cold]
    pub(crate) fn seen_by_the_last<'e>(&'e self, link: &dyn Link) -> &'e Ended {
        match self.seen_at(link) {
            Ended::Vanished | Ended::Unreadable(_) if link.left_last() => &Ended::Unread,
            seen => seen,
        }
    }

    /// Returns the exception of outstanding calls.
    #[cold]
    pub(crate) fn exception(&self) -> SystemException {
        match self {
            Ended::Closed | Ended::Idle => raise::CONNECTION_CLOSED,
            Ended::Refused => raise::MESSAGE_ERROR,
            Ended::Untaken => raise::CONNECT_FAILED,
            Ended::Unread => raise::REQUEST_UNREAD,
            Ended::Unreadable(error) if Refused::of(error).is_some() => raise::CONNECT_FAILED,
            Ended::Late => raise::timeout(CompletionStatus::Maybe),
            Ended::Malformed(violation) => raise::bad_reply(violation),
            Ended::Here
            | Ended::Vanished
            | Ended::Unreadable(_)
            | Ended::Unexpected(_)
            | Ended::Stalled
            | Ended::CutOff(_) => raise::CONNECTION_LOST,
        }
    }

    /// Returns the cause in words.
    #[cold]
    pub(crate) fn cause(&self) -> String {
        match self {
            Ended::Here | Ended::Idle => "this side closed the connection".to_owned(),
            Ended::Vanished => {
                "the server closed the connection while a call was running".to_owned()
            }
            Ended::Closed => {
                "the server closed the connection before it took the request".to_owned()
            }
            Ended::Refused => {
                "the server answered MessageError: it could not read a request".to_owned()
            }
            Ended::Unreadable(error) => match Refused::of(error) {
                Some(refused) => format!("the server did not let us in: {}", refused.why),
                None => format!("reading replies failed: {error}"),
            },
            Ended::Malformed(violation) => format!("bad reply: {violation}"),
            Ended::Unexpected(kind) => {
                format!("the server sent a message a client never gets: {kind:?}")
            }
            Ended::Late => "no reply in time".to_owned(),
            Ended::Unread => "the server was gone before it read any of the request".to_owned(),
            Ended::Untaken => "the server closed the connection before it took anything: it may take no memory of this \
                               size (ring=, blocks=), or none at all"
                .to_owned(),
            Ended::Stalled => "a message in pieces did not get on".to_owned(),
            Ended::CutOff(cause) => format!("a message was cut off: {cause}"),
        }
    }

    /// Returns the exception of outstanding calls, and records `peer` and the cause with it unless the exception alone
    /// suffices.
    #[cold]
    pub(crate) fn told(&self, peer: impl FnOnce() -> String) -> SystemException {
        match self {
            Ended::Here | Ended::Idle | Ended::Closed => self.exception(),
            _ => failure::noted(self.exception(), peer(), self.cause()),
        }
    }
}
