//! Checks of a plan before anything runs: structure, policies, rates, and whether all of it is in time.

mod assign;
mod jobs;
mod pairs;
mod policies;
mod ports;
mod structure;
mod timing;

use crate::finding::{Finding, Severity};
use crate::model::domain::Domain;
use crate::model::plan::Plan;
use crate::model::rtcad::ServerResources;

pub use assign::{Assigned, assign};
pub use policies::set_of;
pub use ports::{ComponentType, Components, Port, type_of};
pub use timing::{Chain, Timing};

/// What is checked together.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Real-time resources of its instances.
    pub resources: Option<&'a ServerResources>,
    /// Nodes that there are.
    pub domain: Option<&'a Domain>,
    /// Types of components, from IDL.
    pub components: Option<&'a Components>,
}

/// Result of a check.
#[derive(Debug, Clone)]
pub struct Report {
    /// All findings, the gravest first, and in the order of the documents otherwise.
    pub findings: Vec<Finding>,
    /// Response times; `None` where the resources tell of no work, or errors forbid the analysis.
    pub timing: Option<Timing>,
}

impl Report {
    /// Reports whether nothing forbids deployment.
    pub fn is_good(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != Severity::Error)
    }
}

/// Checks a plan with all that is known beside it.
///
/// Takes time linear in the documents, but for the analysis of response times, which takes O(n^2) for n pieces of work on one
/// node and is bounded by [`Timing::MOST_JOBS`].
pub fn check(input: &Input<'_>) -> Report {
    let mut findings = structure::check(input);
    if let Some(components) = input.components {
        findings.extend(ports::check(input.plan, components));
    }
    let mut timing = None;
    if let Some(resources) = input.resources {
        findings.extend(policies::check(input.plan, resources));
        let is_sound = findings
            .iter()
            .all(|finding| finding.severity != Severity::Error);
        let has_work = resources
            .instance
            .iter()
            .any(|instance| !instance.work.is_empty());
        if is_sound && has_work {
            match jobs::Jobs::of(input.plan, resources) {
                Ok(jobs) => {
                    findings.extend(jobs.findings.iter().cloned());
                    let found = timing::analyse(&jobs);
                    findings.extend(found.findings());
                    timing = Some(found);
                }
                Err(wrong) => findings.extend(wrong),
            }
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    Report { findings, timing }
}
