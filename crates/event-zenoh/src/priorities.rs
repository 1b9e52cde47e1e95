//! Priorities of events in zenoh.

use std::collections::HashMap;
use std::fmt;

use oxorb_event::rtec_event_comm::EventHeader;
use zenoh::qos::Priority;

/// Priority in zenoh for each type of event. A table is necessary because the headers of events contain no priority.
///
/// ```
/// use oxorb_event_zenoh::{Priorities, Priority};
///
/// let all = Priorities::all(Priority::InteractiveHigh);
/// let by_type = Priorities::by_type("17@real-time 18@background *@data")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Priorities {
    table: HashMap<i32, Priority>,
    other: Priority,
}

/// Error in the text of a table of priorities.
#[derive(Clone, PartialEq, Eq)]
pub struct PriorityError {
    entry: String,
}

/// All priorities, the most urgent first, with their names.
pub(crate) const ALL: [(Priority, &str); 7] = [
    (Priority::RealTime, "real-time"),
    (Priority::InteractiveHigh, "interactive-high"),
    (Priority::InteractiveLow, "interactive-low"),
    (Priority::DataHigh, "data-high"),
    (Priority::Data, "data"),
    (Priority::DataLow, "data-low"),
    (Priority::Background, "background"),
];

/// Returns the index of a priority in [`ALL`].
pub(crate) fn place(priority: Priority) -> usize {
    priority as usize - Priority::RealTime as usize
}

impl Priorities {
    /// Returns a table that gives all events one priority.
    pub fn all(priority: Priority) -> Self {
        Self { table: HashMap::new(), other: priority }
    }

    /// Returns the table with `priority` for events of `event_type`.
    pub fn with(mut self, event_type: i32, priority: Priority) -> Self {
        self.table.insert(event_type, priority);
        self
    }

    /// Parses a list of `type@priority`, separated by blanks; the type `*` stands for all types that are not listed,
    /// whose default is `data`. The priorities are, from the most to the least urgent: `real-time`, `interactive-high`,
    /// `interactive-low`, `data-high`, `data`, `data-low`, `background`.
    ///
    /// # Errors
    /// [`PriorityError`] names the invalid entry.
    pub fn by_type(text: &str) -> Result<Self, PriorityError> {
        let mut table = HashMap::new();
        let mut other = None;
        for entry in text.split_whitespace() {
            let wrong = || PriorityError { entry: entry.to_owned() };
            let (number, name) = entry.split_once('@').ok_or_else(wrong)?;
            let found = ALL.iter().find(|one| one.1 == name).ok_or_else(wrong)?;
            let before = match number {
                "*" => other.replace(found.0),
                number => table.insert(number.parse().map_err(|_| wrong())?, found.0),
            };
            if before.is_some() {
                return Err(wrong());
            }
        }
        let other = other.unwrap_or_default();
        Ok(Self { table, other })
    }

    /// Returns the priority of an event.
    pub fn of(&self, header: &EventHeader) -> Priority {
        self.table.get(&header.r#type).copied().unwrap_or(self.other)
    }
}

impl Default for Priorities {
    fn default() -> Self {
        Self::all(Priority::default())
    }
}

impl fmt::Display for PriorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ALL.map(|(_, name)| name).join(", ");
        write!(
            f,
            "priorities of events: {:?} is invalid or a repetition: write type@priority, such as 17@real-time, or \
             *@priority for all others, each type once; priorities are {names}",
            self.entry
        )
    }
}

impl fmt::Debug for PriorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PriorityError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_a_wrong_entry_named() {
        let table = Priorities::by_type("17@real-time -3@background *@data-low").unwrap();
        let of =
            |event_type| table.of(&EventHeader { r#type: event_type, ..EventHeader::default() });
        assert_eq!(
            [of(17), of(-3), of(9)],
            [Priority::RealTime, Priority::Background, Priority::DataLow]
        );
        for text in
            ["17", "17@fast", "x@data", "17@data 17@data", "*@data *@data", "99999999999@data"]
        {
            let error = Priorities::by_type(text).unwrap_err();
            assert!(error.to_string().contains("real-time"), "{error}");
        }
    }

    #[test]
    fn places_are_those_of_the_list() {
        for (at, (priority, _)) in ALL.into_iter().enumerate() {
            assert_eq!(place(priority), at);
        }
    }
}
