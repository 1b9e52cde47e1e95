//! Levels of calls: calls of one priority and communication class share a connection, and so a reader.

use std::iter;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxorb_object::{CommunicationClass, PriorityBand};
use oxorb_rt::Priority;

use super::current::Current;
use super::given_up::{Before, GivenUp};
use super::multiplexed::Multiplexed;
use super::oneways::OnewayBuffer;
use super::selection::Selection;
use crate::threads::rt::thread_priority;

/// Priority or band of priorities, communication class and bandwidth of a call: calls of different levels never share a
/// connection, nor the thread that reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Level {
    low: i16,
    /// -1, as `low`, for calls without a priority.
    high: i16,
    class: CommunicationClass,
    /// Maximum send rate of the client, in octets per second; 0 if unlimited.
    bandwidth: u32,
}

/// Maximum number of levels that have connections of their own at one server; calls of further levels share those of
/// the nearest.
const MOST: usize = 16;

impl Level {
    /// Returns the level of a call that the calling thread makes: the band of the connection, the priority at which the
    /// object serves it, or that of the thread. `None` for a fast call without a priority.
    pub(crate) fn of(selection: Option<&Selection>) -> Option<Level> {
        let class = selection.map(Selection::class).unwrap_or_default();
        let bandwidth = selection.map_or(0, Selection::bandwidth);
        let usual = class == CommunicationClass::Message && bandwidth == 0;
        let chosen = selection.and_then(|selection| match selection.band {
            Some(PriorityBand { low, high }) => Some((low, high)),
            None => selection.served_at.map(|at| (at, at)),
        });
        let own = || thread_priority().map(|own| (own.get(), own.get()));
        let without = || (!usual).then_some((-1, -1));
        let (low, high) = chosen.or_else(own).or_else(without)?;
        Some(Level { low, high, class, bandwidth })
    }

    /// Returns the most octets per second that the client sends; 0 if unlimited.
    pub(super) fn bandwidth(self) -> u32 {
        self.bandwidth
    }

    /// Returns the priority of the thread that reads the connection; `None` for the ORB's lowest.
    pub(super) fn priority(self) -> Option<Priority> {
        Priority::new(self.high).ok()
    }
}

/// State that calls of a level share: connections, and the buffer of oneways.
#[derive(Default)]
pub(crate) struct LevelShared {
    /// Buffer of oneways that wait to be sent, created for the first of them.
    pub(super) buffer: OnceLock<Arc<OnewayBuffer>>,
    /// Connection that a dedicated thread reads.
    pub(super) multiplexed: Current,
    /// Connection that the callers read in turn.
    pub(super) led: Current,
    /// Connections that were used before `led`, and that the server may still read.
    pub(super) given_up: Arc<GivenUp>,
}

/// Shared connections to one server, by level; found without a lock.
#[derive(Default)]
pub(crate) struct Levels {
    /// Connection that carries requests both ways.
    pub(super) both_ways: Current,
    plain: LevelShared,
    leveled: [OnceLock<Box<(Level, LevelShared)>>; MOST],
}

impl Levels {
    /// Returns the state that calls of a level share.
    pub(super) fn of(&self, level: Option<Level>) -> &LevelShared {
        let Some(level) = level else {
            return &self.plain;
        };
        for place in &self.leveled {
            let (of, shared) = &**place.get_or_init(|| Box::new((level, LevelShared::default())));
            if *of == level {
                return shared;
            }
        }
        let all = self.leveled.iter().filter_map(OnceLock::get);
        let nearest = all.min_by_key(|entry| entry.0.high.abs_diff(level.high));
        nearest.map_or(&self.plain, |entry| &entry.1)
    }

    /// Iterates over the cells of all connections.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Current> {
        let one_way = self.all();
        let one_way = one_way.flat_map(|shared| [&shared.multiplexed, &shared.led]);
        iter::once(&self.both_ways).chain(one_way)
    }

    /// Returns the usable connections whose answers callers read in turn.
    pub(super) fn led(&self) -> impl Iterator<Item = Arc<Multiplexed>> {
        self.all().filter_map(|shared| shared.led.usable())
    }

    /// Iterates over the existing buffers of oneways.
    pub(super) fn buffers(&self) -> impl Iterator<Item = &Arc<OnewayBuffer>> {
        self.all().filter_map(|shared| shared.buffer.get())
    }

    /// Checks the earlier connections of all levels ([`GivenUp::look`]).
    pub(super) fn look_before(&self, limit: Duration) -> Before {
        let mut all = Before::default();
        for shared in self.all() {
            let before = shared.given_up.look(limit);
            all.unread |= before.unread;
            all.overdue.extend(before.overdue);
        }
        all
    }

    fn all(&self) -> impl Iterator<Item = &LevelShared> {
        let leveled = self.leveled.iter().filter_map(OnceLock::get);
        iter::once(&self.plain).chain(leveled.map(|entry| &entry.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_keeps_its_place_and_those_beyond_the_limit_share_the_nearest() {
        let levels = Levels::default();
        let of = |at: i16| {
            std::ptr::from_ref(levels.of(Some(Level {
                low: at,
                high: at,
                class: CommunicationClass::Message,
                bandwidth: 0,
            })))
        };
        let first: Vec<_> = (0..MOST as i16).map(|at| of(at * 100)).collect();
        for (at, before) in first.iter().enumerate() {
            assert_eq!(of(at as i16 * 100), *before);
        }
        assert_eq!(of(310), first[3]);
        assert_eq!(levels.iter().count(), 1 + 2 * (MOST + 1));
    }
}
