//! Policies of an ORB.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;

use super::{
    AnyPolicy, Effective, InvalidPolicies, PolicySet, PolicyType, Resolved, SetOverrideType,
    current,
};
use crate::Options;
use crate::lock::Mutex;

/// The policies that hold for all calls of an ORB (`CORBA::PolicyManager`, the initial reference ORBPolicyManager).
/// Got by [`Orb::policies`](crate::Orb::policies).
///
/// Changes hold for calls that begin afterwards, from any thread. The options RoundTripTimeout and ConnectTimeout are
/// what holds where no policy says otherwise.
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
    /// Unique in this process: what threads know their policies by.
    pub(crate) id: u64,
    base: Effective,
    /// Whether `level` says something else than `base`.
    overridden: AtomicBool,
    level: ArcSwap<Level>,
    /// Lock that admits one change at a time.
    changing: Mutex<()>,
}

struct Level {
    set: PolicySet,
    effective: Effective,
}

impl PolicyManager<'_> {
    /// Sets one policy. Allocates, takes a lock.
    ///
    /// # Errors
    /// [`InvalidPolicies`], and nothing was changed.
    pub fn set(&self, policy: impl Into<AnyPolicy>) -> Result<(), InvalidPolicies> {
        self.set_policy_overrides(&[policy.into()], SetOverrideType::Add)
    }

    /// Sets policies, instead of or besides those set before.
    ///
    /// # Errors
    /// [`InvalidPolicies`], and nothing was changed.
    pub fn set_policy_overrides(
        &self,
        policies: &[AnyPolicy],
        how: SetOverrideType,
    ) -> Result<(), InvalidPolicies> {
        let _one_at_a_time = self.0.changing.lock();
        let set = self.0.level.load().set.overridden(policies, how)?;
        let mut effective = self.0.base;
        effective.apply(set.as_slice());
        let overridden = !set.as_slice().is_empty();
        self.0.level.store(Arc::new(Level { set, effective }));
        self.0.overridden.store(overridden, Ordering::Release);
        Ok(())
    }

    /// The policies that were set; of all types if none is given (`get_policy_overrides`).
    pub fn overrides(&self, types: &[PolicyType]) -> PolicySet {
        self.0.level.load().set.of_types(types)
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
            level: ArcSwap::from_pointee(Level { set: PolicySet::new(), effective: base }),
            changing: Mutex::new(()),
        }
    }

    pub(crate) fn manager(&self) -> PolicyManager<'_> {
        PolicyManager(self)
    }

    /// Returns whether nothing that was set for the ORB asks for more than usual: no RT-CORBA, nothing that travels, no
    /// policy that is looked at for each attempt.
    pub(crate) fn are_usual(&self) -> bool {
        let base = &self.base;
        let is_over = base.round_trip.is_some_and(|limit| limit.is_zero());
        let whole = base.fragment_size.is_none();
        base.plain && !base.carries && !base.real_time && !is_over && whole
    }

    /// Returns the policies of the ORB, if calls of this thread through a reference without policies of its own have no
    /// others.
    #[inline(always)]
    pub(crate) fn unchanged(&self) -> Option<&Effective> {
        let changed = self.overridden.load(Ordering::Acquire) || current::any();
        (!changed).then_some(&self.base)
    }

    /// Resolves the policies of a call of this thread through a reference without policies of its
    /// own.
    #[inline]
    pub(crate) fn resolve(&self) -> Resolved<'_> {
        if !self.overridden.load(Ordering::Acquire) && !current::any() {
            return Resolved::Base(&self.base);
        }
        Resolved::Own(self.overridden())
    }

    /// Returns the policies of such a call, as a value that more can be put over.
    #[cold]
    pub(crate) fn overridden(&self) -> Effective {
        let mut effective = self.level.load().effective;
        current::apply(self.id, &mut effective);
        effective
    }
}
