//! Fast calls: nearly all calls.
//!
//! A fast call is two-way, under the policies of the ORB alone, to an object in another process that was never
//! forwarded, over a connection that no other call uses and that has carried such calls before. All other needs of
//! calls were checked when the reference was read ([`Route::fast`](crate::reference::Route)) or when the connection
//! [was prepared](FastCallState); what remains is one pass: the connection, the head of the request, the arguments, a
//! write, a read.
//!
//! A fast oneway takes the same path up to the write. Its reference may have a time limit of its own, which limits the
//! write only.
//!
//! A call that turns out not to suit the fast path continues in `exchange.rs`, from the step that it has reached.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use oxorb_cdr::{Dialect, Encoder};
use oxorb_giop::{Alias, Begun, Form, Head, ReplyStatus, Response};
use oxorb_object::{CompletionStatus, SystemException};
use oxorb_transport::WriteError;

use super::batch;
use super::buffered;
use super::call::{Pending, SENT_AT_ONCE, unsent};
use super::draft::{Draft, First, HEADER_ROOM};
use super::exchange::{Trial, Tried, exchange, exchange_after};
use super::link::{ClientLink, FastCallState};
use super::metered::Metered;
use super::reply::RawReply;
use super::selection::SharingKey;
use super::{Args, Peer, Reply, ReplyIn, Timing};
use crate::Ref;
use crate::conn::{ConnectionEnd, Event, Wait, send_written, serves_beside};
use crate::policy::{Effective, SyncScope};
use crate::probe::{self, Stage};
use crate::reference::{Op, Operation, Route, RouteProfile};
use crate::servant::terms;
use crate::threads::clock;

/// Shortest time limit that is measured with the coarse clock.
const LONG: Duration = Duration::from_secs(1);

/// Fast call in progress.
struct FastCall<'r> {
    reference: &'r Ref,
    op: &'static Op,
    policies: &'r Effective,
    route: &'r Arc<Route>,
    /// Index of the profile in the route.
    index: usize,
    profile: &'r RouteProfile,
    peer: &'r Arc<Peer>,
    /// Tick of the coarse clock at which the call began.
    tick: u64,
}

/// Request that was written.
struct Written {
    id: u32,
    octets: usize,
    /// Encoding of text.
    dialect: Dialect,
    sent: Result<(), WriteError>,
}

/// Makes a two-way call; returns when there is a result or a user exception to decode.
pub(super) fn invoke<'r, 'a>(
    reference: &'r Ref,
    op: &'static Op,
    args: Args<'_, 'a>,
) -> Result<ReplyIn<'r>, SystemException> {
    match call(reference, reference.fast_route(), op, args) {
        Some(ended) => ended,
        None => invoke_otherwise(reference, op, args),
    }
}

/// Makes a two-way call that does not take the fast path, or that the ORB counts.
#[inline(never)]
fn invoke_otherwise<'r, 'a>(
    reference: &'r Ref,
    op: &'static Op,
    args: Args<'_, 'a>,
) -> Result<ReplyIn<'r>, SystemException> {
    let Some(metered) = Metered::begin(reference) else {
        return invoke_any(reference, op.into(), args);
    };
    let ended = match call(reference, reference.counted(), op, args) {
        Some(ended) => ended,
        None => invoke_any(reference, op.into(), args),
    };
    metered.answered(reference, ended.as_ref());
    ended
}

/// Makes a two-way call of any kind.
#[inline(never)]
fn invoke_any<'a>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<Reply, SystemException> {
    let policies = reference.policies();
    let reply = exchange(reference, &policies, op, args)?;
    Ok(reply.expect("a two-way call has a reply"))
}

/// Makes a two-way call, for callers that read results and exceptions themselves.
pub(super) fn invoke_dynamic<'a, T>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    read: impl FnOnce(RawReply<'_>) -> T,
) -> Result<T, SystemException> {
    let metered = Metered::begin(reference);
    let ended = invoke_any(reference, op, args);
    if let Some(metered) = metered {
        metered.answered(reference, ended.as_ref());
    }
    Ok(read(ended?.answered()))
}

/// Makes a fast call over the route in `fast`, under the policies there. Returns `None` if the call does not suit the
/// fast path, and nothing was sent.
#[inline(always)]
fn call<'r, 'a>(
    reference: &'r Ref,
    fast: Option<(&'r Arc<Route>, &'r Effective)>,
    op: &'static Op,
    args: Args<'_, 'a>,
) -> Option<Result<ReplyIn<'r>, SystemException>> {
    let (route, policies) = fast?;
    let (index, profile) = route.fast_profile()?;
    let (peer, form) = (profile.peer.as_ref()?, profile.form?);
    if peer.is_shared() || terms::inherited_class().is_some() || op.response == Response::None {
        return None;
    }
    let tick = clock::coarse_nanoseconds();
    let link = peer.take_last()?;
    let link = peer.prepared(link, tick, |link| {
        link.limits.are_of_fast_calls || link.prepare_connection(profile, policies)
    })?;
    // A closure collects these values, because only rare paths need them.
    let call = || FastCall { reference, op, policies, route, index, profile, peer, tick };
    let (mut link, written) = match write(call, link, form, args, false) {
        Ok(written) => written,
        Err(exception) => return Some(Err(exception)),
    };
    let Written { id, octets, dialect, sent } = written;
    if let Err(failed) = sent {
        return Some(call().unsent(link, octets, &failed, args));
    }
    let at_once = octets <= SENT_AT_ONCE && !serves_beside() && link.inbox.is_clear();
    let first = match at_once {
        true => Some(link.receiving().0.read(Wait::Limited)),
        false => None,
    };
    let first = match first {
        Some(Ok(Event::Octets { octets, all })) => {
            probe::stamp(Stage::ReplyArrived);
            if link.inbox.announce_reply(form, id) {
                probe::stamp(Stage::ReplyParsed);
                let body = form.body.into();
                return Some(Ok(ReplyIn::lent(reference.orb(), peer, link, body, dialect)));
            }
            Some(Ok(Event::Octets { octets, all }))
        }
        other => other,
    };
    let pending = Pending {
        peer,
        link,
        id,
        wire: profile.wire,
        octets,
        waited: octets > SENT_AT_ONCE,
        locating: false,
    };
    Some(call().wait_on(pending, first, args))
}

/// Sends a oneway.
pub(super) fn send<'a>(
    reference: &Ref,
    op: &'static Op,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    match oneway(reference, reference.fast_oneway_route(), op, args) {
        Some(ended) => ended,
        None => send_otherwise(reference, op, args),
    }
}

/// Sends a oneway that does not take the fast path, or that the ORB counts.
#[inline(never)]
fn send_otherwise<'a>(
    reference: &Ref,
    op: &'static Op,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    let Some(metered) = Metered::begin(reference) else {
        return buffered::send(reference, op.into(), args);
    };
    let ended = match oneway(reference, reference.counted_oneway(), op, args) {
        Some(ended) => ended,
        None => buffered::send(reference, op.into(), args),
    };
    metered.sent(reference, ended);
    ended
}

/// Sends a oneway, for callers that know its operation only at run time.
pub(super) fn send_dynamic<'a>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    let metered = Metered::begin(reference);
    let ended = buffered::send(reference, op, args);
    if let Some(metered) = metered {
        metered.sent(reference, ended);
    }
    ended
}

/// Sends a fast oneway over the route in `fast`, under the policies and the write limit there. Returns `None` if the
/// oneway does not suit the fast path, and nothing was sent.
#[inline(always)]
fn oneway<'r, 'a>(
    reference: &'r Ref,
    fast: Option<(&'r Arc<Route>, &'r Effective, Option<Duration>)>,
    op: &'static Op,
    args: Args<'_, 'a>,
) -> Option<Result<(), SystemException>> {
    let (route, policies, limit) = fast?;
    let (index, profile) = route.fast_profile()?;
    let (peer, form) = (profile.peer.as_ref()?, profile.form?);
    if peer.is_shared()
        || terms::inherited_class().is_some()
        || op.response != Response::None
        || policies.sync_scope != SyncScope::WithTransport
    {
        return None;
    }
    let tick = clock::coarse_nanoseconds();
    let in_batch = batch::is_open() && peer.takes_batches();
    let held = if in_batch { batch::take(peer, limit) } else { None };
    let link = match held {
        Some(link) => link,
        None => {
            // Oneways of a batch go to several servers in turn, so the connection that was used last seldom leads to
            // this server.
            let link = match in_batch {
                true => peer.take_idle(SharingKey::default()),
                false => peer.take_last(),
            };
            peer.prepared(link?, tick, |link| {
                (link.fast_state.is_some() && link.limits.bounds_writes(limit))
                    || link.prepare_for_oneways(profile, policies, limit)
            })?
        }
    };
    // A closure collects these values, because only rare paths need them.
    let call = || FastCall { reference, op, policies, route, index, profile, peer, tick };
    let (link, written) = match write(call, link, form, args, in_batch) {
        Ok(written) => written,
        Err(exception) => return Some(Err(exception)),
    };
    if let Err(failed) = written.sent {
        return Some(call().oneway_unsent(link, written.octets, &failed, args));
    }
    match in_batch {
        true => batch::put(peer, link),
        false => peer.give_back_last(link),
    }
    Some(Ok(()))
}

/// Writes the request of a fast call, and passes it to the transport, or adds it to the batch that the thread has open.
///
/// # Errors
/// The arguments cannot be marshalled, or the message is too long; nothing was sent.
// This function is inlined, because its callers know the values of most arguments.
#[inline(always)]
fn write<'r, 'a>(
    call: impl Fn() -> FastCall<'r>,
    mut link: Box<ClientLink>,
    form: &'static Form,
    args: Args<'_, 'a>,
    in_batch: bool,
) -> Result<(Box<ClientLink>, Written), SystemException> {
    let FastCall { op, policies, profile, peer, .. } = call();
    probe::stamp(Stage::CallBegun);
    probe::stamp(Stage::RouteFound);
    probe::stamp(Stage::LinkTaken);
    let options = peer.options();
    let out = mem::take(&mut link.out);
    let id = link.session.ids.next_id();
    let fast_state = link.fast_state.as_ref().expect("fast calls prepared it");
    let dialect = fast_state.dialect;
    let mut e = options.encoder(out, dialect);
    e.reserve(HEADER_ROOM + op.request as usize);
    let mut alias = None;
    let begun = match fast_state.head(profile, op) {
        Some(head) => head.begin(&mut e, form, id),
        None => call().begin_anew(&mut link, &mut e, id, &mut alias),
    };
    probe::stamp(Stage::HeaderWritten);
    let written = match args(&mut e) {
        Ok(()) => {
            probe::stamp(Stage::ArgumentsWritten);
            let finished = form.finish(&mut e, begun);
            let finished = finished.and_then(|()| options.limits.check_outgoing(e.position()));
            finished.map_err(|violation| violation.to_exception(CompletionStatus::No))
        }
        Err(error) => Err(SystemException::from_cdr(error, CompletionStatus::No)),
    };
    if let Err(exception) = written {
        return Err(call().unwritten(link, e, alias, exception));
    }
    probe::stamp(Stage::RequestFramed);
    let octets = e.position();
    let waits = match in_batch {
        true => batch::add(peer, &mut link, &e, policies.fragment_size),
        false => Ok(false),
    };
    let (sent, buffer) = match waits {
        Ok(false) => send_written(&*link.link, &mut e, profile.wire, policies.fragment_size),
        Ok(true) => (Ok(()), e.take_buffer()),
        Err(failed) => (Err(failed), e.take_buffer()),
    };
    probe::stamp(Stage::RequestSent);
    link.out = options.keep(buffer);
    let written = Written { id, octets, dialect, sent };
    Ok((link, written))
}

impl FastCall<'_> {
    /// Begins a request that is the first of its kind on the connection, and keeps its head for later ones.
    #[cold]
    #[inline(never)]
    fn begin_anew(
        &self,
        link: &mut ClientLink,
        e: &mut Encoder<'_>,
        id: u32,
        alias: &mut Option<Alias>,
    ) -> Begun {
        let draft = Draft::fast(self.profile, self.op.into());
        *alias = match &mut link.aliases {
            None => None,
            Some(aliases) => draft.alias(aliases),
        };
        let first = First { alias: *alias, ..First::default() };
        let begun = draft.begin(e, id, &first);
        // The head of a request that defines an alias is not kept, because later requests only refer to the alias.
        if alias.is_none_or(|alias| alias.known)
            && let (Some(fast_state), Some(head)) = (&mut link.fast_state, Head::of(e, begun))
        {
            fast_state.keep(self.profile, self.op, head);
        }
        begun
    }

    /// Gives the connection back, because nothing was sent.
    #[cold]
    fn unwritten(
        &self,
        mut link: Box<ClientLink>,
        e: Encoder<'_>,
        alias: Option<Alias>,
        exception: SystemException,
    ) -> SystemException {
        link.out = self.peer.options().keep(e.into_buffer());
        if let (Some(alias), Some(aliases)) = (alias, &mut link.aliases) {
            aliases.take_back(alias);
        }
        match link.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty()) {
            true => batch::put(self.peer, link),
            false => self.peer.give_back(link),
        }
        exception
    }

    /// Waits for a reply that did not arrive completely with the first read, if there was one, or is not one that fast
    /// calls read.
    #[cold]
    #[inline(never)]
    fn wait_on<'a>(
        &self,
        pending: Pending<'_>,
        first: Option<Result<Event, ConnectionEnd>>,
        args: Args<'_, 'a>,
    ) -> Result<Reply, SystemException> {
        let (orb, timing) = (self.reference.orb(), self.timing(&pending.link));
        let forwarding = self.reference.is_forwarding();
        let waited = match first {
            None => pending.wait(orb, &timing, forwarding),
            Some(first) => pending.wait_after(first, orb, &timing, forwarding),
        };
        match waited {
            Ok(reply) => match reply.status() {
                ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => Ok(reply),
                _ => self.go_on(Trial::Answered(reply), timing, args),
            },
            Err(lost) => self.go_on(Trial::Lost(lost), timing, args),
        }
    }

    /// Continues a call whose request was not sent.
    #[cold]
    #[inline(never)]
    fn unsent<'a>(
        &self,
        mut link: Box<ClientLink>,
        octets: usize,
        failed: &WriteError,
        args: Args<'_, 'a>,
    ) -> Result<Reply, SystemException> {
        let lost = unsent(self.peer, &mut link, octets, failed);
        self.go_on(Trial::Lost(lost), self.timing(&link), args)
    }

    /// Continues a oneway that was not sent, under the policies of its reference.
    #[cold]
    #[inline(never)]
    fn oneway_unsent<'a>(
        &self,
        mut link: Box<ClientLink>,
        octets: usize,
        failed: &WriteError,
        args: Args<'_, 'a>,
    ) -> Result<(), SystemException> {
        let lost = unsent(self.peer, &mut link, octets, failed);
        let policies = self.reference.policies().unanswered();
        let timing = FastCall { policies: &policies, ..*self }.timing(&link);
        let tried =
            Tried { route: Arc::clone(self.route), index: self.index, trial: Trial::Lost(lost) };
        let op = self.op.into();
        exchange_after(tried, self.reference, &policies, op, args, timing).map(drop)
    }

    /// Continues the call in [`exchange_after`].
    fn go_on<'a>(
        &self,
        trial: Trial,
        timing: Timing,
        args: Args<'_, 'a>,
    ) -> Result<Reply, SystemException> {
        let tried = Tried { route: Arc::clone(self.route), index: self.index, trial };
        let reply =
            exchange_after(tried, self.reference, self.policies, self.op.into(), args, timing)?;
        Ok(reply.expect("a two-way call has a reply"))
    }

    /// Returns the timing of the call, which began at its tick.
    #[cold]
    fn timing(&self, link: &ClientLink) -> Timing {
        let by_ticks = link.fast_state.as_ref().is_some_and(|it| it.by_ticks);
        let start = match by_ticks {
            true => {
                let since = clock::coarse_nanoseconds().saturating_sub(self.tick);
                let now = clock::now();
                now.checked_sub(Duration::from_nanos(since)).unwrap_or(now)
            }
            false => link.last_used,
        };
        Timing::since(start, self.policies)
    }
}

impl Peer {
    /// Returns a connection that was taken out, if fast calls to this server may use it as it is, which `prepare`
    /// reports; otherwise gives it back.
    #[inline(always)]
    fn prepared(
        &self,
        mut link: Box<ClientLink>,
        tick: u64,
        prepare: impl FnOnce(&mut ClientLink) -> bool,
    ) -> Option<Box<ClientLink>> {
        let is_good = prepare(&mut link)
            && link.losses_seen == self.losses()
            && (link.fast_state.as_ref().is_some_and(|it| it.tick == tick)
                || self.is_trusted(&mut link, tick));
        if !is_good {
            self.give_back_last(link);
            return None;
        }
        Some(link)
    }

    /// Reports whether a connection that may have been idle can be used without a check.
    ///
    /// The coarse clock advances only every few milliseconds. A connection that was checked, or known to be used, in
    /// the current tick has not been idle for longer than a connection may be without a check.
    #[inline(never)]
    fn is_trusted(&self, link: &mut ClientLink, tick: u64) -> bool {
        let now = clock::now();
        if now > link.trusted_until {
            return false;
        }
        link.last_used = now;
        link.trusted_until = self.trusted_until(now);
        if let Some(fast_state) = &mut link.fast_state {
            fast_state.tick = if fast_state.by_ticks { tick } else { 0 };
        }
        true
    }
}

impl ClientLink {
    /// Prepares a connection that has carried calls for fast calls. Returns `false` if fast calls cannot use it.
    #[cold]
    #[inline(never)]
    fn prepare_connection(&mut self, profile: &RouteProfile, policies: &Effective) -> bool {
        let limit = policies.round_trip;
        if !self.is_plain(profile) || self.limits.reads(&*self.link, limit).is_err() {
            return false;
        }
        self.limit_writes(limit);
        self.keep_fast_state(profile, policies);
        self.limits.are_of_fast_calls = true;
        true
    }

    /// Prepares a connection that has carried calls for fast oneways, whose writes take `limit` at most. Returns
    /// `false` if fast oneways cannot use it.
    #[cold]
    #[inline(never)]
    fn prepare_for_oneways(
        &mut self,
        profile: &RouteProfile,
        policies: &Effective,
        limit: Option<Duration>,
    ) -> bool {
        if !self.is_plain(profile) {
            return false;
        }
        self.limit_writes(limit);
        self.keep_fast_state(profile, policies);
        self.limits.bounds_writes(limit)
    }

    /// Reports whether requests over the connection need no announcement of code sets, band or address.
    fn is_plain(&self, profile: &RouteProfile) -> bool {
        let told = profile.code_sets.map(|wanted| self.session.told.yet_to_tell(wanted));
        self.reused
            && self.is_common()
            && self.reference.is_none()
            && self.band.is_none()
            && told == Ok(None)
    }

    fn keep_fast_state(&mut self, profile: &RouteProfile, policies: &Effective) {
        let minor = profile.wire.version().minor;
        let (dialect, by_ticks) =
            (self.session.told.dialect(minor), self.is_told_by_ticks(policies));
        let fast_state =
            self.fast_state.get_or_insert_with(|| Box::new(FastCallState::new(dialect)));
        fast_state.dialect = dialect;
        fast_state.by_ticks = by_ticks;
        fast_state.tick = 0;
    }

    /// Reports whether ticks of the coarse clock are short compared with the times that they measure.
    fn is_told_by_ticks(&self, policies: &Effective) -> bool {
        let tick = Duration::from_nanos(clock::coarse_resolution());
        let trusted = self.trusted_until.saturating_duration_since(self.last_used);
        trusted >= tick && policies.round_trip.is_none_or(|limit| limit >= LONG)
    }
}
