//! Admission to a running ORB.

use oxorb_sched::Utilization;
use oxorb_sched::admission::{Answer, Member};

use crate::{AdmissionError, AdmissionPlan, AdmissionRequest, BudgetOf, Orb};

impl Orb {
    /// Admits an owner of requests to this ORB. The owner gets a guarantee, if an analysis together with all earlier
    /// admissions allows it, or, if late comers share, an equal share of the remaining processor time. Otherwise
    /// returns the deadline that would be missed. From then on a budget limits an admitted owner to what was granted.
    /// Takes locks, allocates, and analyses: O(n^2) for n admissions, within a limit of some seconds, beyond which
    /// nothing is guaranteed.
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

    /// Admits all of `requests`, or none. Returns an answer for each.
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

    /// Revokes an admission and its budget; returns false if there was none.
    pub fn release(&self, of: &BudgetOf) -> bool {
        let shared = self.shared();
        let desk = shared.admission.as_ref().zip(shared.budgets.as_ref());
        desk.is_some_and(|(desk, ledger)| desk.release(ledger, &shared.threads, of))
    }

    /// Returns all admitted owners, the most urgent first, and the processor utilization of their guarantees. Empty if
    /// the ORB does not admit.
    pub fn admitted(&self) -> (Vec<Member>, Utilization) {
        let desk = self.shared().admission.as_ref();
        desk.map(|desk| desk.members()).unwrap_or_default()
    }

    /// Returns the rules of admission to this ORB; `None` if it has none.
    pub fn admission_plan(&self) -> Option<AdmissionPlan> {
        Some(self.shared().admission.as_ref()?.plan())
    }
}
