//! Sinks of replies.

use std::fmt;
use std::io::IoSlice;
use std::mem;
use std::sync::Arc;

use oxorb_cdr::{ByteOrder, Dialect, Encoded, Encoder};
use oxorb_giop::{Frame, FrameContext, LocateStatus, Reply, Request, Wire};
use oxorb_object::{CompletionStatus, SystemException, Version};
use oxorb_transport::Link;

use super::client::Client;
use super::deferred_reply::DeferredReply;
use super::large_replies::LARGE;
use super::reply_memory::{Expected, ReplyMemory};
use super::serving_context;
use super::share::{KeptBuffer, SMALL};
use super::side::ServerSide;
use super::status::Status;
use crate::conn::{CollocatedReply, Mailbox, Turn, send_written, write_message};
use crate::error::raise;
use crate::interceptor::RequestOrigin;
use crate::options::Options;
use crate::probe::{self, Stage};

/// Writer of the replies of one connection, or of one collocated call.
///
/// Owned by the connection; a servant uses it only through its upcall.
pub struct Sink {
    target: ReplyTarget,
    /// Buffer for replies, kept so that its allocation is reused.
    out: Vec<u8>,
    /// Whether the current request was answered, or will be later.
    answered: bool,
    /// Whether the current request ends after its upcall.
    deferred: Deferral,
    /// Connection of the request, if its answer is held back.
    behind: Option<Arc<dyn Link>>,
    /// State of the connection, whose client the replies count against.
    status: Option<Arc<Status>>,
    /// Part of that client's share that `out` takes.
    kept: KeptBuffer,
    /// Reservation for the reply to the current request, if it is known to be large.
    expected: Option<Expected>,
    /// Size up to which a reply needs no checks: it is small, and fits into a datagram.
    usual: usize,
    /// Whether a write has failed, so that the connection is no longer usable.
    broken: bool,
}

/// End of a request in relation to its upcall.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deferral {
    /// The request ends with its upcall.
    None,
    /// The request ends later, and its client waits for no answer.
    Unanswered,
    /// The request ends later, and its answer takes another path.
    Answered,
}

enum ReplyTarget {
    Link(Arc<dyn Link>),
    /// Link for a request that is answered later, which other threads write to as well.
    Shared(Arc<dyn Link>, Arc<Turn>),
    /// Buffer for the reply of a collocated call.
    Memory(Option<Vec<u8>>),
    /// Mailbox for the later reply of a collocated call.
    Mailbox(Arc<Mailbox>),
}

/// Connection of a request that is served elsewhere. Empty for collocated calls.
#[derive(Clone, Default)]
pub(crate) struct CameOver {
    link: Option<Arc<dyn Link>>,
    status: Option<Arc<Status>>,
}

impl Sink {
    pub(crate) fn to_link(link: Arc<dyn Link>) -> Sink {
        Sink::to(ReplyTarget::Link(link), Vec::with_capacity(512))
    }

    /// Returns a sink for a link, with memory for replies.
    pub(super) fn to_link_with(link: Arc<dyn Link>, out: Vec<u8>) -> Sink {
        let capacity = out.capacity();
        let mut sink = Sink::to(ReplyTarget::Link(link), out);
        sink.kept.planned(capacity);
        sink
    }

    /// Returns a sink for a link over which no reply is sent.
    pub(super) fn without_memory(link: Arc<dyn Link>) -> Sink {
        Sink::to(ReplyTarget::Link(link), Vec::new())
    }

    /// Removes and returns the memory for replies.
    pub(super) fn take_memory(&mut self) -> Vec<u8> {
        mem::take(&mut self.out)
    }

    /// Returns a sink for a link that other threads may write to.
    pub(super) fn to_shared(link: Arc<dyn Link>, turn: Arc<Turn>) -> Sink {
        Sink::to(ReplyTarget::Shared(link, turn), Vec::new())
    }

    /// Returns the connection of the request, if it has one.
    pub(crate) fn link(&self) -> Option<&dyn Link> {
        match &self.target {
            ReplyTarget::Link(link) | ReplyTarget::Shared(link, _) => Some(&**link),
            ReplyTarget::Memory(_) | ReplyTarget::Mailbox(_) => self.behind.as_deref(),
        }
    }

    /// Returns the connection for interceptors and access rules.
    pub(crate) fn origin(&self) -> RequestOrigin<'_> {
        RequestOrigin {
            link: self.link(),
            visited: self.status.as_ref().map(|status| &status.visited),
        }
    }

    /// Returns the connection of the request, for code that serves it elsewhere.
    pub(crate) fn came_over(&self) -> CameOver {
        let link = match &self.target {
            ReplyTarget::Link(link) | ReplyTarget::Shared(link, _) => Some(link),
            ReplyTarget::Memory(_) | ReplyTarget::Mailbox(_) => self.behind.as_ref(),
        };
        CameOver { link: link.cloned(), status: self.status.clone() }
    }

    pub(crate) fn to_memory(buffer: Vec<u8>) -> Sink {
        Sink::to(ReplyTarget::Memory(None), buffer)
    }

    /// Returns a sink to memory, for a request received over a connection, so that code can query its sender.
    pub(crate) fn kept_back(from: CameOver) -> Sink {
        let mut sink = Sink::to_memory(Vec::new());
        sink.behind = from.link;
        sink.status = from.status;
        sink
    }

    fn to(target: ReplyTarget, out: Vec<u8>) -> Sink {
        let most = target.most();
        Sink {
            usual: most.map_or(SMALL, |most| most.min(SMALL)),
            target,
            out,
            answered: false,
            deferred: Deferral::None,
            behind: None,
            status: None,
            kept: KeptBuffer::of(None),
            expected: None,
            broken: false,
        }
    }

    /// Makes large replies count against the client of a connection.
    pub(super) fn of(self, status: &Arc<Status>) -> Sink {
        let mut kept = KeptBuffer::of(status.client.as_ref());
        kept.planned(self.kept.capacity());
        Sink { status: Some(Arc::clone(status)), kept, ..self }
    }

    /// Returns the client against whom replies count: that of the connection.
    fn client(&self) -> Option<&Arc<Client>> {
        match &self.target {
            ReplyTarget::Link(_) | ReplyTarget::Shared(..) => self.status.as_ref()?.client.as_ref(),
            ReplyTarget::Memory(_) | ReplyTarget::Mailbox(_) => None,
        }
    }

    /// Sets the reservation for the reply to the next request.
    pub(super) fn expect(&mut self, expected: Option<Expected>) {
        self.expected = expected;
    }

    /// Removes and returns the reservation, for another sink.
    pub(super) fn take_expected(&mut self) -> Option<Expected> {
        self.expected.take()
    }

    /// Returns the reply of a collocated call.
    pub(crate) fn into_memory(self) -> CollocatedReply {
        match self.target {
            ReplyTarget::Memory(Some(reply)) => CollocatedReply::Reply(reply),
            ReplyTarget::Mailbox(mailbox) => CollocatedReply::Later(mailbox),
            ReplyTarget::Memory(None) | ReplyTarget::Link(_) | ReplyTarget::Shared(..) => {
                CollocatedReply::Nothing(self.out)
            }
        }
    }

    /// Begins a new request.
    pub(crate) fn begin(&mut self) {
        self.answered = false;
        self.deferred = Deferral::None;
    }

    /// Returns the path of a later answer; to be called once, in the thread that serves the request `id`. `None` if the
    /// request is served in a thread without relation to its connection. `side`: that of the ORB that serves it.
    pub(crate) fn defer(
        &mut self,
        side: &Arc<ServerSide>,
        id: u32,
        wire: Wire,
    ) -> Option<DeferredReply> {
        let line = match &self.target {
            ReplyTarget::Link(link) => {
                DeferredReply::Link(serving_context::keep(side, link, id, wire)?)
            }
            ReplyTarget::Memory(_) => {
                let mailbox = Arc::<Mailbox>::default();
                self.target = ReplyTarget::Mailbox(Arc::clone(&mailbox));
                DeferredReply::Mailbox(mailbox)
            }
            ReplyTarget::Shared(..) | ReplyTarget::Mailbox(_) => return None,
        };
        self.answered = true;
        self.deferred = Deferral::Answered;
        Some(line)
    }

    /// Reports whether requests arrive over a connection that this thread serves.
    pub(crate) fn is_wire(&self) -> bool {
        matches!(self.target, ReplyTarget::Link(_))
    }

    /// Reports whether the answer to the current request takes another path.
    pub(crate) fn is_deferred(&self) -> bool {
        self.deferred == Deferral::Answered
    }

    /// Reports whether the current request ends after its upcall.
    pub(crate) fn ends_later(&self) -> bool {
        self.deferred != Deferral::None
    }

    /// Records that the current request ends after its upcall, if its answer has no other path.
    pub(crate) fn set_ends_later(&mut self) {
        self.answered = true;
        if self.deferred == Deferral::None {
            self.deferred = Deferral::Unanswered;
        }
    }

    /// Records that the current request needs no answer any more.
    pub(crate) fn set_answered(&mut self) {
        self.answered = true;
    }

    pub(crate) fn answered(&self) -> bool {
        self.answered
    }

    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    /// Writes the octets of a complete message.
    pub(crate) fn send_octets(&mut self, message: &[u8]) {
        if let ReplyTarget::Link(link) | ReplyTarget::Shared(link, _) = &self.target {
            // The message already exists, so it counts regardless of the limits.
            let large = message.len() > SMALL;
            let _memory = large.then(|| ReplyMemory::acknowledge(self.client(), message.len()));
            let turn = self.target.turn();
            let _ours = turn.as_ref().map(|turn| turn.to_write());
            self.broken |= link.write(&mut [IoSlice::new(message)]).is_err();
        }
    }

    /// Notifies the client that the connection ends, and that nothing it sent since was run. No other function does
    /// this.
    pub(super) fn part(&mut self, wire: Wire) {
        if let Some(close) = wire.close(ByteOrder::NATIVE) {
            self.send_octets(&close);
        }
    }

    /// Sends a reply that was encoded elsewhere.
    pub(crate) fn send_whole(&mut self, message: Vec<u8>) {
        self.answered = true;
        match &mut self.target {
            ReplyTarget::Link(_) | ReplyTarget::Shared(..) => self.send_octets(&message),
            ReplyTarget::Memory(kept) => *kept = Some(message),
            ReplyTarget::Mailbox(_) => {}
        }
    }

    #[inline]
    pub(crate) fn encoder<'a>(
        &mut self,
        order: ByteOrder,
        options: &Options,
        dialect: Dialect,
    ) -> Encoder<'a> {
        let gather_above = match self.target {
            ReplyTarget::Link(_) | ReplyTarget::Shared(..) => options.gather_above,
            ReplyTarget::Memory(_) | ReplyTarget::Mailbox(_) => usize::MAX,
        };
        Encoder::new(mem::take(&mut self.out), order, dialect).gather_above(gather_above)
    }

    /// Sends the reply in an encoder, and takes the encoder's buffer. `request` is set if the size of a large reply is
    /// to be recorded for its operation.
    pub(crate) fn send(
        &mut self,
        options: &Options,
        wire: Wire,
        reply: &mut Encoder<'_>,
        request: Option<&Request<'_>>,
    ) {
        self.answered = true;
        if let ReplyTarget::Link(link) = &self.target
            && reply.position() <= self.usual
        {
            // Nearly all replies are sent here.
            let turn = self.target.turn();
            let _ours = turn.as_ref().map(|turn| turn.to_write());
            let (sent, buffer) = send_written(&**link, reply, wire, options.fragment_size);
            probe::stamp(Stage::ReplySent);
            self.broken |= sent.is_err();
            return self.put_back(options, buffer);
        }
        self.send_any(options, wire, reply.take(), request);
    }

    /// Sends a reply that is large, in pieces, or not for a link.
    #[inline(never)]
    fn send_any(
        &mut self,
        options: &Options,
        wire: Wire,
        reply: Encoded<'_>,
        request: Option<&Request<'_>>,
    ) {
        if self.target.most().is_some_and(|most| reply.len() > most) {
            return self.send_oversized(options, wire, reply);
        }
        match &mut self.target {
            ReplyTarget::Link(_) | ReplyTarget::Shared(..) if reply.len() > SMALL => {
                self.send_large(options, wire, reply, request);
            }
            ReplyTarget::Link(_) | ReplyTarget::Shared(..) => self.write(options, wire, reply),
            ReplyTarget::Memory(kept) => {
                let length = reply.len();
                let mut message = reply.into_buffer();
                message.truncate(length);
                *kept = Some(message);
            }
            ReplyTarget::Mailbox(_) => self.discard(options, reply.into_buffer()),
        }
    }

    /// Answers a request, which was run, with an exception because its reply exceeds a datagram.
    #[cold]
    fn send_oversized(&mut self, options: &Options, wire: Wire, reply: Encoded<'_>) {
        let id = id_of(&reply, wire);
        self.discard(options, reply.into_buffer());
        let exception = raise::oversized(CompletionStatus::Yes);
        self.send_exception(options, wire, id, wire.dialect(), exception);
    }

    /// Sends a large reply, which counts against its client until it is written.
    #[cold]
    fn send_large(
        &mut self,
        options: &Options,
        wire: Wire,
        reply: Encoded<'_>,
        request: Option<&Request<'_>>,
    ) {
        // The part of the buffer that the connection keeps is counted already, so only the rest is counted here.
        let octets = (reply.memory().saturating_sub(self.kept.octets())).max(reply.len());
        let mut encoding = serving_context::encoded();
        if let Some(encoding) = &mut encoding {
            encoding.counts(0);
        }
        let expected = match self.expected.take() {
            Some(expected) => expected.came(octets),
            None => {
                let client = self.client().filter(|_| octets >= LARGE);
                if let Some((client, request)) = client.zip(request) {
                    serving_context::remember_reply(client, request, octets);
                }
                None
            }
        };
        let memory = match expected {
            Some(memory) => memory.came(octets, options),
            None => ReplyMemory::incur(self.client(), octets, options),
        };
        if let Some(_memory) = memory {
            drop(encoding);
            return self.write(options, wire, reply);
        }
        let id = id_of(&reply, wire);
        self.discard(options, reply.into_buffer());
        drop(encoding);
        let plain = wire.dialect();
        self.send_exception(options, wire, id, plain, raise::REPLY_NOT_AFFORDED);
    }

    fn write(&mut self, options: &Options, wire: Wire, reply: Encoded<'_>) {
        if let ReplyTarget::Link(link) | ReplyTarget::Shared(link, _) = &self.target {
            let turn = self.target.turn();
            let _ours = turn.as_ref().map(|turn| turn.to_write());
            let sent = write_message(&**link, &reply, wire, options.fragment_size);
            probe::stamp(Stage::ReplySent);
            self.broken |= sent.is_err();
        }
        self.discard(options, reply.into_buffer());
    }

    /// Takes the buffer of a reply that is not sent.
    pub(crate) fn discard(&mut self, options: &Options, buffer: Vec<u8>) {
        self.put_back(options, buffer);
    }

    #[inline]
    fn put_back(&mut self, options: &Options, buffer: Vec<u8>) {
        match self.kept.covers(buffer.capacity()) {
            true => self.out = buffer,
            false => self.keep(options, buffer),
        }
    }

    /// Keeps a buffer that has grown, or frees it.
    #[cold]
    fn keep(&mut self, options: &Options, buffer: Vec<u8>) {
        if self.kept.keep(buffer.capacity(), options) {
            self.out = buffer;
        }
    }

    pub(crate) fn send_exception(
        &mut self,
        options: &Options,
        wire: Wire,
        id: u32,
        dialect: Dialect,
        exception: SystemException,
    ) {
        let mut e = self.encoder(options.byte_order, options, dialect);
        let _ = wire.system_exception_reply(&mut e, id, exception, &[]);
        self.send(options, wire, &mut e, None);
    }

    /// Answers a LocateRequest with an exception. Below GIOP 1.2, which has no such answer, the object is here: the
    /// client's next request gets the exception.
    pub(super) fn send_locate_exception(
        &mut self,
        options: &Options,
        wire: Wire,
        id: u32,
        exception: SystemException,
    ) {
        let tells = matches!(wire, Wire::Giop(version) if version >= Version::V1_2);
        let status = match tells {
            true => LocateStatus::LOC_SYSTEM_EXCEPTION,
            false => LocateStatus::OBJECT_HERE,
        };
        let mut e = self.encoder(options.byte_order, options, wire.dialect());
        let begun = wire.begin_locate_reply(&mut e, id, status);
        if tells {
            exception.write(&mut e);
        }
        let _ = wire.finish(&mut e, begun);
        self.send(options, wire, &mut e, None);
    }
}

/// Returns the id of the request that a finished reply answers.
fn id_of(reply: &Encoded<'_>, wire: Wire) -> u32 {
    let mut slices = [IoSlice::new(&[]); Encoded::MAX_SLICES];
    let start: &[u8] = reply.io_slices(&mut slices).first().map_or(&[], |slice| slice);
    let context = FrameContext::of(wire);
    let frame = Frame::beginning(start, context.as_ref());
    let parsed = frame.and_then(|frame| Reply::parse(&frame));
    parsed.map_or(0, |reply| reply.id)
}

impl ReplyTarget {
    /// Returns the largest size of a reply in octets, if there is a limit.
    fn most(&self) -> Option<usize> {
        match self {
            ReplyTarget::Link(link) | ReplyTarget::Shared(link, _) => link.facts().mtu,
            ReplyTarget::Memory(_) | ReplyTarget::Mailbox(_) => None,
        }
    }

    /// Returns the write lock; `None` while no other thread can write.
    #[inline]
    fn turn(&self) -> Option<Arc<Turn>> {
        match self {
            ReplyTarget::Shared(_, turn) => Some(Arc::clone(turn)),
            _ => serving_context::turn(),
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("answered", &self.answered)
            .field("broken", &self.broken)
            .finish()
    }
}
