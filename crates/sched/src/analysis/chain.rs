//! Chains on one processor: when a job that events release is done, counted from the moment at which time began its chain.
//!
//! All steps of a chain are looked at as one job as urgent as its least urgent step. From its release to its end there is
//! always a step that runs or waits, so that only what may go before one of the steps delays it. Nothing that the chain
//! sends events to in turn goes before it: such a job waits for the end of this one. That breaks the circle in which a
//! sender waits for its receiver, whose release counts as late by what the sender waits.

use std::collections::HashSet;

use super::verdict::NoChain;
use super::wait::{Steps, settle};
use crate::strategy::{DispatchModel, Dispatching};
use crate::task::{Task, TaskSet, overloads};
use crate::time::Nanos;

/// Jobs of one chain in a busy period that are looked at.
const MOST_JOBS: u64 = 1_000;

/// Task that events release, with all that comes before and after it.
pub(super) struct Chain {
    at: usize,
    /// The steps that time releases, all with one period.
    firsts: Vec<usize>,
    /// Steps from the first one on, without the task itself.
    before: HashSet<usize>,
    /// Tasks that receive events of the task, directly or over others.
    later: HashSet<usize>,
}

/// All chains of a set.
pub(super) struct Chains {
    causes: Vec<Vec<usize>>,
    /// Places, senders before receivers.
    order: Vec<usize>,
    /// Chains by place; `None` for tasks that time releases.
    chains: Vec<Option<Result<Chain, NoChain>>>,
}

/// Tasks that compete with a chain.
struct Around {
    members: Vec<Member>,
    blocking: Nanos,
}

/// Task that may go before a step of a chain, or is one.
struct Member {
    wcet: Nanos,
    period: Nanos,
    /// Time by which two of its jobs may be closer than a period.
    late: Nanos,
    role: Role,
    /// Jobs of an earlier instance that what blocks may release.
    carried: u64,
    /// Whether it interrupts the last step.
    interrupts: bool,
}

/// Relation of a task to the job of a chain that is looked at.
#[derive(Clone, Copy)]
enum Role {
    Other,
    /// The last step.
    Own,
    /// Step of the chain before the last.
    Before,
    /// Receives the events of the last step.
    Later,
}

impl Member {
    /// Returns the jobs that arrive before `time`.
    fn before(&self, time: Nanos) -> u64 {
        time.saturating_add(self.late).div_ceil(self.period)
    }

    /// Returns the jobs that arrive by `time`.
    fn by(&self, time: Nanos) -> u64 {
        time.saturating_add(self.late) / self.period + 1
    }

    /// Returns the jobs that may go before the last step of an instance if that begins at `time`, without its own.
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

    /// Returns the steps of the chain that ends with a task, in order, the task included; and how many of them, at the
    /// beginning, time releases.
    pub(super) fn steps(&self, at: usize) -> Option<(Vec<usize>, usize)> {
        let chain = self.chain(at)?;
        let is_step = |place: &usize| *place == at || chain.before.contains(place);
        let steps = self.order.iter().copied().filter(is_step);
        Some((steps.collect(), chain.firsts.len()))
    }

    fn chain(&self, at: usize) -> Option<&Chain> {
        self.chains[at].as_ref()?.as_ref().ok()
    }

    /// Returns why a task that events release ends no chain; `None`: it does, or time releases it.
    pub(super) fn why_not(&self, at: usize) -> Option<&NoChain> {
        self.chains[at].as_ref()?.as_ref().err()
    }

    /// Returns the time from the nominal release of the first step to the end of the task's job at worst; `None` where
    /// this test does not tell: where several first steps meet, none of them need run or wait while the last one is awaited.
    pub(super) fn bound(&self, set: &TaskSet, at: usize) -> Option<Nanos> {
        let chain = self.chain(at)?;
        let [first] = chain.firsts[..] else {
            return None;
        };
        // Members count one job in a period.
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
            // The last part of its last step begins once all that may go before is done, what arrives at the very moment
            // included; then only what interrupts delays it.
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

    /// Finds what may go before a step; `None` if that never ends.
    fn around(&self, set: &TaskSet, chain: &Chain) -> Option<Around> {
        let inside = members(set, chain);
        let tasks = || set.tasks.iter().zip(&inside);
        let members: Vec<&Task> = tasks().filter(|(_, is)| **is).map(|(it, _)| it).collect();
        let last_band = members.iter().map(|task| task.band).max().unwrap_or(0);
        // It began at least one nanosecond before.
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
        // Once none of them waits, jobs of a receiver come no faster than those of its senders.
        let mut late: Vec<Nanos> = set.tasks.iter().map(Task::late).collect();
        // What blocks has begun before, may end in between, and then releases a receiver of an earlier instance.
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

/// Whether a job of a step may go before one of an earlier instance, so that only the end of the busy period is known.
///
/// With full preemption a job loses no laxity while it runs, but later jobs of its task do. They become more urgent once it has
/// run for longer than it was released before them, which needs two releases closer to each other than a job is long. Steps
/// after it may then change their order, too.
fn overtakes(set: &TaskSet, chain: &Chain) -> bool {
    let mut steps = chain.before.iter().chain([&chain.at]);
    set.model == DispatchModel::Urgency
        && steps.any(|&step| {
            let task = &set.tasks[step];
            let closest = task.period.saturating_sub(task.late());
            task.dispatching == Dispatching::Laxity && closest < task.wcet
        })
}

/// Whether each task may go before a step of the chain, or is one.
fn members(set: &TaskSet, chain: &Chain) -> Vec<bool> {
    let ordered = |task: &&Task| task.dispatching != Dispatching::Static;
    let dynamic: HashSet<u32> = set.tasks.iter().filter(ordered).map(|it| it.level).collect();
    // The last place in the static order that may go before a task: levels may have an order of their own.
    let key = |task: &Task| match dynamic.contains(&task.level) {
        true => (task.level, u32::MAX),
        false => (task.level, task.order),
    };
    let steps = chain.before.iter().chain([&chain.at]);
    let mut last = steps.map(|&step| key(&set.tasks[step])).max();
    let mut inside = vec![false; set.tasks.len()];
    // Streams of one operation that share a thread go as they come, and take along what goes before them.
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

/// Returns the chain that ends with a task, or the reason for which there is none; `None`: time releases it.
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
    // The chain never waits for anything but its own steps.
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

/// Returns all that can be reached from a place.
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

/// Returns all places, senders before receivers. Rings are left out.
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
