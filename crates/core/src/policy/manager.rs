//! Policies of ORBs.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::{
    AnyPolicy, Effective, InvalidPolicies, PolicySet, PolicyType, Resolved, SetOverrideType,
    current,
};
use crate::Options;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicBool, Ordering};
use crate::threads::sync::uncontrolled::atomic::AtomicU64;

/// Policies for all calls of an ORB (`CORBA::PolicyManager`, the initial reference ORBPolicyManager), from
/// [`Orb::policies`](crate::Orb::policies).
///
/// Changes apply to calls that begin afterwards, in any thread. Without a policy the options RoundTripTimeout and
/// ConnectTimeout apply.
///
/// ```
/// use oxorb_core::policy::{Retry, SyncScope};
/// use oxorb_core::{Options, Orb};
///
/// let orb = Orb::new(Options::default());
/// orb.policies().set(SyncScope::WithServer)?;
/// orb.policies().set(Retry::times(3))?;
/// assert_eq!(orb.policies().overrides(&[]).find(), Some(Retry::times(3)));
/// # Ok::<(), oxorb_core::policy::InvalidPolicies>(())
/// ```
pub struct PolicyManager<'o>(&'o OrbPolicies);

/// Policies of an ORB.
pub(crate) struct OrbPolicies {
    /// Number unique in this process, by which threads refer to the ORB.
    pub(crate) id: u64,
    base: Effective,
    /// Whether `overrides` differs from `base`.
    overridden: AtomicBool,
    overrides: ArcSwap<PolicyOverrides>,
    /// Lock that admits one change at a time.
    changing: Mutex<()>,
}

struct PolicyOverrides {
    set: PolicySet,
    effective: Effective,
}

impl PolicyManager<'_> {
    /// Sets one policy. Allocates, takes a lock.
    ///
    /// # Errors
    /// [`InvalidPolicies`]; nothing is changed then.
    pub fn set(&self, policy: impl Into<AnyPolicy>) -> Result<(), InvalidPolicies> {
        self.set_policy_overrides(&[policy.into()], SetOverrideType::Add)
    }

    /// Sets policies, which replace or are added to those set before.
    ///
    /// # Errors
    /// [`InvalidPolicies`]; nothing is changed then.
    pub fn set_policy_overrides(
        &self,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<(), InvalidPolicies> {
        let _one_at_a_time = self.0.changing.lock();
        let set = self.0.overrides.load().set.overridden(policies, how)?;
        let mut effective = self.0.base;
        effective.apply(set.as_slice());
        let overridden = !set.as_slice().is_empty();
        self.0.overrides.store(Arc::new(PolicyOverrides { set, effective }));
        self.0.overridden.store(overridden, Ordering::Release);
        Ok(())
    }

    /// Returns the policies that were set, of the given types or, without any, of all
    /// (`get_policy_overrides`).
    pub fn overrides(&self, types: &[PolicyType]) -> PolicySet {
        self.0.overrides.load().set.of_types(types)
    }
}

impl fmt::Debug for PolicyManager<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyManager").field(&self.overrides(&[])).finish()
    }
}

impl OrbPolicies {
    pub(crate) fn new(options: &Options) -> OrbPolicies {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = Effective::of(options);
        OrbPolicies {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            base,
            overridden: AtomicBool::new(false),
            overrides: ArcSwap::from_pointee(PolicyOverrides {
                set: PolicySet::new(),
                effective: base,
            }),
            changing: Mutex::new(()),
        }
    }

    pub(crate) fn manager(&self) -> PolicyManager<'_> {
        PolicyManager(self)
    }

    /// Reports whether the ORB's options permit the fast path of calls: no RT-CORBA, no policies that travel, no rarer
    /// policy.
    pub(crate) fn suit_fast_calls(&self) -> bool {
        let base = &self.base;
        let is_over = base.round_trip.is_some_and(|limit| limit.is_zero());
        let whole = base.fragment_size.is_none();
        base.plain && !base.carries && !base.real_time && !is_over && whole
    }

    /// Returns the policies of the ORB if neither the ORB nor this thread overrides any.
    #[inline(always)]
    pub(crate) fn unchanged(&self) -> Option<&Effective> {
        let changed = self.overridden.load(Ordering::Acquire) || current::any();
        (!changed).then_some(&self.base)
    }

    /// Resolves the policies of this thread's calls through a reference without its own policies.
    #[inline]
    pub(crate) fn resolve(&self) -> Resolved<'_> {
        if !self.overridden.load(Ordering::Acquire) && !current::any() {
            return Resolved::Base(&self.base);
        }
        Resolved::Own(self.overridden())
    }

    /// Returns these policies by value, so that others can be applied on top.
    #[cold]
    pub(crate) fn overridden(&self) -> Effective {
        let mut effective = self.overrides.load().effective;
        current::apply(self.id, &mut effective);
        effective
    }
}
