//! Reassembly of messages from fragments that arrive in any order, repeatedly, or not at all.
//!
//! Pure code: time is an argument. The memory that senders can occupy is bounded by [`ReassemblyLimits`].

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use oxorb::values::ByteOrder;

use super::datagram::Header;

/// Bounds of a [`Reassembly`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReassemblyLimits {
    /// Maximum number of remembered senders. Default 64, at about 100 octets each. A new sender replaces one that was
    /// silent for [`silence`](Self::silence), or else the one with the fewest useful datagrams: an attacker with forged
    /// addresses displaces earlier forged senders, not senders in use.
    pub sources: usize,
    /// Number of message numbers that are remembered per sender. Default 64. Older messages count as duplicates or as
    /// too late.
    pub window: u32,
    /// Maximum size in octets of one message. Default 1 MiB. A larger message is dropped.
    pub message: usize,
    /// Maximum size in octets of all incomplete messages. Default 4 MiB. Beyond it, the oldest are dropped.
    pub octets: usize,
    /// Maximum time for which a message waits for its fragments. Default 1 s.
    pub age: Duration,
    /// Time of silence after which a sender counts as new, so that its restart is accepted. Default 10 s.
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

/// Reason for which a fragment is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Dropped {
    /// The fragment, or its whole message, was received before.
    Duplicate,
    /// The message is older than the window of its sender.
    Late,
    /// The message is larger than a limit.
    TooLarge,
    /// Byte order, size or number of fragments differ from other fragments of the message, or the total of the
    /// fragments exceeds its size.
    Contradiction,
}

/// Counters of messages, by result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReassemblyCounts {
    /// Complete messages.
    pub complete: u64,
    /// Number of messages with fragments still missing after [`ReassemblyLimits::age`], or when their sender was
    /// forgotten or its window moved on.
    pub incomplete: u64,
    /// Number of messages that were dropped to make space for others.
    pub evicted: u64,
}

/// Fragments of all senders, until their messages are complete.
#[derive(Debug)]
pub struct Reassembly {
    limits: ReassemblyLimits,
    sources: HashMap<SocketAddr, Source>,
    /// Incomplete messages by age, the oldest first.
    ages: BTreeMap<u64, (SocketAddr, u32)>,
    next_age: u64,
    /// Size in octets of the incomplete messages.
    held: usize,
    counts: ReassemblyCounts,
}

#[derive(Debug)]
struct Source {
    /// Highest message number so far, modulo 2^32.
    newest: u32,
    /// Entries of the window, by number.
    entries: BTreeMap<u32, Entry>,
    heard: Instant,
    /// Number of useful datagrams.
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
    /// Number of octets received.
    filled: usize,
    /// Bit set of received fragments.
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

    /// Accepts a fragment; returns its message if the message is complete now. A message of a single fragment is lent,
    /// not copied.
    ///
    /// # Errors
    /// [`Dropped`]: the reason why the fragment is not used.
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
        self.meet(from, header.message, now)?;
        let source = self.sources.get_mut(&from).expect("it was met");
        match source.entries.get_mut(&header.message) {
            Some(Entry::Complete) => return Err(Dropped::Duplicate),
            Some(Entry::Partial(partial)) => {
                partial.add(header, octets)?;
                source.useful += 1;
                if !partial.is_complete() {
                    return Ok(None);
                }
                return Ok(self.complete(from, header.message).map(Cow::Owned));
            }
            None if header.count == 1 => {
                source.entries.insert(header.message, Entry::Complete);
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
        source.useful += 1;
        Ok(None)
    }

    /// Drops incomplete messages that waited longer than [`ReassemblyLimits::age`].
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

    /// Creates an entry for a sender that is new, or was silent for so long that it may have restarted; moves the
    /// sender's window.
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
        source.heard = now;
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
            filled: 0,
            came: vec![0; (header.count as usize).div_ceil(64)],
            missing: header.count,
            count: header.count,
            age,
            since,
        }
    }

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
        // The total length equals the message's, so without overlaps there is no hole.
        let filled = self.filled + octets.len();
        if filled > self.octets.len() || octets.is_empty() {
            return Err(Dropped::Contradiction);
        }
        let start = header.offset as usize;
        self.octets[start..start + octets.len()].copy_from_slice(octets);
        self.filled = filled;
        self.came[word] |= bit;
        self.missing -= 1;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.missing == 0 && self.filled == self.octets.len()
    }
}
