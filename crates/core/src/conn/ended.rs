//! Why a connection is over, for both halves of a call.

use std::io;

use oxorb_giop::{MessageType, Violation};
use oxorb_object::{CompletionStatus, SystemException};
use oxorb_transport::{Link, Refused};

use crate::{failure, raise};

/// Reason for which a connection carries nothing more.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Closed by this side, which is done with it.
    Here,
    /// Closed by this side, since it was not used.
    Idle,
    /// The other side closed it without a word.
    Vanished,
    /// CloseConnection: what was sent since and not answered was not run.
    Closed,
    /// MessageError: the other side could not read something.
    Refused,
    Unreadable(io::Error),
    /// Octets that are no message, or a message that is none of its kind.
    Malformed(Violation),
    /// A message that this side never gets.
    Unexpected(MessageType),
    /// The time of the only call over it has passed.
    Late,
    /// A message in pieces did not get on.
    Stalled,
    /// The other side closed it, and had taken nothing since the connection began.
    Untaken,
    /// The other side was gone before it took anything of the last request.
    Unread,
    /// A message of this side went out in part, so that nothing behind it can be read; the cause in words.
    CutOff(String),
}

impl Ended {
    /// Returns what a message means that is not for any call or servant: the only place that understands
    /// CloseConnection and MessageError.
    #[cold]
    pub(crate) fn by(kind: MessageType) -> Ended {
        match kind {
            MessageType::CLOSE_CONNECTION => Ended::Closed,
            MessageType::MESSAGE_ERROR => Ended::Refused,
            other => Ended::Unexpected(other),
        }
    }

    /// Returns the reason, in view of what the link says of the other side.
    #[cold]
    pub(crate) fn seen_at<'e>(&'e self, link: &dyn Link) -> &'e Ended {
        match self {
            // Told as it is: it says why.
            Ended::Unreadable(error) if Refused::of(error).is_some() => self,
            Ended::Vanished | Ended::Unreadable(_) if link.took_nothing() => &Ended::Untaken,
            _ => self,
        }
    }

    /// Returns the reason, as [`seen_at`](Self::seen_at) does, for the only call over a link, whose request was written
    /// last.
    #[cold]
    pub(crate) fn seen_by_the_last<'e>(&'e self, link: &dyn Link) -> &'e Ended {
        match self.seen_at(link) {
            Ended::Vanished | Ended::Unreadable(_) if link.left_last() => &Ended::Unread,
            seen => seen,
        }
    }

    /// Returns the exception of calls that are outstanding.
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

    /// Returns the exception of calls that are outstanding, with `peer` and the cause noted beside it where the exception
    /// does not say it all.
    #[cold]
    pub(crate) fn told(&self, peer: impl FnOnce() -> String) -> SystemException {
        match self {
            Ended::Here | Ended::Idle | Ended::Closed => self.exception(),
            _ => failure::noted(self.exception(), peer(), self.cause()),
        }
    }
}
