//! Collocated calls: calls to objects of the caller's own ORB.

/// Path of calls to objects of the caller's own ORB (TAO's `-ORBCollocation` and `-ORBCollocationStrategy`).
///
/// With every value, objects on lanes are called in the caller's thread only if that is a thread of the lane, and
/// through the lane otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collocation {
    /// The stub calls the servant: no message, no allocation. Calls for which interceptors, policies or types need a
    /// message run as [`Marshalled`](Self::Marshalled) ones.
    #[default]
    Direct,
    /// Arguments and results are marshalled, and the servant runs in the caller's thread.
    Marshalled,
    /// Calls go over a connection, as to an object of another process: they run on the server's threads, within its
    /// limits.
    None,
}

pub(crate) const COLLOCATION: &str = "direct|marshalled|none";

impl Collocation {
    /// Reads the names of OxORB and of TAO.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "direct" | "global" | "per-orb" | "best" | "yes" => Collocation::Direct,
            "marshalled" | "thru_poa" | "thru-poa" => Collocation::Marshalled,
            "none" | "no" => Collocation::None,
            _ => return Err("expected direct, marshalled or none".to_owned()),
        })
    }
}
