//! Where datagrams of an event go.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;

use crate::rtec_event_comm::EventHeader;

/// Addresses for events, as TAO's address servers know them: one for all, or one for each type or source.
///
/// ```
/// use oxorb_event::gateway::Destinations;
///
/// let all = Destinations::all("239.255.0.1:10001".parse()?);
/// let by_type = Destinations::by_type("17@239.255.0.2:10001 18@239.255.0.3:10001 *@239.255.0.1:10001")?;
/// let by_source = Destinations::by_source("3@10.0.0.7:10001")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Destinations {
    key: Key,
    table: HashMap<i32, SocketAddr>,
    /// For keys that the table does not have.
    other: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug)]
enum Key {
    Type,
    Source,
}

/// Text that is no table of destinations.
#[derive(Clone, PartialEq, Eq)]
pub struct DestinationError {
    entry: String,
}

impl Destinations {
    /// Returns a table that sends all events to one address.
    pub fn all(address: SocketAddr) -> Self {
        Self {
            key: Key::Type,
            table: HashMap::new(),
            other: Some(address),
        }
    }

    /// Reads a table of `type@address:port`, with blanks between; `*` stands for all other types. Events of types that it
    /// does not have are not sent.
    ///
    /// # Errors
    /// [`DestinationError`] names the entry that is wrong.
    pub fn by_type(text: &str) -> Result<Self, DestinationError> {
        Self::parse(Key::Type, text)
    }

    /// As [`by_type`](Self::by_type), with sources instead of types.
    ///
    /// # Errors
    /// [`DestinationError`] names the entry that is wrong.
    pub fn by_source(text: &str) -> Result<Self, DestinationError> {
        Self::parse(Key::Source, text)
    }

    /// Returns the address for an event.
    pub fn of(&self, header: &EventHeader) -> Option<SocketAddr> {
        let key = match self.key {
            Key::Type => header.r#type,
            Key::Source => header.source,
        };
        self.table.get(&key).copied().or(self.other)
    }

    fn parse(key: Key, text: &str) -> Result<Self, DestinationError> {
        let mut destinations = Self {
            key,
            table: HashMap::new(),
            other: None,
        };
        for entry in text.split_whitespace() {
            let wrong = || DestinationError {
                entry: entry.to_owned(),
            };
            let (number, address) = entry.split_once('@').ok_or_else(wrong)?;
            let address = address.parse().map_err(|_| wrong())?;
            let before = match number {
                "*" => destinations.other.replace(address),
                number => {
                    let number = number.parse().map_err(|_| wrong())?;
                    destinations.table.insert(number, address)
                }
            };
            if before.is_some() {
                return Err(wrong());
            }
        }
        Ok(destinations)
    }
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = &self.entry;
        write!(
            f,
            "destinations of events: {entry:?} is no new entry: write number@address:port, such as 17@239.255.0.1:10001, or \
             *@address:port for all others, each number once"
        )
    }
}

impl fmt::Debug for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for DestinationError {}
