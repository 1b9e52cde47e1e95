//! Policies of the calling thread for calls through an ORB.

use crate::Orb;
use crate::policy::{
    AnyPolicy, InvalidPolicies, PolicyCurrent, PolicyScope, PolicySet, PolicyType, SetOverrideType,
    current,
};

impl PolicyCurrent {
    /// Overrides policies of the calling thread until the scope is dropped. Allocates.
    pub fn scope(orb: &Orb, policies: impl Into<PolicySet>) -> PolicyScope {
        current::scope(orb.policy_table().id, policies.into())
    }

    /// Changes the policies of the calling thread until the next change; those of scopes take precedence.
    ///
    /// # Errors
    /// [`InvalidPolicies`]; nothing is changed then.
    pub fn set_policy_overrides(
        orb: &Orb,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<(), InvalidPolicies> {
        current::set_overrides(orb.policy_table().id, policies, how)
    }

    /// Returns the policies of the calling thread, including those of scopes; of all types if `types` is empty.
    pub fn policy_overrides(orb: &Orb, types: &[PolicyType]) -> PolicySet {
        current::overrides(orb.policy_table().id, types)
    }
}
