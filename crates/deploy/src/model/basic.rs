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
    /// Creates a property.
    pub fn of(name: impl Into<String>, value: Any) -> Property {
        Property { name: name.into(), value, ..Property::default() }
    }
}

spelled! {
    /// Kind of a satisfier property.
    SatisfierPropertyKind {
        /// A number of indistinguishable units.
        Quantity = "Quantity",
        /// A capacity that is consumed.
        Capacity = "Capacity",
        /// A lower bound.
        Minimum = "Minimum",
        /// An upper bound.
        Maximum = "Maximum",
        /// A value that must be equal.
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
        /// Whether the value changes at run time.
        dynamic: Option<bool> = "dynamic",
        /// Value.
        value: Any = "value",
    }
}

described! {
    /// A requirement on a resource (`Deployment::Requirement`).
    Requirement {
        /// Name.
        name: Option<String> = "name",
        /// Type of the resource.
        resource_type: String = "resourceType",
        /// Required properties of the resource.
        property: Vec<Property> = "property",
    }
}

described! {
    /// A resource of a node or a link (`Deployment::Resource`).
    Resource {
        /// Name.
        name: String = "name",
        /// Resource types that the resource satisfies.
        resource_type: Vec<String> = "resourceType",
        /// Properties that the resource has.
        property: Vec<SatisfierProperty> = "property",
    }
}

described! {
    /// A type that must be present beforehand (`Deployment::ImplementationDependency`).
    ImplementationDependency {
        /// Name of the required type.
        required_type: String = "requiredType",
    }
}

spelled! {
    /// Kind of a component's port (`Deployment::CCMComponentPortKind`).
    PortKind {
        /// A provided interface.
        Facet = "Facet",
        /// A used interface, with one connection.
        SimplexReceptacle = "SimplexReceptacle",
        /// A used interface, with any number of connections.
        MultiplexReceptacle = "MultiplexReceptacle",
        /// A source of events for one sink.
        EventEmitter = "EventEmitter",
        /// A source of events for any number of sinks.
        EventPublisher = "EventPublisher",
        /// A sink of events.
        EventConsumer = "EventConsumer",
        /// An extended port.
        ExtendedPort = "ExtendedPort",
        /// An extended port as seen from the other side.
        MirrorPort = "MirrorPort",
    }
}

impl PortKind {
    /// Reports whether the port provides the reference of a connection.
    pub fn provides(self) -> bool {
        matches!(self, PortKind::Facet | PortKind::EventConsumer | PortKind::ExtendedPort)
    }

    /// Reports whether the port is an extended port or a mirror port, which stands for the ports of a port type.
    pub fn is_extended(self) -> bool {
        matches!(self, PortKind::ExtendedPort | PortKind::MirrorPort)
    }

    /// Reports whether the port transfers events.
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
        /// Whether the port provides a reference.
        provider: Option<bool> = "provider",
        /// Whether at most one provider may be connected.
        exclusive_provider: Option<bool> = "exclusiveProvider",
        /// Whether at most one user may be connected.
        exclusive_user: Option<bool> = "exclusiveUser",
        /// Whether the port may stay unconnected.
        optional: Option<bool> = "optional",
        /// Kind of the port.
        kind: PortKind = "kind",
        /// Parameters of the port's template.
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
    /// A property of a component (`Deployment::ComponentPropertyDescription`).
    ComponentPropertyDescription {
        /// Name.
        name: String = "name",
        /// Type.
        kind: TypeOnly = "type",
    }
}

described! {
    /// The interface of a component (`Deployment::ComponentInterfaceDescription`).
    ComponentInterfaceDescription {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Most derived type.
        specific_type: Option<String> = "specificType",
        /// All types.
        supported_type: Vec<String> = "supportedType",
        /// IDL files of the interface.
        idl_file: Vec<String> = "idlFile",
        /// Values of the properties.
        config_property: Vec<Property> = "configProperty",
        /// Ports.
        port: Vec<ComponentPortDescription> = "port",
        /// Properties.
        property: Vec<ComponentPropertyDescription> = "property",
        /// Informational properties.
        info_property: Vec<Property> = "infoProperty",
    }
}

spelled! {
    /// User of a resource (`Deployment::ResourceUsageKind`).
    ResourceUsageKind {
        /// Unused resource.
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
