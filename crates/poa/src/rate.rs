//! Rate-monotonic priorities of periodic requests within a band: the shorter the period, the higher
//! the priority.

use std::time::Duration;

/// Periods up to this one have the band's highest priority.
const SHORTEST: Duration = Duration::from_millis(1);

/// Doublings of the shortest period after which the priority is the lowest: periods from some 17
/// minutes.
const DOUBLINGS: f64 = 20.0;

/// Returns the priority of a period in the band from `low` to `high`: each doubling of the period
/// lowers it by the same fraction of the band. A longer period never has a higher priority.
pub(crate) fn by_period(period: Duration, low: i16, high: i16) -> i16 {
    let doublings = (period.as_secs_f64() / SHORTEST.as_secs_f64()).log2();
    let part = (doublings / DOUBLINGS).clamp(0.0, 1.0);
    let (low, high) = (f64::from(low), f64::from(high.max(low)));
    (high - part * (high - low)).round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_period_is_never_less_urgent() {
        for (low, high) in [(0, 32_767), (10, 20), (5, 5)] {
            let mut before = high;
            for power in 0..200 {
                let period = Duration::from_secs_f64(1e-5 * 1.15f64.powi(power));
                let priority = by_period(period, low, high);
                assert!((low..=high).contains(&priority), "{priority}");
                assert!(priority <= before, "{period:?}");
                before = priority;
            }
            assert_eq!(before, low);
        }
        let ms = Duration::from_millis;
        assert_eq!(by_period(Duration::ZERO, 0, 20), 20);
        assert_eq!(by_period(ms(1), 0, 20), 20);
        assert_eq!(by_period(ms(16), 0, 20), 16);
        assert_eq!(by_period(Duration::MAX, 0, 20), 0);
    }
}
