//! Replies, which are decoded in the buffer in which they were received.

use std::sync::Arc;

use oxorb_cdr::{Decode, Decoder, Dialect, Gap, OctetSeq, Octets, Result as CdrResult, copies};
use oxorb_giop::{Frame, FrameContext, LocateStatus, ReplyStatus, Taken};
use oxorb_object::{CompletionStatus, ServiceContexts, SystemException};

use super::Peer;
use super::buffers::put_buffer;
use super::link::ClientLink;
use super::replies::{self, Head};
use crate::Orb;
use crate::error::raise;
use crate::probe::{self, Stage};
use crate::reference::OperationError;

/// Reply that borrows nothing.
pub(crate) type Reply = ReplyIn<'static>;

/// Reply in the receive buffer of its connection. Dropping it returns the connection.
pub(crate) struct ReplyIn<'r> {
    orb: OrbHandle<'r>,
    source: ReplySource<'r>,
    status: ReplyStatus,
    /// Position at which the results begin.
    body: usize,
    dialect: Dialect,
}

/// Answer for callers that read it themselves.
#[derive(Debug)]
pub enum RawReply<'r> {
    /// Decoder of the return value, followed by inout and out parameters.
    Results(Decoder<'r>),
    /// Decoder of the repository id of a user exception, followed by its members.
    Exception(Decoder<'r>),
}

/// ORB of a reply.
enum OrbHandle<'r> {
    Lent(&'r Orb),
    Own(Orb),
}

enum ReplySource<'r> {
    /// Receive buffer of this connection, for a fast call.
    Lent(&'r Peer, Option<Box<ClientLink>>),
    /// Receive buffer of this connection.
    Link(Arc<Peer>, Option<Box<ClientLink>>),
    /// Separate buffer, for the reply of a local call, or over a connection that calls share. Octets in the gap are
    /// stored elsewhere.
    Memory(Taken, Option<Arc<FrameContext>>, Option<Box<Gap>>),
}

impl Reply {
    /// Status that no reply has on the wire, but that a locate reply may be converted to: the server does not know the
    /// object.
    pub(crate) const NO_SUCH_OBJECT: ReplyStatus = ReplyStatus(u32::MAX);

    /// Converts the status of a LocateReply to that of the reply that a request would have got.
    pub(crate) fn status_of(located: LocateStatus) -> ReplyStatus {
        match located {
            LocateStatus::OBJECT_HERE => ReplyStatus::NO_EXCEPTION,
            LocateStatus::OBJECT_FORWARD => ReplyStatus::LOCATION_FORWARD,
            LocateStatus::OBJECT_FORWARD_PERM => ReplyStatus::LOCATION_FORWARD_PERM,
            LocateStatus::LOC_SYSTEM_EXCEPTION => ReplyStatus::SYSTEM_EXCEPTION,
            LocateStatus::LOC_NEEDS_ADDRESSING_MODE => ReplyStatus::NEEDS_ADDRESSING_MODE,
            LocateStatus::UNKNOWN_OBJECT => Self::NO_SUCH_OBJECT,
            LocateStatus(unknown) => ReplyStatus(unknown),
        }
    }

    /// Returns the reply that the connection's inbox announces; its header has been parsed.
    pub(crate) fn from_link(
        orb: &Orb,
        peer: &Arc<Peer>,
        link: Box<ClientLink>,
        answer: Head,
        giop_minor: u8,
    ) -> Reply {
        let dialect = link.session.told.dialect(giop_minor);
        Reply {
            orb: OrbHandle::Own(orb.clone()),
            status: answer.status,
            body: answer.body,
            dialect,
            source: ReplySource::Link(Arc::clone(peer), Some(link)),
        }
    }

    /// Returns the reply that came over a connection which calls share.
    pub(super) fn of_answer(orb: &Orb, answer: replies::Answer) -> Reply {
        Reply {
            orb: OrbHandle::Own(orb.clone()),
            status: answer.header.status,
            body: answer.header.body,
            dialect: answer.dialect,
            source: ReplySource::Memory(answer.message, answer.context, answer.gap),
        }
    }

    /// Reads a complete reply message in memory.
    pub(crate) fn from_memory(
        orb: &Orb,
        message: Vec<u8>,
        dialect: Dialect,
    ) -> Result<Reply, SystemException> {
        let parsed = Frame::parse(&message).and_then(|frame| oxorb_giop::Reply::parse(&frame));
        let parsed = parsed.map_err(|_| raise::BAD_REPLY)?;
        Ok(Reply {
            orb: OrbHandle::Own(orb.clone()),
            status: parsed.status,
            body: parsed.body,
            dialect,
            source: ReplySource::Memory(message.into(), None, None),
        })
    }
}

impl<'r> ReplyIn<'r> {
    /// Returns the reply that the connection's inbox announces, whose results begin at `body`.
    #[inline(always)]
    pub(super) fn lent(
        orb: &'r Orb,
        peer: &'r Peer,
        link: Box<ClientLink>,
        body: usize,
        dialect: Dialect,
    ) -> ReplyIn<'r> {
        ReplyIn {
            orb: OrbHandle::Lent(orb),
            source: ReplySource::Lent(peer, Some(link)),
            status: ReplyStatus::NO_EXCEPTION,
            body,
            dialect,
        }
    }

    #[inline(always)]
    fn orb(&self) -> &Orb {
        match &self.orb {
            OrbHandle::Lent(orb) => orb,
            OrbHandle::Own(orb) => orb,
        }
    }

    pub(crate) fn status(&self) -> ReplyStatus {
        self.status
    }

    /// Passes the service contexts of the reply to `read`.
    pub(crate) fn with_contexts<T>(&self, read: impl FnOnce(ServiceContexts<'_>) -> T) -> T {
        let reply = oxorb_giop::Reply::parse(&self.frame()).expect("parsed before");
        read(reply.contexts)
    }

    /// Returns the repository id of the user exception that the reply holds, if any.
    pub(crate) fn exception_id(&self) -> Option<String> {
        let raised = self.status == ReplyStatus::USER_EXCEPTION;
        raised.then(|| self.decoder().string().unwrap_or_default().into_owned())
    }

    /// Returns the contents of a reply without exception, or with a user exception.
    pub(crate) fn answered(&self) -> RawReply<'_> {
        match self.status {
            ReplyStatus::USER_EXCEPTION => RawReply::Exception(self.decoder()),
            _ => RawReply::Results(self.decoder()),
        }
    }

    /// Decodes the results, or the exception that the operation raised.
    #[inline]
    pub(crate) fn results<R, E: OperationError>(
        self,
        result: impl FnOnce(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Result<R, E> {
        if self.status == ReplyStatus::USER_EXCEPTION {
            return Err(self.user_exception());
        }
        self.decode(result)
    }

    /// Decodes the results of a reply without exception.
    pub(crate) fn decode<R, E: OperationError>(
        self,
        result: impl FnOnce(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Result<R, E> {
        let mut d = self.decoder();
        let results = result(&mut d);
        d.end();
        results
            .inspect(|_| probe::stamp(Stage::ResultsRead))
            .map_err(|error| undecodable(error).into())
    }

    /// Decodes the results as [`results`](Self::results) does, and leaves [`Octets`] where the server wrote them, if
    /// the transport lends them. If the transport lent octets that `result` does not take in place, `result` is called
    /// a second time, and the result of the first call is dropped.
    pub(crate) fn results_in_place<R, E: OperationError>(
        self,
        result: impl Fn(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Result<R, E> {
        match self.read_in_place(&result) {
            Some(results) => results.map_err(|error| undecodable(error).into()),
            None => self.results(result),
        }
    }

    /// Reports whether octets of the reply are in memory that the transport lends.
    #[inline]
    pub(super) fn is_lent(&self) -> bool {
        self.frame().gap.is_some()
    }

    /// Reads results of which some are outside the buffer. Returns `None` if none do, or if `result` did not take them
    /// in place.
    #[inline]
    fn read_in_place<R>(
        &self,
        result: impl Fn(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Option<CdrResult<R>> {
        let frame = self.frame();
        let gap = frame.gap?;
        if self.status != ReplyStatus::NO_EXCEPTION {
            return None;
        }
        let mut d = frame
            .decoder_in_place(self.dialect, self.body)
            .with_limits(self.orb().options().limits.cdr)
            .with_scope(self.orb());
        let results = result(&mut d);
        d.end();
        let taken = gap.was_taken();
        taken.then(|| results.inspect(|_| probe::stamp(Stage::ResultsRead)))
    }

    /// Takes a result that is one sequence of octets from where the server wrote it, or as
    /// [`into_octets`](Self::into_octets) does.
    pub(crate) fn into_octets_in_place<E: OperationError>(self) -> Result<Octets<'static>, E> {
        match self.read_in_place(|d| Octets::decode_from(d).map(Octets::into_owned)) {
            Some(octets) => octets.map_err(|error| undecodable(error).into()),
            None => self.into_octets().map(|octets| Octets::Owned(octets.into_vec())),
        }
    }

    /// Takes the receive buffer for a result that is one sequence of octets, or decodes the exception.
    pub(crate) fn into_octets<E: OperationError>(mut self) -> Result<OctetSeq, E> {
        if self.status == ReplyStatus::USER_EXCEPTION {
            return Err(self.user_exception());
        }
        let (start, length) = {
            let mut d = self.decoder();
            let length = d.length(None, 1).map_err(undecodable)?;
            if self.frame().in_pieces() {
                let octets = d.octets(length).map_err(undecodable)?;
                return Ok(OctetSeq::from(copies::to_vec(octets)));
            }
            (d.position(), length)
        };
        let message = match &mut self.source {
            ReplySource::Memory(message, _, None) => std::mem::take(message),
            ReplySource::Memory(message, _, Some(gap)) => gap.into_whole(message).into(),
            ReplySource::Lent(_, link) | ReplySource::Link(_, link) => {
                link.as_mut().expect("held until the reply is dropped").inbox.take()
            }
        };
        let (message, front) = message.into_buffer();
        let start = front + start;
        Ok(OctetSeq::new(message, start..start + length))
    }

    /// Decodes the exception the operation raised.
    pub(crate) fn user_exception<E: OperationError>(self) -> E {
        let mut d = self.decoder();
        let read = match d.string() {
            Ok(id) => E::read(&id, &mut d),
            Err(error) => Some(Err(error)),
        };
        match read {
            Some(Ok(exception)) => exception,
            Some(Err(error)) => undecodable(error).into(),
            None => raise::UNLISTED_USER_EXCEPTION.into(),
        }
    }

    pub(crate) fn system_exception(self) -> SystemException {
        SystemException::decode(&mut self.decoder()).unwrap_or_else(undecodable)
    }

    /// Decodes one value that is not a result of the operation.
    pub(crate) fn read<T: for<'de> Decode<'de>>(&self) -> Result<T, SystemException> {
        T::decode(&mut self.decoder()).map_err(undecodable)
    }

    #[inline(always)]
    fn frame(&self) -> Frame<'_> {
        match &self.source {
            ReplySource::Lent(_, link) | ReplySource::Link(_, link) => {
                link.as_ref().expect("held until the reply is dropped").inbox.frame()
            }
            ReplySource::Memory(message, context, gap) => {
                Frame::parse_lent(message, context.as_ref(), gap.as_deref()).expect("parsed before")
            }
        }
    }

    // This function is inlined, because a decoder is large: making it takes no more instructions than moving it.
    #[inline(always)]
    fn decoder(&self) -> Decoder<'_> {
        self.frame()
            .decoder_at(self.dialect, self.body)
            .with_limits(self.orb().options().limits.cdr)
            .with_scope(self.orb())
    }
}

impl Drop for ReplyIn<'_> {
    fn drop(&mut self) {
        match &mut self.source {
            ReplySource::Lent(peer, link) => {
                if let Some(link) = link.take() {
                    peer.give_back_last(link);
                    probe::stamp(Stage::CallEnded);
                }
            }
            ReplySource::Link(peer, link) => {
                if let Some(link) = link.take() {
                    peer.give_back(link);
                    probe::stamp(Stage::CallEnded);
                }
            }
            ReplySource::Memory(message, ..) => put_buffer(std::mem::take(message).into_buffer().0),
        }
    }
}

fn undecodable(error: oxorb_cdr::Error) -> SystemException {
    SystemException::from_cdr(error, CompletionStatus::Yes)
}
