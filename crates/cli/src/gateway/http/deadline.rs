//! Time limit of the calls that a request causes.

use std::time::{Duration, Instant};

use oxorb::policy::{PolicyCurrent, PolicyScope, RelativeRoundtripTimeout};
use oxorb::{CompletionStatus, Orb, Ref, SystemException};

/// Shortest time for which a call is attempted.
const SHORTEST: Duration = Duration::from_millis(1);

/// Exception for a call for which no time is left.
pub(super) const NO_TIME: SystemException = SystemException::timeout(0, CompletionStatus::No);

/// End of the time of a request.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// Returns the end of a time that begins now.
    pub(super) fn after(time: Duration) -> Deadline {
        Deadline(Instant::now() + time)
    }

    /// Returns the time that is left.
    ///
    /// # Errors
    /// TIMEOUT if no time is left.
    pub(super) fn left(self) -> oxorb::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        match left < SHORTEST {
            true => Err(NO_TIME),
            false => Ok(left),
        }
    }

    /// Returns a reference whose calls take no longer than the time that is left.
    ///
    /// # Errors
    /// TIMEOUT if no time is left.
    pub(super) fn limited(self, object: &Ref) -> oxorb::Result<Ref> {
        Ok(object.with_timeout(self.left()?))
    }

    /// Limits each call of this thread to the time that is left now, until the result is dropped.
    ///
    /// # Errors
    /// TIMEOUT if no time is left.
    pub(super) fn scope(self, orb: &Orb) -> oxorb::Result<PolicyScope> {
        Ok(PolicyCurrent::scope(orb, RelativeRoundtripTimeout(self.left()?)))
    }

    /// Returns the end of an equal share of the time that is left.
    pub(super) fn share(self, shares: u32) -> Deadline {
        let left = self.0.saturating_duration_since(Instant::now());
        Deadline::after(left / shares.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_made_without_time() {
        let ended = Deadline::after(Duration::ZERO);
        assert_eq!(ended.left(), Err(NO_TIME));
        assert_eq!(ended.share(2).left(), Err(NO_TIME));
        let hour = Duration::from_secs(3600);
        let share = Deadline::after(hour).share(4).left().unwrap();
        assert!(share > Duration::ZERO && share <= hour / 4, "{share:?}");
    }
}
