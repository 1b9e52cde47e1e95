//! Conversion of packages from documents to the structs.

use std::collections::HashMap;

use oxorb_deploy::basic::{self, SatisfierPropertyKind};
use oxorb_deploy::package::{self, AssemblyLocalityKind, Link, PackageConfiguration};
use oxorb_deploy::plan::{ExternalEndpoint, ExternalReference};
use oxorb_deploy::{Id, Ref};

use super::write::{each, interface, properties, requirements, text};
use super::{WireError, to_any};
use crate::idl::deployment as idl;

type Result<T> = std::result::Result<T, WireError>;

/// Converts a package to a struct. The package must not contain links to other documents, as
/// [`Archive::configuration`](oxorb_deploy::Archive::configuration) makes it.
///
/// # Errors
/// Links to other documents, references to parts that the assembly does not contain, and values that do not match their
/// types.
pub fn package_to_wire(one: &PackageConfiguration) -> Result<idl::PackageConfiguration> {
    let (base_package, specialized_config) = bases(&one.base_package, &one.specialized_config)?;
    Ok(idl::PackageConfiguration {
        label: text(&one.label),
        uuid: text(&one.uuid),
        base_package,
        specialized_config,
        select_requirement: requirements(&one.select_requirement)?,
        config_property: properties(&one.config_property)?,
        referenced_package: each(&one.referenced_package, reference)?,
        imported_package: each(&one.imported_package, import)?,
    })
}

/// Returns the content of a link.
fn here<'l, T>(link: &'l Link<T>, element: &str) -> Result<&'l T> {
    match link {
        Link::Here(value) => Ok(value),
        Link::At { href, .. } => {
            let reason =
                format!("it is a link to the document {href:?}, which a struct cannot contain");
            Err(WireError::new(element, reason))
        }
    }
}

/// Base of a part or a configuration: a package, or another configuration.
type Bases = (Vec<idl::ComponentPackageDescription>, Vec<idl::PackageConfiguration>);

fn bases(
    packages: &[Link<package::ComponentPackageDescription>],
    configurations: &[Link<PackageConfiguration>],
) -> Result<Bases> {
    let packages = each(packages, |link| description(here(link, "basePackage")?))?;
    let configurations =
        each(configurations, |link| package_to_wire(here(link, "specializedConfig")?))?;
    Ok((packages, configurations))
}

fn interface_of(
    link: Option<&Link<basic::ComponentInterfaceDescription>>,
    element: &str,
) -> Result<idl::ComponentInterfaceDescription> {
    let found = link.map(|link| here(link, element)).transpose()?;
    interface(found)
}

fn reference(one: &package::ComponentPackageReference) -> Result<idl::ComponentPackageReference> {
    Ok(idl::ComponentPackageReference {
        required_uuid: text(&one.required_uuid),
        required_name: text(&one.required_name),
        required_type: interface_of(one.required_type.as_ref(), "requiredType")?,
    })
}

fn import(one: &package::ComponentPackageImport) -> Result<idl::ComponentPackageImport> {
    Ok(idl::ComponentPackageImport { location: one.location.clone() })
}

fn description(
    one: &package::ComponentPackageDescription,
) -> Result<idl::ComponentPackageDescription> {
    Ok(idl::ComponentPackageDescription {
        label: text(&one.label),
        uuid: text(&one.uuid),
        realizes: interface_of(one.realizes.as_ref(), "realizes")?,
        config_property: properties(&one.config_property)?,
        implementation: each(&one.implementation, |one| {
            let found = here(&one.referenced_implementation, "referencedImplementation")?;
            Ok(idl::PackagedComponentImplementation {
                name: one.name.clone(),
                referenced_implementation: implementation(found)?,
            })
        })?,
        info_property: properties(&one.info_property)?,
    })
}

fn implementation(
    one: &package::ComponentImplementationDescription,
) -> Result<idl::ComponentImplementationDescription> {
    Ok(idl::ComponentImplementationDescription {
        label: text(&one.label),
        uuid: text(&one.uuid),
        implements: interface_of(one.implements.as_ref(), "implements")?,
        assembly_impl: each(&one.assembly_impl, assembly)?,
        monolithic_impl: each(&one.monolithic_impl, |one| {
            Ok(idl::MonolithicImplementationDescription {
                node_exec_parameter: properties(&one.node_exec_parameter)?,
                primary_artifact: each(&one.primary_artifact, artifact)?,
                deploy_requirement: each(&one.deploy_requirement, requirement)?,
                component_exec_parameter: properties(&one.component_exec_parameter)?,
            })
        })?,
        config_property: properties(&one.config_property)?,
        capability: each(&one.capability, |one| {
            Ok(idl::Capability {
                name: one.name.clone(),
                resource_type: one.resource_type.clone(),
                property: each(&one.property, satisfier)?,
            })
        })?,
        depends_on: each(&one.depends_on, |one| {
            Ok(idl::ImplementationDependency { required_type: one.required_type.clone() })
        })?,
        info_property: properties(&one.info_property)?,
    })
}

fn artifact(one: &package::NamedArtifact) -> Result<idl::NamedImplementationArtifact> {
    let found = here(&one.referenced_artifact, "referencedArtifact")?;
    Ok(idl::NamedImplementationArtifact {
        name: one.name.clone(),
        referenced_artifact: idl::ImplementationArtifactDescription {
            label: text(&found.label),
            uuid: text(&found.uuid),
            location: found.location.clone(),
            exec_parameter: properties(&found.exec_parameter)?,
            deploy_requirement: requirements(&found.deploy_requirement)?,
            depends_on: each(&found.depends_on, artifact)?,
            info_property: properties(&found.info_property)?,
        },
    })
}

fn requirement(one: &package::ImplementationRequirement) -> Result<idl::ImplementationRequirement> {
    use basic::ResourceUsageKind as Kind;
    use idl::ResourceUsageKind as Wire;
    let usage = one.resource_usage.iter().map(|kind| match kind {
        Kind::None => Wire::None,
        Kind::InstanceUsesResource => Wire::InstanceUsesResource,
        Kind::ResourceUsesInstance => Wire::ResourceUsesInstance,
        Kind::PortUsesResource => Wire::PortUsesResource,
        Kind::ResourceUsesPort => Wire::ResourceUsesPort,
    });
    Ok(idl::ImplementationRequirement {
        resource_usage: usage.collect(),
        resource_port: text(&one.resource_port),
        component_port: text(&one.component_port),
        name: text(&one.name),
        resource_type: one.resource_type.clone(),
        property: properties(&one.property)?,
    })
}

fn satisfier(one: &basic::SatisfierProperty) -> Result<idl::SatisfierProperty> {
    use idl::SatisfierPropertyKind as Wire;
    Ok(idl::SatisfierProperty {
        name: one.name.clone(),
        kind: match one.kind {
            SatisfierPropertyKind::Quantity => Wire::Quantity,
            SatisfierPropertyKind::Capacity => Wire::Capacity,
            SatisfierPropertyKind::Minimum => Wire::Minimum,
            SatisfierPropertyKind::Maximum => Wire::Maximum,
            SatisfierPropertyKind::Attribute => Wire::Attribute,
            SatisfierPropertyKind::Selection => Wire::Selection,
        },
        dynamic: one.dynamic.unwrap_or_default(),
        value: to_any(&one.value).map_err(|reason| WireError::new(&one.name, reason))?,
    })
}

/// Indices of the parts of an assembly, by id.
type Parts<'p> = HashMap<&'p str, u32>;

fn index(parts: &Parts<'_>, to: &Ref, of: &str) -> Result<u32> {
    let found = parts.get(to.id.as_str()).copied();
    found.ok_or_else(|| WireError::new(of, format!("the assembly has no part {:?}", to.id)))
}

fn assembly(
    one: &package::ComponentAssemblyDescription,
) -> Result<idl::ComponentAssemblyDescription> {
    let ids = one.instance.iter().map(|part| {
        let Id(id) = &part.id;
        id.as_str()
    });
    let parts: Parts<'_> = ids.zip(0..).collect();
    let localities: Vec<&package::AssemblyLocality> =
        one.locality.iter().chain(&one.locality_constraint).collect();
    Ok(idl::ComponentAssemblyDescription {
        instance: each(&one.instance, part)?,
        connection: each(&one.connection, |one| connection(one, &parts))?,
        external_property: each(&one.external_property, |one| {
            Ok(idl::AssemblyPropertyMapping {
                name: one.name.clone(),
                external_name: one.external_name.clone(),
                delegates_to: each(&one.delegates_to, |to| {
                    Ok(idl::SubcomponentPropertyReference {
                        property_name: to.property_name.clone(),
                        instance_ref: index(&parts, &to.instance, &one.name)?,
                    })
                })?,
            })
        })?,
        locality_constraint: each(&localities, |one| {
            Ok(idl::Locality {
                constraint: locality(one.constraint),
                constrained_instance_ref: each(&one.constrained_instance, |to| {
                    index(&parts, to, "localityConstraint")
                })?,
            })
        })?,
    })
}

fn part(one: &package::Subcomponent) -> Result<idl::SubcomponentInstantiationDescription> {
    let (base_package, specialized_config) = bases(&one.base_package, &one.specialized_config)?;
    Ok(idl::SubcomponentInstantiationDescription {
        name: one.name.clone(),
        base_package,
        specialized_config,
        select_requirement: requirements(&one.select_requirement)?,
        config_property: properties(&one.config_property)?,
        referenced_package: each(&one.referenced_package, reference)?,
        imported_package: each(&one.imported_package, import)?,
    })
}

fn connection(
    one: &package::AssemblyConnection,
    parts: &Parts<'_>,
) -> Result<idl::AssemblyConnectionDescription> {
    Ok(idl::AssemblyConnectionDescription {
        name: one.name.clone(),
        deploy_requirement: requirements(&one.deploy_requirement)?,
        external_endpoint: each(&one.external_endpoint, |end: &ExternalEndpoint| {
            Ok(idl::ComponentExternalPortEndpoint { port_name: end.port_name.clone() })
        })?,
        internal_endpoint: each(&one.internal_endpoint, |end| {
            Ok(idl::SubcomponentPortEndpoint {
                port_name: end.port_name.clone(),
                instance_ref: index(parts, &end.instance, &one.name)?,
            })
        })?,
        external_reference: each(&one.external_reference, |end: &ExternalReference| {
            Ok(idl::ExternalReferenceEndpoint {
                location: end.location.clone(),
                provider: end.provider.unwrap_or_default(),
                port_name: text(&end.port_name),
                supported_type: end.supported_type.clone(),
            })
        })?,
    })
}

fn locality(kind: AssemblyLocalityKind) -> idl::LocalityKind {
    use idl::LocalityKind as Wire;
    match kind {
        AssemblyLocalityKind::SameNodeAnyProcess => Wire::SameNodeAnyProcess,
        AssemblyLocalityKind::SameNodeSameProcess => Wire::SameNodeSameProcess,
        AssemblyLocalityKind::SameNodeDifferentProcess => Wire::SameNodeDifferentProcess,
        AssemblyLocalityKind::DifferentNode => Wire::DifferentNode,
        AssemblyLocalityKind::DifferentProcess => Wire::DifferentProcess,
        AssemblyLocalityKind::NoConstraint => Wire::NoConstraint,
    }
}
