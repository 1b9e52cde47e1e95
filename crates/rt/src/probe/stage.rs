//! Stages of a request, in the order in which they end.

use std::fmt;

/// Half of a request that a stage belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeSide {
    /// Client's half.
    Client,
    /// Server's half.
    Server,
}

macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident $side:ident $name:literal;)*) => {
        /// Stage of a request; a stamp records its end.
        ///
        /// The stages of both sides of a call, in this order (after the steps of "pluggable
        /// protocols", Tables 1 and 2).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Stage {
            $($(#[$doc])* $stage,)*
        }

        impl Stage {
            /// All stages in order, the client's first.
            pub const ALL: &[Stage] = &[$(Stage::$stage,)*];

            /// Returns the half of a request that the stage belongs to.
            pub const fn side(self) -> ProbeSide {
                match self {
                    $(Stage::$stage => ProbeSide::$side,)*
                }
            }

            /// Returns a short description of the work done when the stage ends.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Stage::$stage => $name,)*
                }
            }
        }
    };
}

stages! {
    /// Policies determined: the first stamp of a call. Work before it is not measured.
    CallBegun Client "call begun";
    /// Time limits and route determined.
    RouteFound Client "route found";
    /// Connection taken.
    LinkTaken Client "connection taken";
    /// GIOP and request headers written.
    HeaderWritten Client "header written";
    /// Arguments marshalled.
    ArgumentsWritten Client "arguments marshalled";
    /// Message complete.
    RequestFramed Client "request framed";
    /// Message accepted by the transport.
    RequestSent Client "request sent";
    /// Octets of the reply read: this stage contains the way to the server, its work and the way
    /// back.
    ReplyArrived Client "reply arrived";
    /// Header of the reply parsed and matched to this call.
    ReplyParsed Client "reply parsed";
    /// Results unmarshalled.
    ResultsRead Client "results unmarshalled";
    /// Connection returned.
    CallEnded Client "connection given back";
    /// Octets of a request read: the first stamp of a request. Time before it is waiting.
    RequestArrived Server "request arrived";
    /// Headers parsed.
    RequestParsed Server "request parsed";
    /// Code sets, time limits and other service contexts processed; the object adapter is next.
    RequestAdmitted Server "request admitted";
    /// Object key parsed.
    KeyParsed Server "object key parsed";
    /// POA and servant found.
    ServantFound Server "servant found";
    /// Operation found.
    OperationFound Server "operation found";
    /// Arguments unmarshalled.
    ArgumentsRead Server "arguments unmarshalled";
    /// Servant returned.
    ServantReturned Server "servant returned";
    /// Results marshalled, after the reply's header.
    ResultsWritten Server "results marshalled";
    /// Reply complete.
    ReplyFramed Server "reply framed";
    /// Reply accepted by the transport.
    ReplySent Server "reply sent";
}

impl Stage {
    /// Returns the stage with the number that `as` returned.
    pub(super) fn of(number: u64) -> Option<Stage> {
        Stage::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
