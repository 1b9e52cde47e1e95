//! Strategies that a personality names beside threads and scheduling: demultiplexing and protocols.

use super::{Options, SettingError};
use crate::policy::{Protocol, ProtocolList};

/// Way in which POAs find the object of a key, unless their policies name one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Demultiplexing {
    /// Active demultiplexing: the key says where the object is.
    #[default]
    Active,
    /// Hashing of object ids.
    Hash,
    /// Perfect hashing in POAs whose ids are known when they are made; active demultiplexing in the others.
    Perfect,
}

pub(super) const DEMULTIPLEXING: &str = "active|hash|perfect";

impl Demultiplexing {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "active" => Demultiplexing::Active,
            "hash" => Demultiplexing::Hash,
            "perfect" => Demultiplexing::Perfect,
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
    /// Returns the protocols that calls of the ORB prefer; `None`: no preference.
    ///
    /// # Errors
    /// [`SettingError`] for a name that no protocol of the ORB has, and for a list that is no policy.
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
