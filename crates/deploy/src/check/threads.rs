//! Threads of pools: a warning for each lane in which works that wait may hold all threads.
//!
//! A thread of a lane serves one request after the other, and waits for the calls and direct pushes that its servant
//! makes. Calls to objects of the same lane run in the same thread. While a thread waits, other works of its lane need
//! another thread. If there is none, a work is delayed by a wait that its bound does not contain. The exception are
//! waits in which only work on the same node runs that is at least as urgent: this work is in the bound anyway.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::doubts::Doubts;
use super::jobs::Jobs;
use super::lookup::Lookup;
use crate::finding::{Finding, Place, listed};
use crate::model::plan::Plan;
use crate::model::rtcad::ServerResources;
use crate::process::{Process, processes};

/// Threads that serve the same requests: process, pool, and the priority if the pool has lanes.
type Lane<'r> = (usize, &'r str, Option<i16>);

/// Urgency of work as a number: larger is more urgent. Work elsewhere is the least urgent.
type Urgency = i32;

const ELSEWHERE: Urgency = Urgency::MIN;

fn urgency(priority: Option<i16>) -> Urgency {
    priority.map_or(ELSEWHERE + 1, Urgency::from)
}

/// Pools of a document.
struct Pools<'r> {
    /// Pools without lanes: numbers of threads.
    plain: HashMap<&'r str, (u32, Place)>,
    /// Pools with lanes: numbers of threads by priority.
    laned: HashMap<&'r str, HashMap<i16, (u32, Place)>>,
}

impl<'r> Pools<'r> {
    fn of(resources: &'r ServerResources) -> Pools<'r> {
        let configs = resources.orb_configs.as_ref();
        let declared = configs.and_then(|configs| configs.resources.as_ref());
        let (mut plain, mut laned) = (HashMap::new(), HashMap::new());
        for pool in declared.iter().flat_map(|declared| &declared.threadpool) {
            let threads = pool.static_threads.saturating_add(pool.dynamic_threads);
            plain.insert(&*pool.id.0, (threads, pool.place));
        }
        for pool in declared.iter().flat_map(|declared| &declared.threadpool_with_lanes) {
            let lanes = pool.lane.iter().map(|lane| {
                let threads = lane.static_threads.saturating_add(lane.dynamic_threads);
                (lane.priority.0, (threads, lane.place))
            });
            laned.insert(&*pool.id.0, lanes.collect());
        }
        Pools { plain, laned }
    }

    /// Returns the number of threads of a lane, and the lane's place in the document.
    fn threads(&self, (_, pool, priority): Lane<'_>) -> Option<(u32, Place)> {
        match priority {
            None => self.plain.get(pool).copied(),
            Some(priority) => self.laned.get(pool)?.get(&priority).copied(),
        }
    }
}

/// Visit that needs a thread of a lane of its own.
struct Entry {
    visit: usize,
    /// Thread of control: the visit that began it.
    flow: usize,
    /// Number of entries of the same lane that wait for this one.
    above: u64,
    /// Least urgent work for which the thread may be held.
    least: Urgency,
}

/// Threads of a lane that one thread of control may hold at the same time.
struct Held {
    threads: u64,
    /// Least urgent work for which they are held; [`ELSEWHERE`] if one of them waits for another one.
    least: Urgency,
}

/// Warns of lanes whose works may wait for threads, and marks the chains of these works.
pub(super) fn check(
    plan: &Plan,
    resources: &ServerResources,
    jobs: &Jobs<'_>,
    doubts: &mut Doubts,
) {
    let pools = Pools::of(resources);
    let processes = processes(plan);
    for (lane, entries) in entries(plan, resources, &processes, &pools, jobs) {
        if let (Some(process), Some(threads)) = (processes.get(lane.0), pools.threads(lane)) {
            judge(process, jobs, lane, &entries, threads, doubts);
        }
    }
}

/// Returns the numbers of threads that lanes of a pool need, by priority, where they have less.
pub(super) fn needed(
    plan: &Plan,
    resources: &ServerResources,
    jobs: &Jobs<'_>,
    pool: &str,
) -> BTreeMap<i16, u32> {
    let pools = Pools::of(resources);
    let mut found: BTreeMap<i16, u32> = BTreeMap::new();
    for (lane, entries) in entries(plan, resources, &processes(plan), &pools, jobs) {
        let (Some(priority), Some((threads, _))) = (lane.2, pools.threads(lane)) else { continue };
        if lane.1 == pool
            && let Some(lack) = lack(jobs, &entries, threads)
        {
            let needed = u32::try_from(lack.needed).unwrap_or(u32::MAX);
            let known = found.entry(priority).or_default();
            *known = needed.max(*known);
        }
    }
    found
}

/// Returns the visits that need a thread, by lane.
fn entries<'r>(
    plan: &Plan,
    resources: &'r ServerResources,
    processes: &[Process],
    pools: &Pools<'r>,
    jobs: &Jobs<'_>,
) -> BTreeMap<Lane<'r>, Vec<Entry>> {
    let lookup = Lookup::of(resources);
    let mut process = vec![usize::MAX; plan.instance.len()];
    for (number, one) in processes.iter().enumerate() {
        one.instances.iter().for_each(|&at| process[at] = number);
    }
    let pool = plan.instance.iter().map(|instance| {
        let set = lookup.set_of(instance)?;
        set.threadpool.as_ref().map(|to| &*to.id)
    });
    let pool: Vec<Option<&'r str>> = pool.collect();
    let visits = &jobs.visits;
    let job = |at: usize| &jobs.jobs[visits[at].job];
    // Lane of the thread that executes each visit, and the visit for which this thread was taken.
    let mut thread: Vec<(Option<Lane<'r>>, usize)> = Vec::with_capacity(visits.len());
    let mut flow: Vec<usize> = Vec::with_capacity(visits.len());
    let mut taken = Vec::new();
    for (at, visit) in visits.iter().enumerate() {
        let from = visit.from.filter(|_| visit.is_awaited);
        flow.push(from.map_or(at, |from| flow[from]));
        let here = process[visit.instance];
        let own = pool[visit.instance].filter(|_| visit.from.is_some()).map(|pool| {
            let priority = if pools.laned.contains_key(pool) { job(at).priority } else { None };
            (here, pool, priority)
        });
        let caller = from.map(|from| (process[visits[from].instance], thread[from]));
        thread.push(match (own, caller) {
            // A call in the same process to an object without a pool, or of the caller's lane, runs in the same thread.
            (None, Some((process, same))) if process == here => same,
            (Some(lane), Some((_, same))) if same.0 == Some(lane) => same,
            _ => (own, at),
        });
        if own.is_some() && thread[at].1 == at {
            taken.push(at);
        }
    }
    // Least urgent work of each visit and of all that it waits for. A visit comes after the one that triggers it.
    let mut least: Vec<Urgency> = (0..visits.len()).map(|at| urgency(job(at).priority)).collect();
    for (at, visit) in visits.iter().enumerate().rev() {
        if let Some(from) = visit.from.filter(|_| visit.is_awaited) {
            let is_here = job(from).node == job(at).node;
            let waits_for = if is_here { least[at] } else { ELSEWHERE };
            least[from] = least[from].min(waits_for);
        }
    }
    let mut entries: BTreeMap<Lane<'r>, Vec<Entry>> = BTreeMap::new();
    for visit in taken {
        let Some(lane) = thread[visit].0 else { continue };
        let (mut above, mut at) = (0, visit);
        while let Some(from) = visits[at].from.filter(|_| visits[at].is_awaited) {
            at = thread[from].1;
            above += u64::from(thread[at].0 == Some(lane));
        }
        let entry = Entry { visit, flow: flow[visit], above, least: least[visit] };
        entries.entry(lane).or_default().push(entry);
    }
    entries
}

/// Lack of threads in a lane.
struct Lack<'j> {
    /// Number of threads that suffices.
    needed: u64,
    /// Works that may wait for a thread.
    delayed: BTreeSet<&'j str>,
    /// Works that may hold the threads.
    holding: BTreeSet<&'j str>,
}

/// Compares the number of threads of a lane with the works that may hold them. Returns `None` if it suffices.
fn lack<'j>(jobs: &'j Jobs<'_>, entries: &[Entry], threads: u32) -> Option<Lack<'j>> {
    let mut held: HashMap<usize, Held> = HashMap::new();
    for entry in entries {
        let held = held.entry(entry.flow).or_insert(Held { threads: 0, least: entry.least });
        held.threads = held.threads.max(entry.above + 1);
        held.least = if held.threads > 1 { ELSEWHERE } else { held.least.min(entry.least) };
    }
    let mut sorted: Vec<(Urgency, u64)> =
        held.values().map(|held| (held.least, held.threads)).collect();
    sorted.sort_unstable();
    let sums = sorted.iter().scan(0, |sum, (_, threads)| {
        *sum += threads;
        Some(*sum)
    });
    let sums: Vec<u64> = sums.collect();
    let own = |entry: &Entry| urgency(jobs.jobs[jobs.visits[entry.visit].job].priority);
    let (mut needed, mut most) = (0, ELSEWHERE);
    let (mut delayed, mut holding) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        // Threads that are held for less urgent work than this one.
        let less = sorted.partition_point(|(least, _)| *least < own(entry));
        let of_all = less.checked_sub(1).map_or(0, |last| sums[last]);
        let of_flow = &held[&entry.flow];
        let of_flow = if of_flow.least < own(entry) { of_flow.threads } else { 0 };
        let busy = of_all - of_flow + entry.above;
        if busy < u64::from(threads) {
            continue;
        }
        needed = needed.max(busy + 1);
        most = most.max(own(entry));
        delayed.insert(&*jobs.visits[entry.visit].name);
    }
    if delayed.is_empty() {
        return None;
    }
    for entry in entries {
        if held[&entry.flow].least < most {
            holding.insert(&*jobs.visits[entry.visit].name);
        }
    }
    Some(Lack { needed, delayed, holding })
}

/// Warns if a lane has too few threads for its works.
fn judge(
    process: &Process,
    jobs: &Jobs<'_>,
    lane: Lane<'_>,
    entries: &[Entry],
    (threads, place): (u32, Place),
    doubts: &mut Doubts,
) {
    let Some(Lack { needed, delayed, holding }) = lack(jobs, entries, threads) else { return };
    let (_, pool, priority) = lane;
    let name = match priority {
        Some(priority) => format!("lane {priority} of pool {pool:?}"),
        None => format!("pool {pool:?}"),
    };
    let what = format!(
        "{name} has {threads} thread{} in process {} of node {:?}, and these works may hold as many while they wait \
         for calls, direct events or less urgent work: {}. Thus {} may wait for a thread, which no bound contains: the \
         deadlines that this delays are not proved",
        if threads == 1 { "" } else { "s" },
        process.name,
        process.node,
        listed(holding.iter().copied()),
        listed(delayed.iter().copied()),
    );
    let cure = format!(
        "set its static_threads to {needed}, or push direct events through a channel (events = \"channel\")"
    );
    doubts.say(Finding::warning(place, what).cure(cure));
    for entry in entries {
        let visit = &jobs.visits[entry.visit];
        if delayed.contains(&*visit.name) {
            doubts.delay(visit.job, &format!("the threads of {name}"));
        }
    }
}
