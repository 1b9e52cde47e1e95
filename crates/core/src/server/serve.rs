//! Serving of a connection by the thread that reads it: octets in, upcalls, replies out.
//!
//! This file and those that use it stand above both halves: they take the whole [`Orb`], because requests are served by
//! objects of the ORB. The state that they work on ([`Connection`], [`Lane`](super::Lane), `side.rs`) does not know
//! them.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::panicking;
use std::time::Duration;

use oxorb_giop::MessageType;

use super::assign::assign;
use super::connection::{Connection, PAUSE};
use super::connection_owner::ConnectionOwner;
use super::dispatch::dispatch;
use super::gather::Gather;
use super::reply_memory;
use super::serving_context::{self, ServedConnection, ServingContext};
use super::session::{SessionStep, refuse};
use super::takeover_thread::HOOKS;
use crate::conn::{ConnectionEnd, Event, LinkReceiver, Wait, serve_beside};
use crate::error::raise;
use crate::probe::{self, Stage};
use crate::threads::clock;
use crate::threads::sync::thread;
use crate::{Incident, Options, Orb};

/// Number of reads from a connection before other connections get a turn, if there are any and no
/// other thread serves them.
const TURN: usize = 4;

/// Time between two checks of a connection's own thread for a message that stalls.
const TICK: Duration = Duration::from_secs(2);

/// Time between two attempts to assign a oneway that waits until other requests of its connection have ended.
const HELD: Duration = Duration::from_millis(1);

/// Reason why [`Connection::serve`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServingEnd {
    /// Silence: no input arrived within the read timeout.
    Idle,
    /// The connection must not be read for a while.
    Throttled,
    /// The connection has ended, in order or not.
    Ended,
    /// Takeover by another thread.
    HandedOver,
}

crate::threads::sync::thread_local! {
    /// ORB whose connection this thread serves. Not in the serving context, because replies use that.
    static ORB: RefCell<Option<Orb>> = const { RefCell::new(None) };
}

/// Returns the ORB whose connection this thread serves.
pub(super) fn orb() -> Option<Orb> {
    ORB.with(|orb| orb.borrow().clone())
}

/// Returns the time that a connection's own thread waits before it checks time-outs.
pub(super) fn tick(options: &Options) -> Duration {
    TICK.min(options.stall_timeout).min(options.idle_timeout.unwrap_or(TICK))
}

/// Calls `serve` with this thread's serving context, which points to `connection` meanwhile. Returns the result, and
/// whether another thread has the connection now.
pub(super) fn serving<R>(
    orb: &Orb,
    owner: &ConnectionOwner,
    connection: &mut Connection,
    serve: impl FnOnce(&ServingContext, &mut Connection) -> R,
) -> (R, bool) {
    serve_beside(&HOOKS);
    serving_context::with(|context| {
        let detached = connection.is_detached();
        context.request.set(None);
        context.running.set(0);
        context.detached.set(detached);
        // If the request was taken off its connection, another thread already reads the connection.
        context.handed_over.set(detached);
        let options = orb.options();
        let filtered = !options.thread_filters.is_empty();
        let shared = options.realtime.lanes_on_one_port && !detached;
        let dispatched = orb.modules().is_some();
        let budgeted = orb.shared().budgets.is_some();
        let demotes = budgeted && !detached && owner.lowest().is_some();
        let assigned = owner.assigns().is_some();
        context.assigns.set(filtered || shared || dispatched || demotes || assigned);
        let limited = options.max_requests_per_client.is_some();
        let counted = limited && connection.common.status.client.is_some();
        context.counted.set(counted);
        context.limited.set(counted || budgeted);
        context.lowest.set(budgeted && owner.is_lowest());
        context.own.set(matches!(owner, ConnectionOwner::Thread(_)) && !detached);
        context.threads.set(owner.threads());
        ORB.with(|mine| mine.replace(Some(orb.clone())));
        context.served.replace(Some(ServedConnection {
            id: connection.id,
            link: Arc::clone(&connection.link),
            owner: owner.clone(),
            common: connection.common.clone(),
        }));
        let _end = ServingGuard(context);
        let result = serve(context, connection);
        (result, context.handed_over.get())
    })
}

/// Guard of a thread that serves a connection. When dropped, even by a panic, the thread no longer holds the connection
/// and the ORB, and has its own class and priority.
struct ServingGuard<'c>(&'c ServingContext);

impl Drop for ServingGuard<'_> {
    fn drop(&mut self) {
        let context = self.0;
        context.served.take();
        ORB.with(RefCell::take);
        context.desk.rise();
        if panicking() {
            context.request_ended();
            context.needs_no_takeover_thread();
        }
    }
}

impl Connection {
    /// Serves requests until none arrives within the link's read timeout or, while `may_wait` returns false, until
    /// there is no input or the connection has used up its turn.
    pub(crate) fn serve(
        &mut self,
        orb: &Orb,
        owner: &ConnectionOwner,
        may_wait: impl Fn() -> bool,
    ) -> ServingEnd {
        let serve = |context: &ServingContext, connection: &mut Connection| {
            connection.serve_within(context, orb, owner, may_wait)
        };
        let (served, handed_over) = serving(orb, owner, self, serve);
        if handed_over {
            return ServingEnd::HandedOver;
        }
        match served {
            Ok(served) => {
                if served == ServingEnd::Idle {
                    self.falls_silent(orb, owner);
                }
                served
            }
            Err(over) => {
                self.over = over;
                self.ended(orb.is_closing());
                ServingEnd::Ended
            }
        }
    }

    fn serve_within(
        &mut self,
        context: &ServingContext,
        orb: &Orb,
        owner: &ConnectionOwner,
        may_wait: impl Fn() -> bool,
    ) -> Result<ServingEnd, ConnectionEnd> {
        let mut reads = 0;
        // True if the last read returned all available input.
        let mut drained = false;
        let mut gather = Gather::default();
        if self.held
            && let Some(end) = self.serve_held(context, orb, owner)?
        {
            return Ok(end);
        }
        loop {
            let (mut waits, mut paused) = (true, false);
            self.expire_calls(orb.options());
            let mut receiver = LinkReceiver { link: &*self.link, inbox: &mut self.inbox };
            let (intake, status) = (&mut self.intake, &self.common.status);
            let event = receiver.next(|inbox| {
                if orb.is_closing() && orb.registry().is_unread(status) {
                    return Err(ConnectionEnd::Here);
                }
                if !intake.may_read(orb.server(), &*self.link, status, inbox)? {
                    paused = true;
                    return Ok(Wait::Not);
                }
                waits = may_wait();
                if waits {
                    gather.before_read();
                    return Ok(Wait::Limited);
                }
                // A read ends before octets that can be lent, so unused space in the buffer does not mean that there is
                // no more input.
                let ends = drained && !(inbox.borrows().is_some() && self.link.lender().is_some());
                // The reactor does not report octets that the link has already read, so they are taken now.
                let has_had_its_turn = ends || (reads >= TURN && !self.link.pending());
                Ok(if has_had_its_turn { Wait::Not } else { Wait::Now })
            });
            match event {
                Ok(Event::Message) => {
                    let header = self.inbox.frame().header;
                    self.version = header.version;
                    let status = &self.common.status;
                    let announced = is_upcall(header.kind).then(|| status.announces()).flatten();
                    if announced.is_some() && status.serves_no_more(orb.is_closing()) {
                        if !self.turn_away(orb, owner) {
                            return Err(ConnectionEnd::Here);
                        }
                        continue;
                    }
                    match self.serve_message(context, orb, owner) {
                        SessionStep::Message => {
                            gather.served(context.assigns.get() || self.sink.answered());
                        }
                        SessionStep::Close => return Err(ConnectionEnd::Here),
                        SessionStep::Held => {
                            self.held = true;
                            if let Some(end) = self.serve_held(context, orb, owner)? {
                                return Ok(end);
                            }
                            gather.served(true);
                        }
                        SessionStep::Reply => self.complete()?,
                        SessionStep::Over(kind) => return Err(ConnectionEnd::by(kind)),
                    }
                    if orb.is_closing() && orb.registry().is_unread(&self.common.status) {
                        return Err(ConnectionEnd::Here);
                    }
                }
                Ok(Event::Octets { octets, all }) => {
                    probe::stamp(Stage::RequestArrived);
                    reads += 1;
                    drained = if waits { drained } else { !all };
                    gather.read(all);
                    self.came(orb.server(), octets);
                }
                Ok(Event::Silence) if !paused => return Ok(ServingEnd::Idle),
                Ok(Event::Silence) if matches!(owner, ConnectionOwner::Lane(_)) => {
                    return Ok(ServingEnd::Throttled);
                }
                Ok(Event::Silence) => match self.intake.paused_until {
                    0 => thread::sleep(PAUSE),
                    until => {
                        let left = until.saturating_sub(clock::monotonic_nanoseconds());
                        thread::sleep(Duration::from_nanos(left).min(PAUSE));
                    }
                },
                Ok(Event::Interrupted) => {}
                Err(ended) => {
                    if let ConnectionEnd::Malformed(violation) = &ended {
                        let peer = || self.link.peer();
                        orb.shared().note(Incident::of(violation), peer, || violation.to_string());
                        refuse(violation, self.wire(), &mut self.sink);
                    }
                    return Err(ended);
                }
            }
        }
    }

    /// Serves the message that [is held](Connection::held), as soon as it may be served. A connection of a lane leaves
    /// its thread meanwhile: then this returns the reason.
    ///
    /// # Errors
    /// The reason why the connection ends. The message is still held then if it was not served.
    #[cold]
    #[inline(never)]
    fn serve_held(
        &mut self,
        context: &ServingContext,
        orb: &Orb,
        owner: &ConnectionOwner,
    ) -> Result<Option<ServingEnd>, ConnectionEnd> {
        loop {
            let kind = self.inbox.frame().header.kind;
            let status = &self.common.status;
            let announced = is_upcall(kind).then(|| status.announces()).flatten();
            self.held = false;
            if announced.is_some() && status.serves_no_more(orb.is_closing()) {
                return match self.turn_away(orb, owner) {
                    true => Ok(None),
                    false => Err(ConnectionEnd::Here),
                };
            }
            match self.serve_message(context, orb, owner) {
                SessionStep::Message => return Ok(None),
                SessionStep::Close => return Err(ConnectionEnd::Here),
                SessionStep::Reply => return self.complete().map(|()| None),
                SessionStep::Over(kind) => return Err(ConnectionEnd::by(kind)),
                SessionStep::Held => {}
            }
            self.hold(clock::monotonic_nanoseconds() + HELD.as_nanos() as u64);
            if orb.is_closing() && orb.registry().is_unread(&self.common.status) {
                return Err(ConnectionEnd::Here);
            }
            if matches!(owner, ConnectionOwner::Lane(_)) {
                return Ok(Some(ServingEnd::Throttled));
            }
            thread::sleep(HELD);
            self.intake.resume();
        }
    }

    /// Refuses the request or LocateRequest that the inbox announces, because the ORB or the connection's threadpool
    /// ends; a oneway is dropped. Returns false if the connection is no longer usable.
    #[cold]
    pub(super) fn turn_away(&mut self, orb: &Orb, owner: &ConnectionOwner) -> bool {
        // A connection that ends because it is idle is closed at once: its client's ORB then repeats the request.
        if !orb.is_closing() && !owner.is_stopping() {
            return true;
        }
        self.refuse(orb.shared(), raise::SERVER_ENDS)
    }

    /// Serves the message that the inbox announces, or assigns it to another thread.
    #[inline(always)]
    fn serve_message(
        &mut self,
        context: &ServingContext,
        orb: &Orb,
        owner: &ConnectionOwner,
    ) -> SessionStep {
        let large = reply_memory::any();
        if large && let Err(refused) = self.admit(orb.shared(), owner) {
            self.see_to_announced(orb, context);
            self.sink.expect(None);
            return refused;
        }
        let next = match context.assigns.get() {
            true => assign(orb, owner, context, self),
            false => self.run(orb, context),
        };
        if large {
            self.sink.expect(None);
        }
        next
    }

    /// Serves the message that the inbox announces, in this thread.
    #[inline(always)]
    pub(super) fn run(&mut self, orb: &Orb, context: &ServingContext) -> SessionStep {
        let (caller, inbox, sink) = self.parts(context);
        let (frame, status) = (inbox.frame(), &caller.common.status);
        if inbox.mid_message()
            || status.is_shared()
            || !is_upcall(frame.header.kind)
            || context.detached.get()
        {
            return self.run_among_others(orb, context);
        }
        let id = frame.request_id();
        context.running.set(status.begins(id));
        context.request.set(Some(id));
        let next = dispatch(orb, inbox, &frame, caller, sink);
        context.request_ended();
        match context.take_back(&self.common.status) {
            true => next,
            false => self.finished(context, id),
        }
    }

    /// Ends a request during which another thread took the connection over.
    #[cold]
    pub(super) fn finished(&self, context: &ServingContext, request: u32) -> SessionStep {
        if self.sink.broken() {
            // The reply was cut off. The client would take further messages of the other thread for its rest.
            self.link.close();
        }
        self.common.status.goes_no_more(request);
        context.needs_no_takeover_thread();
        SessionStep::Close
    }

    /// Serves the request that was taken off its connection.
    pub(crate) fn serve_detached(&mut self, orb: &Orb, owner: &ConnectionOwner) {
        serving(orb, owner, self, |context, connection| {
            // The request was announced when it was read. The reader decides whether the connection stays open, so the
            // result is ignored.
            connection.run(orb, context);
        });
        if self.sink.broken() {
            self.link.close();
        }
    }

    /// Records the beginning of a silence.
    fn falls_silent(&mut self, orb: &Orb, owner: &ConnectionOwner) {
        if !self.silent && !self.inbox.mid_message() {
            self.silent = true;
            // The connection's own thread has already waited for a complete tick.
            let waited = match owner {
                ConnectionOwner::Thread(_) => self.tick(tick(orb.options())),
                ConnectionOwner::Lane(_) => Duration::ZERO,
            };
            orb.registry().idles(&self.common.status, waited);
        }
    }
}

/// Reports whether a message of this type makes an upcall.
#[inline]
pub(super) fn is_upcall(kind: MessageType) -> bool {
    kind == MessageType::REQUEST || kind == MessageType::LOCATE_REQUEST
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use oxorb_transport::{Link, mem};

    use super::*;

    #[test]
    fn a_thread_that_panics_holds_neither_the_connection_nor_the_orb_afterwards() {
        let orb = Orb::new(Options::default());
        let link: Arc<dyn Link> = Arc::new(mem::pair(64).0);
        let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
        let mut connection = Connection::new(orb.options(), admitted, Arc::clone(&link), Some(0));
        let held = Arc::downgrade(&link);
        drop(link);
        let owner = ConnectionOwner::Thread(None);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            serving::<()>(&orb, &owner, &mut connection, |_, _| panic!("as it should"))
        }));
        assert!(panicked.is_err());
        assert!(super::orb().is_none());
        connection.leave(orb.server());
        assert!(held.upgrade().is_none(), "its descriptor is closed");
        orb.shutdown(true).unwrap();
    }
}
