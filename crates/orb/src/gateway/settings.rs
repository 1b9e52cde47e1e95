//! Settings of a gateway.

use oxorb_transport::Access;

use crate::bridge::Interfaces;

use super::key::SigningKey;

/// Treatment of operations whose types the gateway does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownTypes {
    /// The octets of arguments and results are searched for references, which are replaced. A hostile client can hide
    /// references from the search; docs/gateway.md lists what is found.
    #[default]
    Search,
    /// The operations fail with NO_PERMISSION, `UNKNOWN_TYPES`. Objects of clients outside support known interfaces
    /// only: the gateway answers other queries of servers (`_is_a`) with false.
    Refuse,
}

/// Settings of a [`Gateway`](super::Gateway).
#[derive(Debug)]
pub struct GatewaySettings {
    /// Interfaces whose operations are decoded where they carry references.
    pub interfaces: Interfaces,
    /// Treatment of other operations.
    pub unknown: UnknownTypes,
    /// Addresses that the gateway calls because a client outside has passed a reference to them. If `None`, or if no
    /// rule allows anything, such references are refused.
    pub callbacks: Option<Access>,
    /// Key with which the gateway signs the references that it hands out.
    pub key: SigningKey,
    /// Maximum number of objects on each side that are ready for calls, counted separately for targets with the
    /// priority model CLIENT_PROPAGATED. Their ids, which contain the references of the targets, may have 1 KiB for
    /// each on average. For a further one, an object without a running request is removed, if possible one that was
    /// not used lately; its next call makes it again. Objects with running requests may exceed the limit.
    pub max_active: usize,
}

impl GatewaySettings {
    /// Creates settings with a key: no known interfaces, a search of unknown types, no callbacks, and at most 20,000
    /// active objects.
    pub fn new(key: SigningKey) -> GatewaySettings {
        GatewaySettings {
            interfaces: Interfaces::default(),
            unknown: UnknownTypes::default(),
            callbacks: None,
            key,
            max_active: 20_000,
        }
    }
}
