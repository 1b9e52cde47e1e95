//! Assumptions of the analysis that nothing ensures: chains whose bounds depend on them are not proved.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::jobs::Jobs;
use super::lookup::{Accepts, Lookup};
use super::threads;
use super::timing::Timing;
use crate::finding::{Finding, Source, listed};
use crate::model::plan::Plan;
use crate::model::rtcad::{Events, ServerResources};

/// Reasons why chains are not proved.
pub(super) struct Doubts {
    /// Warnings about the reasons.
    findings: Vec<Finding>,
    /// Reason for the jobs of a chain, by the time-released job of the chain.
    reasons: BTreeMap<usize, String>,
    /// Time-released job of each job's chain.
    root: Vec<usize>,
}

impl Doubts {
    fn of(jobs: &Jobs<'_>) -> Doubts {
        let mut root: Vec<usize> = Vec::with_capacity(jobs.jobs.len());
        for (at, job) in jobs.jobs.iter().enumerate() {
            // Parents come before their children.
            root.push(job.parent.map_or(at, |parent| root[parent]));
        }
        Doubts { findings: Vec::new(), reasons: BTreeMap::new(), root }
    }

    pub(super) fn say(&mut self, finding: Finding) {
        self.findings.push(finding.within(Source::Rtcad));
    }

    /// Marks all jobs of a job's chain as delayed by something that the analysis does not consider.
    pub(super) fn delay(&mut self, job: usize, reason: &str) {
        self.reasons.entry(self.root[job]).or_insert_with(|| reason.to_owned());
    }

    /// Marks the chains that a delayed chain may delay: those with work on the same node that is not more urgent.
    fn spread(&mut self, jobs: &Jobs<'_>) {
        // Lowest priority of each chain on each node.
        let mut least: HashMap<(usize, usize), Option<i16>> = HashMap::new();
        for (at, job) in jobs.jobs.iter().enumerate() {
            let known = least.entry((self.root[at], job.node)).or_insert(job.priority);
            *known = (*known).min(job.priority);
        }
        loop {
            // Most urgent work of delayed chains, by node.
            let mut most: HashMap<usize, (Option<i16>, &str)> = HashMap::new();
            for (at, job) in jobs.jobs.iter().enumerate() {
                let Some(reason) = self.reasons.get(&self.root[at]) else { continue };
                let known = most.entry(job.node).or_insert((job.priority, reason));
                if job.priority > known.0 {
                    *known = (job.priority, reason);
                }
            }
            let mut more: BTreeMap<usize, String> = BTreeMap::new();
            for ((root, node), priority) in &least {
                if let Some((late, reason)) = most.get(node)
                    && priority <= late
                    && !self.reasons.contains_key(root)
                {
                    more.insert(*root, (*reason).to_owned());
                }
            }
            if more.is_empty() {
                return;
            }
            self.reasons.extend(more);
        }
    }
}

/// Marks the chains that are not proved, and returns a warning for each reason.
pub(super) fn check(
    plan: &Plan,
    resources: &ServerResources,
    jobs: &Jobs<'_>,
    timing: &mut Timing,
) -> Vec<Finding> {
    let lookup = Lookup::of(resources);
    let mut doubts = Doubts::of(jobs);
    carriers(plan, &lookup, jobs, &mut doubts);
    consumers(plan, &lookup, jobs, &mut doubts);
    threads::check(plan, resources, jobs, &mut doubts);
    doubts.spread(jobs);
    // The analysis has a chain for each job, in the order of the jobs.
    for (chain, root) in timing.chains.iter_mut().zip(&doubts.root) {
        chain.unproved = doubts.reasons.get(root).cloned();
    }
    doubts.findings
}

/// Warns of sources whose events pass through the carrier of an executable, which the documents do not describe. It may
/// delay all works of the plan: for example, it may push events in the publishing thread.
fn carriers(plan: &Plan, lookup: &Lookup<'_>, jobs: &Jobs<'_>, doubts: &mut Doubts) {
    let handed = jobs.visits.iter().filter(|visit| !visit.is_awaited);
    let sources = handed.filter_map(|visit| Some(jobs.visits[visit.from?].instance));
    let attached = sources.filter_map(|at| Some((at, lookup.attachment(&plan.instance[at].name)?)));
    let carried = attached.filter(|(_, it)| it.events == Some(Events::Executable));
    let carried: BTreeMap<usize, _> = carried.collect();
    let Some((_, first)) = carried.first_key_value() else { return };
    let names = listed(carried.values().map(|attachment| &*attachment.name));
    let what = format!(
        "the bounds assume that the carrier of the executable pushes the events of {names} to each consumer at once, \
         in a thread of the consumer's priority, which nothing ensures: no deadline of this plan is proved"
    );
    let cure = "use events = \"channel\" or \"direct\", or measure the responses";
    doubts.say(Finding::warning(first.place, what).cure(cure));
    (0..jobs.jobs.len()).for_each(|job| doubts.delay(job, "the carrier of the executable"));
}

/// Warns of consumers of a channel that have a priority, but declare none in their references: the channel pushes to
/// them in ordinary threads.
fn consumers(plan: &Plan, lookup: &Lookup<'_>, jobs: &Jobs<'_>, doubts: &mut Doubts) {
    let mut told: BTreeSet<usize> = BTreeSet::new();
    for visit in jobs.visits.iter().filter(|visit| visit.from.is_some() && !visit.is_awaited) {
        let instance = &plan.instance[visit.instance];
        let Accepts::Ordinary(Some(priority)) = lookup.accepts(instance) else { continue };
        doubts.delay(visit.job, "the thread in which the channel pushes");
        if !told.insert(visit.instance) {
            continue;
        }
        let what = format!(
            "the bounds assume that {} receives events at the priority {priority} of its pool, but a channel pushes \
             them in an ordinary thread, because its policy set has no priority model: its deadlines are not proved",
            instance.name
        );
        let place = lookup.attachment(&instance.name).map(|it| it.place).unwrap_or_default();
        doubts.say(Finding::warning(place, what).cure("add a priorityModel to the policy set"));
    }
}
