//! Conversion of plans from the structs to documents.

use std::collections::{HashMap, HashSet};

use oxorb_deploy::basic::{self, PortKind, TypeOnly};
use oxorb_deploy::plan::{self, LocalityKind, Plan};
use oxorb_deploy::{Id, Ref};

use super::WireError;
use super::value::{ValueBudget, plan_type, value_of};
use crate::idl::deployment as idl;

type Result<T> = std::result::Result<T, WireError>;

/// Maximum number of implementations, instances, artifacts, connections or constraints of a plan. Larger plans are
/// refused before the conversion, which takes several times the memory of the message.
const MOST_ELEMENTS: usize = 100_000;

/// Maximum number of references between elements of a plan. A document may have the same number of elements. A
/// reference takes four octets in a message, and more than a hundred in a document.
const MOST_REFERENCES: usize = 500_000;

/// Maximum total length in octets of the names of referenced elements. A name is counted for each reference, because
/// each reference contains a copy of the name.
const MOST_REFERRED: usize = 64 << 20;

/// Converts a struct to a plan. Names are used as ids; if several elements have the same name, a number is appended.
///
/// # Errors
/// Indices out of range; values of types that plans do not support; more than 100,000 elements of a kind; more than
/// 500,000 references between elements; more than 64 MiB of names that these references copy. The types of all
/// properties together, and also their values, have at most 2,000,000 parts, and both have at most 64 MiB of names and
/// texts.
pub fn from_wire(plan: &idl::DeploymentPlan) -> Result<Plan> {
    check_counts(plan)?;
    let left = &mut ValueBudget::of_plan();
    let mut taken = Taken::default();
    let implementations = taken.ids(plan.implementation.iter().map(|one| &*one.name));
    let instances = taken.ids(plan.instance.iter().map(|one| &*one.name));
    let artifacts = taken.ids(plan.artifact.iter().map(|one| &*one.name));

    let mut read = Plan {
        label: option(&plan.label),
        uuid: option(&plan.uuid),
        realizes: interface(&plan.realizes, left)?,
        info_property: properties(&plan.info_property, left)?,
        ..Plan::default()
    };
    for (one, id) in plan.implementation.iter().zip(&implementations) {
        read.implementation.push(plan::Implementation {
            id: id.clone(),
            name: one.name.clone(),
            source: one.source.clone(),
            artifact: each(&one.artifact_ref, |&at| find(&artifacts, at, &one.name))?,
            exec_parameter: properties(&one.exec_parameter, left)?,
            deploy_requirement: requirements(&one.deploy_requirement, left)?,
            ..plan::Implementation::default()
        });
    }
    for (one, id) in plan.instance.iter().zip(&instances) {
        read.instance.push(plan::Instance {
            id: id.clone(),
            name: one.name.clone(),
            node: option(&one.node),
            source: one.source.clone(),
            implementation: find(&implementations, one.implementation_ref, &one.name)?,
            config_property: properties(&one.config_property, left)?,
            deployed_resource: each(&one.deployed_resource, |one| instance_resource(one, left))?,
            deployed_shared_resource: each(&one.deployed_shared_resource, |one| {
                instance_resource(one, left)
            })?,
            ..plan::Instance::default()
        });
    }
    for (one, id) in plan.artifact.iter().zip(&artifacts) {
        read.artifact.push(artifact(one, id, left)?);
    }
    read.connection = each(&plan.connection, |one| connection(one, &instances, left))?;
    read.external_property = each(&plan.external_property, |one| {
        Ok(plan::ExternalProperty {
            name: one.name.clone(),
            source: one.source.clone(),
            external_name: one.external_name.clone(),
            delegates_to: each(&one.delegates_to, |to| {
                Ok(plan::PropertyReference {
                    property_name: to.property_name.clone(),
                    instance: find(&instances, to.instance_ref, &one.name)?,
                    ..plan::PropertyReference::default()
                })
            })?,
            ..plan::ExternalProperty::default()
        })
    })?;
    read.depends_on = each(&plan.depends_on, |one| {
        Ok(basic::ImplementationDependency {
            required_type: one.required_type.clone(),
            ..basic::ImplementationDependency::default()
        })
    })?;
    read.locality_constraint = each(&plan.locality_constraint, |one| {
        Ok(plan::LocalityConstraint {
            constraint: match one.constraint {
                idl::PlanLocalityKind::PlanSameProcess => LocalityKind::SameProcess,
                idl::PlanLocalityKind::PlanDifferentProcess => LocalityKind::DifferentProcess,
                idl::PlanLocalityKind::PlanNoConstraint => LocalityKind::NoConstraint,
            },
            constrained_instance: each(&one.constrained_instance_ref, |&at| {
                find(&instances, at, "localityConstraint")
            })?,
            ..plan::LocalityConstraint::default()
        })
    })?;
    Ok(read)
}

fn check_counts(plan: &idl::DeploymentPlan) -> Result<()> {
    let counts = [
        ("implementations", plan.implementation.len()),
        ("instances", plan.instance.len()),
        ("artifacts", plan.artifact.len()),
        ("connections", plan.connection.len()),
        ("constraints", plan.locality_constraint.len()),
    ];
    let refuse = |what: String| Err(WireError::new(&plan.label, what));
    if let Some((what, count)) = counts.iter().find(|(_, count)| *count > MOST_ELEMENTS) {
        return refuse(format!(
            "it has {count} {what}, but the limit is {MOST_ELEMENTS}; divide it into several plans"
        ));
    }
    let (many, octets) = references(plan);
    if many > MOST_REFERENCES {
        return refuse(format!(
            "its elements refer {many} times to others, but the limit is {MOST_REFERENCES}; divide it into several \
             plans"
        ));
    }
    if octets > MOST_REFERRED {
        return refuse(format!(
            "its elements refer to others by {octets} octets of names, but the limit is {MOST_REFERRED}; shorten the \
             names, or divide it into several plans"
        ));
    }
    Ok(())
}

/// Returns the number of references between elements of a plan, and the total size in octets of the referenced names.
fn references(plan: &idl::DeploymentPlan) -> (usize, usize) {
    let instance = |at: u32| plan.instance.get(at as usize).map_or(0, |one| one.name.len());
    let artifact = |at: u32| plan.artifact.get(at as usize).map_or(0, |one| one.name.len());
    let implementation =
        |at: u32| plan.implementation.get(at as usize).map_or(0, |one| one.name.len());
    let artifacts = plan.implementation.iter().flat_map(|one| &one.artifact_ref);
    let implementations = plan.instance.iter().map(|one| one.implementation_ref);
    let ends = plan.connection.iter().flat_map(|one| &one.internal_endpoint);
    let mapped = plan.external_property.iter().flat_map(|one| &one.delegates_to);
    let constrained = plan.locality_constraint.iter().flat_map(|one| &one.constrained_instance_ref);
    let lengths = artifacts
        .map(|&at| artifact(at))
        .chain(implementations.map(implementation))
        .chain(ends.map(|end| instance(end.instance_ref)))
        .chain(mapped.map(|to| instance(to.instance_ref)))
        .chain(constrained.map(|&at| instance(at)));
    lengths.fold((0, 0), |(many, octets): (usize, usize), length| {
        (many + 1, octets.saturating_add(length))
    })
}

/// Ids of a plan that are in use. Ids are not empty, and are unique over all kinds of elements.
#[derive(Default)]
struct Taken<'p> {
    ids: HashSet<String>,
    /// Next number to append to each name, so that numbers in use are not tried again.
    next: HashMap<&'p str, usize>,
}

impl<'p> Taken<'p> {
    fn ids(&mut self, names: impl Iterator<Item = &'p str>) -> Vec<Id> {
        names.map(|name| self.id(name)).collect()
    }

    fn id(&mut self, name: &'p str) -> Id {
        let name = match name.trim() {
            "" => "unnamed",
            name => name,
        };
        let mut id = name.to_owned();
        while !self.ids.insert(id.clone()) {
            let next = self.next.entry(name).or_insert(2);
            id = format!("{name}-{next}");
            *next += 1;
        }
        Id(id)
    }
}

fn find(among: &[Id], at: u32, of: &str) -> Result<Ref> {
    let found = among.get(at as usize).map(|id| Ref::to(&*id.0));
    found.ok_or_else(|| {
        let what = format!("index {at} is out of range: there are {}", among.len());
        WireError::new(of, what)
    })
}

pub(super) fn each<T, U>(items: &[T], of: impl FnMut(&T) -> Result<U>) -> Result<Vec<U>> {
    items.iter().map(of).collect()
}

pub(super) fn option(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn properties(
    properties: &[idl::Property],
    left: &mut ValueBudget,
) -> Result<Vec<basic::Property>> {
    each(properties, |one| {
        let value = value_of(&one.value, left);
        let value = value.map_err(|reason| WireError::new(&one.name, reason))?;
        Ok(basic::Property::of(&one.name, value))
    })
}

pub(super) fn requirements(
    requirements: &[idl::Requirement],
    left: &mut ValueBudget,
) -> Result<Vec<basic::Requirement>> {
    each(requirements, |one| {
        Ok(basic::Requirement {
            name: option(&one.name),
            resource_type: one.resource_type.clone(),
            property: properties(&one.property, left)?,
            ..basic::Requirement::default()
        })
    })
}

fn port_kind(kind: idl::CcmComponentPortKind) -> PortKind {
    use idl::CcmComponentPortKind as Wire;
    match kind {
        Wire::Facet => PortKind::Facet,
        Wire::SimplexReceptacle => PortKind::SimplexReceptacle,
        Wire::MultiplexReceptacle => PortKind::MultiplexReceptacle,
        Wire::EventEmitter => PortKind::EventEmitter,
        Wire::EventPublisher => PortKind::EventPublisher,
        Wire::EventConsumer => PortKind::EventConsumer,
        Wire::ExtendedPort => PortKind::ExtendedPort,
        Wire::MirrorPort => PortKind::MirrorPort,
    }
}

/// Converts an interface. An empty struct counts as a missing interface.
pub(super) fn interface(
    one: &idl::ComponentInterfaceDescription,
    left: &mut ValueBudget,
) -> Result<Option<basic::ComponentInterfaceDescription>> {
    let read = basic::ComponentInterfaceDescription {
        label: option(&one.label),
        uuid: option(&one.uuid),
        specific_type: option(&one.specific_type),
        supported_type: one.supported_type.clone(),
        idl_file: one.idl_file.clone(),
        config_property: properties(&one.config_property, left)?,
        port: each(&one.port, |port| {
            Ok(basic::ComponentPortDescription {
                name: port.name.clone(),
                specific_type: option(&port.specific_type),
                supported_type: port.supported_type.clone(),
                provider: Some(port.provider),
                exclusive_provider: Some(port.exclusive_provider),
                exclusive_user: Some(port.exclusive_user),
                optional: Some(port.optional),
                kind: port_kind(port.kind),
                template_param: port.template_param.clone(),
                ..basic::ComponentPortDescription::default()
            })
        })?,
        property: each(&one.property, |property| {
            let kind = plan_type(&property.r#type, 0, left);
            let kind = kind.map_err(|reason| WireError::new(&property.name, reason))?;
            Ok(basic::ComponentPropertyDescription {
                name: property.name.clone(),
                kind: TypeOnly(kind),
                ..basic::ComponentPropertyDescription::default()
            })
        })?,
        info_property: properties(&one.info_property, left)?,
        ..basic::ComponentInterfaceDescription::default()
    };
    Ok((read != basic::ComponentInterfaceDescription::default()).then_some(read))
}

fn artifact(
    one: &idl::ArtifactDeploymentDescription,
    id: &Id,
    left: &mut ValueBudget,
) -> Result<plan::Artifact> {
    Ok(plan::Artifact {
        id: id.clone(),
        name: one.name.clone(),
        source: one.source.clone(),
        node: option(&one.node),
        location: one.location.clone(),
        exec_parameter: properties(&one.exec_parameter, left)?,
        deploy_requirement: requirements(&one.deploy_requirement, left)?,
        deployed_resource: each(&one.deployed_resource, |one| {
            Ok(plan::ArtifactResource {
                requirement_name: one.requirement_name.clone(),
                resource_name: one.resource_name.clone(),
                property: properties(&one.property, left)?,
                ..plan::ArtifactResource::default()
            })
        })?,
        ..plan::Artifact::default()
    })
}

fn instance_resource(
    one: &idl::InstanceResourceDeploymentDescription,
    left: &mut ValueBudget,
) -> Result<plan::InstanceResource> {
    use basic::ResourceUsageKind as Kind;
    use idl::ResourceUsageKind as Wire;
    Ok(plan::InstanceResource {
        resource_usage: Some(match one.resource_usage {
            Wire::None => Kind::None,
            Wire::InstanceUsesResource => Kind::InstanceUsesResource,
            Wire::ResourceUsesInstance => Kind::ResourceUsesInstance,
            Wire::PortUsesResource => Kind::PortUsesResource,
            Wire::ResourceUsesPort => Kind::ResourceUsesPort,
        }),
        requirement_name: one.requirement_name.clone(),
        resource_name: one.resource_name.clone(),
        property: properties(&one.property, left)?,
        ..plan::InstanceResource::default()
    })
}

fn connection(
    one: &idl::PlanConnectionDescription,
    instances: &[Id],
    left: &mut ValueBudget,
) -> Result<plan::Connection> {
    Ok(plan::Connection {
        name: one.name.clone(),
        source: one.source.clone(),
        deploy_requirement: requirements(&one.deploy_requirement, left)?,
        external_endpoint: each(&one.external_endpoint, |end| {
            Ok(plan::ExternalEndpoint {
                port_name: end.port_name.clone(),
                ..plan::ExternalEndpoint::default()
            })
        })?,
        internal_endpoint: each(&one.internal_endpoint, |end| {
            Ok(plan::Endpoint {
                port_name: end.port_name.clone(),
                provider: Some(end.provider),
                kind: port_kind(end.kind),
                instance: find(instances, end.instance_ref, &one.name)?,
                ..plan::Endpoint::default()
            })
        })?,
        external_reference: each(&one.external_reference, |end| {
            Ok(plan::ExternalReference {
                location: end.location.clone(),
                provider: Some(end.provider),
                port_name: option(&end.port_name),
                supported_type: end.supported_type.clone(),
                ..plan::ExternalReference::default()
            })
        })?,
        deployed_resource: each(&one.deployed_resource, |resource| {
            Ok(plan::ConnectionResource {
                target_name: option(&resource.target_name),
                requirement_name: resource.requirement_name.clone(),
                resource_name: resource.resource_name.clone(),
                property: properties(&resource.property, left)?,
                ..plan::ConnectionResource::default()
            })
        })?,
        ..plan::Connection::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_equal_names_are_numbered() {
        let mut taken = Taken::default();
        let mut id = |name| taken.id(name).0;
        assert_eq!(["a", "a-3", "a", "a", " a "].map(&mut id), ["a", "a-3", "a-2", "a-4", "a-5"]);
        assert_eq!(["", "unnamed", "a-2"].map(id), ["unnamed", "unnamed-2", "a-2-2"]);
    }

    #[test]
    fn a_plan_of_too_many_elements_is_refused_before_its_elements_are_read() {
        // The index is out of range, which shows whether the elements are read: it is detected only after the check of
        // their number.
        let instance = idl::InstanceDeploymentDescription {
            implementation_ref: 7,
            ..idl::InstanceDeploymentDescription::default()
        };
        let mut plan = idl::DeploymentPlan {
            instance: vec![instance; MOST_ELEMENTS],
            ..idl::DeploymentPlan::default()
        };
        let read = from_wire(&plan).unwrap_err().to_string();
        assert!(read.contains("index 7 is out of range"), "{read}");
        plan.instance.push(plan.instance[0].clone());
        let refused = from_wire(&plan).unwrap_err().to_string();
        assert!(refused.contains("100001 instances, but the limit is 100000"), "{refused}");
    }

    #[test]
    fn references_and_the_names_that_they_copy_are_bounded() {
        let named = |name: String| idl::InstanceDeploymentDescription {
            name,
            ..idl::InstanceDeploymentDescription::default()
        };
        let constraint = |count: usize| idl::PlanLocality {
            // The indices are out of range, which is detected only after the check of the number of references.
            constrained_instance_ref: vec![7; count],
            ..idl::PlanLocality::default()
        };
        let mut plan = idl::DeploymentPlan {
            // The instance's reference to its implementation is counted too.
            instance: vec![named("a".to_owned())],
            locality_constraint: vec![constraint(100); MOST_REFERENCES / 100],
            ..idl::DeploymentPlan::default()
        };
        let refused = from_wire(&plan).unwrap_err().to_string();
        assert!(
            refused.contains("refer 500001 times to others, but the limit is 500000"),
            "{refused}"
        );
        plan.locality_constraint.pop();
        let read = from_wire(&plan).unwrap_err().to_string();
        assert!(read.contains("out of range"), "{read}");

        // Two hundred references to a name of 1 MiB are a small message, but each would become a copy of the name.
        plan.implementation = vec![idl::MonolithicDeploymentDescription::default()];
        plan.instance = vec![named("x".repeat(1 << 20))];
        let mut constraint = constraint(200);
        constraint.constrained_instance_ref.fill(0);
        plan.locality_constraint = vec![constraint];
        let refused = from_wire(&plan).unwrap_err().to_string();
        assert!(refused.contains("octets of names, but the limit is 67108864"), "{refused}");
        plan.locality_constraint[0].constrained_instance_ref.truncate(64);
        from_wire(&plan).unwrap();
    }

    #[test]
    fn each_element_of_one_name_tries_one_number() {
        const COUNT: usize = 20_000;
        let mut taken = Taken::default();
        for _ in 0..COUNT {
            taken.id("a");
        }
        assert_eq!(taken.ids.len(), COUNT);
        assert_eq!(taken.next["a"], COUNT + 1);
    }
}
