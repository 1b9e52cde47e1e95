//! Bounded buffers of oneways without a waiting caller (SYNC_NONE), one for each server and level, and the threads that
//! send their contents.

use std::fmt;
use std::io::IoSlice;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_cdr::Encoder;
use oxorb_giop::{Outgoing, Told};
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::Link;

use super::draft::{Draft, First};
use super::level::Level;
use super::selection::pace;
use super::{Args, Peer, Timing};
use crate::error::raise;
use crate::policy::{BufferingConstraint, Effective};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::Condvar;

/// Time that the thread waits for further oneways before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Counts of the buffered oneways of one server, as returned by [`Ref::buffered`](crate::Ref::buffered).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BufferedOneways {
    /// Number of oneways that were not sent yet.
    pub waiting: u64,
    /// Total size in octets of the oneways that were not sent yet.
    pub octets: usize,
    /// Number of oneways that were passed to the transport.
    pub sent: u64,
    /// Number of oneways that could not be sent, and are lost; callers that must know use another sync scope.
    pub lost: u64,
}

/// Buffer for one server and level.
#[derive(Default)]
pub(crate) struct OnewayBuffer {
    state: Mutex<OnewayState>,
    changed: Condvar,
}

#[derive(Default)]
struct OnewayState {
    /// Complete messages, one after the other.
    octets: Vec<u8>,
    waiting: u64,
    /// Number of oneways that the thread is about to send.
    in_hand: u64,
    sent: u64,
    lost: u64,
    /// Peers that may receive the waiting messages unchanged if their server does not answer: other addresses of the
    /// same objects.
    others: Vec<Weak<Peer>>,
    /// Time at which the waiting oneways must be sent.
    due: Option<Instant>,
    /// Time limit of the callers, from which `due` was computed.
    time: Option<Duration>,
    /// Whether the waiting oneways must be sent now.
    urgent: bool,
    running: bool,
    /// Session of the waiting requests: all of them go over one connection, and the first of them announces the
    /// encoding of text to its server.
    session: Outgoing,
    /// Buffer for one message, kept so that its allocation is reused.
    scratch: Vec<u8>,
}

impl OnewayBuffer {
    pub(super) fn of(peer: &Peer, level: Option<Level>) -> &Arc<OnewayBuffer> {
        peer.shared.of(level).buffer.get_or_init(Arc::default)
    }

    pub(super) fn add<'a, 'p>(
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
        let mut state = self.state.lock();
        if !state.running {
            let (buffer, owner) = (Arc::clone(self), Arc::clone(peer));
            let priority = level.and_then(Level::priority);
            let bandwidth = level.map_or(0, Level::bandwidth);
            peer.threads()
                .spawn(ThreadPurpose::Oneways, "oxorb-oneways", priority, move || {
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
        let first = First { code_sets: tell, ..First::default() };
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
            let due = earliest(state.due, clock::now().checked_add(time));
            state.time = Some(time);
            if due != state.due {
                state.due = due;
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    /// Waits until the current contents have been passed to the transport.
    pub(crate) fn flush(&self, until: Option<Instant>) -> Result<(), SystemException> {
        crate::conn::step_aside();
        let mut state = self.state.lock();
        let goal = state.sent + state.lost + state.in_hand + state.waiting;
        let lost = state.lost;
        if state.waiting > 0 {
            state.urgent = true;
            self.changed.notify_all();
        }
        while state.sent + state.lost < goal {
            state = match until {
                None => self.changed.wait(state),
                Some(until) => {
                    let left = until.saturating_duration_since(clock::now());
                    if left.is_zero() {
                        return Err(raise::timeout(CompletionStatus::Maybe));
                    }
                    self.changed.wait_timeout(state, left).0
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

    /// Runs the thread: sends due oneways until there have been none for a while.
    fn run(&self, peer: &Arc<Peer>, bandwidth: u32) {
        let mut oneway_link = None;
        let mut spare = Vec::new();
        let mut others = Vec::new();
        let mut idle_since = clock::now();
        let mut state = self.state.lock();
        loop {
            let now = clock::now();
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
                let sent = transmit(peer, &others, &mut oneway_link, bandwidth, &spare);
                // Both buffers are kept as long as the thread runs, because they are bounded and would soon grow again.
                spare.clear();
                idle_since = clock::now();
                state = self.state.lock();
                state.in_hand = 0;
                match sent {
                    Ok(()) => state.sent += count,
                    Err(_) => state.lost += count,
                }
                self.changed.notify_all();
                continue;
            }
            let wait = match state.due {
                Some(due) => due.saturating_duration_since(now).min(IDLE),
                // The waiting oneways have no time limit, so the thread waits for further oneways.
                None if state.waiting > 0 => IDLE,
                None => (idle_since + IDLE).saturating_duration_since(now),
            };
            state = self.changed.wait_timeout(state, wait).0;
        }
    }

    /// Adds the counts of this buffer to `sum`.
    pub(super) fn count_into(&self, sum: &mut BufferedOneways) {
        let state = self.state.lock();
        sum.waiting += state.waiting + state.in_hand;
        sum.octets += state.octets.len();
        sum.sent += state.sent;
        sum.lost += state.lost;
    }

    /// Wakes the thread of a server whose ORB ends.
    pub(crate) fn wake(&self) {
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

impl OnewayState {
    /// Reports whether the waiting oneways must be sent now, regardless of the time. `half` is half of the buffer's
    /// capacity, in octets.
    fn is_due(&self, constraint: BufferingConstraint, half: usize) -> bool {
        let count = constraint.count.map(u64::from);
        constraint == BufferingConstraint::FLUSH
            || count.is_some_and(|count| self.waiting >= count)
            || constraint.octets.is_some_and(|octets| self.octets.len() >= octets)
            || self.octets.len() >= half
    }
}

/// Connection of the thread, and its peer.
struct OnewayLink {
    to: Arc<Peer>,
    link: Arc<dyn Link>,
}

/// Sends the messages over the connection of the thread, or over a new one if the server has closed it: to `peer`, or
/// to the first of the others that answers.
fn transmit(
    peer: &Arc<Peer>,
    others: &[Weak<Peer>],
    oneway_link: &mut Option<OnewayLink>,
    bandwidth: u32,
    octets: &[u8],
) -> Result<(), SystemException> {
    // The server answers no oneway, so any input means that the connection is ending.
    if let Some(old) =
        oneway_link.take_if(|oneway_link| oneway_link.link.has_input().unwrap_or(true))
    {
        old.give_up();
    }
    let alive: Vec<Arc<Peer>> = others.iter().filter_map(Weak::upgrade).collect();
    let may: Vec<&Arc<Peer>> = std::iter::once(peer).chain(&alive).collect();
    // A connection that carried earlier messages may lead to a server that must not receive these.
    if let Some(old) =
        oneway_link.take_if(|oneway_link| !may.iter().any(|to| Arc::ptr_eq(to, &oneway_link.to)))
    {
        old.link.close();
    }
    let options = peer.options();
    let mut fresh = false;
    loop {
        let current = match oneway_link {
            Some(current) => current,
            None => {
                fresh = true;
                let timing = Timing::for_connecting(options.connect_timeout);
                let (won, link, _) = Peer::connect_first(&may, timing, &mut Vec::new(), None)?;
                let to = Arc::clone(may[won]);
                pace(&*link, bandwidth);
                oneway_link.insert(OnewayLink { to, link })
            }
        };
        let _ = current.link.set_write_timeout(Some(options.stall_timeout));
        let Err(failed) = current.link.write(&mut [IoSlice::new(octets)]) else {
            return Ok(());
        };
        if let Some(broken) = oneway_link.take() {
            broken.give_up();
        }
        if fresh || failed.written != 0 {
            return Err(raise::CONNECTION_LOST);
        }
    }
}

impl OnewayLink {
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

impl fmt::Debug for OnewayBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("OnewayBuffer")
            .field("waiting", &state.waiting)
            .field("octets", &state.octets.len())
            .finish_non_exhaustive()
    }
}
