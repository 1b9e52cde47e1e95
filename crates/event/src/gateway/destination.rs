//! Destinations of the datagrams of events.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use super::AskedAddresses;
use crate::rtec_event_comm::EventHeader;

/// Addresses for events, as in TAO's address servers. There is one address for all events
/// (`TAO_ECG_Simple_Address_Server`) or one for each type or source (`TAO_ECG_Complex_Address_Server`), or a remote
/// address server returns them.
///
/// Destinations are also a servant of [`AddrServer`](crate::rtec_udp_admin::AddrServer). When activated in a POA, they
/// serve gateways of other hosts and ORBs.
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
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Table(Table),
    Asked(Arc<AskedAddresses>),
}

#[derive(Clone, Debug)]
struct Table {
    key: Key,
    entries: HashMap<i32, SocketAddr>,
    /// Destination for types or sources that have no entry.
    other: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug)]
enum Key {
    Type,
    Source,
}

/// Error in the text of a table of destinations.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "destinations of events: {entry:?} is invalid or a repetition: write number@address:port, such as \
     17@239.255.0.1:10001, or *@address:port for all others, each number once"
)]
pub struct DestinationError {
    entry: String,
}

impl Destinations {
    /// Returns destinations that send all events to one address.
    pub fn all(address: SocketAddr) -> Self {
        Self::table(Table { key: Key::Type, entries: HashMap::new(), other: Some(address) })
    }

    /// Parses a list of `type@address:port`, separated by blanks; the type `*` stands for all types that are not
    /// listed. Events of types without an entry are not sent.
    ///
    /// # Errors
    /// [`DestinationError`] names the invalid entry.
    pub fn by_type(text: &str) -> Result<Self, DestinationError> {
        Self::parse(Key::Type, text)
    }

    /// Parses a list like [`by_type`](Self::by_type), with sources instead of types.
    ///
    /// # Errors
    /// [`DestinationError`] names the invalid entry.
    pub fn by_source(text: &str) -> Result<Self, DestinationError> {
        Self::parse(Key::Source, text)
    }

    /// Returns destinations that an address server determines. It is called for each type and source that is not
    /// cached.
    pub fn asked(addresses: AskedAddresses) -> Self {
        Self { source: Source::Asked(Arc::new(addresses)) }
    }

    fn table(table: Table) -> Self {
        Self { source: Source::Table(table) }
    }

    /// Returns the address for an event; `None` if the event has no address or the address server does not answer. If
    /// an address server must be called, this is done in the calling thread.
    pub fn of(&self, header: &EventHeader) -> Option<SocketAddr> {
        let table = match &self.source {
            Source::Table(table) => table,
            Source::Asked(server) => return server.of(header),
        };
        let key = match table.key {
            Key::Type => header.r#type,
            Key::Source => header.source,
        };
        table.entries.get(&key).copied().or(table.other)
    }

    /// Returns the addresses for subscribed events. If the type or source is a wildcard (0), returns all addresses that
    /// the table contains. A remote address server is called with the type and source as they are, as by TAO's
    /// gateways.
    pub(super) fn asked_for(&self, (event_type, source): crate::Key) -> Vec<SocketAddr> {
        if let Source::Table(table) = &self.source {
            let key = match table.key {
                Key::Type => event_type,
                Key::Source => source,
            };
            if key == 0 {
                return table.entries.values().copied().chain(table.other).collect();
            }
        }
        let header = EventHeader {
            r#type: event_type,
            source,
            // Senders send only events with a positive ttl, and an address server may depend on the ttl.
            ttl: 1,
            ..EventHeader::default()
        };
        self.of(&header).into_iter().collect()
    }

    fn parse(key: Key, text: &str) -> Result<Self, DestinationError> {
        let mut table = Table { key, entries: HashMap::new(), other: None };
        for entry in text.split_whitespace() {
            let wrong = || DestinationError { entry: entry.to_owned() };
            let (number, address) = entry.split_once('@').ok_or_else(wrong)?;
            let address = address.parse().map_err(|_| wrong())?;
            let before = match number {
                "*" => table.other.replace(address),
                number => {
                    let number = number.parse().map_err(|_| wrong())?;
                    table.entries.insert(number, address)
                }
            };
            if before.is_some() {
                return Err(wrong());
            }
        }
        Ok(Self::table(table))
    }
}

impl fmt::Debug for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
