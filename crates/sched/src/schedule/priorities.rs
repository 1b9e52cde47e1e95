//! Thread priorities offered by the operating system.

use crate::error::Error;

/// Native priorities, the most urgent one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsPriorities(Vec<i32>);

impl OsPriorities {
    /// Maximum number of priorities.
    const MOST: usize = 1 << 16;

    /// Returns all priorities from `minimum` to `maximum`, larger ones being more urgent, as with
    /// POSIX.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid) for a range that is empty.
    pub fn range(minimum: i32, maximum: i32) -> Result<OsPriorities, Error> {
        if minimum > maximum {
            return Err(Error::Invalid(format!(
                "there are no priorities from {minimum} to {maximum}"
            )));
        }
        Ok(OsPriorities((minimum..=maximum).rev().take(OsPriorities::MOST).collect()))
    }

    /// Returns exactly these priorities, the most urgent one first, for systems with few.
    pub fn list(most_urgent_first: impl Into<Vec<i32>>) -> OsPriorities {
        OsPriorities(most_urgent_first.into())
    }

    /// Returns the number of priorities.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether there are no priorities.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the priority of a level; those beyond the last one share it.
    pub(crate) fn of(&self, level: usize) -> i32 {
        let found = self.0.get(level).or(self.0.last());
        found.copied().unwrap_or(0)
    }
}
