//! Components, connectors, port types and homes (CORBA 3.3 part 3, chapter 6).

use super::{Annotation, Attribute, DefId, Export, Factory, Type};
use crate::source::Span;
use std::sync::Arc;

/// Component or connector.
#[derive(Debug, Clone, Default)]
pub struct Component {
    /// Base, of the same kind.
    pub base: Option<DefId>,
    /// Supported interfaces; none for a connector.
    pub supports: Vec<DefId>,
    /// Own ports and attributes, in order.
    pub exports: Vec<ComponentExport>,
}

/// `porttype`: ports that are used together.
#[derive(Debug, Clone, Default)]
pub struct PortType {
    /// Facets, receptacles and attributes in order.
    pub exports: Vec<ComponentExport>,
}

/// Externally visible feature of a component.
#[derive(Debug, Clone)]
pub enum ComponentExport {
    /// Port of the component.
    Port(Port),
    /// Attribute, one declarator.
    Attribute(Attribute),
}

/// Port.
#[derive(Debug, Clone)]
pub struct Port {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Kind of port, and its type.
    pub kind: PortKind,
}

/// Kind of a port.
#[derive(Debug, Clone, PartialEq)]
pub enum PortKind {
    /// Facet: an interface or `Object`.
    Provides(Type),
    /// Receptacle.
    Uses {
        /// Interface or `Object`.
        ty: Type,
        /// Whether the port is `uses multiple`: any number of connections.
        multiple: bool,
    },
    /// Event source for one consumer.
    Emits(DefId),
    /// Event source for any number of consumers.
    Publishes(DefId),
    /// Event sink.
    Consumes(DefId),
    /// All ports of a port type, each name prefixed with the name of this port and `_`.
    Extended {
        /// Port type.
        port_type: DefId,
        /// Whether the port is a `mirrorport`, which uses the ports that the port type provides, and vice versa.
        mirror: bool,
    },
}

/// `home`: factory and finder of the components of one type.
#[derive(Debug, Clone)]
pub struct Home {
    /// Base.
    pub base: Option<DefId>,
    /// Supported interfaces.
    pub supports: Vec<DefId>,
    /// Component that the home manages.
    pub manages: DefId,
    /// Valuetype that identifies the home's components.
    pub primary_key: Option<DefId>,
    /// Types, constants and exceptions declared inside, in order.
    pub members: Vec<DefId>,
    /// Operations and attributes, without inherited ones.
    pub exports: Vec<Export>,
    /// Factories in order.
    pub factories: Vec<Factory>,
    /// Finders in order.
    pub finders: Vec<Factory>,
}
