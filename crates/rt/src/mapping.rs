//! Mappings between CORBA priorities and those of the operating system and the network.

use std::fmt;

use crate::{NativePriority, NativeRange, Priority};

/// Mapping between CORBA priorities and native priorities (`RTCORBA::PriorityMapping`, RT-CORBA
/// 1.2, 5.5.2).
///
/// A mapping is called for every request whose priority differs from the thread's, so it should not
/// allocate, lock or block. `None` means that no such priority exists; the call or the creation of
/// the lane then raises DATA_CONVERSION, minor 2.
///
/// ```
/// use oxorb_rt::{NativePriority, Priority, PriorityMapping};
///
/// /// Three levels are enough here.
/// #[derive(Debug)]
/// struct Levels;
///
/// impl PriorityMapping for Levels {
///     fn to_native(&self, priority: Priority) -> Option<NativePriority> {
///         Some(NativePriority(10 * (1 + priority.get() / 11_000)))
///     }
///
///     fn to_corba(&self, native: NativePriority) -> Option<Priority> {
///         Priority::new((native.0 / 10 - 1).checked_mul(11_000)?).ok()
///     }
/// }
///
/// assert_eq!(Levels.to_native(Priority::MAX), Some(NativePriority(30)));
/// assert_eq!(Levels.to_corba(NativePriority(20)), Priority::new(11_000).ok());
/// ```
pub trait PriorityMapping: fmt::Debug + Send + Sync + 'static {
    /// Returns the native priority of a CORBA priority (`to_native`).
    fn to_native(&self, priority: Priority) -> Option<NativePriority>;

    /// Returns the CORBA priority of a native priority (`to_CORBA`).
    fn to_corba(&self, native: NativePriority) -> Option<Priority>;
}

/// Priority mappings of TAO, with the same arithmetic.
///
/// They do not allocate, lock or enter the kernel.
///
/// ```
/// use oxorb_rt::{Mapping, NativePriority, NativeRange, Priority, PriorityMapping};
///
/// let fifo = NativeRange::new(1, 99);
/// let linear = Mapping::Linear(fifo);
/// assert_eq!(linear.to_native(Priority::MIN), Some(NativePriority(1)));
/// assert_eq!(linear.to_native(Priority::MAX), Some(NativePriority(99)));
/// assert_eq!(Mapping::Continuous(fifo).to_native(Priority::new(4)?), Some(NativePriority(5)));
/// # Ok::<(), oxorb_rt::OutOfRange>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Mapping to the same number (TAO's default): a CORBA priority outside the range of the class
    /// is rejected when applied.
    Direct,
    /// Mapping of all CORBA priorities, spread evenly over all native ones.
    Linear(NativeRange),
    /// Mapping of CORBA priority 0 to the least urgent native one, 1 to the next, and so on; CORBA
    /// priorities beyond the most urgent native one are rejected.
    Continuous(NativeRange),
    /// Mapping of CORBA priority `corba` to `native`, with one native step down for each `spacing`
    /// below it; priorities above `corba` are not mapped.
    Multi {
        /// Most urgent CORBA priority that is mapped.
        corba: Priority,
        /// Native priority of the lowest CORBA priority.
        native: NativePriority,
        /// Number of CORBA priorities for each native one; at least 1.
        spacing: u16,
    },
}

impl PriorityMapping for Mapping {
    fn to_native(&self, priority: Priority) -> Option<NativePriority> {
        let corba = i32::from(priority.get());
        let native = match *self {
            Mapping::Direct => corba,
            Mapping::Linear(NativeRange { min, max }) => {
                let (min, max) = (i32::from(min.0), i32::from(max.0));
                min + (max - min) * corba / i32::from(Priority::MAX.get())
            }
            Mapping::Continuous(range) => {
                let min = i32::from(range.min.0);
                let native = match range.min <= range.max {
                    true => min + corba,
                    false => min - corba,
                };
                return small(native).filter(|native| range.contains(*native));
            }
            Mapping::Multi { corba: base, native, spacing } => {
                if priority > base {
                    return None;
                }
                let steps = (corba - i32::from(base.get())) / i32::from(spacing.max(1));
                i32::from(native.0) + steps
            }
        };
        small(native)
    }

    fn to_corba(&self, native: NativePriority) -> Option<Priority> {
        let value = i32::from(native.0);
        let corba = match *self {
            Mapping::Direct => value,
            Mapping::Linear(range) => {
                if !range.contains(native) {
                    return None;
                }
                let (min, max) = (i32::from(range.min.0), i32::from(range.max.0));
                if min == max {
                    return Some(Priority::MIN);
                }
                // Round up, so that mapping the result back returns the same native priority.
                let (part, whole) = ((value - min).abs(), (max - min).abs());
                (i32::from(Priority::MAX.get()) * part + whole - 1) / whole
            }
            Mapping::Continuous(range) => {
                if !range.contains(native) {
                    return None;
                }
                (value - i32::from(range.min.0)).abs()
            }
            Mapping::Multi { corba, native, spacing } => {
                if value > i32::from(native.0) {
                    return None;
                }
                i32::from(corba.get()) + (value - i32::from(native.0)) * i32::from(spacing.max(1))
            }
        };
        Priority::new(i16::try_from(corba).ok()?).ok()
    }
}

fn small(native: i32) -> Option<NativePriority> {
    i16::try_from(native).ok().map(NativePriority)
}

/// Transform of the priorities of requests before and after a servant (RT-CORBA 1.2, 5.13), for
/// systems whose parts interpret priorities differently.
///
/// A transform is called for each request under the client-propagated model, in the thread that
/// serves it, so it should not allocate, lock or block.
pub trait PriorityTransform: fmt::Debug + Send + Sync + 'static {
    /// Returns the priority at which a request received with `priority` runs (`inbound`). If it
    /// returns `None`, the request does not run and raises DATA_CONVERSION.
    fn inbound(&self, priority: Priority, object_id: &[u8]) -> Option<Priority>;

    /// Returns the priority of the servant's own requests while it runs at `priority` (`outbound`).
    /// If it returns `None`, they fail with DATA_CONVERSION.
    fn outbound(&self, priority: Priority, object_id: &[u8]) -> Option<Priority>;
}

/// Returns the DSCP of a CORBA priority: all 32,768 are spread evenly over the 21 common DSCPs, in
/// TAO's order (its "linear" `NetworkPriorityMapping`), from 0, best effort, to 0x2e, expedited
/// forwarding.
pub fn dscp(priority: Priority) -> u8 {
    let count = DSCPS.len() as i32;
    let at = i32::from(priority.get()) * count / (i32::from(Priority::MAX.get()) + 1);
    DSCPS[at as usize]
}

/// DSCPs: best effort; class selectors 1 to 7; assured forwarding 11 to 43; expedited forwarding.
const DSCPS: [u8; 21] = [
    0x00, 0x08, 0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x0a, 0x0c, 0x0e, 0x12, 0x14, 0x16, 0x1a, 0x1c,
    0x1e, 0x22, 0x24, 0x26, 0x2e,
];

#[cfg(test)]
mod tests {
    use super::*;

    const FIFO: NativeRange = NativeRange::new(1, 99);
    const DOWNWARDS: NativeRange = NativeRange::new(15, 1);

    fn all() -> impl Iterator<Item = Priority> {
        (0..=i16::MAX).map(|value| Priority::new(value).unwrap())
    }

    #[test]
    fn linear_covers_both_ranges_and_never_falls() {
        let linear = Mapping::Linear(FIFO);
        let native: Vec<_> = all().map(|corba| linear.to_native(corba).unwrap().0).collect();
        assert!(native.is_sorted());
        assert_eq!((native[0], native[32_767]), (1, 99));
        // As in TAO, 98 * 16384 / 32767 is rounded towards 0.
        assert_eq!((native[16_383], native[16_384]), (49, 50));
        assert_eq!(native[334], 1);
        assert_eq!(native[335], 2);
    }

    #[test]
    fn a_native_priority_comes_back_from_its_corba_priority() {
        for mapping in [Mapping::Linear(FIFO), Mapping::Continuous(FIFO), Mapping::Direct] {
            for native in (1..=99).map(NativePriority) {
                let corba = mapping.to_corba(native).unwrap();
                assert_eq!(mapping.to_native(corba), Some(native), "{mapping:?}");
            }
        }
        for native in (1..=15).map(NativePriority) {
            for mapping in [Mapping::Linear(DOWNWARDS), Mapping::Continuous(DOWNWARDS)] {
                let corba = mapping.to_corba(native).unwrap();
                assert_eq!(mapping.to_native(corba), Some(native), "{mapping:?}");
            }
        }
    }

    #[test]
    fn what_a_mapping_does_not_have_it_refuses() {
        let seven = Priority::new(7).unwrap();
        let multi = Mapping::Multi { corba: seven, native: NativePriority(50), spacing: 3 };
        assert_eq!(multi.to_native(seven), Some(NativePriority(50)));
        assert_eq!(multi.to_native(Priority::MIN), Some(NativePriority(48)));
        assert_eq!(multi.to_native(Priority::new(8).unwrap()), None);
        assert_eq!(multi.to_corba(NativePriority(51)), None);
        assert_eq!(multi.to_corba(NativePriority(48)), Some(Priority::new(1).unwrap()));
        let continuous = Mapping::Continuous(FIFO);
        assert_eq!(continuous.to_native(Priority::new(98).unwrap()), Some(NativePriority(99)));
        assert_eq!(continuous.to_native(Priority::new(99).unwrap()), None);
        for mapping in [Mapping::Linear(FIFO), continuous] {
            assert_eq!(mapping.to_corba(NativePriority(0)), None);
            assert_eq!(mapping.to_corba(NativePriority(100)), None);
        }
        assert_eq!(Mapping::Direct.to_corba(NativePriority(-1)), None);
    }

    #[test]
    fn one_native_priority_is_the_least_of_corba() {
        let other = Mapping::Linear(NativeRange::new(0, 0));
        assert_eq!(other.to_corba(NativePriority(0)), Some(Priority::MIN));
        assert_eq!(other.to_native(Priority::MAX), Some(NativePriority(0)));
    }

    #[test]
    fn network_priorities_go_in_taos_order() {
        let mut seen: Vec<_> = all().map(dscp).collect();
        seen.dedup();
        assert_eq!(seen, DSCPS);
    }
}
