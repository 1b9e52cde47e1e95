//! Budgets of an ORB.

use crate::{Budget, BudgetOf, BudgetUse, Described, Orb, Ref};

impl Orb {
    /// Passes the description of a key's object to `look`, if the object is active.
    pub(crate) fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
        if let Some(adapter) = self.adapter() {
            adapter.describe(key, look);
        }
    }

    /// Sets or changes the budget of an operation, an object, a POA or a client; a change keeps the use counted so far.
    /// Returns false, and changes nothing, if the ORB has no budgets (`-ORBBudgets 1`,
    /// [`RealTime::budgets`](crate::RealTime::budgets)) or has 4096 of them already. Takes locks and allocates;
    /// requests continue meanwhile, and the next one sees the change.
    ///
    /// A budget counts requests of other processes, and those of this process that come over a connection, but not
    /// collocated calls, which need no connection.
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

    /// Removes a budget; returns false if there was none. A client that loses a budget of its own has that of [each
    /// client](BudgetOf::EachClient) from then on.
    pub fn remove_budget(&self, of: &BudgetOf) -> bool {
        let ledger = self.shared().budgets.as_ref();
        ledger.is_some_and(|ledger| ledger.remove(of))
    }

    /// Returns the budgets in the order in which they were set. Allocates.
    pub fn budget_rules(&self) -> Vec<(BudgetOf, Budget)> {
        let ledger = self.shared().budgets.as_ref();
        ledger.map(|ledger| ledger.rules()).unwrap_or_default()
    }

    /// Returns the use of each budget, with an entry for each client that is connected or has debt, in the order of
    /// [`BudgetOf`]. Empty if there are no budgets. Allocates.
    pub fn budgets(&self) -> Vec<BudgetUse> {
        let ledger = self.shared().budgets.as_ref();
        ledger.map(|ledger| ledger.report()).unwrap_or_default()
    }
}

impl BudgetOf {
    /// Returns the object of a reference, as its server knows it; `None` if the reference has no profile of a protocol
    /// that its ORB speaks.
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
