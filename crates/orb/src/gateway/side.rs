//! Sides of a gateway.

use std::fmt;

/// Side of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Clients that must not have direct access to the servers, such as those of a public network.
    Outside,
    /// Servers behind the gateway.
    Inside,
}

impl Side {
    /// Returns the opposite side.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Outside => Side::Inside,
            Side::Inside => Side::Outside,
        }
    }

    /// Returns the name of the side.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Side::Outside => "outside",
            Side::Inside => "inside",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
