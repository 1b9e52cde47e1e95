//! Budgets of an ORB.

use crate::{Budget, BudgetOf, BudgetUse, Orb, Ref};

impl Orb {
    /// Gives an operation, an object, a POA or a client a budget, or changes it: what was used stays used. False, and nothing
    /// is changed, where the ORB has no budgets (`-ORBBudgets 1`, [`RealTime::budgets`](crate::RealTime::budgets)) or 4096 of
    /// them. Takes locks and allocates; requests go on meanwhile and see it with the next one.
    ///
    /// Requests of other processes are counted, and those of this one that come over a connection; calls within the process
    /// that need none are not.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxorb_core::{BeyondBudget, Budget, BudgetOf, Options, Orb};
    ///
    /// let mut options = Options::default();
    /// options.realtime.budgets = Some(Vec::new());
    /// let orb = Orb::new(options);
    /// let half = Budget::default().time(Duration::from_millis(50), Duration::from_millis(100));
    /// assert!(orb.set_budget(BudgetOf::EachClient, half.beyond(BeyondBudget::Demote)));
    /// assert_eq!(orb.budgets(), [], "nobody has called yet");
    /// assert!(orb.remove_budget(&BudgetOf::EachClient));
    /// # orb.shutdown(true)?;
    /// # Ok::<(), oxorb_object::SystemException>(())
    /// ```
    pub fn set_budget(&self, of: BudgetOf, budget: Budget) -> bool {
        let shared = self.shared();
        let ledger = shared.budgets.as_ref();
        ledger.is_some_and(|ledger| ledger.set(of, budget, &shared.threads))
    }

    /// Takes a budget away; false: there was none. Clients that had one of their own have that of
    /// [each](BudgetOf::EachClient) from then on.
    pub fn remove_budget(&self, of: &BudgetOf) -> bool {
        let ledger = self.shared().budgets.as_ref();
        ledger.is_some_and(|ledger| ledger.remove(of))
    }

    /// Returns the budgets that were given, in that order. Allocates.
    pub fn budget_rules(&self) -> Vec<(BudgetOf, Budget)> {
        let ledger = self.shared().budgets.as_ref();
        ledger.map(|ledger| ledger.rules()).unwrap_or_default()
    }

    /// Returns what was used of each budget, and by each client that is connected or owes something, in the order of
    /// [`BudgetOf`]. Empty where there are none. Allocates.
    pub fn budgets(&self) -> Vec<BudgetUse> {
        let ledger = self.shared().budgets.as_ref();
        ledger.map(|ledger| ledger.report()).unwrap_or_default()
    }
}

impl BudgetOf {
    /// Returns the object of a reference, as its server knows it; `None` where the reference has no profile of a protocol that
    /// its ORB speaks.
    ///
    /// ```
    /// use oxorb_core::{BudgetOf, Interface as _, ObjectRef, Options, Orb};
    ///
    /// let orb = Orb::new(Options::default());
    /// let radar: ObjectRef = orb.resolve("corbaloc::10.0.0.7:2809/Radar")?;
    /// assert_eq!(BudgetOf::object(radar.reference()), Some(BudgetOf::Object("Radar".into())));
    /// # Ok::<(), oxorb_core::ResolveError>(())
    /// ```
    pub fn object(reference: &Ref) -> Option<BudgetOf> {
        let protocols = &reference.orb().options().protocols;
        let key = reference.ior().profiles.iter().find_map(|profile| {
            let kind = protocols.tagged(profile.tag)?.profile();
            Some(kind.read(profile).ok()?.key)
        })?;
        Some(BudgetOf::Object(oxorb_object::escape_key(&key)))
    }
}
