//! Reassembly of messages from fragments, which may arrive in any order, several times, or not at all.
//!
//! This module reads no clock; the time is an argument. [`ReassemblyLimits`] limit the memory that senders can occupy.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use oxorb::values::ByteOrder;

use super::datagram::Header;

/// Limits of a [`Reassembly`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReassemblyLimits {
    /// Maximum number of senders whose state is kept. Default 64, at about 100 octets each. A new sender replaces one
    /// without useful datagrams for [`silence`](Self::silence) or, if there is none, the one with the fewest useful
    /// datagrams. An attacker with forged addresses therefore displaces other forged senders, and not senders that are
    /// in use.
    pub sources: usize,
    /// Size of the window of message numbers that are tracked for each sender. Default 64. Older messages count as
    /// duplicates or as too late.
    pub window: u32,
    /// Maximum size in octets of one message. Default 1 MiB. A larger message is dropped.
    pub message: usize,
    /// Maximum total size in octets of incomplete messages. Default 4 MiB. Beyond it, the oldest ones are dropped. One
    /// more bit is kept for each octet.
    pub octets: usize,
    /// Maximum time for which a message waits for its fragments. Default 1 s.
    pub age: Duration,
    /// Time without useful datagrams after which a sender counts as new, so that it is accepted after a restart.
    /// Default 10 s. Datagrams that are dropped do not count, such as those of a restarted sender whose numbers are
    /// still too low, and those that follow a forged datagram with a high number.
    pub silence: Duration,
}

impl Default for ReassemblyLimits {
    fn default() -> Self {
        Self {
            sources: 64,
            window: 64,
            message: 1 << 20,
            octets: 4 << 20,
            age: Duration::from_secs(1),
            silence: Duration::from_secs(10),
        }
    }
}

/// Reason why a fragment is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Dropped {
    /// The fragment, or its complete message, was received before.
    Duplicate,
    /// The message is older than the window of its sender.
    Late,
    /// The message is larger than a limit.
    TooLarge,
    /// Byte order, size or number of fragments differ from those of other fragments of the message, or the fragment is
    /// empty, overlaps another one, or is not within the message.
    Contradiction,
}

/// Numbers of messages, by result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReassemblyCounts {
    /// Number of complete messages.
    pub complete: u64,
    /// Number of messages that were incomplete after [`ReassemblyLimits::age`], when their sender was removed, or when
    /// the window of their sender had passed them.
    pub incomplete: u64,
    /// Number of messages that were dropped to make space for newer ones.
    pub evicted: u64,
}

/// Fragments of all senders, kept until their messages are complete.
#[derive(Debug)]
pub struct Reassembly {
    limits: ReassemblyLimits,
    sources: HashMap<SocketAddr, Source>,
    /// Incomplete messages by age, the oldest first.
    ages: BTreeMap<u64, (SocketAddr, u32)>,
    next_age: u64,
    /// Memory in octets that incomplete messages occupy.
    held: usize,
    counts: ReassemblyCounts,
}

#[derive(Debug)]
struct Source {
    /// Highest message number of the sender, modulo 2^32.
    newest: u32,
    /// Messages in the window, by their numbers.
    entries: BTreeMap<u32, Entry>,
    /// Time of the last datagram from this sender that was used or, before that, of its first one.
    heard: Instant,
    /// Number of datagrams from this sender that were used.
    useful: u64,
}

#[derive(Debug)]
enum Entry {
    Complete,
    Partial(Partial),
}

#[derive(Debug)]
struct Partial {
    order: ByteOrder,
    octets: Vec<u8>,
    /// Octets that have been received.
    received: OctetSet,
    /// Number of octets that have been received.
    filled: usize,
    /// Bit set of the fragments that have been received.
    came: Vec<u64>,
    missing: u32,
    count: u32,
    age: u64,
    since: Instant,
}

impl Reassembly {
    /// Creates an empty reassembly.
    pub fn new(limits: ReassemblyLimits) -> Self {
        Self {
            limits,
            sources: HashMap::new(),
            ages: BTreeMap::new(),
            next_age: 0,
            held: 0,
            counts: ReassemblyCounts::default(),
        }
    }

    /// Returns the counters.
    pub fn counts(&self) -> ReassemblyCounts {
        self.counts
    }

    /// Returns the size in octets of the memory held for incomplete messages.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Accepts a fragment. Returns the message if it is complete now. A message that consists of a single fragment is
    /// borrowed, and not copied.
    ///
    /// # Errors
    /// [`Dropped`], the reason why the fragment is not used.
    pub fn take<'d>(
        &mut self,
        from: SocketAddr,
        header: &Header,
        octets: &'d [u8],
        now: Instant,
    ) -> Result<Option<Cow<'d, [u8]>>, Dropped> {
        self.expire(now);
        if header.size as usize > self.limits.message.min(self.limits.octets) {
            return Err(Dropped::TooLarge);
        }
        // A fragment that is refused must neither move the window of its sender nor displace messages or other senders.
        // The only fragment of a message may be empty.
        if header.count != 1 && !is_within(header, octets) {
            return Err(Dropped::Contradiction);
        }
        self.meet(from, header.message, now)?;
        let source = self.sources.get_mut(&from).expect("it was met");
        match source.entries.get_mut(&header.message) {
            Some(Entry::Complete) => return Err(Dropped::Duplicate),
            Some(Entry::Partial(partial)) => {
                partial.add(header, octets)?;
                source.heard = now;
                source.useful += 1;
                if !partial.is_complete() {
                    return Ok(None);
                }
                return Ok(self.complete(from, header.message).map(Cow::Owned));
            }
            None if header.count == 1 => {
                source.entries.insert(header.message, Entry::Complete);
                source.heard = now;
                source.useful += 1;
                self.counts.complete += 1;
                return Ok(Some(Cow::Borrowed(octets)));
            }
            None => {}
        }
        self.make_room(header.size as usize);
        let mut partial = Partial::new(header, self.next_age, now);
        partial.add(header, octets)?;
        self.held += partial.octets.len();
        self.ages.insert(self.next_age, (from, header.message));
        self.next_age += 1;
        let source = self.sources.get_mut(&from).expect("it was met");
        source.entries.insert(header.message, Entry::Partial(partial));
        source.heard = now;
        source.useful += 1;
        Ok(None)
    }

    /// Drops incomplete messages that have waited longer than [`ReassemblyLimits::age`].
    pub fn expire(&mut self, now: Instant) {
        while let Some((_, &(from, message))) = self.ages.first_key_value() {
            let source = self.sources.get(&from);
            let since = source.and_then(|source| match source.entries.get(&message)? {
                Entry::Partial(partial) => Some(partial.since),
                Entry::Complete => None,
            });
            if since.is_some_and(|since| now.saturating_duration_since(since) <= self.limits.age) {
                break;
            }
            self.drop_partial(from, message);
            self.counts.incomplete += 1;
        }
    }

    /// Moves the window of a sender. First creates an entry for the sender if it is new, or if it has sent no useful
    /// datagram for so long that it may have restarted.
    fn meet(&mut self, from: SocketAddr, message: u32, now: Instant) -> Result<(), Dropped> {
        let silence = self.limits.silence;
        let stale = |source: &Source| now.saturating_duration_since(source.heard) > silence;
        if self.sources.get(&from).is_some_and(stale) {
            self.forget(from);
        }
        if !self.sources.contains_key(&from) {
            if self.sources.len() >= self.limits.sources {
                let worth = |source: &Source| (!stale(source), source.useful, source.heard);
                let least = self.sources.iter().min_by_key(|(_, source)| worth(source));
                let least = least.map(|(from, _)| *from);
                least.into_iter().for_each(|least| self.forget(least));
            }
            let entries = BTreeMap::new();
            self.sources.insert(from, Source { newest: message, entries, heard: now, useful: 0 });
        }
        let window = self.limits.window;
        let source = self.sources.get_mut(&from).expect("it was inserted");
        let ahead = message.wrapping_sub(source.newest);
        if ahead > u32::MAX / 2 {
            let behind = source.newest.wrapping_sub(message);
            return if behind < window { Ok(()) } else { Err(Dropped::Late) };
        }
        source.newest = message;
        let old = |number: &u32| message.wrapping_sub(*number) >= window;
        let gone: Vec<u32> = match ahead {
            0 => Vec::new(),
            _ => source.entries.keys().copied().filter(old).collect(),
        };
        for number in gone {
            self.drop_entry(from, number);
        }
        Ok(())
    }

    fn forget(&mut self, from: SocketAddr) {
        let numbers =
            self.sources.get(&from).map(|source| source.entries.keys().copied().collect());
        let numbers: Vec<u32> = numbers.unwrap_or_default();
        for number in numbers {
            self.drop_entry(from, number);
        }
        self.sources.remove(&from);
    }

    fn make_room(&mut self, octets: usize) {
        while self.held + octets > self.limits.octets {
            let Some((_, &(from, message))) = self.ages.first_key_value() else {
                break;
            };
            self.drop_partial(from, message);
            self.counts.evicted += 1;
        }
    }

    fn drop_entry(&mut self, from: SocketAddr, message: u32) {
        let source = self.sources.get_mut(&from);
        if let Some(Entry::Partial(_)) = source.and_then(|source| source.entries.get(&message)) {
            self.counts.incomplete += 1;
            self.drop_partial(from, message);
        } else if let Some(source) = self.sources.get_mut(&from) {
            source.entries.remove(&message);
        }
    }

    fn drop_partial(&mut self, from: SocketAddr, message: u32) {
        let source = self.sources.get_mut(&from);
        let entry = source.and_then(|source| source.entries.remove(&message));
        if let Some(Entry::Partial(partial)) = entry {
            self.held -= partial.octets.len();
            self.ages.remove(&partial.age);
        }
    }

    fn complete(&mut self, from: SocketAddr, message: u32) -> Option<Vec<u8>> {
        let source = self.sources.get_mut(&from)?;
        let Some(Entry::Partial(partial)) = source.entries.insert(message, Entry::Complete) else {
            return None;
        };
        self.held -= partial.octets.len();
        self.ages.remove(&partial.age);
        self.counts.complete += 1;
        Some(partial.octets)
    }
}

impl Partial {
    fn new(header: &Header, age: u64, since: Instant) -> Self {
        Self {
            order: header.order,
            octets: vec![0; header.size as usize],
            received: OctetSet::new(header.size as usize),
            filled: 0,
            came: vec![0; (header.count as usize).div_ceil(64)],
            missing: header.count,
            count: header.count,
            age,
            since,
        }
    }

    /// Adds a fragment, which must be [within](is_within) its message unless it is the only one.
    fn add(&mut self, header: &Header, octets: &[u8]) -> Result<(), Dropped> {
        let same = header.order == self.order
            && header.size as usize == self.octets.len()
            && header.count == self.count;
        if !same {
            return Err(Dropped::Contradiction);
        }
        let (word, bit) = (header.fragment as usize / 64, 1u64 << (header.fragment % 64));
        if self.came[word] & bit != 0 {
            return Err(Dropped::Duplicate);
        }
        let start = header.offset as usize;
        let end = start + octets.len();
        if !self.received.add(start, end) {
            return Err(Dropped::Contradiction);
        }
        self.octets[start..end].copy_from_slice(octets);
        self.filled += octets.len();
        self.came[word] |= bit;
        self.missing -= 1;
        Ok(())
    }

    /// Reports whether all fragments and all octets have been received. No octet was received twice, so their number
    /// shows whether there is a gap.
    fn is_complete(&self) -> bool {
        self.missing == 0 && self.filled == self.octets.len()
    }
}

/// Reports whether a fragment has octets, and its number and its octets are within the message.
fn is_within(header: &Header, octets: &[u8]) -> bool {
    let end = (header.offset as usize).saturating_add(octets.len());
    header.fragment < header.count && !octets.is_empty() && end <= header.size as usize
}

/// Set of octets of a message, with one bit for each octet of the message.
#[derive(Debug)]
struct OctetSet {
    words: Vec<u64>,
}

impl OctetSet {
    fn new(octets: usize) -> Self {
        Self { words: vec![0; octets.div_ceil(64)] }
    }

    /// Adds the octets from `start` up to `end`, and returns true; changes nothing and returns false if the set
    /// contains any of them. `start` must be less than `end`.
    fn add(&mut self, start: usize, end: usize) -> bool {
        let masks = (start / 64..end.div_ceil(64)).map(|word| {
            let first = word * 64;
            let (low, high) = (start.max(first) - first, end.min(first + 64) - first);
            (word, (u64::MAX >> (64 - (high - low))) << low)
        });
        if masks.clone().any(|(word, mask)| self.words[word] & mask != 0) {
            return false;
        }
        masks.for_each(|(word, mask)| self.words[word] |= mask);
        true
    }
}
