//! Assumptions of the analysis that nothing ensures: chains whose bounds depend on them are not proved.

use std::collections::BTreeSet;

use super::jobs::Jobs;
use super::timing::Timing;
use crate::finding::{Finding, Source, listed};
use crate::model::plan::Plan;
use crate::model::rtcad::ServerResources;

/// Marks the chains that are not proved, and returns a warning for each reason.
pub(super) fn check(
    plan: &Plan,
    resources: &ServerResources,
    jobs: &Jobs<'_>,
    timing: &mut Timing,
) -> Vec<Finding> {
    channels(plan, resources, jobs, timing).into_iter().collect()
}

/// Warns of sources whose events pass through the channel of an executable, which the documents do not describe. It may
/// delay all works of the plan: for example, it may push events in the publishing thread.
fn channels(
    plan: &Plan,
    resources: &ServerResources,
    jobs: &Jobs<'_>,
    timing: &mut Timing,
) -> Option<Finding> {
    let handed = jobs.visits.iter().filter(|visit| !visit.is_awaited);
    let sources = handed.filter_map(|visit| Some(jobs.visits[visit.from?].instance));
    let sources: BTreeSet<usize> = sources.collect();
    let first = &plan.instance[*sources.first()?].name;
    let names = listed(sources.iter().map(|&at| &*plan.instance[at].name));
    let what = format!(
        "the bounds assume that the event channel of the executable pushes the events of {names} to each consumer at \
         once, in a thread of the consumer's priority, which nothing ensures: no deadline of this plan is proved"
    );
    for chain in &mut timing.chains {
        chain.unproved = Some("the threads of an event channel".to_owned());
    }
    let place = resources.attachment(first).map(|attachment| attachment.place).unwrap_or_default();
    let cure = "use events = \"direct\", or provide such a channel and measure the responses";
    Some(Finding::warning(place, what).cure(cure).within(Source::Rtcad))
}
