//! Settings of an ORB, as fields ([`Options`]) and as text ([`SETTINGS`], [`PEER_OPTIONS`]).

#[doc(inline)]
pub use oxorb_core::{
    AccessLimits, AccessRequest, AccessRule, AccessRules, ClientConnections, Collocation,
    Concurrency, Demultiplexing, IncompatibleOptions, LogLevel, MessageLimits, OperationSearch,
    Options, PEER_OPTIONS, PeerOption, PeerOptionMeaning, ReactorChoice, SETTINGS, Setting,
    SettingError, Violation,
};
