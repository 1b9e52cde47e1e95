//! The stages of a request, in the order in which they end.

use std::fmt;

/// Half of a request that a stage belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The caller's.
    Client,
    /// The servant's.
    Server,
}

macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident $side:ident $name:literal;)*) => {
        /// A stage of a request; a stamp says that it has ended.
        ///
        /// What the two sides of a call go through, in this order (DESIGN: one request as data; the steps of
        /// "pluggable protocols", Tables 1 and 2).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Stage {
            $($(#[$doc])* $stage,)*
        }

        impl Stage {
            /// All of them, in order, the client's first.
            pub const ALL: &[Stage] = &[$(Stage::$stage,)*];

            /// Returns the half of a request that the stage belongs to.
            pub const fn side(self) -> Side {
                match self {
                    $(Stage::$stage => Side::$side,)*
                }
            }

            /// Returns what has been done when the stage ends, in a few words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Stage::$stage => $name,)*
                }
            }
        }
    };
}

stages! {
    /// The first of a call: its policies are known. What lies before the stamp is not measured.
    CallBegun Client "call begun";
    /// Time limits are known, and where the reference leads.
    RouteFound Client "route found";
    /// A connection was taken.
    LinkTaken Client "connection taken";
    /// The GIOP and request headers are written.
    HeaderWritten Client "header written";
    /// The arguments are marshalled.
    ArgumentsWritten Client "arguments marshalled";
    /// The message is complete.
    RequestFramed Client "request framed";
    /// The transport has taken it.
    RequestSent Client "request sent";
    /// Octets of the reply were read: the way to the server, its work and the way back lie before.
    ReplyArrived Client "reply arrived";
    /// The header of the reply is read, and it is ours.
    ReplyParsed Client "reply parsed";
    /// The results are unmarshalled.
    ResultsRead Client "results unmarshalled";
    /// The connection is back in its place.
    CallEnded Client "connection given back";
    /// Octets of a request were read: the first of a request. What lies before the stamp is waiting.
    RequestArrived Server "request arrived";
    /// The headers are read.
    RequestParsed Server "request parsed";
    /// Code sets, time limits and other service contexts are looked at; the object adapter is next.
    RequestAdmitted Server "request admitted";
    /// The object key is taken apart.
    KeyParsed Server "object key parsed";
    /// POA and servant are found.
    ServantFound Server "servant found";
    /// The operation is found.
    OperationFound Server "operation found";
    /// The arguments are unmarshalled.
    ArgumentsRead Server "arguments unmarshalled";
    /// The servant has done it.
    ServantReturned Server "servant returned";
    /// The results are marshalled, after the reply's header.
    ResultsWritten Server "results marshalled";
    /// The message is complete.
    ReplyFramed Server "reply framed";
    /// The transport has taken it.
    ReplySent Server "reply sent";
}

impl Stage {
    /// The stage of a number that `as` gave.
    pub(super) fn of(number: u64) -> Option<Stage> {
        Stage::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
