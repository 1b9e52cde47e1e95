//! CORBA priorities, which travel with requests, and native priorities of the operating system.

use std::fmt;
use std::str::FromStr;

/// CORBA priority, the same on every host of a system: 0 to 32,767, higher is more urgent
/// (`RTCORBA::Priority`, RT-CORBA 1.2, 5.5).
///
/// ```
/// use oxorb_rt::Priority;
///
/// let urgent = Priority::new(20_000)?;
/// assert!(urgent > Priority::MIN && urgent < Priority::MAX);
/// assert!(Priority::new(-1).is_err());
/// # Ok::<(), oxorb_rt::OutOfRange>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(u16);

impl Priority {
    /// `RTCORBA::minPriority`, 0.
    pub const MIN: Priority = Priority(0);
    /// `RTCORBA::maxPriority`, 32,767.
    pub const MAX: Priority = Priority(i16::MAX as u16);

    /// Returns the priority with this value, an IDL `short`.
    ///
    /// # Errors
    /// [`OutOfRange`] for a negative value.
    pub const fn new(value: i16) -> Result<Priority, OutOfRange> {
        if value < 0 {
            return Err(OutOfRange(value));
        }
        Ok(Priority(value as u16))
    }

    /// Returns the priority as an IDL `short`: 0 to 32,767.
    pub const fn get(self) -> i16 {
        self.0 as i16
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Priority {
    type Err = String;

    /// Parses a number from 0 to 32767.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value: Option<i16> = text.parse().ok();
        value
            .and_then(|value| Priority::new(value).ok())
            .ok_or_else(|| format!("{text:?} is not a priority; expected a number from 0 to 32767"))
    }
}

impl TryFrom<i16> for Priority {
    type Error = OutOfRange;

    fn try_from(value: i16) -> Result<Self, OutOfRange> {
        Priority::new(value)
    }
}

impl From<Priority> for i16 {
    fn from(priority: Priority) -> i16 {
        priority.get()
    }
}

/// Error for a negative number, which is not a [`Priority`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a priority; expected 0 to 32767")]
pub struct OutOfRange(pub i16);

impl fmt::Debug for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Native priority of this host's scheduler (`RTCORBA::NativePriority`). On Linux SCHED_FIFO and
/// SCHED_RR have 1 to 99, SCHED_OTHER only 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NativePriority(pub i16);

impl fmt::Display for NativePriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Range of native priorities of a scheduling class, from the least to the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeRange {
    /// Least urgent priority.
    pub min: NativePriority,
    /// Most urgent priority; on some systems the smaller number.
    pub max: NativePriority,
}

impl NativeRange {
    /// Returns the range from the least to the most urgent priority.
    pub const fn new(min: i16, max: i16) -> Self {
        NativeRange { min: NativePriority(min), max: NativePriority(max) }
    }

    /// Reports whether the class has this priority.
    pub fn contains(&self, native: NativePriority) -> bool {
        let (low, high) = (self.min.min(self.max), self.min.max(self.max));
        (low..=high).contains(&native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_and_the_priority_are_the_same_number() {
        for value in [0, 1, 32_767] {
            assert_eq!(Priority::new(value).unwrap().get(), value);
        }
        for value in [-1, i16::MIN] {
            assert_eq!(Priority::new(value), Err(OutOfRange(value)));
        }
    }

    #[test]
    fn text_out_of_range_is_refused_with_the_range() {
        assert_eq!("7".parse(), Priority::new(7).map_err(|_| String::new()));
        for text in ["-1", "32768", "high", ""] {
            let error = text.parse::<Priority>().unwrap_err();
            assert!(error.contains("from 0 to 32767"), "{error}");
        }
    }
}
