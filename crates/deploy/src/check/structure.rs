//! Checks of a plan's structure: every instance on a node, every connection between matching ends.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::pairs::{MOST_PAIRS, too_many_pairs};
use super::{Input, rings};
use crate::finding::{Finding, Findings, listed};
use crate::model::basic::PortKind;
use crate::model::plan::{Connection, Endpoint, Instance, LocalityKind, Plan};

pub(super) fn check(input: &Input<'_>) -> Findings {
    let mut findings = input.plan.references();
    if findings.has_errors() {
        return findings;
    }
    placed(input, &mut findings);
    artifacts(input.plan, &mut findings);
    connections(input.plan, &mut findings);
    rings::check(input.plan, &mut findings);
    localities(input.plan, &mut findings);
    findings
}

fn placed(input: &Input<'_>, findings: &mut Findings) {
    let known: Option<BTreeSet<&str>> =
        input.domain.map(|domain| domain.node.iter().map(|node| &*node.name).collect());
    let cure = known.as_ref().map(|known| format!("it has {}", listed(known.iter().copied())));
    for instance in &input.plan.instance {
        let node = instance.node.as_deref().unwrap_or_default();
        if node.trim().is_empty() {
            let what = format!("instance {:?} is on no node", instance.name);
            findings.push(Finding::error(instance.place, what).cure("specify a node"));
        } else if let Some(cure) =
            cure.as_ref().filter(|_| known.as_ref().is_some_and(|known| !known.contains(node)))
        {
            let what = format!(
                "instance {:?} is on node {node:?}, which the domain does not have",
                instance.name
            );
            findings.push(Finding::error(instance.place, what).cure(cure.clone()));
        }
    }
}

fn artifacts(plan: &Plan, findings: &mut Findings) {
    for artifact in &plan.artifact {
        if artifact.location.iter().all(|location| location.trim().is_empty()) {
            let what = format!("artifact {:?} has no location", artifact.name);
            findings.push(Finding::error(artifact.place, what).cure("add a location"));
        }
    }
    let used: HashSet<&str> =
        plan.instance.iter().map(|instance| &*instance.implementation.id).collect();
    for implementation in plan.implementation.iter().filter(|it| !used.contains(&*it.id.0)) {
        let what = format!("no instance uses implementation {:?}", implementation.name);
        findings.push(Finding::warning(implementation.place, what));
    }
}

/// Reports whether only one connection may end at a port of this kind.
fn is_single(kind: PortKind) -> bool {
    matches!(kind, PortKind::SimplexReceptacle | PortKind::EventEmitter)
}

fn connections(plan: &Plan, findings: &mut Findings) {
    let instances: HashMap<&str, &Instance> =
        plan.instance.iter().map(|one| (&*one.id.0, one)).collect();
    let name = |end: &Endpoint| {
        let instance = instances.get(&*end.instance.id).map_or("", |instance| &*instance.name);
        format!("{instance}.{}", end.port_name)
    };
    let mut kinds: HashMap<(&str, &str), PortKind> = HashMap::new();
    let mut single: HashMap<(&str, &str), &str> = HashMap::new();
    let mut names = HashMap::new();
    for connection in &plan.connection {
        if let Some(first) = names.insert(&*connection.name, connection.place) {
            let what = format!("connection {:?} occurs twice, first at {first}", connection.name);
            findings
                .push(Finding::error(connection.place, what).cure("give one of them another name"));
        }
        findings.extend(ends(connection, &name));
        for end in &connection.internal_endpoint {
            let port = (&*end.instance.id, &*end.port_name);
            let known = *kinds.entry(port).or_insert(end.kind);
            if known != end.kind {
                let what = format!(
                    "{} is a {} here, but a {} elsewhere",
                    name(end),
                    end.kind.text(),
                    known.text()
                );
                findings.push(Finding::error(end.place, what));
            }
            // Extended ports and mirror ports both provide and use, so `provider` says nothing about them.
            if end.provider.is_some_and(|said| said != end.kind.provides())
                && !end.kind.is_extended()
            {
                let what = format!("a {} never has provider {}", end.kind.text(), end.provides());
                findings.push(
                    Finding::error(end.place, what).cure("omit provider: the kind determines it"),
                );
            }
            if !is_single(end.kind) {
                continue;
            }
            if let Some(first) = single.insert(port, &connection.name) {
                let what = format!(
                    "{} accepts one connection, but {first:?} and {:?} are two",
                    name(end),
                    connection.name
                );
                let cure = "a MultiplexReceptacle or an EventPublisher accepts several";
                findings.push(Finding::error(end.place, what).cure(cure));
            }
        }
    }
}

/// Checks that a connection joins providers with users.
fn ends(connection: &Connection, name: &impl Fn(&Endpoint) -> String) -> Vec<Finding> {
    let inner = &connection.internal_endpoint;
    let outer = connection.external_endpoint.len() + connection.external_reference.len();
    let mut findings = Vec::new();
    let mut wrong =
        |what: String, cure: &str| findings.push(Finding::error(connection.place, what).cure(cure));
    if inner.len() + outer < 2 {
        wrong(
            format!("connection {:?} has fewer than two ends", connection.name),
            "name both ports",
        );
        return findings;
    }
    let providers: Vec<&Endpoint> = inner.iter().filter(|end| end.kind.provides()).collect();
    let users: Vec<&Endpoint> = inner.iter().filter(|end| !end.kind.provides()).collect();
    if outer == 0 && (providers.is_empty() || users.is_empty()) {
        let both = if providers.is_empty() {
            "uses, but none provides"
        } else {
            "provides, but none uses"
        };
        let cure =
            "one end is a Facet or an EventConsumer, the other a receptacle or a source of events";
        wrong(format!("each end of connection {:?} {both}", connection.name), cure);
    }
    if too_many_pairs(connection) {
        wrong(
            format!(
                "connection {:?} joins {} ends that provide with {} that use, and more than {MOST_PAIRS} pairs, the limit",
                connection.name,
                providers.len(),
                users.len()
            ),
            "divide it into several connections",
        );
        return findings;
    }
    for (provider, user) in
        providers.iter().flat_map(|&one| users.iter().map(move |&other| (one, other)))
    {
        if provider.kind.is_event() != user.kind.is_event()
            || provider.kind.is_extended() != user.kind.is_extended()
        {
            let what = format!(
                "connection {:?} joins {}, a {}, with {}, a {}",
                connection.name,
                name(user),
                user.kind.text(),
                name(provider),
                provider.kind.text()
            );
            let cure = "connect receptacles with facets, event sources with consumers, and extended ports with mirror \
                        ports";
            findings.push(Finding::error(user.place, what).cure(cure));
            break;
        }
    }
    findings
}

fn localities(plan: &Plan, findings: &mut Findings) {
    let instances: HashMap<&str, &Instance> =
        plan.instance.iter().map(|one| (&*one.id.0, one)).collect();
    let mut together: HashMap<&str, usize> = HashMap::new();
    let of_kind = |kind| {
        plan.locality_constraint.iter().enumerate().filter(move |(_, one)| one.constraint == kind)
    };
    for (at, constraint) in of_kind(LocalityKind::SameProcess) {
        let mut first: Option<&Instance> = None;
        for to in &constraint.constrained_instance {
            let Some(instance) = instances.get(&*to.id) else {
                continue;
            };
            if let Some(first) = first.filter(|first| first.node != instance.node) {
                let what = format!(
                    "{:?} and {:?} share a process, but are on different nodes",
                    first.name, instance.name
                );
                findings.push(
                    Finding::error(to.place, what).cure("put them on one node, or separate them"),
                );
            }
            first = first.or(Some(instance));
            if together.insert(&to.id, at).is_some_and(|before| before != at) {
                let what = format!("{:?} shares two processes", instance.name);
                findings.push(Finding::error(to.place, what).cure("list it in one constraint"));
            }
        }
    }
    for (_, constraint) in of_kind(LocalityKind::DifferentProcess) {
        let mut seen: HashMap<usize, &str> = HashMap::new();
        for to in &constraint.constrained_instance {
            let Some(group) = together.get(&*to.id) else {
                continue;
            };
            if let Some(other) = seen.insert(*group, &to.id) {
                let what = format!(
                    "{other:?} and {:?} must not share a process, but another constraint requires it",
                    to.id
                );
                findings.push(Finding::error(to.place, what));
            }
        }
    }
}
