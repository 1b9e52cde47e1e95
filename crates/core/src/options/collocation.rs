//! Collocated calls: calls to objects of the caller's own ORB.

/// Path of calls to objects of the caller's own ORB (TAO's `-ORBCollocation` and `-ORBCollocationStrategy`).
///
/// Under every variant, an object that a lane serves is called in the caller's thread only if that thread belongs to
/// the lane; otherwise the request is passed to the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collocation {
    /// The stub calls the servant, without a message or an allocation. Calls that need a message, because of
    /// interceptors, policies or types, are made as under [`Marshalled`](Self::Marshalled).
    #[default]
    Direct,
    /// Arguments and results are marshalled, and the servant runs in the caller's thread.
    Marshalled,
    /// Calls go over a connection, as to an object of another process: they run on the server's threads, subject to the
    /// server's limits.
    None,
}

pub(crate) const COLLOCATION: &str = "direct|marshalled|none";

impl Collocation {
    /// Parses a strategy by its name in OxORB or in TAO.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "direct" | "global" | "per-orb" | "best" | "yes" => Collocation::Direct,
            "marshalled" | "thru_poa" | "thru-poa" => Collocation::Marshalled,
            "none" | "no" => Collocation::None,
            _ => return Err("expected direct, marshalled or none".to_owned()),
        })
    }
}
