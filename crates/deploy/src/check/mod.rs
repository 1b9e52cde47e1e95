//! Checks of a plan before its deployment: structure, policies, rates, and deadlines.

mod assign;
mod bursts;
mod doubts;
mod jobs;
mod limited;
mod lookup;
mod pairs;
mod policies;
mod ports;
mod rings;
mod structure;
mod threads;
mod timing;

use crate::finding::{Finding, Severity};
use crate::model::domain::Domain;
use crate::model::plan::Plan;
use crate::model::rtcad::ServerResources;

pub use assign::{Assigned, assign};
pub use lookup::Lookup;
pub use policies::set_of;
pub use ports::{ComponentType, Components, Port, type_of};
pub(crate) use ports::{Factories, factories, is_setting, type_among};
pub use timing::{Chain, Timing};

/// Documents that are checked together.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Plan.
    pub plan: &'a Plan,
    /// Real-time resources of the plan's instances.
    pub resources: Option<&'a ServerResources>,
    /// Domain, with the existing nodes.
    pub domain: Option<&'a Domain>,
    /// Component types, from IDL.
    pub components: Option<&'a Components>,
}

/// Result of a check.
#[derive(Debug, Clone)]
pub struct Report {
    /// Findings, the most severe first, otherwise in the order of the documents; at most 100 of each severity.
    pub findings: Vec<Finding>,
    /// Number of errors that were omitted.
    pub more_errors: usize,
    /// Response times; `None` if the resources have no works, or errors prevent the analysis.
    pub timing: Option<Timing>,
}

impl Report {
    /// Reports whether no error prevents deployment.
    pub fn is_good(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// Checks a plan, with the other documents of the input.
///
/// Takes time linear in the documents, except for the analysis of response times, which takes O(n^2) for n works on one
/// node and is bounded by [`Timing::MOST_JOBS`], and for the search for the bursts of ports with enforced rates, which
/// examines at most 1,000 arrival times of each port.
pub fn check(input: &Input<'_>) -> Report {
    let mut findings = structure::check(input);
    if let Some(components) = input.components {
        findings.extend(ports::check(input.plan, components));
    }
    let mut timing = None;
    if let Some(resources) = input.resources {
        findings.extend(policies::check(input.plan, resources));
        findings.extend(limited::check(input));
        let is_sound = !findings.has_errors();
        let has_work = resources.instance.iter().any(|instance| !instance.work.is_empty());
        if is_sound && has_work {
            match jobs::Jobs::of(input.plan, resources) {
                Ok(jobs) => {
                    findings.extend(jobs.findings.iter().cloned());
                    let mut found = timing::analyse(&jobs);
                    findings.extend(found.findings());
                    findings.extend(doubts::check(input.plan, resources, &jobs, &mut found));
                    findings.extend(bursts::check(input.plan, resources, &jobs, &found));
                    timing = Some(found);
                }
                Err(wrong) => findings.extend(wrong),
            }
        }
    }
    let more_errors = findings.more_errors();
    let mut findings = findings.into_kept();
    findings.sort_by_key(|finding| finding.severity);
    Report { findings, more_errors, timing }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::model::rtcad::Beyond;
    use crate::{Document, Format, Limits, search};

    /// Returns a plan of pairs: a source, and an instance that it pushes to and calls, each with a policy set, a delay
    /// and a work.
    fn documents(pairs: usize) -> (Plan, ServerResources) {
        let mut plan = "[[implementation]]\nname = \"I\"\n".to_owned();
        let mut resources = "document = \"ServerResources\"\n".to_owned();
        for at in 0..pairs {
            for (end, node) in [("from", "a"), ("to", "b")] {
                let _ = writeln!(
                    plan,
                    "[[instance]]\nname = \"{end}{at}\"\nnode = \"{node}\"\nimplementation = \"I\""
                );
            }
            let _ = writeln!(
                plan,
                "[[connection]]\nname = \"event{at}\"\nEventPublisher = \"from{at}.out\"\nEventConsumer = \"to{at}.in\"\n\
                 [[connection]]\nname = \"call{at}\"\nSimplexReceptacle = \"from{at}.uses\"\nFacet = \"to{at}.has\""
            );
            let _ = writeln!(
                resources,
                "[[orbConfigs.policySet]]\nid = \"set{at}\"\n\
                 priorityModel = {{ server_priority = 10, priority_model = \"SERVER_DECLARED\" }}\n\
                 [[instance]]\nname = \"from{at}\"\npolicySet = \"set{at}\"\nreceptaclePolicy = \"set{at}\"\n\
                 work = [{{ wcet = \"1 us\", period = \"1 s\", emits = [\"out\"], calls = [\"uses\"] }}]\n\
                 [[instance]]\nname = \"to{at}\"\npolicySet = \"set{at}\"\n\
                 work = [{{ port = \"in\", wcet = \"1 us\" }}, {{ port = \"has\", wcet = \"1 us\" }}]\n\
                 [[connection]]\nname = \"event{at}\"\ndelay = \"1 us\"\n\
                 [[connection]]\nname = \"call{at}\"\ndelay = \"1 us\""
            );
        }
        let read = |text: &str| Document::read(text, Format::Toml, &Limits::default()).unwrap();
        (read(&plan).into_plan().unwrap(), read(&resources).into_resources().unwrap())
    }

    /// Returns the number of comparisons in searches while a plan is checked and its priorities are assigned.
    fn compared(pairs: usize) -> usize {
        let (plan, resources) = documents(pairs);
        let before = search::compared();
        let report = check(&Input {
            plan: &plan,
            resources: Some(&resources),
            domain: None,
            components: None,
        });
        assert!(report.is_good(), "{:?}", report.findings.first());
        assert_eq!(report.timing.unwrap().chains.len(), 3 * pairs);
        assign(&plan, &resources).unwrap();
        search::compared() - before
    }

    #[test]
    fn searches_grow_as_documents_do() {
        let (small, large) = (compared(10), compared(100));
        assert!(
            large <= 10 * small,
            "ten times the document compares {large} items, and not {small}"
        );
        let (plan, resources) = documents(20);
        let before = search::compared();
        let found = |instance| resources.attachment(instance).is_some();
        assert!(plan.instance.iter().all(|one| found(&one.name)), "what is counted");
        assert_eq!(search::compared() - before, 40 * 41 / 2);
    }

    #[test]
    fn component_types_are_indexed_once_for_all_enforced_rates() {
        let (plan, mut resources) = documents(20);
        let works = resources.instance.iter_mut().flat_map(|one| &mut one.work);
        let at_ports = works.filter(|work| work.port.is_some());
        at_ports.for_each(|work| work.beyond = Some(Beyond::Refuse));
        let types = (0..7).map(|at| (format!("M::C{at}"), ComponentType::default()));
        let components: Components = types.collect();
        let before = search::compared();
        limited::check(&Input {
            plan: &plan,
            resources: Some(&resources),
            domain: None,
            components: Some(&components),
        });
        assert_eq!(search::compared() - before, components.len());
    }
}
