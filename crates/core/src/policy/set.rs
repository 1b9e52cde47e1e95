//! Sets of policies with at most one of each kind.

use std::fmt;

use super::connections::MAX_PREALLOCATION;
use super::{AnyPolicy, ClientPolicy, PolicyType};
use crate::options::MIN_FRAGMENT;

/// Set of policies, at most one of each kind (`CORBA::PolicyList`). Allocates when the first is
/// added.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicySet(Vec<AnyPolicy>);

/// Treatment of the policies that were set before (`CORBA::SetOverrideType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetOverrideType {
    /// Drops the previous overrides (SET_OVERRIDE).
    Set,
    /// Keeps the previous overrides, except those of the same kinds (ADD_OVERRIDE).
    #[default]
    Add,
}

/// Error of policies that contradict each other or are invalid (`CORBA::InvalidPolicies`).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "policy number {} (from 0) cannot be set: {why}",
    .indices.first().copied().unwrap_or_default()
)]
pub struct InvalidPolicies {
    /// Indices of the invalid policies in the given list.
    pub indices: Vec<u16>,
    /// Reason for the first of them.
    pub why: &'static str,
}

impl PolicySet {
    /// Returns an empty set.
    pub const fn new() -> Self {
        PolicySet(Vec::new())
    }

    /// Returns the set with `policy` in place of another of its kind.
    #[must_use]
    pub fn with(mut self, policy: impl Into<AnyPolicy>) -> Self {
        self.add(policy.into());
        self
    }

    /// Adds `policy`, in place of another of its kind if there is one.
    pub fn add(&mut self, policy: AnyPolicy) {
        let kind = policy.policy_type();
        match self.0.iter_mut().find(|old| old.policy_type() == kind) {
            Some(old) => *old = policy,
            None => self.0.push(policy),
        }
    }

    /// Returns the policy of a kind.
    pub fn find<P: ClientPolicy>(&self) -> Option<P> {
        self.0.iter().find_map(P::from_any)
    }

    /// Returns the policies, in the order in which they were first set.
    pub fn as_slice(&self) -> &[AnyPolicy] {
        &self.0
    }

    /// Returns the policies of the given kinds or, without any, all, as `get_policy_overrides`
    /// requires.
    #[must_use]
    pub fn of_types(&self, types: &[PolicyType]) -> PolicySet {
        let wanted =
            |policy: &&AnyPolicy| types.is_empty() || types.contains(&policy.policy_type());
        PolicySet(self.0.iter().filter(wanted).copied().collect())
    }

    /// Returns this set with policies replaced or added, as `set_policy_overrides` does.
    ///
    /// # Errors
    /// [`InvalidPolicies`] if a kind occurs twice in `policies`, a policy is invalid by itself, or a start time is
    /// later than its end time.
    pub fn overridden(
        &self,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<PolicySet, InvalidPolicies> {
        let invalid = |index: usize, why| InvalidPolicies {
            indices: vec![u16::try_from(index).unwrap_or(u16::MAX)],
            why,
        };
        let mut set = match how {
            SetOverrideType::Set => PolicySet::new(),
            SetOverrideType::Add => self.clone(),
        };
        for (index, policy) in policies.iter().enumerate() {
            let kind = policy.policy_type();
            if policies[..index].iter().any(|other| other.policy_type() == kind) {
                return Err(invalid(index, "an earlier policy has the same type"));
            }
            if let Some(why) = fault(policy) {
                return Err(invalid(index, why));
            }
            set.add(*policy);
        }
        let wrong = policies.iter().position(|policy| set.contradicts(policy));
        match wrong {
            Some(index) => Err(invalid(index, "its start time is later than its end time")),
            None => Ok(set),
        }
    }

    fn contradicts(&self, policy: &AnyPolicy) -> bool {
        use super::{ReplyEndTime, ReplyStartTime, RequestEndTime, RequestStartTime};
        let request = || {
            let (start, end) = (self.find::<RequestStartTime>(), self.find::<RequestEndTime>());
            start.zip(end).is_some_and(|(start, end)| start.0 > end.0)
        };
        let reply = || {
            let (start, end) = (self.find::<ReplyStartTime>(), self.find::<ReplyEndTime>());
            start.zip(end).is_some_and(|(start, end)| start.0 > end.0)
        };
        match policy {
            AnyPolicy::RequestStartTime(_) | AnyPolicy::RequestEndTime(_) => request(),
            AnyPolicy::ReplyStartTime(_) | AnyPolicy::ReplyEndTime(_) => reply(),
            _ => false,
        }
    }
}

/// Returns the fault of a policy that is invalid by itself.
fn fault(policy: &AnyPolicy) -> Option<&'static str> {
    match policy {
        AnyPolicy::RequestPriority(range) if range.min > range.max => {
            Some("the lowest priority is above the highest")
        }
        AnyPolicy::ConnectionTimeout(timeout) if timeout.0.is_zero() => {
            Some("a time limit of 0 for connecting can never be met")
        }
        AnyPolicy::FragmentSize(size) if size.0.is_some_and(|size| size < MIN_FRAGMENT) => {
            Some("a fragment must have at least 1,024 octets")
        }
        AnyPolicy::BufferPreallocation(octets) if octets.0 > MAX_PREALLOCATION => {
            Some("a connection can preallocate at most 64 MiB for each direction")
        }
        AnyPolicy::Bandwidth(rate) if rate.0 == Some(0) => {
            Some("nothing can be sent with a bandwidth of 0; None stands for no limit")
        }
        AnyPolicy::BufferingConstraint(constraint)
            if constraint.count == Some(0) || constraint.octets == Some(0) =>
        {
            Some("a buffer with a threshold of 0 would never be sent")
        }
        _ => None,
    }
}

impl<P: Into<AnyPolicy>> FromIterator<P> for PolicySet {
    fn from_iter<I: IntoIterator<Item = P>>(policies: I) -> Self {
        policies.into_iter().fold(PolicySet::new(), PolicySet::with)
    }
}

impl<P: ClientPolicy> From<P> for PolicySet {
    fn from(policy: P) -> PolicySet {
        PolicySet::new().with(policy)
    }
}

impl fmt::Debug for InvalidPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InvalidPolicies({self})")
    }
}
