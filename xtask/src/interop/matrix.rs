//! Test matrix: every client with every server in every column.

use super::orb::Orb;

/// Column of the matrix: configuration of both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    Giop10,
    Giop11,
    Giop12,
    /// GIOP 1.2, with UTF-8 as the peers' native char code set instead of ISO 8859-1.
    Utf8,
    /// GIOP 1.2, with ISO 8859-1 as native char code set, even of OxORB.
    Latin1,
    /// GIOP 1.2, with OxORB sending big-endian.
    BigEndian,
    /// GIOP 1.2, with OxORB splitting messages into small fragments, and omniORB addressing objects by profile.
    Fragments,
    /// GIOP 1.2, with OxORB using private connections, leader/followers, priorities and RIOP on every call, and omniORB
    /// addressing objects by whole reference.
    Strategies,
    /// GIOP 1.2, with OxORB's objects in lanes and its clients at priorities: its references carry TAG_POLICIES and
    /// TAO_TAG_ENDPOINTS, which peers need not support.
    Lanes,
    /// GIOP 1.2, with callbacks over the connection opened by the client, whose references contain no reachable
    /// address.
    Bidirectional,
    /// GIOP 1.2 over UNIX sockets; connections over TCP are refused.
    Unix,
    /// GIOP 1.2 over TLS, with certificates on both sides.
    Tls,
    /// GIOP 1.2, with OxORB built for an emulated big-endian processor.
    S390x,
}

impl Column {
    pub(super) const ALL: [Self; 13] = [
        Self::Giop10,
        Self::Giop11,
        Self::Giop12,
        Self::Utf8,
        Self::Latin1,
        Self::BigEndian,
        Self::Fragments,
        Self::Strategies,
        Self::Lanes,
        Self::Bidirectional,
        Self::Unix,
        Self::Tls,
        Self::S390x,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Giop10 => "1.0",
            Self::Giop11 => "1.1",
            Self::Giop12 => "1.2",
            Self::Utf8 => "utf-8",
            Self::Latin1 => "latin-1",
            Self::BigEndian => "big-endian",
            Self::Fragments => "fragments",
            Self::Strategies => "strategies",
            Self::Lanes => "lanes",
            Self::Bidirectional => "bidirectional",
            Self::Unix => "unix",
            Self::Tls => "tls",
            Self::S390x => "s390x",
        }
    }

    /// Reports whether the column concerns OxORB only: byte order, fragment size, strategies, lanes, processor and a
    /// native code set of ISO 8859-1 are configured in OxORB alone, and callbacks over one connection between other
    /// ORBs are not tested.
    fn is_about_oxorb(self) -> bool {
        matches!(
            self,
            Self::Latin1
                | Self::BigEndian
                | Self::Fragments
                | Self::Strategies
                | Self::Lanes
                | Self::Bidirectional
                | Self::Unix
                | Self::Tls
                | Self::S390x
        )
    }

    /// Reports whether the column applies to a pair; JacORB has no UNIX sockets.
    fn is_for(self, cell: &Cell) -> bool {
        match self {
            Self::Unix => !cell.has(Orb::Jac),
            _ => true,
        }
    }

    pub(super) fn giop_minor(self) -> u8 {
        match self {
            Self::Giop10 => 0,
            Self::Giop11 => 1,
            _ => 2,
        }
    }
}

/// Pair in one column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) client: Orb,
    pub(super) server: Orb,
    pub(super) column: Column,
}

impl Cell {
    pub(super) fn has(&self, orb: Orb) -> bool {
        self.client == orb || self.server == orb
    }

    /// Returns "client -> server".
    pub(super) fn pair(&self) -> String {
        format!("{} -> {}", self.client.name(), self.server.name())
    }
}

/// Returns the cells for these ORBs, pairs with OxORB first.
pub(super) fn cells(orbs: &[Orb], only: Option<&str>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &client in orbs {
        for &server in orbs {
            for column in Column::ALL {
                let cell = Cell { client, server, column };
                if !column.is_for(&cell) || column.is_about_oxorb() && !cell.has(Orb::Ox) {
                    continue;
                }
                if only.is_none_or(|name| name == column.name()) {
                    cells.push(cell);
                }
            }
        }
    }
    cells.sort_by_key(|cell| !cell.has(Orb::Ox));
    cells
}
