//! Checks that work with an enforced rate is at a port whose rate can be enforced.

use std::collections::HashMap;

use super::{Input, Lookup, factories, type_among};
use crate::finding::{Finding, Source};
use crate::model::basic::PortKind;
use crate::model::plan::Implementation;
use crate::model::rtcad::Beyond;

/// Checks the ports of work with an enforced rate. The kind of a port is the one in IDL. If the component type of the
/// instance is not known, the kind is the one in the plan's connections. The sources in `emits` are checked where the
/// chains of work are made.
pub(super) fn check(input: &Input<'_>) -> Vec<Finding> {
    let Some(resources) = input.resources else {
        return Vec::new();
    };
    let (plan, lookup) = (input.plan, Lookup::of(resources));
    let implementations: HashMap<&str, &Implementation> =
        plan.implementation.iter().map(|one| (&*one.id.0, one)).collect();
    let ends = plan.connection.iter().flat_map(|connection| &connection.internal_endpoint);
    let connected: HashMap<(&str, &str), PortKind> =
        ends.map(|end| ((&*end.instance.id, &*end.port_name), end.kind)).collect();
    let known = input.components.map(|components| (components, factories(components)));
    let mut findings = Vec::new();
    for instance in &plan.instance {
        let Some(attachment) = lookup.attachment(&instance.name) else {
            continue;
        };
        let works = attachment.work.iter().filter(|work| work.beyond == Some(Beyond::Refuse));
        let works: Vec<_> =
            works.filter_map(|work| Some((work.place, work.port.as_deref()?))).collect();
        if works.is_empty() {
            continue;
        }
        let implementation = implementations.get(&*instance.implementation.id);
        let component = implementation.zip(known.as_ref()).and_then(|(one, known)| {
            let (_, component) = type_among(one, known.0, &known.1).ok().flatten()?;
            Some(component)
        });
        for (place, port) in works {
            let kind = match component {
                Some(component) => component.ports.get(port).map(|port| port.kind),
                None => connected.get(&(&*instance.id.0, port)).copied(),
            };
            let Some(kind) = kind.filter(|kind| !can_be_limited(*kind)) else {
                continue;
            };
            let what = format!(
                "work of {:?} enforces a rate at port {port:?}, which is a {}",
                instance.name,
                kind.text()
            );
            let cure = "name a facet or sink, or list the source in emits of work without a port";
            findings.push(Finding::error(place, what).cure(cure).within(Source::Rtcad));
        }
    }
    findings
}

/// Reports whether the rate of work at a port of this kind can be enforced.
fn can_be_limited(kind: PortKind) -> bool {
    matches!(kind, PortKind::Facet | PortKind::EventConsumer)
}
