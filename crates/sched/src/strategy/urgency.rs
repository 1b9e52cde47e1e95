//! Urgency: static priority, then dynamic subpriority, then static subpriority, in one number.

/// Urgency of a dispatch, as one number: the smaller one goes first.
///
/// The static priority is in the upper 32 bits, the dynamic subpriority in the 64 bits below, the static subpriority in
/// the lowest 32, so that comparing two is one comparison and no two dispatches of different operations are equal.
///
/// ```
/// use oxorb_sched::strategy::{DispatchUrgency, by_laxity};
///
/// let critical = DispatchUrgency::new(0, by_laxity(5_000), 3);
/// let tighter = DispatchUrgency::new(0, by_laxity(2_000), 7);
/// let other = DispatchUrgency::new(1, by_laxity(1), 0);
/// assert!(tighter < critical && critical < other);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DispatchUrgency(u128);

impl DispatchUrgency {
    /// Returns the urgency of a static priority level (0 is the most urgent), a dynamic subpriority
    /// from [`by_deadline`] or [`by_laxity`], and the index in the static order.
    pub const fn new(level: u32, dynamic: u64, order: u32) -> DispatchUrgency {
        DispatchUrgency(((level as u128) << 96) | ((dynamic as u128) << 32) | order as u128)
    }

    /// Returns the static priority level.
    pub const fn level(self) -> u32 {
        (self.0 >> 96) as u32
    }
}

/// Returns the dynamic subpriority of an operation with this time to its deadline, in ns; negative
/// times are late and go first.
///
/// TAO's code dispatches operations with passed deadlines after all others, as [`by_laxity`] does;
/// pass the time to deadline to it for that order.
pub const fn by_deadline(time_to_deadline: i64) -> u64 {
    (time_to_deadline as u64) ^ (1 << 63)
}

/// Returns the dynamic subpriority of an operation with this laxity, in ns: the smallest positive
/// laxity goes first; late operations go after all others, the latest first.
///
/// A laxity of 0 counts as late, as paper 3 says (2.3.2, footnote 5). On 32-bit machines TAO's code
/// reverses the order of late operations; this function keeps the paper's order.
///
/// ```
/// use oxorb_sched::strategy::by_laxity;
///
/// let mut laxities = [-1, 30, 0, -500, 2];
/// laxities.sort_by_key(|&laxity| by_laxity(laxity));
/// assert_eq!(laxities, [2, 30, -500, -1, 0]);
/// ```
pub const fn by_laxity(laxity: i64) -> u64 {
    if laxity > 0 {
        laxity as u64
    } else {
        // i64::MIN + 1 becomes 2^63, the first number that no positive laxity has, and 0 becomes 2^64 - 1.
        (laxity as u64).wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_operations_follow_in_the_papers_order() {
        let order = [1, 2, i64::MAX, i64::MIN + 1, -1_000_000_000_000, -4_294_967_296, -2, -1, 0];
        for pair in order.windows(2) {
            assert!(by_laxity(pair[0]) < by_laxity(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn deadlines_keep_their_order_across_zero() {
        let order = [i64::MIN, -5, 0, 1, i64::MAX];
        for pair in order.windows(2) {
            assert!(by_deadline(pair[0]) < by_deadline(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn each_part_outranks_the_next() {
        let most = DispatchUrgency::new(0, u64::MAX, u32::MAX);
        assert!(most < DispatchUrgency::new(1, 0, 0));
        assert!(DispatchUrgency::new(1, 4, u32::MAX) < DispatchUrgency::new(1, 5, 0));
        assert_eq!(DispatchUrgency::new(7, 8, 9).level(), 7);
    }
}
