//! What runs: every client with every server in every column.

use super::orb::Orb;

/// A column of the matrix: how the two sides are told to talk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    Giop10,
    Giop11,
    Giop12,
    /// GIOP 1.2, the peers' native char code set being UTF-8 rather than ISO 8859-1.
    Utf8,
    /// GIOP 1.2, the native char code set of OxORB, too, being ISO 8859-1.
    Latin1,
    /// GIOP 1.2, OxORB sending big-endian.
    BigEndian,
    /// GIOP 1.2, OxORB splitting what it sends into small fragments, omniORB
    /// addressing objects by profile.
    Fragments,
    /// GIOP 1.2, OxORB with private connections, leader/followers, priorities and RIOP on every call, omniORB
    /// addressing objects by whole reference.
    Strategies,
    /// GIOP 1.2, the objects of OxORB living in lanes, its clients having priorities: its references carry
    /// TAG_POLICIES and TAO_TAG_ENDPOINTS, of which no peer needs to know.
    Lanes,
    /// GIOP 1.2, callbacks coming over the connection that the client opened: its
    /// references lead nowhere else.
    Bidirectional,
    /// GIOP 1.2 over UNIX sockets; connections over TCP are refused.
    Unix,
    /// GIOP 1.2 over TLS, both sides showing certificates.
    Tls,
    /// GIOP 1.2, OxORB being built for a big-endian processor, which is emulated.
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

    /// Only OxORB can be told byte order, fragment size, strategies, lanes and processor, and needs to be told that ISO 8859-1 is its home.
    /// Between the others, callbacks over one connection are not our business.
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

    /// JacORB has no UNIX sockets.
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

/// One pair in one column.
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

    /// "client -> server".
    pub(super) fn pair(&self) -> String {
        format!("{} -> {}", self.client.name(), self.server.name())
    }
}

/// The cells for these ORBs, pairs with OxORB first.
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
