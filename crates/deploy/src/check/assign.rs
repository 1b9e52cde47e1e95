//! Assignment of priorities by analysis, written into a document of resources.

use std::collections::{BTreeSet, HashMap};

use oxorb_sched::repository::{Characteristics, Constraints};
use oxorb_sched::time::Nanos;
use oxorb_sched::{DispatchModel, OsPriorities, Repository, Schedule, Strategy};

use super::jobs::Jobs;
use super::{Timing, threads, timing};
use crate::described::Id;
use crate::finding::{Error, Finding};
use crate::model::plan::Plan;
use crate::model::rtcad::{
    Lane, PolicySet, Priority, PriorityModel, PriorityModelKind, ServerResources, TextRef,
    ThreadpoolWithLanes,
};

/// Id of the pool that holds the lanes.
const POOL: &str = "assigned";

/// Maximum number of levels: the real-time priorities of Linux, except one.
const MOST_LEVELS: usize = 98;

/// Result of an assignment.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// Document with lanes, policy sets and their attachments to instances.
    pub resources: ServerResources,
    /// Name of the order that was chosen.
    pub order: String,
    /// Response times with the chosen order.
    pub timing: Timing,
}

/// Chooses priorities for all instances with work: by deadline, by rate, by criticality and then deadline, and,
/// starting from the first of these orders, by raising late instances. The first order that meets every deadline is
/// used; if none does, the order with the fewest misses, where one critical miss outweighs all other misses.
///
/// # Errors
/// The errors that [`check`](super::check()) finds in works and connections.
pub fn assign(plan: &Plan, resources: &ServerResources) -> Result<Assigned, Error> {
    let wrong = |findings: Vec<Finding>| Error { findings };
    let blank = without_priorities(resources);
    let jobs = Jobs::of(plan, &blank).map_err(wrong)?;
    let mut best: Option<(usize, Assigned)> = None;
    let mut keep = |order: &str, ranks: &[Vec<String>]| -> Result<bool, Error> {
        let resources = write(resources, ranks);
        let jobs = Jobs::of(plan, &resources).map_err(wrong)?;
        let timing = timing::analyse(&jobs);
        let missed = timing.chains.iter().filter(|chain| !chain.fits());
        // A missed critical deadline costs more than all other missed deadlines together.
        let cost =
            missed.map(|chain| if chain.is_critical { timing.chains.len() + 1 } else { 1 }).sum();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            let order = order.to_owned();
            best = Some((cost, Assigned { resources, order, timing }));
        }
        Ok(cost == 0)
    };
    let mut first = None;
    for (name, ranks) in orders(&jobs)? {
        if keep(name, &ranks)? {
            first = None;
            break;
        }
        first = first.or(Some(ranks));
    }
    if let Some(ranks) = first {
        raise(plan, resources, ranks, &mut keep)?;
    }
    let (_, mut assigned) =
        best.ok_or_else(|| Error::plain("no instance has work, so there is nothing to assign"))?;
    provide_threads(plan, &mut assigned.resources)?;
    Ok(assigned)
}

/// Gives the lanes enough threads for works that wait.
fn provide_threads(plan: &Plan, resources: &mut ServerResources) -> Result<(), Error> {
    let jobs = Jobs::of(plan, resources).map_err(|findings| Error { findings })?;
    let needed = threads::needed(plan, resources, &jobs, POOL);
    drop(jobs);
    let declared = resources.orb_configs.as_mut().and_then(|configs| configs.resources.as_mut());
    let pools = declared.into_iter().flat_map(|declared| &mut declared.threadpool_with_lanes);
    for lane in pools.filter(|pool| pool.id.0 == POOL).flat_map(|pool| &mut pool.lane) {
        if let Some(needed) = needed.get(&lane.priority.0) {
            lane.static_threads = *needed;
        }
    }
    Ok(())
}

/// Names of instances by level, the least urgent level first.
type Ranks = Vec<Vec<String>>;

/// Returns the document without priorities, so that every instance is an ordinary one.
fn without_priorities(resources: &ServerResources) -> ServerResources {
    let mut blank = resources.clone();
    blank.orb_configs = None;
    for instance in &mut blank.instance {
        instance.policy_set = None;
    }
    blank
}

fn orders(jobs: &Jobs<'_>) -> Result<Vec<(&'static str, Ranks)>, Error> {
    // A job is as urgent as the most urgent job that must wait for it.
    let mut deadlines: Vec<Nanos> = jobs.jobs.iter().map(|job| job.deadline).collect();
    for (at, job) in jobs.jobs.iter().enumerate().rev() {
        if let Some(parent) = job.parent {
            deadlines[parent] = deadlines[parent].min(deadlines[at]);
        }
    }
    let by_deadline = levels(jobs, &deadlines, &Strategy::DM)?;
    let by_rate = levels(jobs, &deadlines, &Strategy::RMS)?;
    let mut criticality: HashMap<&str, u8> = HashMap::new();
    for job in &jobs.jobs {
        let known = criticality.entry(&job.instance.name).or_default();
        *known = (*known).max(job.level as u8);
    }
    let mut by_criticality: Ranks = Vec::new();
    for level in criticality.values().copied().collect::<BTreeSet<u8>>() {
        let of_level = |rank: &Vec<String>| -> Vec<String> {
            rank.iter()
                .filter(|name| criticality.get(name.as_str()) == Some(&level))
                .cloned()
                .collect()
        };
        by_criticality.extend(by_deadline.iter().map(of_level).filter(|rank| !rank.is_empty()));
    }
    Ok(vec![
        ("by deadline", by_deadline),
        ("by rate", by_rate),
        ("by criticality, then deadline", by_criticality),
    ])
}

/// Ranks instances as a strategy of the scheduling service ranks their works.
fn levels(jobs: &Jobs<'_>, deadlines: &[Nanos], strategy: &Strategy) -> Result<Ranks, Error> {
    let told = |error: oxorb_sched::Error| Error::plain(error.to_string());
    let mut repository = Repository::new();
    for (at, job) in jobs.jobs.iter().enumerate() {
        let handle = repository.create(&format!("{at}")).map_err(told)?;
        let said = Characteristics {
            criticality: job.level.into(),
            importance: job.importance.into(),
            worst_case: job.wcet,
            period: job.period,
            threads: 1,
            constraints: Constraints { deadline: Some(deadlines[at]), ..Constraints::default() },
            ..Characteristics::default()
        };
        repository.set(handle, said).map_err(told)?;
    }
    let priorities = OsPriorities::range(1, 32_767).map_err(told)?;
    let schedule = Schedule::compute(&repository, strategy, &DispatchModel::Urgency, &priorities)
        .map_err(told)?;
    // An instance is as urgent as the most urgent of its works.
    let mut urgency: HashMap<&str, i32> = HashMap::new();
    for (job, assignment) in jobs.jobs.iter().zip(&schedule.assignments) {
        let level = assignment.assigned.preemption_priority;
        let known = urgency.entry(&job.instance.name).or_insert(level);
        *known = (*known).min(level);
    }
    let distinct: BTreeSet<i32> = urgency.values().copied().collect();
    let ranks = distinct.into_iter().rev().map(|level| {
        let mut names: Vec<String> = urgency
            .iter()
            .filter(|(_, own)| **own == level)
            .map(|(name, _)| (*name).to_owned())
            .collect();
        names.sort_unstable();
        names
    });
    Ok(merged(ranks.collect()))
}

/// Merges the least urgent levels until the limit holds.
fn merged(mut ranks: Ranks) -> Ranks {
    while ranks.len() > MOST_LEVELS {
        let least = ranks.remove(0);
        ranks[0].extend(least);
    }
    ranks
}

/// Repeatedly raises the latest instance by one level, while deadlines are missed.
fn raise(
    plan: &Plan,
    resources: &ServerResources,
    mut ranks: Ranks,
    keep: &mut impl FnMut(&str, &[Vec<String>]) -> Result<bool, Error>,
) -> Result<(), Error> {
    let instances: usize = ranks.iter().map(Vec::len).sum();
    for _ in 0..instances.saturating_mul(2).min(64) {
        let written = write(resources, &ranks);
        let jobs = Jobs::of(plan, &written).map_err(|findings| Error { findings })?;
        let timing = timing::analyse(&jobs);
        let late = timing.chains.iter().zip(&jobs.jobs).filter(|(chain, _)| !chain.fits());
        let worst = late.max_by_key(|(chain, _)| {
            (chain.is_critical, chain.response.unwrap_or(Nanos::MAX) / chain.deadline.max(1))
        });
        let Some((_, job)) = worst else { return Ok(()) };
        let name = job.instance.name.clone();
        let Some(at) = ranks.iter().position(|rank| rank.contains(&name)) else {
            return Ok(());
        };
        if at + 1 == ranks.len() && ranks[at].len() == 1 {
            return Ok(());
        }
        ranks[at].retain(|other| *other != name);
        ranks.insert((at + 2).min(ranks.len()), vec![name]);
        ranks.retain(|rank| !rank.is_empty());
        ranks = merged(ranks);
        if keep("by deadline, with what was late raised", &ranks)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes priorities into a document.
fn write(resources: &ServerResources, ranks: &[Vec<String>]) -> ServerResources {
    let mut written = resources.clone();
    let configs = written.orb_configs.get_or_insert_default();
    let is_ours = |id: &Id| {
        id.0 == POOL
            || id.0.strip_prefix("assigned-").is_some_and(|rest| rest.parse::<i16>().is_ok())
    };
    configs.policy_set.retain(|set| !is_ours(&set.id));
    let pools = configs.resources.get_or_insert_default();
    pools.threadpool_with_lanes.retain(|pool| !is_ours(&pool.id));
    let mut lanes = Vec::new();
    let mut sets: HashMap<&str, String> = HashMap::new();
    for (rank, names) in ranks.iter().enumerate() {
        let priority = Priority(((rank + 1) * 32_767 / (ranks.len() + 1)) as i16);
        let id = format!("assigned-{}", priority.0);
        lanes.push(Lane { static_threads: names.len() as u32, priority, ..Lane::default() });
        configs.policy_set.push(PolicySet {
            id: Id(id.clone()),
            priority_model: Some(PriorityModel {
                server_priority: priority,
                priority_model: PriorityModelKind::ServerDeclared,
                ..PriorityModel::default()
            }),
            threadpool: Some(TextRef::to(POOL)),
            ..PolicySet::default()
        });
        sets.extend(names.iter().map(|name| (name.as_str(), id.clone())));
    }
    for instance in &mut written.instance {
        if let Some(id) = sets.get(instance.name.as_str()) {
            instance.policy_set = Some(TextRef::to(id));
        }
    }
    pools.threadpool_with_lanes.push(ThreadpoolWithLanes {
        id: Id(POOL.to_owned()),
        lane: lanes,
        ..ThreadpoolWithLanes::default()
    });
    written
}
