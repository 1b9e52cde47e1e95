//! Admission control of a running server: its members, the conditions for joining, and the
//! processor time left for latecomers.
//!
//! Each member with a guarantee has a proved bound: when it was admitted, the analysis of all
//! members showed that it meets its deadline and that no earlier member misses its own. A latecomer
//! is refused, or shares the remaining time equally with the other latecomers (paper 0, 2.2: a
//! video server prefers the former, a stock quote service the latter).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::analysis::{DeadlineOutcome, Verdict, Work, analyse_within};
use crate::task::{Task, TaskSet, Utilization, WHOLE};
use crate::time::{LONGEST, Nanos, Show};

/// Treatment of latecomers, whose deadlines can no longer be guaranteed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LateComers {
    /// Refusal: earlier members keep their full guarantees (a video server).
    #[default]
    Refuse,
    /// Equal shares of the remaining time (a stock quote service). A guarantee that is admitted
    /// later takes its part of that time, if necessary all of it: see
    /// [`Controller::guarantee_at_most`].
    Share,
}

/// Order in which requests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestOrder {
    /// Shorter deadline first (deadline monotonic).
    #[default]
    Deadline,
    /// Higher priority first.
    Priority,
}

/// Request for admission: an operation, or a client with all its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRequest {
    /// Name, unique among the members.
    pub name: String,
    /// Longest processor time of one request, in ns; more than 0.
    pub worst_case: Nanos,
    /// Shortest time between two requests, in ns; more than 0.
    pub period: Nanos,
    /// Longest time from a request to its reply, in ns; more than 0.
    pub deadline: Nanos,
    /// Priority at which the requests run; used with [`RequestOrder::Priority`].
    pub priority: i16,
    /// Whether an equal share is requested instead of a guaranteed deadline.
    pub shares: bool,
}

/// Answer to a request for admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Every request is answered within this bound, which is within its deadline.
    Guaranteed {
        /// Longest response.
        response: Nanos,
    },
    /// A share is granted; it changes as members join and leave.
    BestEffort {
        /// Share of the remaining time.
        share: Share,
        /// Reason why no deadline can be guaranteed; `None` if no guarantee was requested.
        late: Option<Late>,
    },
    /// The request is not admitted.
    Refused(Late),
}

/// Equal share of the remaining time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Processor time in each period.
    pub time: Nanos,
    /// Period of the controller's shares.
    pub period: Nanos,
}

/// Reason why a member has no guarantee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// Name of the member that would miss a deadline: the applicant, or an earlier one.
    pub who: String,
    /// Time by which the operation's deadline would be missed, in ns; `None` if the response is unbounded.
    pub short: Option<Nanos>,
    /// Sentence that explains why the deadline would be missed.
    pub because: String,
}

/// Mistake in a request for admission.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unacceptable {
    /// A member of this name exists already.
    #[error("{0} is already admitted")]
    Duplicate(String),
    /// A time is 0 or too long.
    #[error("the {what} of {name} must be greater than 0 and at most {}", Show(LONGEST))]
    Time {
        /// Name in the request.
        name: String,
        /// Name of the time.
        what: &'static str,
    },
    /// The request would exceed the limit on members.
    #[error("at most {0} may be admitted at a time")]
    TooMany(usize),
}

/// Member of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Request that was admitted.
    pub wanted: MemberRequest,
    /// Guarantee or share.
    pub has: MemberGrant,
}

/// Guarantee or share of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberGrant {
    /// Response bound, with all current members.
    Guarantee {
        /// Longest response.
        response: Nanos,
    },
    /// Current share.
    Share(Share),
}

/// Admission controller of one processor; keeps its members in memory.
///
/// Guarantees hold for requests that run at priorities in the order of [`RequestOrder`], each on a
/// thread that is free when the request arrives (a lane for each priority); each member is analysed
/// as if all equally urgent members ran before it. Members with a share must run at lower
/// priorities.
///
/// ```
/// use oxorb_sched::admission::{Answer, Controller, LateComers, MemberRequest};
/// use oxorb_sched::time::MILLISECOND;
///
/// let video = |name: &str| MemberRequest {
///     name: name.into(),
///     worst_case: 12 * MILLISECOND,
///     period: 40 * MILLISECOND,
///     deadline: 40 * MILLISECOND,
///     priority: 0,
///     shares: false,
/// };
/// let mut controller = Controller::new(LateComers::Refuse);
/// for name in ["one", "two", "three"] {
///     assert!(matches!(controller.admit(video(name))?, Answer::Guaranteed { .. }));
/// }
/// let Answer::Refused(late) = controller.admit(video("four"))? else { panic!() };
/// assert_eq!((late.who.as_str(), late.short), ("four", None), "what it waits for never ends");
/// assert!(controller.release("two"));
/// assert!(matches!(controller.admit(video("four"))?, Answer::Guaranteed { .. }));
/// # Ok::<(), oxorb_sched::admission::Unacceptable>(())
/// ```
#[derive(Debug, Clone)]
pub struct Controller {
    late_comers: LateComers,
    urgency: RequestOrder,
    /// Maximum utilisation of the processor by guarantees.
    guaranteed: Utilization,
    /// Period of shares.
    period: Nanos,
    /// Threads that precede all members, then members with a guarantee, the most urgent first.
    /// Equally urgent members have the same level.
    set: TaskSet,
    /// Number of threads that precede all members.
    ahead: usize,
    /// Members with a guarantee and their responses, in the order of their tasks. The response of a member that is
    /// being admitted is 0.
    members: Vec<(MemberRequest, Nanos)>,
    /// Members with a share.
    sharers: Vec<MemberRequest>,
    /// Maximum number of visits to tasks in one admission or release.
    most_visits: u64,
}

/// Default of the maximum number of visits to tasks in one admission or release. A visit takes some nanoseconds,
/// so this is some seconds.
const MOST_VISITS: u64 = 400_000_000;

/// Maximum number of members.
const MOST: usize = 16_384;

/// Order of the task under analysis, which places it behind all equally urgent tasks.
const LAST: u32 = u32::MAX;

impl Controller {
    /// Returns a controller without members. Guarantees may take the whole processor; the period of
    /// shares is 100 ms.
    pub fn new(late_comers: LateComers) -> Controller {
        Controller {
            late_comers,
            urgency: RequestOrder::default(),
            guaranteed: WHOLE,
            period: 100 * crate::time::MILLISECOND,
            set: TaskSet::fixed_priority([]),
            ahead: 0,
            members: Vec::new(),
            sharers: Vec::new(),
            most_visits: MOST_VISITS,
        }
    }

    /// Sets the order of urgency. Call this before any member is admitted.
    #[must_use]
    pub fn urgency(self, urgency: RequestOrder) -> Controller {
        debug_assert!(self.members.is_empty());
        Controller { urgency, ..self }
    }

    /// Reserves part of the processor for shares: guarantees take at most `most`.
    #[must_use]
    pub fn guarantee_at_most(self, most: Utilization) -> Controller {
        let guaranteed = most.min(WHOLE);
        Controller { guaranteed, ..self }
    }

    /// Sets the period of shares; from 1 us to an hour.
    #[must_use]
    pub fn period(self, period: Nanos) -> Controller {
        let period = period.clamp(crate::time::MICROSECOND, 3600 * crate::time::SECOND);
        Controller { period, ..self }
    }

    /// Adds a thread that precedes all members without being a member, such as one that watches
    /// budgets: all members wait for it, and it reduces the time to share. Call this before any
    /// member is admitted.
    #[must_use]
    pub fn behind(mut self, thread: Task) -> Controller {
        debug_assert!(self.members.is_empty());
        self.set.tasks.push(thread);
        self.ahead += 1;
        self.number();
        self
    }

    /// Limits the work of one admission or release to `visits` visits to tasks, some nanoseconds each; the default
    /// is 400 million. A guarantee whose analysis would need more is refused, so that no request for admission,
    /// whatever its times, keeps others waiting for long.
    #[must_use]
    pub fn visit_at_most(self, visits: u64) -> Controller {
        Controller { most_visits: visits, ..self }
    }

    /// Returns the treatment of latecomers.
    pub fn late_comers(&self) -> LateComers {
        self.late_comers
    }

    /// Admits a member, or returns the reason why it is not admitted. Analyses all members that are
    /// no more urgent, in O(n^2) for n members, within the limit of [visits](Self::visit_at_most).
    ///
    /// # Errors
    /// [`Unacceptable`]; nothing is admitted.
    pub fn admit(&mut self, wanted: MemberRequest) -> Result<Answer, Unacceptable> {
        self.check(std::slice::from_ref(&wanted))?;
        if wanted.shares {
            return Ok(self.share(wanted, None).unwrap_or_else(Answer::Refused));
        }
        match self.guarantee(vec![wanted.clone()]) {
            Ok(()) => {
                let response = self.response_of(&wanted.name).unwrap_or(wanted.deadline);
                Ok(Answer::Guaranteed { response })
            }
            Err(late) => {
                self.forget_new();
                Ok(self.turn_away(wanted, late))
            }
        }
    }

    /// Admits all members of a list as requested, or none. With [`LateComers::Share`] all of them
    /// get shares instead, if time is left for each. Analyses each member once, in O(n^2) for n members, within the
    /// limit of [visits](Self::visit_at_most).
    ///
    /// # Errors
    /// [`Unacceptable`] for the first invalid request; nothing is admitted.
    pub fn admit_all(&mut self, all: Vec<MemberRequest>) -> Result<Vec<Answer>, Unacceptable> {
        self.check(&all)?;
        let before = self.clone();
        let late = match self.join(&all) {
            Ok(()) => return Ok(self.answers(&all, None)),
            Err(late) => late,
        };
        *self = before.clone();
        let shared = match self.late_comers {
            LateComers::Refuse => Err(late.clone()),
            LateComers::Share => all.iter().try_for_each(|wanted| {
                let late = (!wanted.shares).then(|| late.clone());
                self.share(wanted.clone(), late).map(drop)
            }),
        };
        match shared {
            Ok(()) => Ok(self.answers(&all, Some(&late))),
            Err(late) => {
                *self = before;
                Ok(vec![Answer::Refused(late); all.len()])
            }
        }
    }

    /// Removes a member; returns false if the name is unknown. The others keep their guarantees,
    /// and more time is left for shares. Analyses the members that are no more urgent; if that would exceed the limit
    /// of [visits](Self::visit_at_most), some of them keep their earlier bounds, which still hold.
    pub fn release(&mut self, name: &str) -> bool {
        let sharers = self.sharers.len();
        self.sharers.retain(|wanted| wanted.name != name);
        if self.sharers.len() < sharers {
            return true;
        }
        let Some(at) = self.members.iter().position(|(it, _)| it.name == name) else {
            return false;
        };
        self.members.remove(at);
        let level = self.set.tasks.remove(self.ahead + at).level;
        self.number();
        // Members that are no more urgent than the removed one now have fewer tasks to wait for, so
        // recompute their responses.
        let (load, work) = (self.load(), Work::of(self.most_visits));
        for place in self.ahead..self.set.tasks.len() {
            if self.set.tasks[place].level >= level
                && let Some(response) = self.judge(place, &load, &work).response
            {
                self.members[place - self.ahead].1 = response;
            }
        }
        true
    }

    /// Returns all members: those with guarantees, the most urgent first, then those with shares.
    pub fn members(&self) -> Vec<Member> {
        let guaranteed = self.members.iter().map(|(wanted, response)| Member {
            wanted: wanted.clone(),
            has: MemberGrant::Guarantee { response: *response },
        });
        let share = MemberGrant::Share(self.share_of_each(self.sharers.len()));
        let sharing =
            self.sharers.iter().map(|wanted| Member { wanted: wanted.clone(), has: share });
        guaranteed.chain(sharing).collect()
    }

    /// Returns the utilisation of the guarantees.
    pub fn utilization(&self) -> Utilization {
        Utilization::of(&self.set.tasks[self.ahead..])
    }

    /// Returns the tasks with guarantees as a set for analysis or simulation, the most urgent
    /// first, behind the threads that precede all members.
    pub fn tasks(&self) -> &TaskSet {
        &self.set
    }

    /// Checks all requests before the first member is admitted, so that a mistake is reported even if an earlier
    /// request would miss its deadline.
    fn check(&self, all: &[MemberRequest]) -> Result<(), Unacceptable> {
        let known = self.members.iter().map(|(wanted, _)| wanted).chain(&self.sharers);
        let mut names: HashSet<&str> = known.map(|wanted| wanted.name.as_str()).collect();
        for wanted in all {
            if !names.insert(&wanted.name) {
                return Err(Unacceptable::Duplicate(wanted.name.clone()));
            }
            let times = [
                ("worst-case time", wanted.worst_case),
                ("period", wanted.period),
                ("deadline", wanted.deadline),
            ];
            let wrong = times.into_iter().find(|(_, time)| !(1..=LONGEST).contains(time));
            if let Some((what, _)) = wrong.filter(|_| !wanted.shares) {
                let name = wanted.name.clone();
                return Err(Unacceptable::Time { name, what });
            }
        }
        match names.len() > MOST {
            true => Err(Unacceptable::TooMany(MOST)),
            false => Ok(()),
        }
    }

    /// Admits the requests as they ask for, guarantees first, because shares divide the time that these leave. If one
    /// is refused, the state of the controller is that of an unfinished admission.
    fn join(&mut self, all: &[MemberRequest]) -> Result<(), Late> {
        self.guarantee(all.iter().filter(|wanted| !wanted.shares).cloned().collect())?;
        let mut sharing = all.iter().filter(|wanted| wanted.shares);
        sharing.try_for_each(|wanted| self.share(wanted.clone(), None).map(drop))
    }

    /// Returns what admitted requests have now. `late` is the reason why none of them has a guarantee.
    fn answers(&self, all: &[MemberRequest], late: Option<&Late>) -> Vec<Answer> {
        let share = self.share_of_each(self.sharers.len());
        let members = self.members.iter();
        let responses: HashMap<&str, Nanos> =
            members.map(|(wanted, response)| (wanted.name.as_str(), *response)).collect();
        let answer = |wanted: &MemberRequest| match responses.get(wanted.name.as_str()) {
            Some(&response) => Answer::Guaranteed { response },
            None => Answer::BestEffort { share, late: late.filter(|_| !wanted.shares).cloned() },
        };
        all.iter().map(answer).collect()
    }

    fn response_of(&self, name: &str) -> Option<Nanos> {
        let mut members = self.members.iter();
        members.find(|(wanted, _)| wanted.name == name).map(|(_, response)| *response)
    }

    /// Adds members with a guarantee, if all members then meet their deadlines. Otherwise the new ones have to be
    /// [removed](Self::forget_new).
    fn guarantee(&mut self, all: Vec<MemberRequest>) -> Result<(), Late> {
        self.limit(&all)?;
        let urgency = self.urgency;
        let key = |(_, (wanted, _)): &(Task, (MemberRequest, Nanos))| match urgency {
            RequestOrder::Deadline => (Reverse(0), wanted.deadline),
            RequestOrder::Priority => (Reverse(wanted.priority), 0),
        };
        let tasks = self.set.tasks.drain(self.ahead..);
        let mut members: Vec<(Task, (MemberRequest, Nanos))> =
            tasks.zip(self.members.drain(..)).collect();
        members.extend(all.into_iter().map(|wanted| {
            let mut task = Task::periodic(wanted.name.clone(), wanted.worst_case, wanted.period);
            task.deadline = wanted.deadline;
            (task, (wanted, 0))
        }));
        // The sort is stable, so equally urgent members stay in the order of their admission.
        members.sort_by_key(key);
        for (task, member) in members {
            self.set.tasks.push(task);
            self.members.push(member);
        }
        self.number();
        self.settle()
    }

    /// Refuses requests with which guarantees would exceed their part of the processor.
    fn limit(&self, all: &[MemberRequest]) -> Result<(), Late> {
        // If guarantees may take the whole processor, the exact analysis checks that limit; `load` is rounded up.
        if self.guaranteed == WHOLE {
            return Ok(());
        }
        let mut load = self.utilization();
        for MemberRequest { name, worst_case, period, .. } in all {
            let task = Task::periodic(String::new(), *worst_case, *period);
            load = Utilization(load.0.saturating_add(Utilization::of_one(&task).0));
            if load > self.guaranteed {
                return Err(Late {
                    who: name.clone(),
                    short: None,
                    because: format!(
                        "{name} is not admitted: with it guarantees would use {load} of the processor, but they may \
                         use at most {}",
                        self.guaranteed
                    ),
                });
            }
        }
        Ok(())
    }

    /// Analyses the members that are being admitted and all members that are no more urgent than the most urgent of
    /// these. Stores their responses if all of them meet their deadlines.
    fn settle(&mut self) -> Result<(), Late> {
        let ahead = self.ahead;
        let is_new = |place: usize| self.members[place - ahead].1 == 0;
        let places = ahead..self.set.tasks.len();
        let Some(first) = places.clone().find(|place| is_new(*place)) else {
            return Ok(());
        };
        let level = self.set.tasks[first].level;
        let affected = places.filter(|place| self.set.tasks[*place].level >= level);
        // Analyse the new members first, because a request is most often refused for its own deadline.
        let (new, others): (Vec<usize>, Vec<usize>) = affected.partition(|place| is_new(*place));
        let (load, work) = (self.load(), Work::of(self.most_visits));
        let mut responses = Vec::with_capacity(new.len() + others.len());
        for place in new.into_iter().chain(others) {
            let verdict = self.judge(place, &load, &work);
            let task = &self.set.tasks[place];
            match (verdict.outcome, verdict.response) {
                (DeadlineOutcome::Meets, Some(response)) => responses.push((place, response)),
                (outcome, response) => {
                    let reason = verdict.explain(&self.set);
                    let because = match response {
                        None if outcome == DeadlineOutcome::Unproven => {
                            format!("{reason} within {} visits to operations", self.most_visits)
                        }
                        _ => reason.to_string(),
                    };
                    return Err(Late {
                        who: task.name.clone(),
                        short: response.map(|it| it.saturating_sub(task.deadline)),
                        because,
                    });
                }
            }
        }
        for (place, response) in responses {
            self.members[place - ahead].1 = response;
        }
        Ok(())
    }

    /// Removes the members that are being admitted.
    fn forget_new(&mut self) {
        for at in (0..self.members.len()).rev() {
            if self.members[at].1 == 0 {
                self.members.remove(at);
                self.set.tasks.remove(self.ahead + at);
            }
        }
        self.number();
    }

    /// Returns the utilisation of each task.
    fn load(&self) -> Vec<Utilization> {
        self.set.tasks.iter().map(Utilization::of_one).collect()
    }

    /// Returns the verdict on one task, analysed as if all equally urgent tasks ran before it.
    fn judge(&mut self, place: usize, load: &[Utilization], work: &Work) -> Verdict {
        let order = std::mem::replace(&mut self.set.tasks[place].order, LAST);
        let verdict = analyse_within(&self.set, place, load, work);
        self.set.tasks[place].order = order;
        verdict
    }

    /// Renumbers the tasks after one was added or removed: the order of a task is its index, and
    /// equally urgent tasks have the level of the first of them.
    fn number(&mut self) {
        let (urgency, ahead) = (self.urgency, self.ahead);
        let equal = |one: &MemberRequest, other: &MemberRequest| match urgency {
            RequestOrder::Deadline => one.deadline == other.deadline,
            RequestOrder::Priority => one.priority == other.priority,
        };
        let mut level = 0;
        for place in 0..self.set.tasks.len() {
            if place <= ahead
                || !equal(&self.members[place - ahead].0, &self.members[place - ahead - 1].0)
            {
                level = place as u32;
            }
            let task = &mut self.set.tasks[place];
            (task.level, task.band, task.order) = (level, level, place as u32);
        }
    }

    /// Treats a member without a guarantee as a latecomer.
    fn turn_away(&mut self, wanted: MemberRequest, late: Late) -> Answer {
        match self.late_comers {
            LateComers::Refuse => Answer::Refused(late),
            LateComers::Share => self.share(wanted, Some(late)).unwrap_or_else(Answer::Refused),
        }
    }

    /// Adds a member with a share if time is left. `late` is the reason why the member did not get
    /// the guarantee that it requested.
    fn share(&mut self, wanted: MemberRequest, late: Option<Late>) -> Result<Answer, Late> {
        let share = self.share_of_each(self.sharers.len() + 1);
        if share.time == 0 {
            let who = wanted.name.clone();
            let because = format!("{who} is not admitted: no processor time is left to share");
            return Err(late.unwrap_or(Late { who, short: None, because }));
        }
        self.sharers.push(wanted);
        Ok(Answer::BestEffort { share, late })
    }

    /// Returns the share of each of `sharers` members.
    fn share_of_each(&self, sharers: usize) -> Share {
        // Round the utilisation of the guarantees up, so that guarantees and shares together never
        // exceed the processor.
        let taken = Utilization::of(&self.set.tasks).0.saturating_add(1).min(WHOLE.0);
        let taken = if self.set.tasks.is_empty() { 0 } else { taken };
        let left = u128::from(WHOLE.0 - taken) * u128::from(self.period) / u128::from(WHOLE.0);
        let time = left / u128::from(sharers.max(1) as u64);
        Share { time: time as Nanos, period: self.period }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.because)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of each {}", Show(self.time), Show(self.period))
    }
}

impl fmt::Debug for Unacceptable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
