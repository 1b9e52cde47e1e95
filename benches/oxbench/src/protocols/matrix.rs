//! Contenders: every messaging over every transport. Rows that this build does not support are left out and reported.

use std::fmt;

use serde::Serialize;

use super::cube::{Cube, Operation};

/// Transport of the octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    Tcp,
    Tls,
    Unix,
    /// Shared memory, with threads that sleep at once.
    Shared,
    /// Shared memory, with threads that spin.
    Spinning,
    /// Shared memory, with threads that spin for a moment and then sleep.
    Brief,
    /// Shared memory without blocks for large payloads, with threads that spin.
    Rings,
    Memory,
}

/// Source of the messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Maker {
    /// Raw octets, as many as GIOP's, from a buffer.
    Raw,
    #[serde(rename = "omniorb")]
    OmniOrb,
    /// Requests and responses of iceoryx2, with the octets of the call's body.
    #[serde(rename = "iceoryx2")]
    Iceoryx,
    /// Queries and replies of zenoh, with the octets of the call's body.
    Zenoh,
    /// Single memcpy of the octets, without another process.
    Memcpy,
    Giop,
    GiopLite,
    GiopLiteRt,
}

/// Copies of a sequence's octets on their way to the servant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// Number of copies that the transport makes of any message.
    Usual,
    /// One copy, by the client: the servant reads the octets where the client's ORB wrote them.
    Once,
    /// No copy: the client fills memory that the connection lends; it writes only the first and last octets.
    Placed,
    /// No copy, and the octets are neither written nor read.
    Untouched,
    /// One copy on each side; the copies overlap: pieces are read while later ones are being written.
    Pieces,
}

/// Row of the matrix.
#[derive(PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Protocol {
    pub(crate) name: &'static str,
    pub(crate) maker: Maker,
    pub(crate) transport: Transport,
    pub(crate) way: Way,
    /// Endpoint of the server in its ORB's notation; `FILE` stands for a socket in a folder of this run.
    #[serde(skip)]
    pub(crate) endpoint: &'static str,
}

/// Placeholder of the folder in an endpoint.
pub(crate) const FILE: &str = "FILE";

/// All rows, in the order of the report. Within one transport, the floor is first.
pub(crate) const MATRIX: &[Protocol] = &[
    row("raw-tcp", Maker::Raw, Transport::Tcp, "127.0.0.1:0"),
    row("omniorb-tcp", Maker::OmniOrb, Transport::Tcp, "giop:tcp:127.0.0.1:"),
    row("giop-tcp", Maker::Giop, Transport::Tcp, "iiop://127.0.0.1:0"),
    row("giop-lite-tcp", Maker::GiopLite, Transport::Tcp, "giop-lite+tcp://127.0.0.1:0"),
    row("giop-lite-rt-tcp", Maker::GiopLiteRt, Transport::Tcp, "giop-lite-rt+tcp://127.0.0.1:0"),
    row("giop-tls", Maker::Giop, Transport::Tls, "iiops://127.0.0.1:0"),
    row("raw-unix", Maker::Raw, Transport::Unix, FILE),
    row("omniorb-unix", Maker::OmniOrb, Transport::Unix, "giop:unix:FILE"),
    row("giop-unix", Maker::Giop, Transport::Unix, "uiop://FILE"),
    row("giop-lite-unix", Maker::GiopLite, Transport::Unix, "giop-lite+unix://FILE"),
    row("giop-lite-rt-unix", Maker::GiopLiteRt, Transport::Unix, "giop-lite-rt+unix://FILE"),
    row("raw-shm", Maker::Raw, Transport::Shared, FILE),
    row("iceoryx2-event", Maker::Iceoryx, Transport::Shared, FILE),
    row("giop-shm", Maker::Giop, Transport::Shared, "shm://FILE"),
    row("giop-lite-shm", Maker::GiopLite, Transport::Shared, "giop-lite+shm://FILE"),
    row("giop-lite-rt-shm", Maker::GiopLiteRt, Transport::Shared, "giop-lite-rt+shm://FILE"),
    one_way("giop-shm-once", Maker::Giop, Transport::Shared, Way::Once, "shm://FILE|blocks=32M"),
    one_way(
        "giop-shm-placed",
        Maker::Giop,
        Transport::Shared,
        Way::Placed,
        "shm://FILE|blocks=32M",
    ),
    row("zenoh-shm", Maker::Zenoh, Transport::Shared, FILE),
    one_way("zenoh-shm-placed", Maker::Zenoh, Transport::Shared, Way::Placed, FILE),
    row("raw-shm-spin", Maker::Raw, Transport::Spinning, FILE),
    one_way("raw-shm-spin-pieces", Maker::Raw, Transport::Spinning, Way::Pieces, FILE),
    one_way("raw-shm-spin-placed", Maker::Raw, Transport::Spinning, Way::Placed, FILE),
    row("iceoryx2-spin", Maker::Iceoryx, Transport::Spinning, FILE),
    row("giop-shm-spin", Maker::Giop, Transport::Spinning, "shm://FILE"),
    one_way(
        "giop-shm-spin-once",
        Maker::Giop,
        Transport::Spinning,
        Way::Once,
        "shm://FILE|blocks=32M",
    ),
    one_way(
        "giop-shm-spin-placed",
        Maker::Giop,
        Transport::Spinning,
        Way::Placed,
        "shm://FILE|blocks=32M",
    ),
    one_way(
        "giop-shm-spin-untouched",
        Maker::Giop,
        Transport::Spinning,
        Way::Untouched,
        "shm://FILE|blocks=32M",
    ),
    row("giop-lite-shm-spin", Maker::GiopLite, Transport::Spinning, "giop-lite+shm://FILE"),
    row("giop-lite-rt-shm-spin", Maker::GiopLiteRt, Transport::Spinning, "giop-lite-rt+shm://FILE"),
    row("giop-shm-brief", Maker::Giop, Transport::Brief, "shm://FILE"),
    row("giop-shm-rings", Maker::Giop, Transport::Rings, "shm://FILE|blocks=0"),
    row("giop-mem", Maker::Giop, Transport::Memory, "mem://oxbench"),
    row("giop-lite-mem", Maker::GiopLite, Transport::Memory, "giop-lite+mem://oxbench"),
    row("giop-lite-rt-mem", Maker::GiopLiteRt, Transport::Memory, "giop-lite-rt+mem://oxbench"),
    row("memcpy", Maker::Memcpy, Transport::Memory, ""),
];

const fn row(
    name: &'static str,
    maker: Maker,
    transport: Transport,
    endpoint: &'static str,
) -> Protocol {
    one_way(name, maker, transport, Way::Usual, endpoint)
}

const fn one_way(
    name: &'static str,
    maker: Maker,
    transport: Transport,
    way: Way,
    endpoint: &'static str,
) -> Protocol {
    Protocol { name, maker, transport, way, endpoint }
}

/// Returns the row of this name.
pub(crate) fn named(name: &str) -> Result<&'static Protocol, String> {
    MATRIX.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<_> = MATRIX.iter().map(|row| row.name).collect();
        format!("the protocols are {}", names.join(", "))
    })
}

/// Returns the row of a maker and a transport with the usual copies.
pub(crate) fn of(maker: Maker, transport: Transport) -> Option<&'static Protocol> {
    by(maker, transport, Way::Usual)
}

/// Returns the row of a maker, a transport and a way of copying.
pub(crate) fn by(maker: Maker, transport: Transport, way: Way) -> Option<&'static Protocol> {
    let same = |row: &&Protocol| (row.maker, row.transport, row.way) == (maker, transport, way);
    MATRIX.iter().find(same)
}

/// Transports with a row for each messaging, in the order of the report.
pub(crate) const TRANSPORTS: [Transport; 5] =
    [Transport::Tcp, Transport::Unix, Transport::Shared, Transport::Spinning, Transport::Memory];

/// Microseconds for which spinning threads spin: the longest permitted time, which is longer than a call.
const SPIN: &str = "5000";

/// Microseconds for which threads spin before they sleep: less than the longer calls take.
const BRIEF: &str = "20";

impl Protocol {
    /// Returns the environment of both sides.
    pub(crate) fn environment(&self) -> Option<(&'static str, &'static str)> {
        match self.transport {
            Transport::Spinning | Transport::Rings => Some(("OXORB_SPIN", SPIN)),
            Transport::Brief => Some(("OXORB_SPIN", BRIEF)),
            _ => None,
        }
    }

    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.maker, Maker::Giop | Maker::GiopLite | Maker::GiopLiteRt)
    }

    /// Reports whether this row has such a call.
    pub(crate) fn makes(&self, cube: Cube) -> bool {
        cube.operation == Operation::Sent || self.way == Way::Usual && self.maker != Maker::Memcpy
    }

    /// Reports whether threads spin for long, which takes a CPU for each side.
    pub(crate) fn spins(&self) -> bool {
        matches!(self.transport, Transport::Spinning | Transport::Rings)
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Transport::Tcp => "TCP",
            Transport::Tls => "TLS",
            Transport::Unix => "UNIX sockets",
            Transport::Shared => "shared memory",
            Transport::Spinning => "shared memory, spinning",
            Transport::Brief => "shared memory, spinning for 20 us",
            Transport::Rings => "shared memory, rings only",
            Transport::Memory => "memory",
        })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_one_row_and_each_row_its_name() {
        for (at, row) in MATRIX.iter().enumerate() {
            let found = by(row.maker, row.transport, row.way).unwrap();
            assert_eq!(found.name, row.name, "{row} is there twice");
            assert_eq!(&MATRIX[at], found);
            assert_eq!(named(row.name), Ok(row));
            let file = matches!(
                row.transport,
                Transport::Unix
                    | Transport::Shared
                    | Transport::Spinning
                    | Transport::Brief
                    | Transport::Rings
            );
            assert_eq!(row.endpoint.contains(FILE), file, "{row}");
        }
        assert!(named("iiop").is_err());
    }
}
