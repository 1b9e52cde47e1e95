//! Packages: what developers and assemblers hand over before anybody knows of nodes (`.cpd` and its family).

use super::basic::{
    ComponentInterfaceDescription, ImplementationDependency, Property, Requirement,
    ResourceUsageKind, SatisfierProperty,
};
use super::plan::{ExternalEndpoint, ExternalReference};
use crate::described::{Id, Item, Ref, described, plain, spelled};
use crate::element::Element;
use crate::finding::{Error, Place};

/// A description that stands in place or in a document of its own.
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
                    "<{}> is in the document of its href, and has no <{}>",
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
    /// A reference to a package by what it has to be (`Deployment::ComponentPackageReference`).
    ComponentPackageReference {
        /// Identity.
        required_uuid: Option<String> = "requiredUUID",
        /// Name.
        required_name: Option<String> = "requiredName",
        /// Interface.
        required_type: Option<Link<ComponentInterfaceDescription>> = "requiredType",
    }
}

described! {
    /// A package to be imported (`Deployment::ComponentPackageImport`).
    ComponentPackageImport {
        /// Addresses at which the package is found.
        location: Vec<String> = "location",
    }
}

described! {
    /// A demand of an implementation (`Deployment::ImplementationRequirement`).
    ImplementationRequirement {
        /// Parties that use the resource.
        resource_usage: Vec<ResourceUsageKind> = "resourceUsage",
        /// Port of the resource.
        resource_port: Option<String> = "resourcePort",
        /// Port of the component.
        component_port: Option<String> = "componentPort",
        /// Name.
        name: Option<String> = "name",
        /// Type of the resource.
        resource_type: String = "resourceType",
        /// Properties that the resource has to have.
        property: Vec<Property> = "property",
    }
}

described! {
    /// Capability that an implementation offers for selection (`Deployment::Capability`).
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
    /// An artifact by name (`Deployment::NamedImplementationArtifact`).
    NamedArtifact {
        /// Name.
        name: String = "name",
        /// The artifact.
        referenced_artifact: Link<ImplementationArtifactDescription> = "referencedArtifact",
    }
}

described! {
    /// A file of an implementation (`Deployment::ImplementationArtifactDescription`, `.iad`).
    ImplementationArtifactDescription {
        /// Name for people.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Addresses at which the file is found.
        location: Vec<String> = "location",
        /// Artifacts that it needs.
        depends_on: Vec<NamedArtifact> = "dependsOn",
        /// Settings of execution.
        exec_parameter: Vec<Property> = "execParameter",
        /// Demands on the node.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Notes.
        info_property: Vec<Property> = "infoProperty",
    }
}

described! {
    /// An implementation in one piece (`Deployment::MonolithicImplementationDescription`).
    MonolithicImplementationDescription {
        /// Settings for the node.
        node_exec_parameter: Vec<Property> = "nodeExecParameter",
        /// Settings for the component.
        component_exec_parameter: Vec<Property> = "componentExecParameter",
        /// Artifacts.
        primary_artifact: Vec<NamedArtifact> = "primaryArtifact",
        /// Demands on the node.
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
        /// Package that it is of.
        base_package: Vec<Link<ComponentPackageDescription>> = "basePackage",
        /// Configuration that it is of.
        specialized_config: Vec<Link<PackageConfiguration>> = "specializedConfig",
        /// Demands on the implementation.
        select_requirement: Vec<Requirement> = "selectRequirement",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Package by what it has to be.
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
        /// Part, the id of which is in the assembly.
        instance: Ref = "instance",
    }
}

described! {
    /// A connection between parts (`Deployment::AssemblyConnectionDescription`).
    AssemblyConnection {
        /// Name.
        name: String = "name",
        /// Demands on links.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Ports of parts.
        internal_endpoint: Vec<SubcomponentEndpoint> = "internalEndpoint",
        /// Ports of the whole.
        external_endpoint: Vec<ExternalEndpoint> = "externalEndpoint",
        /// References from elsewhere.
        external_reference: Vec<ExternalReference> = "externalReference",
    }
}

described! {
    /// An attribute of a part (`Deployment::SubcomponentPropertyReference`).
    SubcomponentPropertyReference {
        /// Attribute.
        property_name: String = "propertyName",
        /// Part, the id of which is in the assembly.
        instance: Ref = "instance",
    }
}

described! {
    /// A property of an assembly that is one of its parts (`Deployment::AssemblyPropertyMapping`).
    AssemblyProperty {
        /// Name.
        name: String = "name",
        /// Name towards the outside.
        external_name: String = "externalName",
        /// Attributes that take its value.
        delegates_to: Vec<SubcomponentPropertyReference> = "delegatesTo",
    }
}

spelled! {
    /// Places in relation to each other that parts have to have (`Deployment::LocalityKind`).
    AssemblyLocalityKind {
        /// Parts stand on one node.
        SameNodeAnyProcess = "SameNodeAnyProcess",
        /// Parts stand in one process.
        SameNodeSameProcess = "SameNodeSameProcess",
        /// Parts stand on one node, in processes of their own.
        SameNodeDifferentProcess = "SameNodeDifferentProcess",
        /// Parts stand on nodes of their own.
        DifferentNode = "DifferentNode",
        /// Parts stand in processes of their own.
        DifferentProcess = "DifferentProcess",
        /// Anywhere.
        NoConstraint = "NoConstraint",
    }
}

described! {
    /// Parts and the places that they have to have (`Deployment::Locality`).
    AssemblyLocality {
        /// Places that the parts have to have.
        constraint: AssemblyLocalityKind = "constraint",
        /// Parts, the ids of which are in the assembly.
        constrained_instance: Vec<Ref> = "constrainedInstance",
    }
}

described! {
    /// An implementation made of parts (`Deployment::ComponentAssemblyDescription`).
    ComponentAssemblyDescription {
        /// Parts.
        instance: Vec<Subcomponent> = "instance",
        /// Connections between them.
        connection: Vec<AssemblyConnection> = "connection",
        /// Properties of the whole.
        external_property: Vec<AssemblyProperty> = "externalProperty",
        /// Places that instances have to have.
        locality: Vec<AssemblyLocality> = "locality",
        /// Places that instances have to have, under the name of newer schemas.
        locality_constraint: Vec<AssemblyLocality> = "localityConstraint",
    }
}

described! {
    /// An implementation (`Deployment::ComponentImplementationDescription`, `.cid`).
    ComponentImplementationDescription {
        /// Name for people.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Interface.
        implements: Option<Link<ComponentInterfaceDescription>> = "implements",
        /// Made of parts.
        assembly_impl: Vec<ComponentAssemblyDescription> = "assemblyImpl",
        /// Implementation in one piece.
        monolithic_impl: Vec<MonolithicImplementationDescription> = "monolithicImpl",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Capabilities that the implementation offers for selection.
        capability: Vec<Capability> = "capability",
        /// Types that have to be there.
        depends_on: Vec<ImplementationDependency> = "dependsOn",
        /// Notes.
        info_property: Vec<Property> = "infoProperty",
    }
}

described! {
    /// An implementation by name (`Deployment::PackagedComponentImplementation`).
    PackagedImplementation {
        /// Name.
        name: String = "name",
        /// The implementation.
        referenced_implementation: Link<ComponentImplementationDescription> = "referencedImplementation",
    }
}

described! {
    /// A package (`Deployment::ComponentPackageDescription`, `.cpd`).
    ComponentPackageDescription {
        /// Name for people.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Interface.
        realizes: Option<Link<ComponentInterfaceDescription>> = "realizes",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Implementations of the interface.
        implementation: Vec<PackagedImplementation> = "implementation",
        /// Notes.
        info_property: Vec<Property> = "infoProperty",
    }
}

described! {
    /// A package with settings (`Deployment::PackageConfiguration`, `.pcd`).
    PackageConfiguration {
        /// Name for people.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// The package.
        base_package: Vec<Link<ComponentPackageDescription>> = "basePackage",
        /// Configuration that it refines.
        specialized_config: Vec<Link<PackageConfiguration>> = "specializedConfig",
        /// Demands on the implementation.
        select_requirement: Vec<Requirement> = "selectRequirement",
        /// Values of attributes.
        config_property: Vec<Property> = "configProperty",
        /// Package by what it has to be.
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
        /// Configurations, as older schemas call them.
        base_package: Vec<Link<PackageConfiguration>> = "basePackage",
    }
}
