//! Packages, as delivered by developers and assemblers, independent of nodes (`.cpd` and related documents).

use super::basic::{
    ComponentInterfaceDescription, ImplementationDependency, Property, Requirement,
    ResourceUsageKind, SatisfierProperty,
};
use super::plan::{ExternalEndpoint, ExternalReference};
use crate::described::{Id, Item, Ref, described, plain, spelled};
use crate::element::Element;
use crate::finding::{Error, Place};

/// A description in place or in another document.
#[derive(Debug, Clone, PartialEq)]
pub enum Link<T> {
    /// Content in place.
    Here(Box<T>),
    /// Content of another document (`href`).
    At {
        /// Path of the document, relative to this one.
        href: String,
        /// Position of the link.
        place: Place,
    },
}

impl<T> Default for Link<T> {
    fn default() -> Link<T> {
        Link::At { href: String::new(), place: Place::default() }
    }
}

impl<T: Item> Item for Link<T> {
    fn read(element: &Element) -> Result<Link<T>, Error> {
        let Some(href) = element.child("href") else {
            return T::read(element).map(|found| Link::Here(Box::new(found)));
        };
        match element.children.iter().find(|child| child.name != "href") {
            None => Ok(Link::At { href: plain(href)?.to_owned(), place: element.place }),
            Some(other) => Err(Error::at(
                other.place,
                format!(
                    "<{}> refers to the document of its href, and cannot have <{}>",
                    element.name, other.name
                ),
            )),
        }
    }

    fn write(&self, name: &str) -> Element {
        match self {
            Link::Here(found) => found.write(name),
            Link::At { href, place } => {
                let mut element = Element::new(name);
                element.children.push(Element::text("href", href).at(*place).attribute());
                element
            }
        }
    }
}

described! {
    /// A reference to a package by its required properties (`Deployment::ComponentPackageReference`).
    ComponentPackageReference {
        /// Required identity.
        required_uuid: Option<String> = "requiredUUID",
        /// Required name.
        required_name: Option<String> = "requiredName",
        /// Required interface.
        required_type: Option<Link<ComponentInterfaceDescription>> = "requiredType",
    }
}

described! {
    /// A package to be imported (`Deployment::ComponentPackageImport`).
    ComponentPackageImport {
        /// Addresses of the package.
        location: Vec<String> = "location",
    }
}

described! {
    /// A requirement of an implementation (`Deployment::ImplementationRequirement`).
    ImplementationRequirement {
        /// Users of the resource.
        resource_usage: Vec<ResourceUsageKind> = "resourceUsage",
        /// Port of the resource.
        resource_port: Option<String> = "resourcePort",
        /// Port of the component.
        component_port: Option<String> = "componentPort",
        /// Name.
        name: Option<String> = "name",
        /// Type of the resource.
        resource_type: String = "resourceType",
        /// Required properties of the resource.
        property: Vec<Property> = "property",
    }
}

described! {
    /// Capability of an implementation, for its selection (`Deployment::Capability`).
    Capability {
        /// Name.
        name: String = "name",
        /// Types.
        resource_type: Vec<String> = "resourceType",
        /// Properties.
        property: Vec<SatisfierProperty> = "property",
    }
}

described! {
    /// An artifact with a name (`Deployment::NamedImplementationArtifact`).
    NamedArtifact {
        /// Name.
        name: String = "name",
        /// Description of the artifact.
        referenced_artifact: Link<ImplementationArtifactDescription> = "referencedArtifact",
    }
}

described! {
    /// A file of an implementation (`Deployment::ImplementationArtifactDescription`, `.iad`).
    ImplementationArtifactDescription {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Addresses of the file.
        location: Vec<String> = "location",
        /// Artifacts that this one needs.
        depends_on: Vec<NamedArtifact> = "dependsOn",
        /// Execution parameters.
        exec_parameter: Vec<Property> = "execParameter",
        /// Requirements on the node.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Informational properties.
        info_property: Vec<Property> = "infoProperty",
    }
}

described! {
    /// A monolithic implementation (`Deployment::MonolithicImplementationDescription`).
    MonolithicImplementationDescription {
        /// Execution parameters for the node.
        node_exec_parameter: Vec<Property> = "nodeExecParameter",
        /// Execution parameters for the component.
        component_exec_parameter: Vec<Property> = "componentExecParameter",
        /// Artifacts.
        primary_artifact: Vec<NamedArtifact> = "primaryArtifact",
        /// Requirements on the node.
        deploy_requirement: Vec<ImplementationRequirement> = "deployRequirement",
    }
}

described! {
    /// A part of an assembly (`Deployment::SubcomponentInstantiationDescription`).
    Subcomponent {
        /// Identity within the assembly.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Package of the part.
        base_package: Vec<Link<ComponentPackageDescription>> = "basePackage",
        /// Configuration of the part.
        specialized_config: Vec<Link<PackageConfiguration>> = "specializedConfig",
        /// Requirements on the implementation.
        select_requirement: Vec<Requirement> = "selectRequirement",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Package by its required properties.
        referenced_package: Vec<ComponentPackageReference> = "referencedPackage",
        /// Package to be imported.
        imported_package: Vec<ComponentPackageImport> = "importedPackage",
    }
}

described! {
    /// A port of a part (`Deployment::SubcomponentPortEndpoint`).
    SubcomponentEndpoint {
        /// Port.
        port_name: String = "portName",
        /// Reference to a part of the assembly.
        instance: Ref = "instance",
    }
}

described! {
    /// A connection between parts (`Deployment::AssemblyConnectionDescription`).
    AssemblyConnection {
        /// Name.
        name: String = "name",
        /// Requirements on links.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Ports of parts.
        internal_endpoint: Vec<SubcomponentEndpoint> = "internalEndpoint",
        /// Ports of the assembly.
        external_endpoint: Vec<ExternalEndpoint> = "externalEndpoint",
        /// References to objects outside of the assembly.
        external_reference: Vec<ExternalReference> = "externalReference",
    }
}

described! {
    /// An attribute of a part (`Deployment::SubcomponentPropertyReference`).
    SubcomponentPropertyReference {
        /// Attribute.
        property_name: String = "propertyName",
        /// Reference to a part of the assembly.
        instance: Ref = "instance",
    }
}

described! {
    /// A property of an assembly that is mapped to its parts (`Deployment::AssemblyPropertyMapping`).
    AssemblyProperty {
        /// Name.
        name: String = "name",
        /// External name.
        external_name: String = "externalName",
        /// Attributes that receive the property's value.
        delegates_to: Vec<SubcomponentPropertyReference> = "delegatesTo",
    }
}

spelled! {
    /// Constraint on the nodes and processes of parts (`Deployment::LocalityKind`).
    AssemblyLocalityKind {
        /// Parts run on the same node.
        SameNodeAnyProcess = "SameNodeAnyProcess",
        /// Parts run in the same process.
        SameNodeSameProcess = "SameNodeSameProcess",
        /// Parts run on the same node, in different processes.
        SameNodeDifferentProcess = "SameNodeDifferentProcess",
        /// Parts run on different nodes.
        DifferentNode = "DifferentNode",
        /// Parts run in different processes.
        DifferentProcess = "DifferentProcess",
        /// Absence of a constraint.
        NoConstraint = "NoConstraint",
    }
}

described! {
    /// Parts with a constraint on their nodes and processes (`Deployment::Locality`).
    AssemblyLocality {
        /// Kind of the constraint.
        constraint: AssemblyLocalityKind = "constraint",
        /// References to parts of the assembly.
        constrained_instance: Vec<Ref> = "constrainedInstance",
    }
}

described! {
    /// An implementation made of parts (`Deployment::ComponentAssemblyDescription`).
    ComponentAssemblyDescription {
        /// Parts.
        instance: Vec<Subcomponent> = "instance",
        /// Connections between the parts.
        connection: Vec<AssemblyConnection> = "connection",
        /// External properties.
        external_property: Vec<AssemblyProperty> = "externalProperty",
        /// Constraints on the nodes and processes of instances.
        locality: Vec<AssemblyLocality> = "locality",
        /// Constraints on the nodes and processes of instances, under the name in newer schemas.
        locality_constraint: Vec<AssemblyLocality> = "localityConstraint",
    }
}

described! {
    /// An implementation (`Deployment::ComponentImplementationDescription`, `.cid`).
    ComponentImplementationDescription {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Interface.
        implements: Option<Link<ComponentInterfaceDescription>> = "implements",
        /// Assembly of parts.
        assembly_impl: Vec<ComponentAssemblyDescription> = "assemblyImpl",
        /// Monolithic implementation.
        monolithic_impl: Vec<MonolithicImplementationDescription> = "monolithicImpl",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Capabilities of the implementation, for its selection.
        capability: Vec<Capability> = "capability",
        /// Types that must be present.
        depends_on: Vec<ImplementationDependency> = "dependsOn",
        /// Informational properties.
        info_property: Vec<Property> = "infoProperty",
    }
}

described! {
    /// An implementation with a name (`Deployment::PackagedComponentImplementation`).
    PackagedImplementation {
        /// Name.
        name: String = "name",
        /// Description of the implementation.
        referenced_implementation: Link<ComponentImplementationDescription> = "referencedImplementation",
    }
}

described! {
    /// A package (`Deployment::ComponentPackageDescription`, `.cpd`).
    ComponentPackageDescription {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Interface.
        realizes: Option<Link<ComponentInterfaceDescription>> = "realizes",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Implementations of the interface.
        implementation: Vec<PackagedImplementation> = "implementation",
        /// Informational properties.
        info_property: Vec<Property> = "infoProperty",
    }
}

described! {
    /// A package with settings (`Deployment::PackageConfiguration`, `.pcd`).
    PackageConfiguration {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Configured package.
        base_package: Vec<Link<ComponentPackageDescription>> = "basePackage",
        /// Configuration that this one refines.
        specialized_config: Vec<Link<PackageConfiguration>> = "specializedConfig",
        /// Requirements on the implementation.
        select_requirement: Vec<Requirement> = "selectRequirement",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Package by its required properties.
        referenced_package: Vec<ComponentPackageReference> = "referencedPackage",
        /// Package to be imported.
        imported_package: Vec<ComponentPackageImport> = "importedPackage",
    }
}

described! {
    /// Entry of an archive (`Deployment::TopLevelPackageDescription`, `package.tpd`).
    TopLevelPackageDescription {
        /// Configurations.
        package: Vec<Link<PackageConfiguration>> = "package",
        /// Configurations, under the name in older schemas.
        base_package: Vec<Link<PackageConfiguration>> = "basePackage",
    }
}
