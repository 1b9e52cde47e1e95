//! Admission to an ORB that runs.

use oxorb_sched::Utilization;
use oxorb_sched::admission::{Answer, Member};

use crate::{AdmissionError, AdmissionPlan, AdmissionRequest, BudgetOf, Orb};

impl Orb {
    /// Admits somebody to this ORB: with a guarantee that the analysis gives over all that were admitted before, or, where late
    /// comers share, with an equal share of what is left; or says which deadline would be missed. From then on a budget holds
    /// it to what it asked for. Takes locks, allocates, and analyses: O(n^2) at worst for n that are admitted.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxorb_core::{AdmissionPlan, AdmissionRequest, BudgetOf, Options, Orb};
    /// use oxorb_sched::admission::Answer;
    ///
    /// let mut options = Options::default();
    /// options.realtime.admission = Some(AdmissionPlan::default());
    /// let orb = Orb::new(options);
    /// let ms = Duration::from_millis;
    /// let video = |address: &str| AdmissionRequest::new(BudgetOf::Client(address.into()), ms(15), ms(40));
    /// assert!(matches!(orb.admit(video("10.0.0.7"))?, Answer::Guaranteed { .. }));
    /// assert!(matches!(orb.admit(video("10.0.0.8"))?, Answer::Guaranteed { .. }));
    /// assert!(matches!(orb.admit(video("10.0.0.9"))?, Answer::Refused(_)));
    /// assert_eq!(orb.budget_rules().len(), 2, "each is held to what it asked for");
    /// assert!(orb.release(&BudgetOf::Client("10.0.0.7".into())));
    /// # Ok::<(), oxorb_core::AdmissionError>(())
    /// ```
    ///
    /// # Errors
    /// [`AdmissionError`].
    pub fn admit(&self, request: AdmissionRequest) -> Result<Answer, AdmissionError> {
        let mut answers = self.admit_schedule(vec![request])?;
        answers.pop().ok_or(AdmissionError::Off)
    }

    /// Admits all that a schedule consists of, or none of them. Returns an answer for each.
    ///
    /// # Errors
    /// Those of [`admit`](Self::admit).
    pub fn admit_schedule(
        &self,
        requests: Vec<AdmissionRequest>,
    ) -> Result<Vec<Answer>, AdmissionError> {
        let shared = self.shared();
        let desk = shared.admission.as_ref().zip(shared.budgets.as_ref());
        let (desk, ledger) = desk.ok_or(AdmissionError::Off)?;
        desk.admit(ledger, &shared.threads, requests)
    }

    /// Lets somebody go that was admitted, with its budget; false: it was not.
    pub fn release(&self, of: &BudgetOf) -> bool {
        let shared = self.shared();
        let desk = shared.admission.as_ref().zip(shared.budgets.as_ref());
        desk.is_some_and(|(desk, ledger)| desk.release(ledger, &shared.threads, of))
    }

    /// Returns all that are admitted, the most urgent first, and what their guarantees take of the processor. Empty where the
    /// ORB admits nobody.
    pub fn admitted(&self) -> (Vec<Member>, Utilization) {
        let desk = self.shared().admission.as_ref();
        desk.map(|desk| desk.members()).unwrap_or_default()
    }

    /// Returns how this ORB admits; `None`: it does not.
    pub fn admission_plan(&self) -> Option<AdmissionPlan> {
        Some(self.shared().admission.as_ref()?.plan())
    }
}
