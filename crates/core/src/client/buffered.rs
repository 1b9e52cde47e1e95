//! Oneways that nobody waits for (SYNC_NONE): kept in a bounded buffer for each server and priority, sent by a thread of
//! that priority.

use std::fmt;
use std::io::IoSlice;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_cdr::Encoder;
use oxorb_giop::{Outgoing, Told};
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_sys::thread::Purpose;
use oxorb_transport::Link;

use super::draft::{Addressee, Conditions, Draft, First};
use super::level::Level;
use super::reach::Untried;
use super::selection::{Selection, Worth, pace};
use super::{Args, Peer, Timing, exchange, intercepted};
use crate::interceptor::{ClientFlow, Interrupt, Received};
use crate::lock::Mutex;
use crate::op::Operation;
use crate::policy::{BufferingConstraint, Effective};
use crate::route::RouteProfile;
use crate::sync::{Condvar, MutexGuard};
use crate::{Ref, raise};

/// How long the thread waits for more before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// The buffered oneways of one server, counted. Got by [`Ref::buffered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffered {
    /// Not sent yet.
    pub waiting: u64,
    /// Octets of those.
    pub octets: usize,
    /// Handed to the transport.
    pub sent: u64,
    /// Could not be sent, and are lost: whoever must know uses another sync scope.
    pub lost: u64,
}

/// The buffer for one server and level.
#[derive(Default)]
pub(crate) struct Buffer {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whole messages, one after the other.
    octets: Vec<u8>,
    waiting: u64,
    /// Those the thread is about to send.
    in_hand: u64,
    sent: u64,
    lost: u64,
    /// Where all that waits may go as it is when its server does not answer: other addresses of these objects.
    others: Vec<Weak<Peer>>,
    /// When what is there must be sent.
    due: Option<Instant>,
    /// The time that callers had set when `due` was.
    time: Option<Duration>,
    /// Flag: the buffered requests must be sent now.
    urgent: bool,
    running: bool,
    /// Session of the requests that wait: all of them go over one connection, whose server the first of them tells how
    /// text is encoded.
    session: Outgoing,
    /// A buffer for one message, kept for its capacity.
    scratch: Vec<u8>,
}

/// Copies the request into the buffer of the object's server.
///
/// # Errors
/// TRANSIENT when the buffer is full; what is wrong with reference or arguments. For an object of this process it is
/// called, as any other oneway.
pub(super) fn send<'a>(
    reference: &Ref,
    policies: &Effective,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    let route = reference.route()?;
    if route.local(reference.orb(), None).is_some() {
        return exchange(reference, policies, op, args).map(drop);
    }
    let selection = Selection::of(reference, &route, policies, op)?;
    let mut profiles = Untried::of(&route, None);
    if let Some(selection) = &selection {
        profiles.restrict(&route, None, selection);
    }
    let index = profiles.in_order().next();
    let index = index.ok_or(raise::NO_USABLE_PROFILE)?;
    let profile = &route.profiles[index];
    let timing = Timing::start(policies)?;
    let mut flow = ClientFlow::of(reference, op);
    match intercepted::begin(flow.as_deref_mut()) {
        Ok(()) => {}
        Err(Interrupt::Raise(exception)) => return Err(exception),
        Err(Interrupt::Forward(to)) => {
            reference.forward_to(to.ior().clone(), false)?;
            return Err(raise::FORWARDED);
        }
    }
    let peer = profile.remote();
    let level = Level::of(selection.as_ref());
    let worth = selection.map_or(Worth::default(), |selection| selection.worth(&route));
    let worth = worth.or_inherited(policies);
    let added = flow
        .as_deref()
        .map(ClientFlow::contexts)
        .unwrap_or_default();
    let to = Addressee::of(&route, index);
    let conditions = Conditions {
        policies,
        worth,
        timing: &timing,
    };
    let mut room = None;
    let draft = Draft::to(to, op, &conditions, &added, &mut room)?;
    // The message is written once, so it must be the same for them.
    let others = profiles
        .in_order()
        .map(|at| &route.profiles[at])
        .filter(|other| draft.suits(other))
        .map(RouteProfile::remote)
        .filter(|other| !Arc::ptr_eq(other, peer));
    let buffer = Buffer::of(peer, level);
    let added = buffer.add(peer, level, others, &draft, args, policies);
    if let Some(flow) = &mut flow {
        let end = match &added {
            Ok(()) => Received::Sent,
            Err(exception) => Received::SystemException(*exception),
        };
        match flow.end(&end) {
            Ok(()) => {}
            Err(Interrupt::Raise(exception)) => return Err(exception),
            Err(Interrupt::Forward(to)) => reference.forward_to(to.ior().clone(), false)?,
        }
    }
    added
}

/// Has everything sent that is buffered for the object's server.
pub(super) fn flush(reference: &Ref) -> Result<(), SystemException> {
    let route = reference.route()?;
    let timing = Timing::start(&reference.policies())?;
    for profile in &route.profiles {
        let buffers = profile.peer.iter().flat_map(|peer| peer.shared.buffers());
        for buffer in buffers {
            buffer.flush(timing.deadline())?;
        }
    }
    Ok(())
}

pub(super) fn look(reference: &Ref) -> Buffered {
    let mut sum = Buffered::default();
    let Ok(route) = reference.route() else {
        return sum;
    };
    let mut seen: Vec<&Arc<Peer>> = Vec::new();
    for peer in route
        .profiles
        .iter()
        .filter_map(|profile| profile.peer.as_ref())
    {
        let again = seen.iter().any(|before| Arc::ptr_eq(before, peer));
        for buffer in peer.shared.buffers().filter(|_| !again) {
            let state = buffer.state();
            sum.waiting += state.waiting + state.in_hand;
            sum.octets += state.octets.len();
            sum.sent += state.sent;
            sum.lost += state.lost;
        }
        seen.push(peer);
    }
    sum
}

impl Buffer {
    fn of(peer: &Peer, level: Option<Level>) -> &Arc<Buffer> {
        peer.shared.of(level).buffer.get_or_init(Arc::default)
    }

    fn add<'a, 'p>(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        level: Option<Level>,
        others: impl Iterator<Item = &'p Arc<Peer>> + Clone,
        draft: &Draft<'_>,
        args: Args<'_, 'a>,
        policies: &Effective,
    ) -> Result<(), SystemException> {
        let constraint = policies.buffering;
        let options = peer.options();
        let mut state = self.state();
        if !state.running {
            let (buffer, owner) = (Arc::clone(self), Arc::clone(peer));
            let priority = level.and_then(Level::priority);
            let bandwidth = level.map_or(0, Level::bandwidth);
            peer.threads()
                .spawn(Purpose::Oneways, "oxorb-oneways", priority, move || {
                    buffer.run(&owner, bandwidth)
                })
                .map_err(|_| raise::NO_THREAD)?;
            state.running = true;
        }
        let mut session = state.session;
        if state.waiting == 0 {
            session.told = Told::NOTHING;
        }
        let tell = session.told.yet_to_tell(draft.code_sets);
        if tell.is_some() {
            session.told = Told::of(tell);
        }
        let dialect = session.told.dialect(draft.wire.version().minor);
        let id = session.ids.next_id();
        let scratch = mem::take(&mut state.scratch);
        let mut e: Encoder<'a> = options.encoder(scratch, dialect);
        let first = First {
            code_sets: tell,
            ..First::default()
        };
        let written = draft.write(&mut e, id, &first, args, &options.limits);
        let message = e.finish();
        let most = options.buffered_oneways.min(policies.queue);
        let room = most.saturating_sub(state.octets.len());
        let taken = written.and_then(|()| {
            if message.len() > room {
                return Err(raise::BUFFER_FULL);
            }
            if peer.is_closed() {
                return Err(raise::ORB_SHUT_DOWN);
            }
            let mut slices = [IoSlice::new(&[]); oxorb_cdr::Encoded::MAX_SLICES];
            for slice in message.io_slices(&mut slices) {
                state.octets.extend_from_slice(slice);
            }
            Ok(())
        });
        state.scratch = options.keep(message.into_buffer());
        taken?;
        state.session = session;
        if state.waiting == 0 {
            state.others.clear();
            state.others.extend(others.map(Arc::downgrade));
        } else {
            let is = |known: &Weak<Peer>, other: &Arc<Peer>| known.as_ptr() == Arc::as_ptr(other);
            let keeps = |known: &Weak<Peer>| others.clone().any(|other| is(known, other));
            state.others.retain(keeps);
        }
        state.waiting += 1;
        if state.is_due(constraint, most / 2) {
            if !mem::replace(&mut state.urgent, true) {
                self.changed.notify_all();
            }
        } else if let Some(time) = constraint.time
            && (state.due.is_none() || state.time.is_none_or(|before| time < before))
        {
            let due = earliest(state.due, Instant::now().checked_add(time));
            state.time = Some(time);
            if due != state.due {
                state.due = due;
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    /// Waits until what is there now was handed to the transport.
    pub(crate) fn flush(&self, until: Option<Instant>) -> Result<(), SystemException> {
        crate::conn::step_aside();
        let mut state = self.state();
        let goal = state.sent + state.lost + state.in_hand + state.waiting;
        let lost = state.lost;
        if state.waiting > 0 {
            state.urgent = true;
            self.changed.notify_all();
        }
        while state.sent + state.lost < goal {
            state = match until {
                None => self.changed.wait(state).expect(UNPOISONED),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(raise::timeout(CompletionStatus::Maybe));
                    }
                    self.changed.wait_timeout(state, left).expect(UNPOISONED).0
                }
            };
        }
        if state.lost > lost {
            return Err(SystemException::comm_failure(
                minor::comm_failure::SEND_FAILED,
                CompletionStatus::Maybe,
            ));
        }
        Ok(())
    }

    /// The thread: sends what is due, until there was nothing for a while.
    fn run(&self, peer: &Arc<Peer>, bandwidth: u32) {
        let mut way = None;
        let mut spare = Vec::new();
        let mut others = Vec::new();
        let mut idle_since = Instant::now();
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let closing = peer.is_closed();
            if state.waiting == 0 {
                if closing || now.saturating_duration_since(idle_since) >= IDLE {
                    state.running = false;
                    state.octets = Vec::new();
                    return;
                }
            } else if closing || state.urgent || state.due.is_some_and(|due| due <= now) {
                mem::swap(&mut state.octets, &mut spare);
                mem::swap(&mut state.others, &mut others);
                let count = mem::take(&mut state.waiting);
                state.in_hand = count;
                state.due = None;
                state.time = None;
                state.urgent = false;
                drop(state);
                let sent = transmit(peer, &others, &mut way, bandwidth, &spare);
                // Both buffers stay as long as the thread does: they are bounded, and would grow again at once.
                spare.clear();
                idle_since = Instant::now();
                state = self.state();
                state.in_hand = 0;
                match sent {
                    Ok(()) => state.sent += count,
                    Err(_) => state.lost += count,
                }
                self.changed.notify_all();
                continue;
            }
            let until = state.due.unwrap_or(idle_since + IDLE);
            let wait = until.saturating_duration_since(now).min(IDLE);
            state = self.changed.wait_timeout(state, wait).expect(UNPOISONED).0;
        }
    }

    /// Wakes the thread of a server whose ORB ends.
    pub(crate) fn wake(&self) {
        let _state = self.state();
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

impl State {
    /// Whether what waits must be sent now, whatever the clock says. `half`: so many octets are half of the buffer.
    fn is_due(&self, constraint: BufferingConstraint, half: usize) -> bool {
        let count = constraint.count.map(u64::from);
        constraint == BufferingConstraint::FLUSH
            || count.is_some_and(|count| self.waiting >= count)
            || constraint
                .octets
                .is_some_and(|octets| self.octets.len() >= octets)
            || self.octets.len() >= half
    }
}

/// A connection, and whose it is.
struct Way {
    to: Arc<Peer>,
    link: Arc<dyn Link>,
}

/// Sends the messages over the connection of the thread, or over a new one if the server has closed it: to `peer`, or to
/// the first of the others that answers.
fn transmit(
    peer: &Arc<Peer>,
    others: &[Weak<Peer>],
    way: &mut Option<Way>,
    bandwidth: u32,
    octets: &[u8],
) -> Result<(), SystemException> {
    // Nothing is ever answered: whatever came says that the connection ends.
    if let Some(old) = way.take_if(|way| way.link.has_input().unwrap_or(true)) {
        old.give_up();
    }
    let alive: Vec<Arc<Peer>> = others.iter().filter_map(Weak::upgrade).collect();
    let may: Vec<&Arc<Peer>> = std::iter::once(peer).chain(&alive).collect();
    // What was right for earlier messages may not be for these.
    if let Some(old) = way.take_if(|way| !may.iter().any(|to| Arc::ptr_eq(to, &way.to))) {
        old.link.close();
    }
    let options = peer.options();
    let mut fresh = false;
    loop {
        let current = match way {
            Some(current) => current,
            None => {
                fresh = true;
                let timing = Timing::for_connecting(options.connect_timeout);
                let (won, link, _) = Peer::connect_first(&may, timing, &mut Vec::new())?;
                let to = Arc::clone(may[won]);
                pace(&*link, bandwidth);
                way.insert(Way { to, link })
            }
        };
        let _ = current.link.set_write_timeout(Some(options.stall_timeout));
        let Err(failed) = current.link.write(&mut [IoSlice::new(octets)]) else {
            return Ok(());
        };
        if let Some(broken) = way.take() {
            broken.give_up();
        }
        if fresh || failed.written != 0 {
            return Err(raise::CONNECTION_LOST);
        }
    }
}

impl Way {
    fn give_up(self) {
        self.link.close();
        self.to.lost();
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Buffer")
            .field("waiting", &state.waiting)
            .field("octets", &state.octets.len())
            .finish_non_exhaustive()
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
