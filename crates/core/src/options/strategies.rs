//! Strategies that a personality names in addition to threads and scheduling: demultiplexing and protocols.

use super::{Options, SettingError};
use crate::policy::{Protocol, ProtocolList};

/// Strategy by which skeletons find the operation of a request that does not carry its index: requests of other ORBs,
/// and of clients without stubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OperationSearch {
    /// Strategy that the IDL compiler was given for each interface ([`Operations`](crate::Operations)).
    #[default]
    Generated,
    /// A perfect hash: one hash and one comparison.
    Perfect,
    /// Binary search: about log2(n) comparisons for n operations.
    Binary,
    /// Linear search: one comparison after the other.
    Linear,
}

pub(super) const OPERATION_SEARCH: &str = "generated|perfect|binary|linear";

impl OperationSearch {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "generated" => OperationSearch::Generated,
            "perfect" => OperationSearch::Perfect,
            "binary" => OperationSearch::Binary,
            "linear" => OperationSearch::Linear,
            _ => return Err(format!("expected {OPERATION_SEARCH}")),
        })
    }
}

/// Strategy by which POAs find the object of a key, unless their policies name one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Demultiplexing {
    /// Active demultiplexing: the key contains the index of the object.
    #[default]
    Active,
    /// Hashing of object ids.
    Hash,
    /// Perfect hashing in POAs whose ids are known when they are made; active demultiplexing in the others.
    Perfect,
    /// Linear search of ids in POAs that retain servants; active demultiplexing in the others.
    Linear,
}

pub(super) const DEMULTIPLEXING: &str = "active|hash|perfect|linear";

impl Demultiplexing {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "active" => Demultiplexing::Active,
            "hash" => Demultiplexing::Hash,
            "perfect" => Demultiplexing::Perfect,
            "linear" => Demultiplexing::Linear,
            _ => return Err(format!("expected {DEMULTIPLEXING}")),
        })
    }
}

/// Reads names of protocols, the preferred one first.
pub(super) fn names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

impl Options {
    /// Returns the protocols that calls of the ORB prefer; `None` for no preference.
    ///
    /// # Errors
    /// [`SettingError`] for a name that no protocol of the ORB has, and for a list that is not a valid policy.
    pub(crate) fn preferred_protocols(&self) -> Result<Option<ProtocolList>, SettingError> {
        if self.preferred.is_empty() {
            return Ok(None);
        }
        let refused = |problem: String| SettingError {
            setting: format!("-ORBProtocols {}", self.preferred.join(",")),
            problem,
        };
        let tag = |name: &String| match self.protocols.named(name) {
            Some(protocol) => Ok(Protocol::new(protocol.profile().tag())),
            None => {
                let known: Vec<_> = self.protocols.iter().map(|known| known.name()).collect();
                Err(refused(format!(
                    "this ORB has no protocol {name:?}, only {}",
                    known.join(", ")
                )))
            }
        };
        let list: Vec<_> = self.preferred.iter().map(tag).collect::<Result<_, _>>()?;
        let list = ProtocolList::new(&list).map_err(|error| refused(error.to_string()))?;
        Ok(Some(list))
    }
}
