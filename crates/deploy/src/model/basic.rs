//! Structs that several documents share: properties, requirements, ports.

use super::value::{Any, Type};
use crate::described::{Item, described, spelled};
use crate::element::Element;
use crate::finding::Error;

described! {
    /// A named value (`Deployment::Property`).
    Property {
        /// Name.
        name: String = "name",
        /// Value.
        value: Any = "value",
    }
}

impl Property {
    /// A property of a value.
    pub fn of(name: impl Into<String>, value: Any) -> Property {
        Property { name: name.into(), value, ..Property::default() }
    }
}

spelled! {
    /// Kind of a satisfier property.
    SatisfierPropertyKind {
        /// A number of indistinguishable pieces.
        Quantity = "Quantity",
        /// A capacity that is used up.
        Capacity = "Capacity",
        /// A lower bound.
        Minimum = "Minimum",
        /// An upper bound.
        Maximum = "Maximum",
        /// A value that has to be equal.
        Attribute = "Attribute",
        /// Selection of one of several values.
        Selection = "Selection",
    }
}

described! {
    /// A property that satisfies requirements (`Deployment::SatisfierProperty`).
    SatisfierProperty {
        /// Name.
        name: String = "name",
        /// Rule by which the value satisfies a requirement.
        kind: SatisfierPropertyKind = "kind",
        /// Whether it changes at run time.
        dynamic: Option<bool> = "dynamic",
        /// Value.
        value: Any = "value",
    }
}

described! {
    /// A demand on a resource (`Deployment::Requirement`).
    Requirement {
        /// Name.
        name: Option<String> = "name",
        /// Type of the resource.
        resource_type: String = "resourceType",
        /// Properties that the resource has to have.
        property: Vec<Property> = "property",
    }
}

described! {
    /// A resource of a node or a link (`Deployment::Resource`).
    Resource {
        /// Name.
        name: String = "name",
        /// Types that it satisfies.
        resource_type: Vec<String> = "resourceType",
        /// Properties that the resource has.
        property: Vec<SatisfierProperty> = "property",
    }
}

described! {
    /// A type that has to be there beforehand (`Deployment::ImplementationDependency`).
    ImplementationDependency {
        /// Name of the requirement.
        required_type: String = "requiredType",
    }
}

spelled! {
    /// Kind of a component's port (`Deployment::CCMComponentPortKind`).
    PortKind {
        /// An interface that is provided.
        Facet = "Facet",
        /// An interface that is used, by one connection.
        SimplexReceptacle = "SimplexReceptacle",
        /// An interface that is used, by any number of connections.
        MultiplexReceptacle = "MultiplexReceptacle",
        /// A source of events for one sink.
        EventEmitter = "EventEmitter",
        /// A source of events for any number of sinks.
        EventPublisher = "EventPublisher",
        /// A sink of events.
        EventConsumer = "EventConsumer",
        /// An extended port.
        ExtendedPort = "ExtendedPort",
        /// An extended port seen from the other side.
        MirrorPort = "MirrorPort",
    }
}

impl PortKind {
    /// Reports whether the port has the reference that a connection hands over.
    pub fn provides(self) -> bool {
        matches!(self, PortKind::Facet | PortKind::EventConsumer | PortKind::ExtendedPort)
    }

    /// Reports whether events pass it.
    pub fn is_event(self) -> bool {
        matches!(self, PortKind::EventEmitter | PortKind::EventPublisher | PortKind::EventConsumer)
    }
}

described! {
    /// A port of an interface description (`Deployment::ComponentPortDescription`).
    ComponentPortDescription {
        /// Name.
        name: String = "name",
        /// Most derived type.
        specific_type: Option<String> = "specificType",
        /// All types.
        supported_type: Vec<String> = "supportedType",
        /// Whether it provides.
        provider: Option<bool> = "provider",
        /// Whether one provider at most may be connected.
        exclusive_provider: Option<bool> = "exclusiveProvider",
        /// Whether one user at most may be connected.
        exclusive_user: Option<bool> = "exclusiveUser",
        /// Whether it may stay unconnected.
        optional: Option<bool> = "optional",
        /// Kind of the port.
        kind: PortKind = "kind",
        /// Parameters of its template.
        template_param: Vec<String> = "templateParam",
    }
}

/// A type without a value.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeOnly(pub Type);

impl Default for TypeOnly {
    fn default() -> TypeOnly {
        TypeOnly(Type::Null)
    }
}

impl Item for TypeOnly {
    fn read(element: &Element) -> Result<TypeOnly, Error> {
        super::value::read_type(element).map(TypeOnly)
    }

    fn write(&self, name: &str) -> Element {
        super::value::write_type(&self.0, name)
    }
}

described! {
    /// A property that a component has (`Deployment::ComponentPropertyDescription`).
    ComponentPropertyDescription {
        /// Name.
        name: String = "name",
        /// Type.
        kind: TypeOnly = "type",
    }
}

described! {
    /// A component's interface (`Deployment::ComponentInterfaceDescription`).
    ComponentInterfaceDescription {
        /// Name for people.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Most derived type.
        specific_type: Option<String> = "specificType",
        /// All types.
        supported_type: Vec<String> = "supportedType",
        /// Files of its IDL.
        idl_file: Vec<String> = "idlFile",
        /// Values of its properties.
        config_property: Vec<Property> = "configProperty",
        /// Ports.
        port: Vec<ComponentPortDescription> = "port",
        /// Properties.
        property: Vec<ComponentPropertyDescription> = "property",
        /// Notes.
        info_property: Vec<Property> = "infoProperty",
    }
}

spelled! {
    /// Who uses a resource (`Deployment::ResourceUsageKind`).
    ResourceUsageKind {
        /// Nobody uses it.
        None = "None",
        /// The instance uses the resource.
        InstanceUsesResource = "InstanceUsesResource",
        /// The resource uses the instance.
        ResourceUsesInstance = "ResourceUsesInstance",
        /// A port uses the resource.
        PortUsesResource = "PortUsesResource",
        /// The resource uses a port.
        ResourceUsesPort = "ResourceUsesPort",
    }
}
