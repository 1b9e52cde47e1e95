//! Admissions to an ORB, and the budgets that enforce them.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use oxorb_sched::Utilization;
use oxorb_sched::admission::{
    Answer, Controller, Member, MemberGrant, MemberRequest, Unacceptable,
};

use super::plan::AdmissionPlan;
use crate::scheduler::budget::{Budget, BudgetOf, LONGEST_PERIOD, Ledger};
use crate::threads::Threads;
use crate::threads::lock::Mutex;

/// Request for admission to an ORB, which is passed to [`Orb::admit`](crate::Orb::admit).
///
/// ```
/// use std::time::Duration;
/// use oxorb_core::{AdmissionRequest, BudgetOf};
///
/// let track = BudgetOf::Operation("Radar::Track::update".into());
/// let ms = Duration::from_millis;
/// let request = AdmissionRequest::new(track, ms(2), ms(50)).deadline(ms(20)).priority(20_000);
/// assert!(!AdmissionRequest::share(BudgetOf::Client("10.0.0.7".into())).eq(&request));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionRequest {
    /// Operation, object, POA or client to be admitted.
    pub of: BudgetOf,
    /// Requested times, whose name is the text of `of`.
    wanted: MemberRequest,
}

impl AdmissionRequest {
    /// Returns a request for a guarantee: each request takes at most `worst_case`, requests arrive at least `period`
    /// apart, and each is to be answered before the next.
    pub fn new(of: BudgetOf, worst_case: Duration, period: Duration) -> AdmissionRequest {
        let wanted = MemberRequest {
            name: of.to_string(),
            worst_case: nanoseconds(worst_case),
            period: nanoseconds(period),
            deadline: nanoseconds(period),
            priority: 0,
            shares: false,
        };
        AdmissionRequest { of, wanted }
    }

    /// Returns a request for an equal share of the capacity that guarantees leave.
    pub fn share(of: BudgetOf) -> AdmissionRequest {
        let mut request = AdmissionRequest::new(of, Duration::ZERO, Duration::ZERO);
        request.wanted.shares = true;
        request
    }

    /// Sets the relative deadline of each request.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> AdmissionRequest {
        self.wanted.deadline = nanoseconds(deadline);
        self
    }

    /// Sets the CORBA priority at which requests run.
    #[must_use]
    pub fn priority(mut self, priority: i16) -> AdmissionRequest {
        self.wanted.priority = priority;
        self
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Longest time that a budget enforces, in nanoseconds.
const MOST_NANOSECONDS: u64 = LONGEST_PERIOD.as_nanos() as u64;

/// Error of a request for admission.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionError {
    /// The ORB has no admission plan. `-ORBAdmission` or [`RealTime::admission`](crate::RealTime::admission) sets one.
    #[error("this ORB has no admission (-ORBAdmission late=refuse or late=share)")]
    Off,
    /// The request is invalid.
    #[error(transparent)]
    Unacceptable(Unacceptable),
    /// The request is for [each client](BudgetOf::EachClient). A guarantee is for one owner: the analysis does not know
    /// how many clients there are.
    #[error(
        "`clients` stands for every client; admit clients one by one (client ADDRESS), and limit the others \
         (-ORBBudget \"clients ...\")"
    )]
    EachClient,
    /// The worst-case time or the period of this owner exceeds an hour, which a budget cannot enforce.
    #[error(
        "the worst-case time and the period of {0} must be at most an hour, because a budget enforces them"
    )]
    TooLong(String),
    /// The number of budgets is at its limit.
    #[error("this ORB has the maximum of 4096 budgets (-ORBBudget)")]
    TooManyBudgets,
}

impl fmt::Debug for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Admissions to an ORB.
pub(crate) struct AdmissionDesk {
    plan: AdmissionPlan,
    state: Mutex<DeskState>,
}

struct DeskState {
    controller: Controller,
    admitted: Vec<AdmittedOwner>,
}

/// Owner of a budget that an admission set.
struct AdmittedOwner {
    of: BudgetOf,
    /// Budget that the owner had before, and that is restored on release.
    before: Option<Budget>,
}

impl AdmissionDesk {
    /// Returns a desk without members. `watched` is the interval at which the thread that watches budgets preempts all
    /// members; `None` if it does not preempt them. `allowed` is the part of a processor that the kernel allows the
    /// members; `None` if it is unlimited.
    pub(crate) fn new(
        plan: AdmissionPlan,
        watched: Option<Duration>,
        allowed: Option<Utilization>,
    ) -> AdmissionDesk {
        let controller = plan.controller(watched, allowed);
        AdmissionDesk { plan, state: Mutex::new(DeskState { controller, admitted: Vec::new() }) }
    }

    pub(crate) fn plan(&self) -> AdmissionPlan {
        self.plan
    }

    /// Admits all requests, or none if one cannot be guaranteed and the plan refuses late comers.
    pub(crate) fn admit(
        &self,
        ledger: &std::sync::Arc<Ledger>,
        threads: &Threads,
        requests: Vec<AdmissionRequest>,
    ) -> Result<Vec<Answer>, AdmissionError> {
        if requests.iter().any(|request| request.of == BudgetOf::EachClient) {
            return Err(AdmissionError::EachClient);
        }
        let is_long =
            |wanted: &MemberRequest| wanted.worst_case.max(wanted.period) > MOST_NANOSECONDS;
        let mut guarantees = requests.iter().filter(|request| !request.wanted.shares);
        if let Some(long) = guarantees.find(|request| is_long(&request.wanted)) {
            return Err(AdmissionError::TooLong(long.of.to_string()));
        }
        let mut state = self.state.lock();
        let before = state.controller.clone();
        let wanted: Vec<MemberRequest> = requests.iter().map(|it| it.wanted.clone()).collect();
        let answers = match wanted.len() {
            1 => wanted
                .into_iter()
                .map(|wanted| state.controller.admit(wanted))
                .collect::<Result<Vec<_>, _>>(),
            _ => state.controller.admit_all(wanted),
        };
        let answers = answers.map_err(AdmissionError::Unacceptable)?;
        let known = state.admitted.len();
        let rules: HashMap<BudgetOf, Budget> = ledger.rules().into_iter().collect();
        for (AdmissionRequest { of, .. }, answer) in requests.into_iter().zip(&answers) {
            if !matches!(answer, Answer::Refused(_)) {
                let before = rules.get(&of).copied();
                state.admitted.push(AdmittedOwner { of, before });
            }
        }
        if self.enforce(&state, ledger, threads) {
            return Ok(answers);
        }
        state.admitted.truncate(known);
        state.controller = before;
        Err(AdmissionError::TooManyBudgets)
    }

    /// Releases an admission; returns false if there is none of this name.
    pub(crate) fn release(
        &self,
        ledger: &std::sync::Arc<Ledger>,
        threads: &Threads,
        of: &BudgetOf,
    ) -> bool {
        let mut state = self.state.lock();
        if !state.controller.release(&of.to_string()) {
            return false;
        }
        if let Some(at) = state.admitted.iter().position(|admitted| admitted.of == *of) {
            state.admitted.remove(at).give_back(ledger, threads);
        }
        self.enforce(&state, ledger, threads);
        true
    }

    /// Returns all members, and the processor utilization of the guarantees.
    pub(crate) fn members(&self) -> (Vec<Member>, Utilization) {
        let state = self.state.lock();
        (state.controller.members(), state.controller.utilization())
    }

    /// Sets the budgets of all members to what was granted. Returns false, and sets none, if there would be too many
    /// budgets.
    fn enforce(
        &self,
        state: &DeskState,
        ledger: &std::sync::Arc<Ledger>,
        threads: &Threads,
    ) -> bool {
        let members = state.controller.members();
        let members: HashMap<&str, &Member> =
            members.iter().map(|member| (member.wanted.name.as_str(), member)).collect();
        let known: HashMap<BudgetOf, Budget> = ledger.rules().into_iter().collect();
        let granted = state.admitted.iter().filter_map(|AdmittedOwner { of, .. }| {
            let budget = self.budget(members.get(of.to_string().as_str())?);
            (known.get(of) != Some(&budget)).then(|| (of.clone(), budget))
        });
        let granted: Vec<_> = granted.collect();
        granted.is_empty() || ledger.set_all(granted, threads)
    }

    fn budget(&self, member: &Member) -> Budget {
        let time = Duration::from_nanos;
        let budget = match member.has {
            MemberGrant::Guarantee { .. } => {
                let MemberRequest { worst_case, period, .. } = member.wanted;
                Budget::default().time(time(worst_case), time(period)).longest(time(worst_case))
            }
            MemberGrant::Share(share) => {
                Budget::default().time(time(share.time), time(share.period))
            }
        };
        budget.beyond(self.plan.beyond)
    }
}

impl AdmittedOwner {
    fn give_back(self, ledger: &std::sync::Arc<Ledger>, threads: &Threads) {
        match self.before {
            // This never fails: `set` refuses only new owners, and this owner already has a budget.
            Some(before) => drop(ledger.set(self.of, before, threads)),
            None => drop(ledger.remove(&self.of)),
        }
    }
}

impl fmt::Debug for AdmissionDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionDesk").field("plan", &self.plan).finish_non_exhaustive()
    }
}
