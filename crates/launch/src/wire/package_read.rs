//! Conversion of packages from the structs to documents.

use oxorb_deploy::basic::{self, SatisfierPropertyKind};
use oxorb_deploy::package::{self, AssemblyLocalityKind, Link, PackageConfiguration};
use oxorb_deploy::plan::{ExternalEndpoint, ExternalReference};
use oxorb_deploy::{Id, Ref};

use super::WireError;
use super::package_size::check_size;
use super::read::{each, interface, option, properties, requirements};
use super::value::{ValueBudget, value_of};
use crate::idl::deployment as idl;

type Result<T> = std::result::Result<T, WireError>;

/// Converts a struct to a package without links to other documents. The parts of an assembly are given ids by their
/// positions. Takes time and memory linear in the struct.
///
/// # Errors
/// Indices out of range; values of types that documents do not support; more than 100,000 elements in all sequences of
/// the struct together, or more than 16 MiB of texts and values. The types of all properties together, and also their
/// values, have at most 100,000 parts.
pub fn package_from_wire(one: &idl::PackageConfiguration) -> Result<PackageConfiguration> {
    check_size(one)?;
    configuration(one, &mut ValueBudget::of_package())
}

fn configuration(
    one: &idl::PackageConfiguration,
    left: &mut ValueBudget,
) -> Result<PackageConfiguration> {
    Ok(PackageConfiguration {
        label: option(&one.label),
        uuid: option(&one.uuid),
        base_package: each(&one.base_package, |one| description(one, left).map(here))?,
        specialized_config: each(&one.specialized_config, |one| {
            configuration(one, left).map(here)
        })?,
        select_requirement: requirements(&one.select_requirement, left)?,
        config_property: properties(&one.config_property, left)?,
        referenced_package: each(&one.referenced_package, |one| reference(one, left))?,
        imported_package: each(&one.imported_package, import)?,
        ..PackageConfiguration::default()
    })
}

fn here<T>(value: T) -> Link<T> {
    Link::Here(Box::new(value))
}

fn reference(
    one: &idl::ComponentPackageReference,
    left: &mut ValueBudget,
) -> Result<package::ComponentPackageReference> {
    Ok(package::ComponentPackageReference {
        required_uuid: option(&one.required_uuid),
        required_name: option(&one.required_name),
        required_type: interface(&one.required_type, left)?.map(here),
        ..package::ComponentPackageReference::default()
    })
}

fn import(one: &idl::ComponentPackageImport) -> Result<package::ComponentPackageImport> {
    Ok(package::ComponentPackageImport {
        location: one.location.clone(),
        ..package::ComponentPackageImport::default()
    })
}

fn description(
    one: &idl::ComponentPackageDescription,
    left: &mut ValueBudget,
) -> Result<package::ComponentPackageDescription> {
    Ok(package::ComponentPackageDescription {
        label: option(&one.label),
        uuid: option(&one.uuid),
        realizes: interface(&one.realizes, left)?.map(here),
        config_property: properties(&one.config_property, left)?,
        implementation: each(&one.implementation, |one| {
            Ok(package::PackagedImplementation {
                name: one.name.clone(),
                referenced_implementation: here(implementation(
                    &one.referenced_implementation,
                    left,
                )?),
                ..package::PackagedImplementation::default()
            })
        })?,
        info_property: properties(&one.info_property, left)?,
        ..package::ComponentPackageDescription::default()
    })
}

fn implementation(
    one: &idl::ComponentImplementationDescription,
    left: &mut ValueBudget,
) -> Result<package::ComponentImplementationDescription> {
    Ok(package::ComponentImplementationDescription {
        label: option(&one.label),
        uuid: option(&one.uuid),
        implements: interface(&one.implements, left)?.map(here),
        assembly_impl: each(&one.assembly_impl, |one| assembly(one, left))?,
        monolithic_impl: each(&one.monolithic_impl, |one| {
            Ok(package::MonolithicImplementationDescription {
                node_exec_parameter: properties(&one.node_exec_parameter, left)?,
                component_exec_parameter: properties(&one.component_exec_parameter, left)?,
                primary_artifact: each(&one.primary_artifact, |one| artifact(one, left))?,
                deploy_requirement: each(&one.deploy_requirement, |one| requirement(one, left))?,
                ..package::MonolithicImplementationDescription::default()
            })
        })?,
        config_property: properties(&one.config_property, left)?,
        capability: each(&one.capability, |one| {
            Ok(package::Capability {
                name: one.name.clone(),
                resource_type: one.resource_type.clone(),
                property: each(&one.property, |one| satisfier(one, left))?,
                ..package::Capability::default()
            })
        })?,
        depends_on: each(&one.depends_on, |one| {
            Ok(basic::ImplementationDependency {
                required_type: one.required_type.clone(),
                ..basic::ImplementationDependency::default()
            })
        })?,
        info_property: properties(&one.info_property, left)?,
        ..package::ComponentImplementationDescription::default()
    })
}

fn artifact(
    one: &idl::NamedImplementationArtifact,
    left: &mut ValueBudget,
) -> Result<package::NamedArtifact> {
    let found = &one.referenced_artifact;
    Ok(package::NamedArtifact {
        name: one.name.clone(),
        referenced_artifact: here(package::ImplementationArtifactDescription {
            label: option(&found.label),
            uuid: option(&found.uuid),
            location: found.location.clone(),
            depends_on: each(&found.depends_on, |one| artifact(one, left))?,
            exec_parameter: properties(&found.exec_parameter, left)?,
            deploy_requirement: requirements(&found.deploy_requirement, left)?,
            info_property: properties(&found.info_property, left)?,
            ..package::ImplementationArtifactDescription::default()
        }),
        ..package::NamedArtifact::default()
    })
}

fn requirement(
    one: &idl::ImplementationRequirement,
    left: &mut ValueBudget,
) -> Result<package::ImplementationRequirement> {
    use basic::ResourceUsageKind as Kind;
    use idl::ResourceUsageKind as Wire;
    let usage = one.resource_usage.iter().map(|kind| match kind {
        Wire::None => Kind::None,
        Wire::InstanceUsesResource => Kind::InstanceUsesResource,
        Wire::ResourceUsesInstance => Kind::ResourceUsesInstance,
        Wire::PortUsesResource => Kind::PortUsesResource,
        Wire::ResourceUsesPort => Kind::ResourceUsesPort,
    });
    Ok(package::ImplementationRequirement {
        resource_usage: usage.collect(),
        resource_port: option(&one.resource_port),
        component_port: option(&one.component_port),
        name: option(&one.name),
        resource_type: one.resource_type.clone(),
        property: properties(&one.property, left)?,
        ..package::ImplementationRequirement::default()
    })
}

fn satisfier(
    one: &idl::SatisfierProperty,
    left: &mut ValueBudget,
) -> Result<basic::SatisfierProperty> {
    use idl::SatisfierPropertyKind as Wire;
    Ok(basic::SatisfierProperty {
        name: one.name.clone(),
        kind: match one.kind {
            Wire::Quantity => SatisfierPropertyKind::Quantity,
            Wire::Capacity => SatisfierPropertyKind::Capacity,
            Wire::Minimum => SatisfierPropertyKind::Minimum,
            Wire::Maximum => SatisfierPropertyKind::Maximum,
            Wire::Attribute => SatisfierPropertyKind::Attribute,
            Wire::Selection => SatisfierPropertyKind::Selection,
        },
        dynamic: Some(one.dynamic),
        value: value_of(&one.value, left).map_err(|reason| WireError::new(&one.name, reason))?,
        ..basic::SatisfierProperty::default()
    })
}

/// Returns the id of the part at a position. It is short, so that copies of it take little memory.
fn id(at: usize) -> String {
    format!("part-{at}")
}

/// Returns a reference to the part at an index of an assembly.
fn part_at(count: usize, at: u32, of: &str) -> Result<Ref> {
    let at = at as usize;
    match at < count {
        true => Ok(Ref::to(id(at))),
        false => {
            let reason = format!("index {at} is out of range: the assembly has {count} parts");
            Err(WireError::new(of, reason))
        }
    }
}

fn assembly(
    one: &idl::ComponentAssemblyDescription,
    left: &mut ValueBudget,
) -> Result<package::ComponentAssemblyDescription> {
    let count = one.instance.len();
    let mut instance = Vec::with_capacity(count);
    for (at, one) in one.instance.iter().enumerate() {
        instance.push(package::Subcomponent {
            id: Id(id(at)),
            name: one.name.clone(),
            base_package: each(&one.base_package, |one| description(one, left).map(here))?,
            specialized_config: each(&one.specialized_config, |one| {
                configuration(one, left).map(here)
            })?,
            select_requirement: requirements(&one.select_requirement, left)?,
            config_property: properties(&one.config_property, left)?,
            referenced_package: each(&one.referenced_package, |one| reference(one, left))?,
            imported_package: each(&one.imported_package, import)?,
            ..package::Subcomponent::default()
        });
    }
    Ok(package::ComponentAssemblyDescription {
        instance,
        connection: each(&one.connection, |one| connection(one, count, left))?,
        external_property: each(&one.external_property, |one| {
            Ok(package::AssemblyProperty {
                name: one.name.clone(),
                external_name: one.external_name.clone(),
                delegates_to: each(&one.delegates_to, |to| {
                    Ok(package::SubcomponentPropertyReference {
                        property_name: to.property_name.clone(),
                        instance: part_at(count, to.instance_ref, &one.name)?,
                        ..package::SubcomponentPropertyReference::default()
                    })
                })?,
                ..package::AssemblyProperty::default()
            })
        })?,
        locality_constraint: each(&one.locality_constraint, |one| {
            Ok(package::AssemblyLocality {
                constraint: locality(one.constraint),
                constrained_instance: each(&one.constrained_instance_ref, |&at| {
                    part_at(count, at, "localityConstraint")
                })?,
                ..package::AssemblyLocality::default()
            })
        })?,
        ..package::ComponentAssemblyDescription::default()
    })
}

fn connection(
    one: &idl::AssemblyConnectionDescription,
    count: usize,
    left: &mut ValueBudget,
) -> Result<package::AssemblyConnection> {
    Ok(package::AssemblyConnection {
        name: one.name.clone(),
        deploy_requirement: requirements(&one.deploy_requirement, left)?,
        internal_endpoint: each(&one.internal_endpoint, |end| {
            Ok(package::SubcomponentEndpoint {
                port_name: end.port_name.clone(),
                instance: part_at(count, end.instance_ref, &one.name)?,
                ..package::SubcomponentEndpoint::default()
            })
        })?,
        external_endpoint: each(&one.external_endpoint, |end| {
            Ok(ExternalEndpoint { port_name: end.port_name.clone(), ..ExternalEndpoint::default() })
        })?,
        external_reference: each(&one.external_reference, |end| {
            Ok(ExternalReference {
                location: end.location.clone(),
                provider: Some(end.provider),
                port_name: option(&end.port_name),
                supported_type: end.supported_type.clone(),
                ..ExternalReference::default()
            })
        })?,
        ..package::AssemblyConnection::default()
    })
}

fn locality(kind: idl::LocalityKind) -> AssemblyLocalityKind {
    use idl::LocalityKind as Wire;
    match kind {
        Wire::SameNodeAnyProcess => AssemblyLocalityKind::SameNodeAnyProcess,
        Wire::SameNodeSameProcess => AssemblyLocalityKind::SameNodeSameProcess,
        Wire::SameNodeDifferentProcess => AssemblyLocalityKind::SameNodeDifferentProcess,
        Wire::DifferentNode => AssemblyLocalityKind::DifferentNode,
        Wire::DifferentProcess => AssemblyLocalityKind::DifferentProcess,
        Wire::NoConstraint => AssemblyLocalityKind::NoConstraint,
    }
}
