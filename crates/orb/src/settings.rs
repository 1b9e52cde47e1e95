//! Settings of an ORB, as fields ([`Options`]) and as text ([`SETTINGS`], [`PEER_OPTIONS`]).

#[doc(inline)]
pub use oxorb_core::{
    AccessLimits, AccessRequest, AccessRule, AccessRules, ClientConnections, Collocation,
    Concurrency, Demultiplexing, Incompatible, Limits, LogLevel, Meaning, OperationSearch, Options,
    PEER_OPTIONS, PeerOption, ReactorChoice, SETTINGS, Setting, SettingError, Violation,
};
