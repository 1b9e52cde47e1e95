//! Collocated calls: the way to objects of the caller's own ORB.

/// Way of calls to objects of the caller's own ORB (TAO's `-ORBCollocation` and `-ORBCollocationStrategy`).
///
/// Objects on lanes are called in the caller's thread only where that is a thread of the lane, and through the lane
/// otherwise, whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collocation {
    /// The stub calls the servant: no message, no allocation. Calls for which interceptors, policies or types need a
    /// message run as [`Marshalled`](Self::Marshalled) ones.
    #[default]
    Direct,
    /// Arguments and results are marshalled, and the servant runs in the caller's thread.
    Marshalled,
    /// Calls over a connection, as if the object were elsewhere: on the server's threads, within
    /// its limits.
    None,
}

pub(crate) const COLLOCATION: &str = "direct|marshalled|none";

impl Collocation {
    /// Reads our names and TAO's.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "direct" | "global" | "per-orb" | "best" | "yes" => Collocation::Direct,
            "marshalled" | "thru_poa" | "thru-poa" => Collocation::Marshalled,
            "none" | "no" => Collocation::None,
            _ => return Err("expected direct, marshalled or none".to_owned()),
        })
    }
}
