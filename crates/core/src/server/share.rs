//! Memory used by one client: its share of the server's.
//!
//! | kind | counted while | beyond the share |
//! |---|---|---|
//! | messages | they arrive and are served | the next one is not read until memory is free |
//! | values | their request is served, or waits for its answer | NO_MEMORY, minor `CLIENT_SHARE` |
//! | replies | they are written | the next request waits; a reply made meanwhile is NO_MEMORY, minor `CLIENT_REPLIES` |
//! | buffers | connections keep them between messages | they are given back |
//!
//! All kinds together stay within `MaxOctetsPerClient`. Messages may take [`MESSAGES`] of it, so that memory for values
//! and replies is left; buffers [`BUFFERS`], so that they never obstruct the others. Items of up to [`SMALL`] octets
//! are not counted: in steady state, small messages access no state that two connections share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::client::Client;
use super::large_replies::LargeReplies;
use super::reply_memory;
use crate::options::Options;
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::Condvar;
use crate::threads::sync::atomic::{AtomicUsize, Ordering};

/// Size up to which messages, replies and buffers are not counted, in octets.
pub(super) const SMALL: usize = 32 << 10;

/// Fraction of the share that messages may take: two fifths.
const MESSAGES: (usize, usize) = (2, 5);

/// Fraction of the share that everything but replies may take: three quarters.
const OTHERS: (usize, usize) = (3, 4);

/// Fraction of the share that kept buffers may take: a sixteenth.
const BUFFERS: (usize, usize) = (1, 16);

/// Maximum number of requests of one client that run while another thread reads their connection.
const MAX_BESIDE: usize = 128;

/// Longest time for which one large reply keeps the others of its client from being encoded.
const ENCODING: Duration = Duration::from_secs(10);

/// Memory in octets that one client uses, by kind.
#[derive(Default)]
pub(crate) struct Share {
    messages: AtomicUsize,
    values: AtomicUsize,
    replies: AtomicUsize,
    buffers: AtomicUsize,
    /// Number of requests that run while another thread reads their connection.
    beside: AtomicUsize,
    /// Sizes of known large replies.
    pub(super) large: LargeReplies,
    encoding: Mutex<Turns>,
    encoded: Condvar,
}

/// Limits on the memory of one client, in octets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientLimits {
    all: usize,
    replies: usize,
}

impl ClientLimits {
    pub(super) const UNLIMITED: ClientLimits =
        ClientLimits { all: usize::MAX, replies: usize::MAX };

    pub(crate) fn of(options: &Options) -> ClientLimits {
        ClientLimits {
            all: options.max_octets_per_client.unwrap_or(usize::MAX),
            replies: options.max_reply_octets_per_client.unwrap_or(usize::MAX),
        }
    }

    fn part(self, (part, of): (usize, usize)) -> usize {
        match self.all {
            usize::MAX => usize::MAX,
            all => all / of * part,
        }
    }
}

/// Adds octets before `fits` reads the sums, and subtracts them again if they do not fit. Of two threads at least one
/// sees the other's addition.
fn take(kind: &AtomicUsize, octets: usize, fits: impl FnOnce(usize) -> bool) -> bool {
    let before = kind.fetch_add(octets, Ordering::SeqCst);
    let fits = fits(before);
    if !fits {
        kind.fetch_sub(octets, Ordering::SeqCst);
    }
    fits
}

impl Share {
    /// Returns the octets of large messages.
    fn messages(&self) -> usize {
        self.messages.load(Ordering::Relaxed)
    }

    /// Returns the octets of large replies that are being written or expected.
    pub(super) fn replies(&self) -> usize {
        self.replies.load(Ordering::Relaxed)
    }

    fn all(&self) -> usize {
        [&self.messages, &self.values, &self.replies, &self.buffers]
            .map(|kind| kind.load(Ordering::SeqCst))
            .iter()
            .sum()
    }

    /// Takes octets for values; returns false if they exceed the limits.
    pub(super) fn take_values(&self, octets: usize, limits: ClientLimits) -> bool {
        let others = limits.part(OTHERS);
        take(&self.values, octets, |_| {
            let all = self.all();
            all <= limits.all && all.saturating_sub(self.replies()) <= others
        })
    }

    pub(super) fn return_values(&self, octets: usize) {
        self.values.fetch_sub(octets, Ordering::SeqCst);
    }

    /// Takes octets for an existing reply. The only reply of a client always fits.
    pub(super) fn take_reply(&self, octets: usize, limits: ClientLimits) -> bool {
        take(&self.replies, octets, |before| {
            before == 0
                || before.saturating_add(octets) <= limits.replies && self.all() <= limits.all
        })
    }

    /// Takes octets for an expected reply, if the values of received messages fit as well.
    pub(super) fn expect_reply(&self, octets: usize, limits: ClientLimits) -> bool {
        take(&self.replies, octets, |before| {
            let all = self.all().saturating_add(self.messages());
            before == 0 || before.saturating_add(octets) <= limits.replies && all <= limits.all
        })
    }

    /// Changes the octets of one reply; returns false, unchanged, if more would exceed the limits.
    pub(super) fn resize_reply(&self, from: usize, to: usize, limits: ClientLimits) -> bool {
        if to <= from {
            self.return_reply(from - to);
            return true;
        }
        take(&self.replies, to - from, |before| {
            let others = before - from;
            others == 0 || others.saturating_add(to) <= limits.replies && self.all() <= limits.all
        })
    }

    /// Counts octets of a reply that is being encoded, regardless of the limits.
    fn add_reply(&self, octets: usize) {
        self.replies.fetch_add(octets, Ordering::SeqCst);
    }

    pub(super) fn return_reply(&self, octets: usize) {
        self.replies.fetch_sub(octets, Ordering::SeqCst);
    }

    /// Reports whether one more request may run while another thread reads its connection.
    pub(super) fn may_run_beside(&self) -> bool {
        self.beside.load(Ordering::Relaxed) < MAX_BESIDE
    }

    pub(super) fn runs_beside(&self) {
        self.beside.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn runs_no_more(&self) {
        self.beside.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until no other large reply of the client is being encoded, or one has been for [`ENCODING`]. Returns the
    /// number of the turn.
    fn encodes(&self) -> u64 {
        let mut turns = self.encoding.lock();
        let (mut seen, mut until) = (turns.last, clock::now() + ENCODING);
        while turns.taken {
            if turns.last != seen {
                (seen, until) = (turns.last, clock::now() + ENCODING);
            }
            let Some(left) = until.checked_duration_since(clock::now()) else {
                break;
            };
            turns = self.encoded.wait_timeout(turns, left).0;
        }
        turns.taken = true;
        turns.last += 1;
        turns.last
    }

    fn encodes_no_more(&self, turn: u64) {
        let mut turns = self.encoding.lock();
        if turns.last == turn {
            turns.taken = false;
            self.encoded.notify_one();
        }
    }
}

/// Turns to encode a large reply.
#[derive(Default)]
struct Turns {
    taken: bool,
    /// Number of the last turn.
    last: u64,
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share")
            .field("messages", &self.messages)
            .field("values", &self.values)
            .field("replies", &self.replies)
            .field("buffers", &self.buffers)
            .finish_non_exhaustive()
    }
}

/// Memory of the client's share that the messages of one connection take.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    client: Option<Arc<Client>>,
    octets: usize,
}

impl Claim {
    pub(crate) fn of(client: Option<&Arc<Client>>) -> Claim {
        Claim { client: client.cloned(), octets: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.octets == 0
    }

    /// Takes `octets` in total, if all messages of the client stay within the limits; otherwise
    /// nothing changes. Octets taken before are never refused, so that a begun message can
    /// complete; nor is the only message, which the connection's own limits bound.
    pub(crate) fn grow(&mut self, octets: usize, limits: ClientLimits) -> bool {
        let Some(client) = &self.client else {
            return true;
        };
        let more = octets.saturating_sub(self.octets);
        if more == 0 {
            return true;
        }
        let share = &client.share;
        let most = limits.part(MESSAGES);
        let grown = take(&share.messages, more, |before| {
            let others = before - self.octets;
            let values = share.values.load(Ordering::SeqCst);
            let alone = others + values + share.replies() == 0;
            alone || others.saturating_add(octets) <= most && share.all() <= limits.all
        });
        if grown {
            client.all_messages.fetch_add(more, Ordering::Relaxed);
            self.octets = octets;
        }
        grown
    }

    /// Releases all octets, and returns their number.
    pub(crate) fn release(&mut self) -> usize {
        if let Some(client) = &self.client
            && self.octets != 0
        {
            client.share.messages.fetch_sub(self.octets, Ordering::SeqCst);
            client.all_messages.fetch_sub(self.octets, Ordering::Relaxed);
        }
        std::mem::take(&mut self.octets)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        reply_memory::freed(self.release());
    }
}

/// Turn to encode a large reply: an encoder cannot be refused memory, so one reply of each client grows at a time, and
/// the next one only once it is known whether this one fits.
#[derive(Debug)]
pub(super) struct Encoding {
    client: Arc<Client>,
    turn: u64,
    octets: usize,
}

impl Encoding {
    /// Waits for the turn, with a time limit, because the reply being encoded may wait for this
    /// one.
    pub(super) fn begin(client: Arc<Client>) -> Encoding {
        let turn = client.share.encodes();
        Encoding { client, turn, octets: 0 }
    }

    /// Counts the buffer before it grows to `octets`. When the reply is complete, it counts as a
    /// reply, and no longer here.
    pub(super) fn counts(&mut self, octets: usize) {
        self.client.share.add_reply(octets);
        self.client.share.return_reply(self.octets);
        self.octets = octets;
    }
}

impl Drop for Encoding {
    fn drop(&mut self) {
        self.client.share.return_reply(self.octets);
        self.client.share.encodes_no_more(self.turn);
    }
}

/// Memory of the client's share that the values of one request take.
#[derive(Debug)]
pub(crate) struct Values {
    client: Arc<Client>,
    octets: usize,
}

impl Values {
    pub(super) fn of(client: Arc<Client>) -> Values {
        Values { client, octets: 0 }
    }

    /// Takes more octets; returns false, unchanged, if they exceed the limits.
    pub(super) fn grow(&mut self, octets: usize, options: &Options) -> bool {
        let grown = self.client.share.take_values(octets, ClientLimits::of(options));
        if grown {
            self.octets += octets;
        }
        grown
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        self.client.share.return_values(self.octets);
        reply_memory::freed(self.octets);
    }
}

/// Buffer that a connection keeps between messages.
#[derive(Debug)]
pub(super) struct KeptBuffer {
    client: Option<Arc<Client>>,
    /// Part of the client's share that the buffer takes, in octets.
    octets: usize,
    /// Capacity up to which a buffer may be kept without further accounting.
    covered: usize,
}

impl KeptBuffer {
    pub(super) fn of(client: Option<&Arc<Client>>) -> KeptBuffer {
        KeptBuffer { client: client.cloned(), octets: 0, covered: SMALL }
    }

    /// Exempts memory of a lane, which belongs to no client.
    pub(super) fn planned(&mut self, capacity: usize) {
        self.covered = self.covered.max(capacity);
    }

    /// Reports whether a buffer of this capacity may be kept unchanged.
    #[inline]
    pub(super) fn covers(&self, capacity: usize) -> bool {
        capacity <= self.covered
    }

    /// Returns the capacity up to which a buffer may be kept without further accounting.
    pub(super) fn capacity(&self) -> usize {
        self.covered
    }

    /// Returns the octets of the client's share that the buffer takes.
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// Counts a buffer of another capacity; returns false, with nothing counted, if the buffer has
    /// to be freed.
    #[cold]
    pub(super) fn keep(&mut self, capacity: usize, options: &Options) -> bool {
        self.release();
        let kept = capacity <= SMALL
            || capacity <= options.limits.kept_capacity
                && self.client.as_ref().is_none_or(|client| {
                    let limits = ClientLimits::of(options);
                    let (share, most) = (&client.share, limits.part(BUFFERS));
                    take(&share.buffers, capacity, |before| before.saturating_add(capacity) <= most)
                });
        if kept && capacity > SMALL {
            self.covered = capacity;
            if self.client.is_some() {
                self.octets = capacity;
            }
        }
        kept
    }

    fn release(&mut self) {
        if let Some(client) = &self.client {
            client.share.buffers.fetch_sub(self.octets, Ordering::SeqCst);
            reply_memory::freed(self.octets);
        }
        self.octets = 0;
        self.covered = SMALL;
    }
}

impl Drop for KeptBuffer {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_begun_goes_on_and_one_alone_too() {
        let client = Arc::new(Client::default());
        let limits = ClientLimits { all: 250, ..ClientLimits::UNLIMITED };
        let mut first = Claim::of(Some(&client));
        let mut second = Claim::of(Some(&client));
        assert!(first.grow(500, limits), "alone");
        assert!(!second.grow(1, limits));
        assert!(second.is_empty());
        assert!(first.grow(400, limits), "not more than before");
        first.release();
        assert!(second.grow(60, limits));
        assert!(first.grow(40, limits));
        assert!(!first.grow(41, limits));
        drop((first, second));
        assert_eq!(client.share.messages(), 0);
    }

    #[test]
    fn all_kinds_together_stay_within_the_share() {
        let client = Arc::new(Client::default());
        let limits = ClientLimits { all: 1000, replies: 800 };
        let share = &client.share;
        let mut claim = Claim::of(Some(&client));
        assert!(claim.grow(400, limits));
        assert!(share.take_values(300, limits));
        assert!(share.take_reply(300, limits));
        assert!(!share.take_values(1, limits));
        assert!(!share.take_reply(1, limits));
        share.return_values(300);
        assert!(share.take_reply(300, limits));
        assert!(!share.take_values(1, limits));
        share.return_reply(600);
        assert!(share.take_reply(5000, limits), "alone");
        assert!(!share.take_reply(1, limits));
    }

    #[test]
    fn a_reply_is_expected_only_where_values_of_messages_that_are_there_fit() {
        let client = Arc::new(Client::default());
        let limits = ClientLimits { all: 1000, replies: 1000 };
        let share = &client.share;
        let mut claim = Claim::of(Some(&client));
        assert!(claim.grow(300, limits));
        assert!(share.expect_reply(200, limits));
        assert!(share.expect_reply(200, limits));
        assert!(!share.expect_reply(1, limits), "300 of values are to come");
        assert!(share.take_values(300, limits));
        assert!(share.resize_reply(200, 100, limits));
        assert!(share.resize_reply(100, 200, limits));
        assert!(!share.resize_reply(200, 301, limits));
    }

    #[test]
    fn buffers_that_are_kept_stay_within_their_part_and_stand_in_nobodys_way() {
        let client = Arc::new(Client::default());
        let options = Options { max_octets_per_client: Some(16 << 20), ..Options::default() };
        let limits = ClientLimits::of(&options);
        let mut buffers: Vec<_> = (0..20).map(|_| KeptBuffer::of(Some(&client))).collect();
        let kept = buffers.iter_mut().map(|buffer| buffer.keep(64 << 10, &options));
        assert_eq!(kept.filter(|kept| *kept).count(), 16);
        assert!(!buffers[0].keep(10 << 20, &options), "above KeptCapacity");
        assert!(!buffers[0].covers(64 << 10));
        assert!(buffers[19].keep(64 << 10, &options), "there is room again");
        assert!(buffers[19].covers(64 << 10));
        let mut claim = Claim::of(Some(&client));
        assert!(claim.grow(64 << 20, limits), "alone but for them");
        drop(buffers);
        assert_eq!(client.share.all(), 64 << 20);
    }
}
