//! Critical sections: which operations hold which resources, and for how long.

use std::fmt;
use std::str::FromStr;

use super::Handle;
use crate::time::Nanos;

/// Locking protocol of shared resources. It determines how long an operation waits for a less
/// urgent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockingProtocol {
    /// Priority inheritance: the holder of a resource inherits the urgency of the operations that
    /// wait for it.
    Inheritance,
    /// Priority ceiling, in its original form or with immediate ceilings (Sha, Rajkumar and Lehoczky 1990).
    Ceiling,
    /// Stack resource policy (Baker 1991), for fixed priorities and for queues ordered by deadline.
    Stack,
    /// Non-preemptive: a critical section is never interrupted.
    NonPreemptive,
}

impl LockingProtocol {
    /// All protocols.
    pub const ALL: [LockingProtocol; 4] = [
        LockingProtocol::Inheritance,
        LockingProtocol::Ceiling,
        LockingProtocol::Stack,
        LockingProtocol::NonPreemptive,
    ];

    /// Returns the name used in files.
    pub fn name(self) -> &'static str {
        match self {
            LockingProtocol::Inheritance => "PIP",
            LockingProtocol::Ceiling => "PCP",
            LockingProtocol::Stack => "SRP",
            LockingProtocol::NonPreemptive => "NPP",
        }
    }
}

impl fmt::Display for LockingProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error for an unknown protocol name.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no locking protocol {0:?}; expected one of {names}",
    names = LockingProtocol::ALL.map(LockingProtocol::name).join(", ")
)]
pub struct UnknownProtocol(String);

impl fmt::Debug for UnknownProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LockingProtocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<LockingProtocol, UnknownProtocol> {
        let found =
            LockingProtocol::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownProtocol(text.into()))
    }
}

/// Critical section of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Operation that locks the resource.
    pub operation: Handle,
    /// Name of the resource.
    pub resource: String,
    /// Longest time for which the operation holds the resource in one section, without waits. It is part of
    /// the operation's execution time.
    pub longest: Nanos,
}
