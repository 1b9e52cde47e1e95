//! The part of a plan that runs in one process.

use std::collections::{BTreeSet, HashSet};

use oxorb_deploy::Process;
use oxorb_deploy::plan::{Endpoint, ExternalReference, Implementation, Plan};

/// Prefix of the location of an external reference to an instance in another process. The name of the instance follows.
const ELSEWHERE: &str = "plan:";

/// Property of an implementation that contains the kind of its instances.
const IMPLEMENTATION_TYPE: &str = "edu.vanderbilt.dre.DAnCE.ImplementationType";

/// Value of [`IMPLEMENTATION_TYPE`] for instances that represent their process.
const LOCALITY_MANAGER: &str = "edu.vanderbilt.dre.DAnCE.LocalityManager";

/// Returns the part of a plan that runs in a process: its instances, their implementations, and their connections.
///
/// Ends of connections at instances of other processes become external references with the location `plan:INSTANCE`.
/// The references to these objects are later passed to [`Locality::finish`](crate::Locality::finish).
pub fn part(plan: &Plan, process: &Process) -> Plan {
    let own: BTreeSet<usize> = process.instances.iter().copied().collect();
    let mut part = plan.clone();
    part.instance = own.iter().map(|&at| plan.instance[at].clone()).collect();
    let ids: HashSet<&str> = own.iter().map(|&at| &*plan.instance[at].id.0).collect();
    let has = |id: &str| ids.contains(id);
    part.connection.retain(|connection| {
        let mut ends = connection.internal_endpoint.iter();
        ends.any(|end| has(&end.instance.id))
    });
    for connection in &mut part.connection {
        let (inside, outside): (Vec<_>, Vec<_>) = std::mem::take(&mut connection.internal_endpoint)
            .into_iter()
            .partition(|end| has(&end.instance.id));
        connection.internal_endpoint = inside;
        let outside = outside.iter().filter_map(|end| elsewhere(plan, end));
        connection.external_reference.extend(outside);
    }
    let used: HashSet<&str> = part.instance.iter().map(|one| &*one.implementation.id).collect();
    part.implementation.retain(|one| used.contains(&*one.id.0));
    let used = part.implementation.iter().flat_map(|it| &it.artifact);
    let used: HashSet<&str> = used.map(|to| &*to.id).collect();
    part.artifact.retain(|one| used.contains(&*one.id.0));
    for mapping in &mut part.external_property {
        mapping.delegates_to.retain(|to| has(&to.instance.id));
    }
    part.external_property.retain(|one| !one.delegates_to.is_empty());
    for constraint in &mut part.locality_constraint {
        constraint.constrained_instance.retain(|to| has(&to.id));
    }
    part.locality_constraint.retain(|one| !one.constrained_instance.is_empty());
    part
}

fn elsewhere(plan: &Plan, end: &Endpoint) -> Option<ExternalReference> {
    let instance = &plan.instance[plan.instance_at(&end.instance)?];
    Some(ExternalReference {
        location: format!("{ELSEWHERE}{}", instance.name),
        provider: Some(end.provides()),
        port_name: Some(end.port_name.clone()),
        place: end.place,
        ..ExternalReference::default()
    })
}

/// Returns the instance in another process to which an external reference refers.
pub(crate) fn instance_elsewhere(reference: &ExternalReference) -> Option<&str> {
    reference.location.strip_prefix(ELSEWHERE)
}

/// Reports whether instances of an implementation represent their process, as in DAnCE's plans. Such instances are not
/// components.
pub(crate) fn stands_for_process(implementation: &Implementation) -> bool {
    let mut parameters = implementation.exec_parameter.iter();
    let kind = parameters.find(|one| one.name == IMPLEMENTATION_TYPE);
    kind.and_then(|kind| kind.value.as_text()) == Some(LOCALITY_MANAGER)
}
