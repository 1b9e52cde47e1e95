//! Chains on one processor: the completion of a job that events release, counted from the release
//! of its chain by time.
//!
//! All steps of a chain are analysed as one job that is as urgent as its least urgent step. From
//! the release of the chain to its end some step always runs or waits, so that only tasks that may
//! precede one of the steps delay it. Receivers of the chain's own events do not precede it: their
//! jobs wait for the end of this one. This breaks the circle in which a sender waits for its
//! receiver, whose release counts as delayed by the sender's wait.

use std::collections::HashSet;

use super::verdict::NoChain;
use super::wait::{Steps, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, overloads};
use crate::time::Nanos;

/// Maximum number of jobs of one chain that are analysed in a busy period.
const MOST_JOBS: u64 = 1_000;

/// Task released by events, with its senders and receivers.
pub(super) struct Chain {
    at: usize,
    /// Steps released by time, all with one period.
    firsts: Vec<usize>,
    /// Steps of the chain without the task itself.
    before: HashSet<usize>,
    /// Tasks that receive events of the task, directly or indirectly.
    later: HashSet<usize>,
}

/// All chains of a set.
pub(super) struct Chains {
    causes: Vec<Vec<usize>>,
    /// Indices of the tasks, senders before receivers.
    order: Vec<usize>,
    /// Chains by task index; `None` for tasks released by time.
    chains: Vec<Option<Result<Chain, NoChain>>>,
}

/// Tasks that compete with a chain.
struct Around {
    members: Vec<Member>,
    blocking: Nanos,
}

/// Task that may precede a step of a chain, or is a step.
struct Member {
    wcet: Nanos,
    period: Nanos,
    /// Time by which the distance of two jobs of the task may be shorter than a period.
    late: Nanos,
    role: Role,
    /// Jobs of an earlier instance that the blocking job may release.
    carried: u64,
    /// Whether the task interrupts the last step.
    interrupts: bool,
}

/// Relation of a task to the chain under analysis.
#[derive(Clone, Copy)]
enum Role {
    Other,
    /// Last step.
    Own,
    /// Step before the last one.
    Before,
    /// Receiver of the last step's events.
    Later,
}

impl Member {
    /// Returns the number of jobs that arrive before `time`.
    fn before(&self, time: Nanos) -> u64 {
        time.saturating_add(self.late).div_ceil(self.period)
    }

    /// Returns the number of jobs that arrive by `time`, inclusive.
    fn by(&self, time: Nanos) -> u64 {
        time.saturating_add(self.late) / self.period + 1
    }

    /// Returns the number of jobs that may precede the last step of an instance if that step begins
    /// at `time`, without its own.
    fn ahead(&self, time: Nanos, instance: u64) -> u64 {
        match self.role {
            Role::Other => self.by(time),
            Role::Own => instance,
            Role::Before => self.by(time).max(instance + 1),
            Role::Later => self.by(time).min(instance + self.carried),
        }
    }

    fn work(&self, jobs: u64) -> u128 {
        u128::from(jobs) * u128::from(self.wcet)
    }
}

impl Chain {
    fn role(&self, place: usize) -> Role {
        match place {
            _ if place == self.at => Role::Own,
            _ if self.before.contains(&place) => Role::Before,
            _ if self.later.contains(&place) => Role::Later,
            _ => Role::Other,
        }
    }
}

impl Chains {
    pub(super) fn of(set: &TaskSet, causes: &[Vec<usize>]) -> Chains {
        let mut effects = vec![Vec::new(); causes.len()];
        for (place, causes) in causes.iter().enumerate() {
            for &cause in causes {
                effects[cause].push(place);
            }
        }
        let places = 0..causes.len();
        let chains = places.map(|at| chain(set, causes, &effects, at));
        Chains { chains: chains.collect(), order: order(causes, &effects), causes: causes.to_vec() }
    }

    /// Returns the steps of the chain that ends with the task at `at`, in order and including it,
    /// and the number of leading steps that are released by time.
    pub(super) fn steps(&self, at: usize) -> Option<(Vec<usize>, usize)> {
        let chain = self.chain(at)?;
        let is_step = |place: &usize| *place == at || chain.before.contains(place);
        let steps = self.order.iter().copied().filter(is_step);
        Some((steps.collect(), chain.firsts.len()))
    }

    fn chain(&self, at: usize) -> Option<&Chain> {
        self.chains[at].as_ref()?.as_ref().ok()
    }

    /// Returns the reason why a task released by events ends no chain; `None` if it ends one or is
    /// released by time.
    pub(super) fn why_not(&self, at: usize) -> Option<&NoChain> {
        self.chains[at].as_ref()?.as_ref().err()
    }

    /// Returns the worst time from the nominal release of the first step to the end of the task's
    /// job. `None` if there are several first steps, as all of them may be idle while the last one
    /// is awaited, or if no bound is found.
    pub(super) fn bound(&self, set: &TaskSet, at: usize) -> Option<Nanos> {
        let chain = self.chain(at)?;
        let [first] = chain.firsts[..] else {
            return None;
        };
        // A `Member` counts one job in each period, so bursts are not supported.
        if set.tasks.iter().any(|task| task.per_period() > 1) {
            return None;
        }
        let around = self.around(set, chain)?;
        let (first, own) = (&set.tasks[first], &set.tasks[at]);
        let members = &around.members;
        let steps = Steps::of(set.tasks.len());
        let start = members.iter().fold(around.blocking, |sum, it| sum.saturating_add(it.wcet));
        let busy = settle(&steps, start, |time| {
            let work = members.iter().map(|it| it.work(it.before(time)));
            u128::from(around.blocking) + work.sum::<u128>()
        })?;
        if overtakes(set, chain) {
            return busy.checked_add(first.jitter);
        }
        let (mut worst, mut began) = (0, around.blocking);
        for instance in 0..=MOST_JOBS {
            let nominal = instance.saturating_mul(first.period);
            if instance > 0 && nominal.saturating_sub(first.jitter) >= busy {
                return Some(worst);
            }
            // The last part of the last step begins once all jobs that may precede it are done,
            // including those that arrive at that moment; then only interrupting jobs delay it.
            began = settle(&steps, began, |time| {
                let work = members.iter().map(|it| it.work(it.ahead(time, instance)));
                u128::from(around.blocking) + u128::from(own.wcet - own.part()) + work.sum::<u128>()
            })?;
            let alone = began.saturating_add(own.part());
            let done = settle(&steps, alone, |time| {
                let interrupting = members.iter().filter(|it| it.interrupts);
                let work =
                    interrupting.map(|it| it.work(it.before(time).saturating_sub(it.by(began))));
                u128::from(alone) + work.sum::<u128>()
            })?;
            let response = done.saturating_add(first.jitter).saturating_sub(nominal);
            worst = worst.max(response);
        }
        None
    }

    /// Collects the tasks that may precede a step; `None` if their work is unbounded.
    fn around(&self, set: &TaskSet, chain: &Chain) -> Option<Around> {
        let inside = members(set, chain);
        let tasks = || set.tasks.iter().zip(&inside);
        let members: Vec<&Task> = tasks().filter(|(_, is)| **is).map(|(it, _)| it).collect();
        let last_band = members.iter().map(|task| task.band).max().unwrap_or(0);
        // The blocking job began at least one nanosecond before, so it has at most the rest to run.
        let longest = tasks()
            .filter(|(task, is)| !**is && task.band <= last_band)
            .map(|(task, _)| task.part().saturating_sub(1))
            .max();
        let longest = match set.model {
            DispatchModel::Urgency => 0,
            _ => longest.unwrap_or(0),
        };
        let resources = members.iter().map(|task| task.blocking).max().unwrap_or(0);
        if overloads(members) {
            return None;
        }
        // A busy period begins when no job waits, so from then on jobs of a receiver arrive no
        // faster than those of its senders.
        let mut late: Vec<Nanos> = set.tasks.iter().map(Task::late).collect();
        // A blocking job may have begun before the busy period. If it ends within the busy period,
        // it may release a receiver of an earlier instance.
        let blocks = longest > 0 || resources > 0;
        let mut carried = vec![false; set.tasks.len()];
        let mut members = Vec::new();
        for &place in self.order.iter().filter(|&&place| inside[place]) {
            let mut causes = self.causes[place].iter();
            carried[place] = blocks && causes.any(|&cause| !inside[cause] || carried[cause]);
            for &cause in self.causes[place].iter().filter(|&&cause| inside[cause]) {
                late[place] = late[place].min(late[cause]);
            }
            let (task, own) = (&set.tasks[place], &set.tasks[chain.at]);
            let ordered = own.dispatching == Dispatching::Static;
            let first = (task.level, task.order) < (own.level, own.order);
            let peer = !ordered && task.level == own.level;
            members.push(Member {
                interrupts: place != chain.at && (first || peer) && set.interrupts(task, own),
                wcet: task.wcet,
                period: task.period,
                late: late[place],
                role: chain.role(place),
                carried: u64::from(carried[place]),
            });
        }
        Some(Around { members, blocking: longest.saturating_add(resources) })
    }
}

/// Reports whether a job of a step may precede a job of an earlier instance, so that only the end
/// of the busy period is known.
///
/// With full preemption a running job keeps its laxity, while later jobs of its task lose theirs.
/// These become more urgent once it has run for longer than the distance of their releases, which
/// requires two releases closer to each other than the length of a job. Later steps may then be
/// reordered, too.
fn overtakes(set: &TaskSet, chain: &Chain) -> bool {
    let mut steps = chain.before.iter().chain([&chain.at]);
    set.model == DispatchModel::Urgency
        && steps.any(|&step| {
            let task = &set.tasks[step];
            let closest = task.period.saturating_sub(task.late());
            task.dispatching == Dispatching::Laxity && closest < task.wcet
        })
}

/// Returns a flag for each task: whether it may precede a step of the chain, or is a step.
fn members(set: &TaskSet, chain: &Chain) -> Vec<bool> {
    let ordered = |task: &&Task| task.dispatching != Dispatching::Static;
    let dynamic: HashSet<u32> = set.tasks.iter().filter(ordered).map(|it| it.level).collect();
    // Returns the greatest key in the static order of all tasks that may precede `task`. In a level
    // with a dynamic order, any task of the level may.
    let key = |task: &Task| match dynamic.contains(&task.level) {
        true => (task.level, u32::MAX),
        false => (task.level, task.order),
    };
    let steps = chain.before.iter().chain([&chain.at]);
    let mut last = steps.map(|&step| key(&set.tasks[step])).max();
    let mut inside = vec![false; set.tasks.len()];
    // Streams of one operation share a thread and run in the order of arrival. A less urgent stream
    // may therefore precede a step, and so may everything that precedes that stream.
    let mut threads = HashSet::new();
    loop {
        let mut changed = false;
        for (task, inside) in set.tasks.iter().zip(&mut inside) {
            let is_static = task.dispatching == Dispatching::Static;
            let shares = is_static && task.handle.is_some_and(|handle| threads.contains(&handle));
            if *inside || !(shares || Some((task.level, task.order)) <= last) {
                continue;
            }
            (*inside, changed) = (true, true);
            last = last.max(Some(key(task)));
            if is_static {
                threads.extend(task.handle);
            }
        }
        if !changed {
            return inside;
        }
    }
}

/// Returns the chain that ends with a task, or the reason why there is none; `None` if it is
/// released by time.
fn chain(
    set: &TaskSet,
    causes: &[Vec<usize>],
    effects: &[Vec<usize>],
    at: usize,
) -> Option<Result<Chain, NoChain>> {
    if causes[at].is_empty() {
        return None;
    }
    let before = reached(causes, at);
    let is_first = |step: &usize| causes[*step].is_empty();
    let mut firsts: Vec<usize> = before.iter().copied().filter(is_first).collect();
    firsts.sort_unstable();
    if before.contains(&at) || firsts.is_empty() {
        return Some(Err(NoChain::Circle));
    }
    let period = set.tasks[firsts[0]].period;
    if firsts.iter().any(|&step| set.tasks[step].period != period) {
        return Some(Err(NoChain::Periods(firsts)));
    }
    // All steps except the first must be released by their senders alone, with the same period and
    // without jitter or offset of their own.
    let flows = |step: usize| {
        let task = &set.tasks[step];
        task.period == period && task.jitter == 0 && task.offset.is_none()
    };
    let others = before.iter().filter(|step| !is_first(step)).chain([&at]);
    if let Some(&step) = others.filter(|step| !flows(**step)).min() {
        return Some(Err(NoChain::Step(step)));
    }
    Some(Ok(Chain { at, firsts, before, later: reached(effects, at) }))
}

/// Returns all nodes reachable from a node.
fn reached(edges: &[Vec<usize>], from: usize) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let mut next = edges[from].clone();
    while let Some(here) = next.pop() {
        if seen.insert(here) {
            next.extend(&edges[here]);
        }
    }
    seen
}

/// Returns all indices, senders before receivers, without the tasks of cycles.
fn order(causes: &[Vec<usize>], effects: &[Vec<usize>]) -> Vec<usize> {
    let mut waits: Vec<usize> = causes.iter().map(Vec::len).collect();
    let places = 0..causes.len();
    let mut order: Vec<usize> = places.filter(|&place| waits[place] == 0).collect();
    let mut next = 0;
    while let Some(&here) = order.get(next) {
        next += 1;
        for &effect in &effects[here] {
            waits[effect] -= 1;
            if waits[effect] == 0 {
                order.push(effect);
            }
        }
    }
    order
}
