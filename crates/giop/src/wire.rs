//! Protocol of a connection, and the writing of its messages.

use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_object::{ServiceContext, SystemException, Version};

use crate::header::finish_other;
use crate::{
    Begun, Form, LocateStatus, Messaging, Needs, ReplyStatus, RequestHeader, Short, TargetAddress,
    Violation, begin_locate_reply, begin_reply, begin_request, cancel_request, close_connection,
    finish, locate_request, message_error,
};

/// Protocol of a connection, which writes its messages.
///
/// A value of two words. GIOP is written inline, after one predictable comparison; every other
/// protocol through its [`Messaging`].
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
/// use oxorb_giop::{Frame, ReplyStatus, Reply, Wire};
/// use oxorb_object::Version;
///
/// let wire = Wire::Giop(Version::V1_2);
/// let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire.dialect());
/// let begun = wire.begin_reply(&mut e, 7, ReplyStatus::NO_EXCEPTION, &[]);
/// e.long(42);
/// wire.finish(&mut e, begun)?;
/// let message = e.finish().to_vec();
/// assert_eq!(Reply::parse(&Frame::parse(&message)?)?.id, 7);
/// # Ok::<(), oxorb_giop::Violation>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    /// GIOP of this version.
    Giop(Version),
    /// A protocol other than GIOP.
    Other(&'static dyn Messaging),
}

impl Wire {
    /// Returns the protocol of a messaging; for `None`, GIOP of `version`.
    #[inline]
    pub fn of(messaging: Option<&'static dyn Messaging>, version: Version) -> Self {
        match messaging {
            None => Self::Giop(version),
            Some(messaging) => Self::Other(messaging),
        }
    }

    /// Returns the messaging, unless the protocol is GIOP.
    #[inline]
    pub fn messaging(self) -> Option<&'static dyn Messaging> {
        match self {
            Self::Giop(_) => None,
            Self::Other(messaging) => Some(messaging),
        }
    }

    /// Returns the name of the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Giop(_) => "giop",
            Self::Other(messaging) => messaging.name(),
        }
    }

    /// Returns the form of common requests and replies, if they have one.
    pub fn form(self) -> Option<&'static Form> {
        match self {
            Self::Giop(Version::V1_2) => Some(&Form::GIOP_1_2),
            Self::Giop(_) => None,
            Self::Other(messaging) => messaging.form(),
        }
    }

    /// Returns the protocol's requirements on a transport, and its restrictions.
    pub fn needs(self) -> Needs {
        match self {
            Self::Giop(version) => {
                Needs { stream: true, no_fragments: version < Version::V1_2, ..Needs::default() }
            }
            Self::Other(messaging) => messaging.needs(),
        }
    }

    /// Returns the GIOP version whose CDR rules apply to values.
    #[inline]
    pub fn version(self) -> Version {
        match self {
            Self::Giop(version) => version,
            Self::Other(messaging) => messaging.version(),
        }
    }

    /// Returns the CDR dialect of the protocol before code sets are negotiated.
    #[inline]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Giop(version) => Dialect { giop_minor: version.minor, ..Dialect::GIOP_1_2 },
            Self::Other(messaging) => messaging.dialect(),
        }
    }

    /// Starts a Request in an empty encoder, as [`begin_request`] does.
    #[inline(always)]
    pub fn begin_request(self, e: &mut Encoder<'_>, header: &RequestHeader<'_>) -> Begun {
        match self {
            Self::Giop(version) => begin_request(e, version, header),
            Self::Other(messaging) => messaging.begin_request(e, header),
        }
    }

    /// Starts a Reply in an empty encoder, as [`begin_reply`] does.
    #[inline(always)]
    pub fn begin_reply(
        self,
        e: &mut Encoder<'_>,
        id: u32,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun {
        match self {
            Self::Giop(version) => begin_reply(e, version, id, status, contexts),
            Self::Other(messaging) => messaging.begin_reply(e, id, status, contexts),
        }
    }

    /// Finishes a message, as [`finish`] does.
    ///
    /// # Errors
    /// [`Violation::Limit`] on the sending side when the size does not fit the header.
    #[inline(always)]
    pub fn finish(self, e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation> {
        match self {
            Self::Giop(_) => finish(e, begun),
            Self::Other(messaging) => finish_other(e, begun, messaging),
        }
    }

    /// Writes a complete Reply that carries a system exception into an empty encoder.
    ///
    /// # Errors
    /// [`Violation::Limit`] when the contexts make the message too large.
    pub fn system_exception_reply(
        self,
        e: &mut Encoder<'_>,
        id: u32,
        exception: SystemException,
        contexts: &[ServiceContext<'_>],
    ) -> Result<(), Violation> {
        let begun = self.begin_reply(e, id, ReplyStatus::SYSTEM_EXCEPTION, contexts);
        exception.write(e);
        self.finish(e, begun)
    }

    /// Writes a complete LocateRequest into an empty encoder.
    ///
    /// # Errors
    /// [`Violation::Limit`] when the target makes the message too large.
    pub fn locate_request(
        self,
        e: &mut Encoder<'_>,
        id: u32,
        target: TargetAddress<'_>,
    ) -> Result<(), Violation> {
        match self {
            Self::Giop(version) => locate_request(e, version, id, target),
            Self::Other(messaging) => {
                let begun = messaging.begin_locate_request(e, id, target);
                messaging.finish(e, begun)
            }
        }
    }

    /// Starts a LocateReply in an empty encoder, as [`begin_locate_reply`] does.
    pub fn begin_locate_reply(self, e: &mut Encoder<'_>, id: u32, status: LocateStatus) -> Begun {
        match self {
            Self::Giop(version) => begin_locate_reply(e, version, id, status),
            Self::Other(messaging) => messaging.begin_locate_reply(e, id, status),
        }
    }

    /// Returns the octets of a CancelRequest for request `id`; `None` if the protocol has no such
    /// message.
    pub fn cancel(self, order: ByteOrder, id: u32) -> Option<Short> {
        match self {
            Self::Giop(version) => Some(Short::new(&cancel_request(version, order, id))),
            Self::Other(messaging) => messaging.cancel(order, id),
        }
    }

    /// Returns the octets of a CloseConnection: no unanswered request has been or will be
    /// processed. `None` if the protocol has no such message.
    pub fn close(self, order: ByteOrder) -> Option<Short> {
        match self {
            Self::Giop(version) => Some(Short::new(&close_connection(version, order))),
            Self::Other(messaging) => messaging.close(order),
        }
    }

    /// Returns the octets of a MessageError; `None` if the protocol has no such message.
    pub fn error(self) -> Option<Short> {
        match self {
            Self::Giop(version) => Some(Short::new(&message_error(version))),
            Self::Other(messaging) => messaging.error(),
        }
    }
}

impl PartialEq for Wire {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Giop(one), Self::Giop(other)) => one == other,
            (Self::Other(one), Self::Other(other)) => one.name() == other.name(),
            _ => false,
        }
    }
}

impl Eq for Wire {}
