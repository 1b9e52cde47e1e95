//! Bursts: several jobs in a period.

use crate::time::{Nanos, Show};

/// Arrivals in bursts: up to `most` releases in any window as long as a period, each at least
/// `distance` after the previous one.
///
/// A burst of one release is the same as no burst. The arrival curve is that of sporadically periodic
/// tasks (Audsley, Burns, Richardson, Tindell and Wellings 1993): the densest sequence that obeys both
/// rules.
///
/// ```
/// use oxorb_sched::{Burst, Task};
///
/// // Up to 3 requests in any 100, at least 10 apart.
/// let mut task = Task::periodic("alarm", 2, 100);
/// task.burst = Some(Burst { most: 3, distance: 10 });
/// assert_eq!([1, 10, 11, 21, 100, 101].map(|window| task.released_within(window)), [1, 1, 2, 3, 3, 4]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Burst {
    /// Maximum number of releases in any window as long as a period; at least 1.
    pub most: u32,
    /// Shortest time between two releases, in ns; 0 if they may coincide.
    pub distance: Nanos,
}

impl Burst {
    /// Describes what is wrong with a burst; `None` if it is valid.
    pub(crate) fn problem(&self, period: Nanos) -> Option<String> {
        if self.most == 0 {
            return Some("a burst needs at least 1 request".into());
        }
        let whole = u128::from(self.most) * u128::from(self.distance);
        (period > 0 && whole > u128::from(period)).then(|| {
            format!(
                "{} requests at a distance of {} do not fit into a period of {}; specify fewer requests, or a longer \
                 period",
                self.most,
                Show(self.distance),
                Show(period)
            )
        })
    }
}
