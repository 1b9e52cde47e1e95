//! Components, connectors, port types and homes (CORBA 3.3 part 3, chapter 6).

use super::{Annotation, Attribute, DefId, Export, Factory, Type};
use crate::source::Span;

/// A component or a connector.
#[derive(Debug, Clone, Default)]
pub struct Component {
    /// Base, of the same kind.
    pub base: Option<DefId>,
    /// Supported interfaces; none for a connector.
    pub supports: Vec<DefId>,
    /// Own ports and attributes in order.
    pub exports: Vec<ComponentExport>,
}

/// `porttype`: ports that are used together.
#[derive(Debug, Clone, Default)]
pub struct PortType {
    /// Facets, receptacles and attributes in order.
    pub exports: Vec<ComponentExport>,
}

/// Export of a component, visible from the outside.
#[derive(Debug, Clone)]
pub enum ComponentExport {
    /// A port.
    Port(Port),
    /// An attribute, one declarator.
    Attribute(Attribute),
}

/// Port.
#[derive(Debug, Clone)]
pub struct Port {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// The comment before it.
    pub doc: String,
    /// All that were applied.
    pub annotations: Vec<Annotation>,
    /// Kind of port, and of what.
    pub kind: PortKind,
}

/// The kinds of ports.
#[derive(Debug, Clone, PartialEq)]
pub enum PortKind {
    /// A facet: an interface or `Object`.
    Provides(Type),
    /// A receptacle.
    Uses {
        /// An interface or `Object`.
        ty: Type,
        /// `uses multiple`: any number of connections.
        multiple: bool,
    },
    /// An event source for one consumer.
    Emits(DefId),
    /// An event source for any number of consumers.
    Publishes(DefId),
    /// An event sink.
    Consumes(DefId),
    /// All ports of a port type, their names after this one's and `_`.
    Extended {
        /// The port type.
        port_type: DefId,
        /// `mirrorport`: what it provides is used, and the other way round.
        mirror: bool,
    },
}

/// `home`: what makes and finds components of one type.
#[derive(Debug, Clone)]
pub struct Home {
    /// Base.
    pub base: Option<DefId>,
    /// Supported interfaces.
    pub supports: Vec<DefId>,
    /// The component.
    pub manages: DefId,
    /// The valuetype that tells its components apart.
    pub primary_key: Option<DefId>,
    /// Types, constants and exceptions declared inside, in order.
    pub members: Vec<DefId>,
    /// Operations and attributes, own ones only.
    pub exports: Vec<Export>,
    /// Factories in order.
    pub factories: Vec<Factory>,
    /// Finders in order.
    pub finders: Vec<Factory>,
}
