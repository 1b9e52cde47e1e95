//! Common traits and types of all policies.

use std::fmt;

use super::*;

/// Number of a kind of policy (`CORBA::PolicyType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyType(pub u32);

/// Kind of client policy, as a type.
///
/// Values convert to and from [`AnyPolicy`], which lists and untyped code use.
pub trait ClientPolicy:
    Copy + fmt::Debug + PartialEq + Into<AnyPolicy> + Send + Sync + 'static
{
    /// Number in the specification, or in the range of the ORB that has the policy.
    const TYPE: PolicyType;
    /// Name in the specification.
    const NAME: &'static str;

    /// Returns the policy, if it is one of this kind.
    fn from_any(policy: &AnyPolicy) -> Option<Self>;
}

macro_rules! policies {
    ($($kind:ident $number:literal $name:literal;)*) => {
        /// A policy of any kind (`CORBA::Policy`).
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum AnyPolicy {
            $(
                #[doc = concat!("Type ", stringify!($number), ".")]
                $kind($kind),
            )*
        }

        impl AnyPolicy {
            /// Returns the number of the policy's kind (`policy_type`).
            pub const fn policy_type(&self) -> PolicyType {
                match self {
                    $(AnyPolicy::$kind(_) => PolicyType($number),)*
                }
            }
        }

        impl PolicyType {
            /// Kinds that this ORB's clients know, each with its number and its name in the specification.
            pub const KNOWN: &[(PolicyType, &str)] = &[$((PolicyType($number), $name),)*];
        }

        $(
            impl ClientPolicy for $kind {
                const TYPE: PolicyType = PolicyType($number);
                const NAME: &'static str = $name;

                fn from_any(policy: &AnyPolicy) -> Option<Self> {
                    match policy {
                        AnyPolicy::$kind(policy) => Some(*policy),
                        _ => None,
                    }
                }
            }

            impl From<$kind> for AnyPolicy {
                fn from(policy: $kind) -> AnyPolicy {
                    AnyPolicy::$kind(policy)
                }
            }
        )*
    };
}

policies! {
    RebindMode 23 "Messaging::RebindPolicy";
    SyncScope 24 "Messaging::SyncScopePolicy";
    RequestPriority 25 "Messaging::RequestPriorityPolicy";
    RequestStartTime 27 "Messaging::RequestStartTimePolicy";
    RequestEndTime 28 "Messaging::RequestEndTimePolicy";
    ReplyStartTime 29 "Messaging::ReplyStartTimePolicy";
    ReplyEndTime 30 "Messaging::ReplyEndTimePolicy";
    RelativeRequestTimeout 31 "Messaging::RelativeRequestTimeoutPolicy";
    RelativeRoundtripTimeout 32 "Messaging::RelativeRoundtripTimeoutPolicy";
    ClientProtocol 43 "RTCORBA::ClientProtocolPolicy";
    PrivateConnection 44 "RTCORBA::PrivateConnectionPolicy";
    PriorityBandedConnection 45 "RTCORBA::PriorityBandedConnectionPolicy";
    RelativeReplyTimeout 0x4f58_0001 "OxORB::RelativeReplyTimeoutPolicy";
    Retry 0x4f58_0002 "OxORB::RetryPolicy";
    LocateFirst 0x4f58_0003 "OxORB::LocateFirstPolicy";
    RequestQos 0x4f58_0004 "OxORB::RequestQosPolicy";
    ProtocolFallback 0x4f58_0005 "OxORB::ProtocolFallbackPolicy";
    FragmentSize 0x4f58_0006 "OxORB::FragmentSizePolicy";
    BufferPreallocation 0x4f58_0007 "OxORB::BufferPreallocationPolicy";
    QueueLimit 0x4f58_0008 "OxORB::QueueLimitPolicy";
    Bandwidth 0x4f58_0009 "OxORB::BandwidthPolicy";
    LargePayloads 0x4f58_000a "OxORB::LargePayloadsPolicy";
    SecureOnly 0x4f58_000b "OxORB::SecureOnlyPolicy";
    BufferingConstraint 0x5441_0001 "TAO::BufferingConstraintPolicy";
    ConnectionTimeout 0x5441_0008 "TAO::ConnectionTimeoutPolicy";
}

impl PolicyType {
    /// Returns the name in the specification, if this ORB's clients know the kind.
    pub fn name(self) -> Option<&'static str> {
        Self::KNOWN.iter().find(|(known, _)| *known == self).map(|(_, name)| *name)
    }
}

impl fmt::Display for PolicyType {
    /// Writes name and number, such as `Messaging::RebindPolicy (23)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "policy type {}", self.0),
        }
    }
}
