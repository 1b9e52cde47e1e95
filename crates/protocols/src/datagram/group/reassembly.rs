//! Reassembly of packets of many sources, within limits.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::packet::Packet;

/// Number of remembered message ids of a source, so that no message runs twice.
pub const REMEMBERED: usize = 64;

/// Maximum number of incomplete collections.
pub const MOST_COLLECTIONS: usize = 64;

/// Maximum number of incomplete collections of one source.
pub const MOST_OF_SOURCE: usize = 16;

/// Maximum number of packets of a message.
pub const MOST_PACKETS: u32 = 65_536;

/// Default limit on the total size of incomplete collections, in octets.
pub const USUAL_KEPT: usize = 4 << 20;

/// Default time for which an incomplete collection is kept.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Cost of a packet in a collection in addition to its own octets, in octets.
const OVERHEAD: usize = 64;

/// Limits of a [`Reassembly`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of sources remembered.
    pub sources: usize,
    /// Maximum total size in octets of incomplete collections, including 64 for each packet. It
    /// limits the size of one message, too.
    pub kept: usize,
    /// Time for which an incomplete collection is kept.
    pub timeout: Duration,
}

/// Numbers of dropped packets and collections, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of datagrams that are not packets.
    pub malformed: u64,
    /// Number of packets that were received before, or whose message was already completed or dropped.
    pub duplicates: u64,
    /// Number of collections with packets that contradict each other, or with too many packets.
    pub contradictory: u64,
    /// Number of collections not completed in time.
    pub late: u64,
    /// Number of collections evicted by newer ones.
    pub crowded_out: u64,
}

/// Collections in progress. The time for a packet is bounded by the number of collections and the
/// logarithm of its collection's packets; a message also costs a copy of its octets.
#[derive(Debug)]
pub struct Reassembly {
    limits: Limits,
    /// Open collections, in the order of their first packets.
    open: Vec<Collection>,
    /// Total size in octets of the open collections, including overhead.
    kept: usize,
    sources: HashMap<SocketAddr, Source>,
    /// Hasher with random keys, so that a peer cannot choose ids that collide.
    hasher: RandomState,
    counts: Counts,
}

#[derive(Debug)]
struct Source {
    heard: Instant,
    /// Hashes of the ids of finished messages, the latest last.
    over: VecDeque<u64>,
}

#[derive(Debug)]
struct Collection {
    source: SocketAddr,
    id: u64,
    began: Instant,
    parts: BTreeMap<u32, Box<[u8]>>,
    /// Total size of the parts, in octets.
    octets: usize,
    /// Number of packets; `None` while unknown.
    of: Option<u32>,
}

impl Collection {
    fn cost(&self) -> usize {
        self.octets + self.parts.len() * OVERHEAD
    }

    /// Records the number of packets given by a packet; returns false if it contradicts earlier
    /// ones.
    fn agrees(&mut self, packet: &Packet<'_>) -> bool {
        let told = match (packet.is_last, packet.of) {
            (true, _) => packet.number.checked_add(1),
            (false, 0) => None,
            (false, of) => Some(of),
        };
        let highest = self.parts.last_key_value().map(|(number, _)| *number);
        let highest = highest.max(Some(packet.number));
        match (told, self.of) {
            (Some(told), Some(known)) if told != known => return false,
            (Some(told), _) => self.of = Some(told),
            (None, _) => {}
        }
        self.of.is_none_or(|of| highest < Some(of) && of <= MOST_PACKETS)
            && packet.number < MOST_PACKETS
    }

    fn is_complete(&self) -> bool {
        self.of.is_some_and(|of| self.parts.len() == of as usize)
    }
}

impl Reassembly {
    /// Returns a reassembly without packets.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            open: Vec::new(),
            kept: 0,
            sources: HashMap::new(),
            hasher: RandomState::new(),
            counts: Counts::default(),
        }
    }

    /// Returns the counts of dropped packets and collections.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the total size in octets of the incomplete collections, including 64 for each
    /// packet.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Processes a datagram that arrived at `now`, and returns the message that it completes. `now`
    /// must not decrease.
    pub fn take(&mut self, now: Instant, source: SocketAddr, datagram: &[u8]) -> Option<Vec<u8>> {
        self.expire(now);
        let Some(packet) = Packet::read(datagram) else {
            self.counts.malformed += 1;
            return None;
        };
        let id = self.hasher.hash_one(packet.id);
        self.hear(now, source);
        if self.sources[&source].over.contains(&id) {
            self.counts.duplicates += 1;
            return None;
        }
        // The usual message has a single packet, so it needs no collection.
        if packet.number == 0 && packet.is_last {
            self.remove(source, id);
            self.end(source, id);
            return Some(packet.payload.to_vec());
        }
        let at = self.open.iter().position(|it| it.source == source && it.id == id);
        let at = at.unwrap_or_else(|| self.begin(now, source, id));
        let collection = &mut self.open[at];
        if collection.parts.contains_key(&packet.number) {
            self.counts.duplicates += 1;
            return None;
        }
        if !collection.agrees(&packet) {
            self.counts.contradictory += 1;
            self.close(at);
            self.end(source, id);
            return None;
        }
        collection.parts.insert(packet.number, packet.payload.into());
        collection.octets += packet.payload.len();
        let is_complete = collection.is_complete();
        self.kept += packet.payload.len() + OVERHEAD;
        if is_complete {
            let whole = self.close(at);
            self.end(source, id);
            let mut message = Vec::with_capacity(whole.octets);
            whole.parts.values().for_each(|part| message.extend_from_slice(part));
            return Some(message);
        }
        while self.kept > self.limits.kept {
            self.crowd_out(0);
        }
        None
    }

    /// Records that a packet of a source has arrived. At the limit of sources, the one that was silent
    /// for longest is forgotten.
    fn hear(&mut self, now: Instant, source: SocketAddr) {
        if let Some(known) = self.sources.get_mut(&source) {
            known.heard = now;
            return;
        }
        if self.sources.len() >= self.limits.sources.max(1) {
            let oldest = self.sources.iter().min_by_key(|(_, it)| it.heard);
            if let Some(oldest) = oldest.map(|(at, _)| *at) {
                self.sources.remove(&oldest);
            }
        }
        let over = VecDeque::new();
        self.sources.insert(source, Source { heard: now, over });
    }

    /// Begins a collection, and returns its index.
    fn begin(&mut self, now: Instant, source: SocketAddr, id: u64) -> usize {
        let own = self.open.iter().filter(|it| it.source == source);
        if own.count() >= MOST_OF_SOURCE {
            let oldest = self.open.iter().position(|it| it.source == source);
            oldest.into_iter().for_each(|at| self.crowd_out(at));
        }
        if self.open.len() >= MOST_COLLECTIONS {
            self.crowd_out(0);
        }
        self.open.push(Collection {
            source,
            id,
            began: now,
            parts: BTreeMap::new(),
            octets: 0,
            of: None,
        });
        self.open.len() - 1
    }

    fn expire(&mut self, now: Instant) {
        let late = |it: &&Collection| now.saturating_duration_since(it.began) > self.limits.timeout;
        for _ in 0..self.open.iter().take_while(late).count() {
            self.counts.late += 1;
            let gone = self.close(0);
            // The id is remembered, so that later packets of this message begin no new collection.
            self.end(gone.source, gone.id);
        }
    }

    fn crowd_out(&mut self, at: usize) {
        self.counts.crowded_out += 1;
        let gone = self.close(at);
        self.end(gone.source, gone.id);
    }

    fn remove(&mut self, source: SocketAddr, id: u64) {
        let at = self.open.iter().position(|it| it.source == source && it.id == id);
        if let Some(at) = at {
            self.close(at);
        }
    }

    fn close(&mut self, at: usize) -> Collection {
        let collection = self.open.remove(at);
        self.kept -= collection.cost();
        collection
    }

    /// Remembers that a message was completed or dropped.
    fn end(&mut self, source: SocketAddr, id: u64) {
        if let Some(source) = self.sources.get_mut(&source) {
            if source.over.len() == REMEMBERED {
                source.over.pop_front();
            }
            source.over.push_back(id);
        }
    }
}
