//! Requests during their service.

use std::sync::Arc;
use std::time::Instant;

use oxorb_cdr::{
    ByteOrder, Decode as _, Decoder, Dialect, Encode as _, Encoder, Relayed, Result as CdrResult,
};
use oxorb_giop::{Aliased, Begun, Frame, ReplyStatus, Request, Response, Wire};
use oxorb_object::{CompletionStatus, Ior, Qos, ServiceContext, SystemException, contexts};
use oxorb_rt::Priority;
use oxorb_transport::{LARGE, PeerId};

use super::arena::LentArena;
use super::terms::Times;
use crate::Options;
use crate::error::{ServantError, raise};
use crate::interceptor::{Entered, Interrupt, Sending, ServerFlow, Target, Verdict, View};
use crate::monitoring::metrics::Ending;
use crate::policy::LargePayloads;
use crate::probe::{self, Stage};
use crate::reference::NO_SLOT;
use crate::server::Sink;
use crate::{Operations, Orb, RawReply, Ref, Servant, ThreadpoolId};

/// Request on its way to a servant, which must answer it.
///
/// The arguments are decoded from the received message. Each method that answers consumes the upcall and returns the
/// [`Outcome`] that [`Servant::dispatch`](crate::Servant::dispatch) has to return, so a request cannot be left
/// unanswered or be answered twice. In steady state nothing is allocated, and the answer is one write.
#[derive(Debug)]
pub struct Upcall<'r> {
    /// Received request; by reference, because an upcall is moved from function to function.
    pub(crate) arrived: &'r Arrived<'r>,
    pub(crate) sink: &'r mut Sink,
    /// Record of the request for server interceptors, access rules and metrics; `None` if there are none.
    pub(crate) flow: Option<&'r Arc<ServerFlow>>,
    /// Index at which the client believes the operation to be.
    pub(crate) slot: u16,
}

/// Slot of an operation whose index is remembered with the alias of the request.
const OF_ALIAS: u16 = NO_SLOT - 1;

/// Received request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived<'r> {
    pub(crate) orb: &'r Orb,
    pub(crate) frame: &'r Frame<'r>,
    pub(crate) request: &'r Request<'r>,
    pub(crate) key: &'r [u8],
    pub(crate) dialect: Dialect,
    pub(crate) times: &'r Times,
    /// Policy of the connection about large payloads; `None` if the request came without a
    /// connection.
    pub(crate) payloads: Option<LargePayloads>,
}

/// Proof that an upcall was answered or needs no answer.
#[derive(Debug)]
#[must_use = "return it from dispatch"]
pub struct Outcome(());

impl Outcome {
    /// Returns the outcome of an answer that was sent or arranged.
    pub(crate) fn new() -> Self {
        Outcome(())
    }
}

/// Error of arguments that could not be decoded.
#[derive(Debug, Clone, Copy)]
pub struct Rejected(SystemException);

impl<'r> Upcall<'r> {
    pub(crate) fn new(
        arrived: &'r Arrived<'r>,
        sink: &'r mut Sink,
        flow: Option<&'r Arc<ServerFlow>>,
    ) -> Self {
        Upcall { arrived, sink, flow, slot: NO_SLOT }
    }

    /// Returns the time until which the caller waits for the answer, if the request declares it
    /// (INVOCATION_POLICIES: ReplyEndTime, or the rest of a RelativeRoundtripTimeout). Servants
    /// behind generated skeletons call [`current_deadline`](crate::current_deadline). Costs
    /// nothing.
    pub fn deadline(&self) -> Option<Instant> {
        self.arrived.times.deadline()
    }

    /// Returns the quality of service that the caller set
    /// ([`RequestQos`](crate::policy::RequestQos)), if any. Decoded at each call; allocates
    /// nothing. Servants behind generated skeletons call [`current_qos`](crate::current_qos).
    pub fn qos(&self) -> Option<Qos> {
        Qos::of(&self.arrived.request.contexts)
    }

    /// Announces the servant that is about to be called: interceptors see the request again, and may end it.
    ///
    /// A request whose deadline has passed meanwhile (it may have been held back) raises TIMEOUT, COMPLETED_NO; a
    /// oneway with SYNC_WITH_SERVER is acknowledged. An adapter that does not call this method serves late requests,
    /// and treats SYNC_WITH_SERVER as SYNC_WITH_TARGET.
    ///
    /// An adapter calls it after it has found the servant. Costs nothing without interceptors and access rules.
    /// `target` is called only if there are interceptors; `object`, which writes the object as
    /// [`write_object`](crate::write_object) does, only if access rules refer to objects.
    // This function is inlined, because the upcall would otherwise be moved in and out.
    #[inline(always)]
    pub fn reach(
        self,
        servant: &dyn Servant,
        target: impl FnOnce() -> Target,
        object: impl Fn(&mut String),
    ) -> Result<Self, Outcome> {
        if self.arrived.times.are_over() {
            return Err(self.too_late());
        }
        let mut reached = match self.flow {
            None => self,
            Some(flow) => self.show(flow, servant, target, object)?,
        };
        if reached.arrived.request.response == Response::WithServer {
            reached.acknowledge();
        }
        Ok(reached)
    }

    /// Shows the request to interceptors again, now with its target.
    #[cold]
    fn show(
        self,
        flow: &ServerFlow,
        servant: &dyn Servant,
        target: impl FnOnce() -> Target,
        object: impl Fn(&mut String),
    ) -> Result<Self, Outcome> {
        let target = flow.wants_target().then(target);
        let seen = flow.receive_request(self.view(), servant, target, object);
        self.interrupt(seen)
    }

    /// Answers a oneway with SYNC_WITH_SERVER once its servant is found.
    #[cold]
    fn acknowledge(&mut self) {
        let _ = self.send(ReplyStatus::NO_EXCEPTION, &[], |_| Ok(()));
    }

    #[cold]
    fn too_late(self) -> Outcome {
        self.fail(raise::DEADLINE_PASSED)
    }

    /// Shows the request to interceptors for the first time.
    #[inline]
    pub(crate) fn admit(self) -> Result<Self, Outcome> {
        match self.flow {
            None => Ok(self),
            Some(flow) => {
                let seen = flow.receive_contexts(self.view());
                self.interrupt(seen)
            }
        }
    }

    /// Sets the interceptors' slots of the request in the thread, until the guard is dropped.
    #[inline]
    pub(crate) fn enter_slots(&self) -> Option<Entered> {
        self.flow.map(ServerFlow::enter)
    }

    /// Returns the operation's name on the wire.
    pub fn operation(&self) -> &'r str {
        self.arrived.request.operation
    }

    /// Returns the key of the target object, as this ORB's adapter created it.
    pub fn object_key(&self) -> &'r [u8] {
        self.arrived.key
    }

    /// Returns the position of the operation in the skeleton's list, or the length of the list if the operation is
    /// absent.
    #[inline(always)]
    pub fn find(&self, operations: &Operations) -> usize {
        let found = match self.slot {
            OF_ALIAS => self.find_once(operations),
            slot => match operations.believed(self.operation(), slot) {
                Some(place) => place,
                None => self.search(operations),
            },
        };
        probe::stamp(Stage::OperationFound);
        found
    }

    /// Finds the operation of an alias: by name for the first request, and by the remembered index afterwards.
    #[inline(never)]
    fn find_once(&self, operations: &Operations) -> usize {
        let alias = self.alias();
        match alias.and_then(|alias| alias.place_in(operations.names)) {
            Some(place) => place,
            None => self.search_for_alias(operations),
        }
    }

    fn search(&self, operations: &Operations) -> usize {
        let how = self.arrived.orb.options().operation_search;
        operations.search_by(self.operation(), how)
    }

    #[cold]
    fn search_for_alias(&self, operations: &Operations) -> usize {
        let found = self.search(operations);
        if let Some(alias) = self.alias() {
            alias.list(operations.names, found);
        }
        found
    }

    /// Returns the entry of the alias by which the request names object and operation, if it has
    /// one. For the adapter, which [stores](Aliased::prepare) there the object that it finds by the
    /// key.
    #[inline]
    pub fn alias(&self) -> Option<&'r Aliased> {
        self.arrived.frame.context?.aliased()
    }

    /// Makes [`find`](Self::find) search the operation of an [alias](Self::alias) once for all
    /// requests with the alias.
    #[inline]
    pub fn find_by_alias(&mut self) {
        self.slot = OF_ALIAS;
    }

    /// Sets the index at which the client believes the operation to be. For the adapter, which
    /// finds it in the key.
    #[inline]
    pub fn set_slot(&mut self, slot: u16) {
        self.slot = slot;
    }

    /// Returns the caller's priority, if the request carries it: in the service context RTCorbaPriority, or in a field
    /// of protocols that have one. Allocates nothing.
    ///
    /// # Errors
    /// MARSHAL for a malformed context, BAD_PARAM for a priority below 0.
    pub fn priority(&self) -> Result<Option<Priority>, SystemException> {
        if let Some(priority) = self.arrived.frame.terms().and_then(|terms| terms.priority) {
            let priority = Priority::new(priority).map_err(|_| raise::BAD_PRIORITY)?;
            return Ok(Some(priority));
        }
        let Some(context) = contexts::Priority::find(&self.arrived.request.contexts) else {
            return Ok(None);
        };
        let priority = contexts::Priority::parse(context.data)
            .map_err(|violation| violation.to_exception(CompletionStatus::No))?;
        Priority::new(priority.0).map(Some).map_err(|_| raise::BAD_PRIORITY)
    }

    /// Returns the threadpool whose port received the request, 0 for the ORB's own port. `None` if the request came
    /// from this process or over a connection that this side opened, or if a [filter](crate::ThreadFilter), or its
    /// object at a shared port, picked its thread. For the object adapter. Costs nothing unless called.
    pub fn port_of(&self) -> Option<ThreadpoolId> {
        let came = self.sink.is_wire().then(crate::server::pool_of_request);
        came.flatten().map(ThreadpoolId)
    }

    /// Returns the ORB that serves the request.
    pub fn orb(&self) -> &'r Orb {
        self.arrived.orb
    }

    /// Reports whether the caller waits for the result (not for a `oneway`).
    pub fn expects_reply(&self) -> bool {
        self.arrived.request.response == Response::WithTarget
    }

    /// Decodes the in and inout arguments. Remaining octets are an error if the ORB is strict (`-ORBStrictEncoding`).
    pub fn args<T>(
        &mut self,
        decode: impl FnOnce(&mut Decoder<'r>) -> CdrResult<T>,
    ) -> Result<T, Rejected> {
        let mut d = self.decoder();
        let args = decode(&mut d);
        ended(d, args)
    }

    /// Returns the decoder of arguments that are copied.
    #[inline(always)]
    fn decoder(&self) -> Decoder<'r> {
        let Arrived { frame, request, dialect, .. } = *self.arrived;
        self.prepared(frame.decoder_at(dialect, request.body))
    }

    /// Decodes arguments as [`args`](Self::args) does, but leaves [`Octets`](oxorb_cdr::Octets) where the sender wrote
    /// them, if the transport lends them and [`LargePayloads`] permits it: the policy of the object's POA, else of the
    /// endpoint, else of the ORB. If the transport lent octets that `decode` does not take in place, `decode` is called
    /// a second time, and the result of the first call is dropped.
    ///
    /// Under [`LargePayloads::InPlaceOnly`] the arguments of a request over a connection are rejected with
    /// NO_RESOURCES, `NOT_IN_PLACE`, if octets of 16 KiB or more lie elsewhere.
    pub fn args_in_place<T>(
        &mut self,
        decode: impl Fn(&mut Decoder<'r>) -> CdrResult<T>,
    ) -> Result<T, Rejected> {
        let (frame, body) = (self.arrived.frame, self.arrived.request.body);
        // Nothing in the message is large enough for the policy to apply.
        if frame.gap.is_none() && frame.bytes.len() < LARGE {
            return self.args(decode);
        }
        let mode = self.payloads();
        if mode == LargePayloads::Copied {
            return self.args(decode);
        }
        let in_place_only = mode == LargePayloads::InPlaceOnly;
        let decoder = |d: Decoder<'r>| {
            let d = self.prepared(d);
            if in_place_only { d.in_place_only() } else { d }
        };
        if let Some(gap) = frame.gap {
            // An earlier call took the lent octets, so the arguments can no longer be decoded: the rest of the message
            // has other octets in their place.
            if gap.was_taken() {
                return Err(Rejected(raise::ARGUMENTS_TAKEN));
            }
            let mut d = decoder(frame.decoder_in_place(self.arrived.dialect, body));
            let args = decode(&mut d);
            if gap.was_taken() {
                return ended(d, args);
            }
        }
        let mut d = decoder(frame.decoder_at(self.arrived.dialect, body));
        let args = decode(&mut d);
        ended(d, args)
    }

    /// Returns the policy for large octets: that of the object's POA, else of the connection. Octets that came without
    /// a connection stay in the memory of this process.
    fn payloads(&self) -> LargePayloads {
        let Some(of_connection) = self.arrived.payloads else {
            return LargePayloads::InPlace;
        };
        let adapter = self.arrived.orb.adapter();
        let of_object = adapter.and_then(|adapter| adapter.large_payloads(self.arrived.key));
        of_object.unwrap_or(of_connection)
    }

    /// Adds the ORB's limits and scope to a decoder of the request.
    #[inline(always)]
    fn prepared(&self, d: Decoder<'r>) -> Decoder<'r> {
        d.with_limits(self.arrived.orb.options().limits.cdr).with_scope(self.arrived.orb)
    }

    /// Returns an arena for values of the request: that of the thread, of the size configured for its lane or by the
    /// option ValueArena. Allocates if the thread has none yet.
    pub fn arena(&self) -> LentArena {
        LentArena::of_thread(self.orb().options())
    }

    /// Answers with the results: return value, then inout and out arguments.
    pub fn reply<'a>(self, results: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>) -> Outcome {
        probe::stamp(Stage::ServantReturned);
        self.answer(results)
    }

    /// Answers with an exception of the servant.
    pub fn raise<X: ServantError>(self, exception: &X) -> Outcome {
        match exception.system() {
            Some(system) => self.fail(system),
            None => {
                let status = ReplyStatus::USER_EXCEPTION;
                self.answer_otherwise(status, Ending::UserException, &|e| exception.raise(e))
            }
        }
    }

    /// Answers with a system exception.
    pub fn fail(self, exception: SystemException) -> Outcome {
        let ending = Ending::SystemException(exception);
        self.answer_otherwise(ReplyStatus::SYSTEM_EXCEPTION, ending, &|e| exception.encode(e))
    }

    /// Raises the exception of rejected arguments.
    pub fn reject(self, rejected: Rejected) -> Outcome {
        self.fail(rejected.0)
    }

    /// Raises BAD_OPERATION, because the interface has no such operation.
    pub fn unknown_operation(self) -> Outcome {
        self.fail(raise::UNKNOWN_OPERATION)
    }

    /// Ends a `oneway` operation; a caller that expects an answer nevertheless receives an empty one.
    pub fn done(self) -> Outcome {
        self.reply(|_| Ok(()))
    }

    /// Answers with a forward of this and later requests to another object (LOCATION_FORWARD).
    pub fn forward(self, target: &Ref) -> Outcome {
        let status = ReplyStatus::LOCATION_FORWARD;
        self.answer_otherwise(status, Ending::Forward, &|e| target.ior().encode(e))
    }

    /// Answers with the answer of another server, octet for octet and in its byte order, which is copied once, into the
    /// message. Interceptors see it as the servant's answer. If its octets can be copied, `passing` is called before
    /// interceptors see the answer, and before the answer is sent. The client receives a different answer if an
    /// interceptor replaces the server's answer, or if the server's answer exceeds the limit of outgoing messages.
    /// `relax` may loosen the rules by which octets are copied, as [`Relayed::allowing_no_wide_set`] does.
    ///
    /// # Errors
    /// If the octets would have another meaning in this answer (see [`Relayed`]), upcall and answer are returned, and
    /// no answer is sent.
    #[expect(
        clippy::result_large_err,
        reason = "a gateway goes on with both at once; a box would cost it an allocation"
    )]
    pub fn pass_on<'a>(
        mut self,
        answered: RawReply<'a>,
        relax: impl FnOnce(Relayed<'a>) -> Relayed<'a>,
        passing: impl FnOnce(),
    ) -> Result<Outcome, (Upcall<'r>, RawReply<'a>)> {
        let (status, d) = match &answered {
            RawReply::Results(d) => (ReplyStatus::NO_EXCEPTION, d),
            RawReply::Exception(d) => (ReplyStatus::USER_EXCEPTION, d),
        };
        let values = match Relayed::rest(&mut d.clone()).map(relax) {
            Ok(values) if self.is_alike(status, &values) => values,
            _ => return Err((self, answered)),
        };
        passing();
        probe::stamp(Stage::ServantReturned);
        let Some(flow) = self.flow.take() else {
            return Ok(self.send_in(values.order(), status, &[], |e| values.encode(e)));
        };
        let id = match status {
            ReplyStatus::USER_EXCEPTION => d.clone().string().unwrap_or_default(),
            _ => "".into(),
        };
        let sending = match status {
            ReplyStatus::USER_EXCEPTION => {
                Sending::UserException { id: &id, octets: values.octets() }
            }
            _ => Sending::Results,
        };
        Ok(match flow.end(self.view(), sending) {
            Verdict::AsIs => flow.with_contexts(|contexts| {
                self.send_in(values.order(), status, contexts, |e| values.encode(e))
            }),
            verdict => self.send_instead(flow, &verdict),
        })
    }

    /// Reports whether values can be copied into the answer unchanged.
    fn is_alike(&mut self, status: ReplyStatus, values: &Relayed<'_>) -> bool {
        let options = self.arrived.orb.options();
        let mut e = self.sink.encoder(values.order(), options, self.arrived.dialect);
        let _unfinished = self.begin(&mut e, status, &[]);
        let alike = values.is_alike(&e);
        self.sink.discard(options, e.take_buffer());
        alike
    }

    /// Sends results.
    #[inline]
    fn answer<'a>(mut self, results: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>) -> Outcome {
        if self.flow.is_none() {
            return self.send(ReplyStatus::NO_EXCEPTION, &[], results);
        }
        let mut results = Some(results);
        self.answer_seen(&mut |e| match results.take() {
            Some(results) => results(e),
            None => Ok(()),
        })
    }

    /// Sends results after interceptors have seen them, before they are marshalled. Not generic over operations; `body`
    /// is called once.
    #[cold]
    fn answer_seen<'a>(mut self, body: Body<'_, 'a>) -> Outcome {
        let status = ReplyStatus::NO_EXCEPTION;
        let Some(flow) = self.flow.take() else {
            return self.send(status, &[], body);
        };
        match flow.end(self.view(), Sending::Results) {
            Verdict::AsIs => flow.with_contexts(|contexts| self.send(status, contexts, body)),
            verdict => self.send_instead(flow, &verdict),
        }
    }

    /// Sends an answer other than results. Interceptors see it marshalled, as the client does; metrics need only its
    /// kind, `ending`.
    #[inline(never)]
    fn answer_otherwise<'a>(
        mut self,
        status: ReplyStatus,
        ending: Ending,
        body: &dyn Fn(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Outcome {
        let body = &mut |e: &mut Encoder<'a>| body(e);
        let Some(flow) = self.flow.take() else {
            return self.send(status, &[], body);
        };
        if !flow.shows_answers() {
            flow.count(self.view(), ending);
            return self.send(status, &[], body);
        }
        let order = self.arrived.orb.options().byte_order;
        let mut e = Encoder::new(Vec::new(), order, self.arrived.dialect);
        // An encoding error is ignored here, because it is detected below, when the answer is sent.
        let _ = body(&mut e);
        let octets = e.finish().to_vec();
        let mut d = Decoder::new(&octets, order, self.arrived.dialect).with_scope(self.arrived.orb);
        let verdict = match status {
            ReplyStatus::USER_EXCEPTION => {
                let id = d.string().unwrap_or_default();
                flow.end(self.view(), Sending::UserException { id: &id, octets: &octets })
            }
            ReplyStatus::SYSTEM_EXCEPTION => {
                let exception = SystemException::decode(&mut d).unwrap_or(raise::BAD_REPLY);
                flow.end(self.view(), Sending::SystemException(exception))
            }
            _ => match Ior::decode(&mut d) {
                Ok(ior) => flow.end(self.view(), Sending::Forward(Ref::new(self.arrived.orb, ior))),
                Err(_) => Verdict::AsIs,
            },
        };
        match verdict {
            Verdict::AsIs => flow.with_contexts(|contexts| self.send(status, contexts, body)),
            verdict => self.send_instead(flow, &verdict),
        }
    }

    /// Sends the answer of an interceptor in place of the servant's.
    fn send_instead(mut self, flow: &ServerFlow, verdict: &Verdict) -> Outcome {
        flow.with_contexts(|contexts| match verdict {
            Verdict::Raise(exception) => {
                self.send(ReplyStatus::SYSTEM_EXCEPTION, contexts, |e| exception.encode(e))
            }
            Verdict::Forward(to) => {
                self.send(ReplyStatus::LOCATION_FORWARD, contexts, |e| to.ior().encode(e))
            }
            Verdict::AsIs => unreachable!("the answer stays as it is"),
        })
    }

    /// Ends the request if an interceptor decided so; interceptors that have seen it see its end.
    #[cold]
    fn interrupt(self, seen: Result<(), Interrupt>) -> Result<Self, Outcome> {
        match seen {
            Ok(()) => Ok(self),
            Err(Interrupt::Raise(exception)) => Err(self.fail(exception)),
            Err(Interrupt::Forward(to)) => Err(self.forward(&to)),
        }
    }

    /// Returns the data of the request that interceptors and metrics need.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            orb: self.arrived.orb,
            request: self.arrived.request,
            key: self.arrived.key,
            origin: self.sink.origin(),
            deadline: self.deadline(),
        }
    }

    /// Returns the identity of the sender as far as the transport knows it, such as the subject of a certificate;
    /// [`PeerId::Process`] for a collocated call. Costs a reference count for a subject.
    pub fn peer(&self) -> PeerId {
        self.sink.link().map_or(PeerId::Process, |link| link.identity())
    }

    /// Reports whether the request was protected on its way: it came over TLS, or from this process.
    pub fn is_protected(&self) -> bool {
        self.sink.link().is_none_or(|link| link.is_protected())
    }

    #[inline]
    fn send<'a>(
        &mut self,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
        body: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Outcome {
        let order = self.arrived.orb.options().byte_order;
        self.send_in(order, status, contexts, body)
    }

    fn send_in<'a>(
        &mut self,
        order: ByteOrder,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
        body: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Outcome {
        match self.arrived.request.response {
            Response::WithTarget => {}
            // If the oneway was not acknowledged yet, the request ends before its servant is called, and is answered.
            Response::WithServer if !self.sink.answered() => {}
            Response::WithServer | Response::None => return Outcome(()),
        }
        let wire = self.arrived.frame.wire();
        let mut e = self.sink.encoder(order, self.arrived.orb.options(), self.arrived.dialect);
        let begun = self.begin(&mut e, status, contexts);
        match body(&mut e) {
            Ok(()) => self.send_written(&mut e, wire, begun),
            Err(error) => {
                let exception = SystemException::from_cdr(error, CompletionStatus::Yes);
                self.send_unwritten(&mut e, wire, exception);
            }
        }
        // The buffer has already been taken from the encoder, so this drops an empty one, in place.
        drop(e.into_buffer());
        Outcome(())
    }

    #[inline(always)]
    fn begin(
        &self,
        e: &mut Encoder<'_>,
        status: ReplyStatus,
        contexts: &[ServiceContext<'_>],
    ) -> Begun {
        let request = self.arrived.request;
        if request.contexts.is_empty() {
            return self.arrived.frame.begin_reply(e, request.id, status, contexts);
        }
        let sent = contexts::Priority::find(&request.contexts);
        let wire = self.arrived.frame.wire();
        begin_with_priority(e, wire, request.id, status, contexts, sent)
    }

    /// Finishes a reply whose results are encoded, and sends it. Not generic over operations; leaves the encoder in
    /// place.
    fn send_written(&mut self, e: &mut Encoder<'_>, wire: Wire, begun: Begun) {
        probe::stamp(Stage::ResultsWritten);
        let options = self.arrived.orb.options();
        match finish(e, wire, begun, options) {
            Ok(()) => {
                probe::stamp(Stage::ReplyFramed);
                self.sink.send(options, wire, e, Some(self.arrived.request));
            }
            Err(exception) => self.send_unwritten(e, wire, exception),
        }
    }

    /// Answers that the results cannot be sent, although the operation ran.
    #[cold]
    fn send_unwritten(&mut self, e: &mut Encoder<'_>, wire: Wire, exception: SystemException) {
        let Arrived { orb, request, dialect, .. } = *self.arrived;
        self.sink.discard(orb.options(), e.take_buffer());
        self.sink.send_exception(orb.options(), wire, request.id, dialect, exception);
    }
}

/// Encodes the body of an answer.
type Body<'f, 'a> = &'f mut dyn FnMut(&mut Encoder<'a>) -> CdrResult<()>;

/// Returns decoded arguments; an error if octets remain and the ORB is strict.
#[inline(always)]
fn ended<T>(d: Decoder<'_>, args: CdrResult<T>) -> Result<T, Rejected> {
    match args.and_then(|args| d.finish_arguments().map(|()| args)) {
        Ok(args) => {
            probe::stamp(Stage::ArgumentsRead);
            Ok(args)
        }
        Err(error) => Err(unreadable(error)),
    }
}

#[cold]
fn unreadable(error: oxorb_cdr::Error) -> Rejected {
    Rejected(SystemException::from_cdr(error, CompletionStatus::No))
}

/// Begins a reply that returns the caller's priority context unchanged.
#[inline(never)]
fn begin_with_priority(
    e: &mut Encoder<'_>,
    wire: Wire,
    id: u32,
    status: ReplyStatus,
    contexts: &[ServiceContext<'_>],
    priority: Option<ServiceContext<'_>>,
) -> Begun {
    let Some(priority) = priority else {
        return wire.begin_reply(e, id, status, contexts);
    };
    if contexts.is_empty() {
        return wire.begin_reply(e, id, status, &[priority]);
    }
    let mut all = vec![priority];
    all.extend_from_slice(contexts);
    wire.begin_reply(e, id, status, &all)
}

impl Rejected {
    /// Returns the exception that is raised at the caller.
    pub fn exception(&self) -> SystemException {
        self.0
    }
}

impl From<SystemException> for Rejected {
    fn from(exception: SystemException) -> Self {
        Rejected(exception)
    }
}

#[inline(always)]
fn finish(
    e: &mut Encoder<'_>,
    wire: Wire,
    begun: Begun,
    options: &Options,
) -> Result<(), SystemException> {
    wire.finish(e, begun)
        .and_then(|()| options.limits.check_outgoing(e.position()))
        .map_err(|violation| violation.to_exception(CompletionStatus::Yes))
}
