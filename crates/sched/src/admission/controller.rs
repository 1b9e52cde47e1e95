//! Admission control of a running server: its members, the conditions for joining, and the
//! processor time left for latecomers.
//!
//! Each member with a guarantee has a proved bound: when it was admitted, the analysis of all
//! members showed that it meets its deadline and that no earlier member misses its own. A latecomer
//! is refused, or shares the remaining time equally with the other latecomers (paper 0, 2.2: a
//! video server prefers the former, a stock quote service the latter).

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;

use crate::analysis::{Outcome, Verdict, analyse_one};
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
pub struct Wanted {
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
    pub wanted: Wanted,
    /// Guarantee or share.
    pub has: Has,
}

/// Guarantee or share of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Has {
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
/// use oxorb_sched::admission::{Answer, Controller, LateComers, Wanted};
/// use oxorb_sched::time::MILLISECOND;
///
/// let video = |name: &str| Wanted {
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
    /// Members with a guarantee, in the order of their tasks.
    members: Vec<(Wanted, Nanos)>,
    /// Members with a share.
    sharers: Vec<Wanted>,
}

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

    /// Returns the treatment of latecomers.
    pub fn late_comers(&self) -> LateComers {
        self.late_comers
    }

    /// Admits a member, or returns the reason why it is not admitted. Analyses all members that are
    /// no more urgent, in O(n^2) at worst.
    ///
    /// # Errors
    /// [`Unacceptable`]; nothing is admitted.
    pub fn admit(&mut self, wanted: Wanted) -> Result<Answer, Unacceptable> {
        self.check(&wanted)?;
        if wanted.shares {
            return Ok(self.share(wanted, None).unwrap_or_else(Answer::Refused));
        }
        match self.guarantee(wanted.clone()) {
            Ok(response) => Ok(Answer::Guaranteed { response }),
            Err(late) => Ok(self.turn_away(wanted, late)),
        }
    }

    /// Admits all members of a list as requested, or none. With [`LateComers::Share`] all of them
    /// get shares instead, if time is left for each.
    ///
    /// # Errors
    /// [`Unacceptable`] for the first invalid request; nothing is admitted.
    pub fn admit_all(&mut self, all: Vec<Wanted>) -> Result<Vec<Answer>, Unacceptable> {
        self.check_all(&all)?;
        let before = self.clone();
        let mut answered = self.admit_each(&all, |own, wanted| match wanted.shares {
            true => own.share(wanted, None),
            false => own.guarantee(wanted).map(|response| Answer::Guaranteed { response }),
        });
        if let Err(late) = &answered
            && self.late_comers == LateComers::Share
        {
            let late = late.clone();
            *self = before.clone();
            answered = self.admit_each(&all, |own, wanted| {
                let late = (!wanted.shares).then(|| late.clone());
                own.share(wanted, late)
            });
        }
        Ok(match answered {
            Ok(answers) => self.as_of_now(answers, &all),
            Err(late) => {
                *self = before;
                vec![Answer::Refused(late); all.len()]
            }
        })
    }

    /// Removes a member; returns false if the name is unknown. The others keep their guarantees,
    /// and more time is left for shares.
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
        for place in self.ahead..self.set.tasks.len() {
            if self.set.tasks[place].level >= level
                && let Some(response) = self.judge(place).response
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
            has: Has::Guarantee { response: *response },
        });
        let share = Has::Share(self.share_of_each(self.sharers.len()));
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

    fn check(&self, wanted: &Wanted) -> Result<(), Unacceptable> {
        let named = |other: &Wanted| other.name == wanted.name;
        if self.sharers.iter().any(named) || self.members.iter().any(|(it, _)| named(it)) {
            return Err(Unacceptable::Duplicate(wanted.name.clone()));
        }
        let times = [
            ("worst-case time", wanted.worst_case),
            ("period", wanted.period),
            ("deadline", wanted.deadline),
        ];
        if !wanted.shares
            && let Some((what, _)) =
                times.into_iter().find(|(_, time)| !(1..=LONGEST).contains(time))
        {
            let name = wanted.name.clone();
            return Err(Unacceptable::Time { name, what });
        }
        match self.members.len() + self.sharers.len() >= MOST {
            true => Err(Unacceptable::TooMany(MOST)),
            false => Ok(()),
        }
    }

    /// Checks all requests of a list before the first member is admitted, so that a mistake is
    /// reported even if an earlier request would miss its deadline.
    fn check_all(&self, all: &[Wanted]) -> Result<(), Unacceptable> {
        let mut names = HashSet::with_capacity(all.len());
        for wanted in all {
            self.check(wanted)?;
            if !names.insert(wanted.name.as_str()) {
                return Err(Unacceptable::Duplicate(wanted.name.clone()));
            }
        }
        match self.members.len() + self.sharers.len() + all.len() > MOST {
            true => Err(Unacceptable::TooMany(MOST)),
            false => Ok(()),
        }
    }

    /// Adds a member with a guarantee if all members then meet their deadlines. Returns its
    /// response.
    fn guarantee(&mut self, wanted: Wanted) -> Result<Nanos, Late> {
        let mut task = Task::periodic(wanted.name.clone(), wanted.worst_case, wanted.period);
        task.deadline = wanted.deadline;
        let key = |wanted: &Wanted| match self.urgency {
            RequestOrder::Deadline => (Reverse(0), wanted.deadline),
            RequestOrder::Priority => (Reverse(wanted.priority), 0),
        };
        let own = key(&wanted);
        let at = self.members.partition_point(|(it, _)| key(it) <= own);
        let name = wanted.name.clone();
        self.set.tasks.insert(self.ahead + at, task);
        self.members.insert(at, (wanted, 0));
        self.number();
        match self.settle(at, &name) {
            Ok(response) => Ok(response),
            Err(late) => {
                self.set.tasks.remove(self.ahead + at);
                self.members.remove(at);
                self.number();
                Err(late)
            }
        }
    }

    /// Analyses the member at `at` and all members that are no more urgent. Stores their responses
    /// if all of them meet their deadlines.
    fn settle(&mut self, at: usize, name: &str) -> Result<Nanos, Late> {
        let load = self.utilization();
        // If guarantees may take the whole processor, the exact analysis below checks that limit;
        // `load` is rounded up.
        if self.guaranteed < WHOLE && load > self.guaranteed {
            return Err(Late {
                who: name.to_owned(),
                short: None,
                because: format!(
                    "{name} is not admitted: with it guarantees would use {load} of the processor, but they may use at \
                     most {}",
                    self.guaranteed
                ),
            });
        }
        let own = self.ahead + at;
        let level = self.set.tasks[own].level;
        let mut responses = Vec::new();
        // Analyse the new member first, because a request is most often refused for its own
        // deadline.
        let others = (self.ahead..self.set.tasks.len()).filter(|place| *place != own);
        for place in std::iter::once(own).chain(others) {
            if self.set.tasks[place].level < level {
                continue;
            }
            let verdict = self.judge(place);
            let task = &self.set.tasks[place];
            match (verdict.outcome, verdict.response) {
                (Outcome::Meets, Some(response)) => responses.push((place, response)),
                (_, response) => {
                    return Err(Late {
                        who: task.name.clone(),
                        short: response.map(|it| it.saturating_sub(task.deadline)),
                        because: verdict.explain(&self.set).to_string(),
                    });
                }
            }
        }
        for (place, response) in responses {
            self.members[place - self.ahead].1 = response;
        }
        Ok(self.members[at].1)
    }

    /// Returns the verdict on one task, analysed as if all equally urgent tasks ran before it.
    fn judge(&mut self, place: usize) -> Verdict {
        let order = std::mem::replace(&mut self.set.tasks[place].order, LAST);
        let verdict = analyse_one(&self.set, place);
        self.set.tasks[place].order = order;
        verdict
    }

    /// Renumbers the tasks after one was added or removed: the order of a task is its index, and
    /// equally urgent tasks have the level of the first of them.
    fn number(&mut self) {
        let (urgency, ahead) = (self.urgency, self.ahead);
        let equal = |one: &Wanted, other: &Wanted| match urgency {
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
    fn turn_away(&mut self, wanted: Wanted, late: Late) -> Answer {
        match self.late_comers {
            LateComers::Refuse => Answer::Refused(late),
            LateComers::Share => self.share(wanted, Some(late)).unwrap_or_else(Answer::Refused),
        }
    }

    /// Admits the requests one after the other until one is refused. Requests for a share come
    /// last, because shares divide the time that guarantees leave.
    fn admit_each(
        &mut self,
        all: &[Wanted],
        admit: impl Fn(&mut Controller, Wanted) -> Result<Answer, Late>,
    ) -> Result<Vec<Answer>, Late> {
        let mut places: Vec<usize> = (0..all.len()).collect();
        places.sort_by_key(|place| all[*place].shares);
        let mut answers = Vec::with_capacity(all.len());
        for place in places {
            answers.push((place, admit(self, all[place].clone())?));
        }
        answers.sort_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Updates answers that were given before later members were admitted, which made responses
    /// longer and shares smaller.
    fn as_of_now(&self, mut answers: Vec<Answer>, all: &[Wanted]) -> Vec<Answer> {
        let current = self.share_of_each(self.sharers.len());
        let response_of = |name: &str| {
            let mut members = self.members.iter();
            members.find(|(wanted, _)| wanted.name == name).map(|(_, response)| *response)
        };
        for (answer, wanted) in answers.iter_mut().zip(all) {
            match answer {
                Answer::Guaranteed { response } => {
                    *response = response_of(&wanted.name).unwrap_or(*response);
                }
                Answer::BestEffort { share, .. } => *share = current,
                Answer::Refused(_) => {}
            }
        }
        answers
    }

    /// Adds a member with a share if time is left. `late` is the reason why the member did not get
    /// the guarantee that it requested.
    fn share(&mut self, wanted: Wanted, late: Option<Late>) -> Result<Answer, Late> {
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
