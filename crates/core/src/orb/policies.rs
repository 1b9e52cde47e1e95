//! Policies of the calling thread for calls through an ORB.

use crate::Orb;
use crate::policy::{
    AnyPolicy, InvalidPolicies, PolicyCurrent, PolicyScope, PolicySet, PolicyType, SetOverrideType,
    current,
};

impl PolicyCurrent {
    /// Puts policies over those of the thread until the scope is dropped. Allocates.
    pub fn scope(orb: &Orb, policies: impl Into<PolicySet>) -> PolicyScope {
        current::scope(orb.policy_table().id, policies.into())
    }

    /// Changes the policies of the thread until they are changed again; those of scopes go over them.
    ///
    /// # Errors
    /// [`InvalidPolicies`], and nothing was changed.
    pub fn set_policy_overrides(
        orb: &Orb,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<(), InvalidPolicies> {
        current::set_overrides(orb.policy_table().id, policies, how)
    }

    /// The policies of the thread, scopes included; of all types if none is given.
    pub fn policy_overrides(orb: &Orb, types: &[PolicyType]) -> PolicySet {
        current::overrides(orb.policy_table().id, types)
    }
}
