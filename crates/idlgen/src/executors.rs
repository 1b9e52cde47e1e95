//! Components, homes and event types of a model, by the names of the definitions that they become in the equivalent
//! model.

use std::sync::Arc;

use oxorb_idl::model::{
    Component, ComponentExport, DefId, DefKind, Home, Interface, InterfaceKind, Model, Port,
    PortKind, Type,
};

/// Definitions for which executors are generated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Executors {
    pub(crate) components: Vec<ComponentExecutor>,
    pub(crate) homes: Vec<HomeExecutor>,
    /// Event types, including those of included files.
    pub(crate) events: Vec<String>,
    /// Hash of all interfaces.
    pub(crate) hash: u64,
}

/// Component or connector.
#[derive(Debug, Clone)]
pub(crate) struct ComponentExecutor {
    /// Bases first, the component itself last.
    pub(crate) chain: Vec<String>,
    /// Supported interfaces, including those of bases.
    pub(crate) supports: Vec<String>,
    /// Ports, including those of bases; extended ports are flattened.
    pub(crate) ports: Vec<PlainPort>,
}

/// Home of components.
#[derive(Debug, Clone)]
pub(crate) struct HomeExecutor {
    /// Bases first, the home itself last.
    pub(crate) chain: Vec<String>,
    pub(crate) supports: Vec<String>,
    pub(crate) manages: String,
    /// Valuetype of the primary key.
    pub(crate) key: Option<String>,
    /// Names of the operations that create components.
    pub(crate) factories: Vec<String>,
    /// Names of the operations that find components other than by primary key.
    pub(crate) finders: Vec<String>,
}

/// Port other than an extended port.
#[derive(Debug, Clone)]
pub(crate) struct PlainPort {
    pub(crate) name: String,
    pub(crate) doc: Arc<str>,
    pub(crate) kind: PlainKind,
}

/// Kind of a port; interfaces and event types by name, `None` for `Object`.
#[derive(Debug, Clone)]
pub(crate) enum PlainKind {
    Facet(Option<String>),
    Receptacle(Option<String>),
    Multiple(Option<String>),
    Emitter(String),
    Publisher(String),
    Sink(String),
}

impl Executors {
    pub(crate) fn of(model: &Model) -> Executors {
        let mut all =
            Executors { hash: oxorb_idl::equivalent::hash(model), ..Executors::default() };
        for def in model.defs() {
            match &def.kind {
                DefKind::ValueType(value) if value.event => {
                    all.events.push(def.scoped_name.clone());
                }
                DefKind::Component(body) | DefKind::Connector(body) if def.in_main_file => {
                    all.components.push(component(model, def.id, body));
                }
                DefKind::Home(body) if def.in_main_file => {
                    all.homes.push(home(model, def.id, body));
                }
                _ => {}
            }
        }
        all
    }
}

impl Executors {
    /// Returns the component whose equivalent interface has this name.
    pub(crate) fn component(&self, name: &str) -> Option<&ComponentExecutor> {
        let mut all = self.components.iter();
        all.find(|one| one.chain.last().is_some_and(|last| last == name))
    }

    /// Returns the home whose equivalent interface has this name.
    pub(crate) fn home(&self, name: &str) -> Option<&HomeExecutor> {
        let mut all = self.homes.iter();
        all.find(|one| one.chain.last().is_some_and(|last| last == name))
    }

    /// Returns the event type whose consumer interface has this name.
    pub(crate) fn event_of(&self, consumer: &str) -> Option<&str> {
        let event = consumer.strip_suffix("Consumer")?;
        let mut all = self.events.iter();
        all.find(|one| *one == event).map(String::as_str)
    }
}

fn name(model: &Model, id: DefId) -> String {
    model.def(id).scoped_name.clone()
}

fn component(model: &Model, id: DefId, body: &Component) -> ComponentExecutor {
    let mut bodies = vec![(id, body)];
    let mut next = body.base;
    while let Some(base) = next {
        let (DefKind::Component(body) | DefKind::Connector(body)) = &model.def(base).kind else {
            break;
        };
        bodies.push((base, body));
        next = body.base;
    }
    bodies.reverse();
    let mut found = ComponentExecutor {
        chain: bodies.iter().map(|(id, _)| name(model, *id)).collect(),
        supports: Vec::new(),
        ports: Vec::new(),
    };
    for (_, body) in bodies {
        let supports = body.supports.iter().map(|id| name(model, *id));
        found.supports.extend(supports);
        flatten(model, "", false, &body.exports, &mut found.ports);
    }
    found
}

/// Adds ports; those of extended ports under prefixed names.
fn flatten(
    model: &Model,
    before: &str,
    mirror: bool,
    exports: &[ComponentExport],
    into: &mut Vec<PlainPort>,
) {
    for export in exports {
        let ComponentExport::Port(port) = export else {
            continue;
        };
        let Some(kind) = plain(model, port, mirror) else {
            if let PortKind::Extended { port_type, mirror } = &port.kind
                && let DefKind::PortType(body) = &model.def(*port_type).kind
            {
                let before = format!("{before}{}_", port.name);
                flatten(model, &before, *mirror, &body.exports, into);
            }
            continue;
        };
        into.push(PlainPort {
            name: format!("{before}{}", port.name),
            doc: Arc::clone(&port.doc),
            kind,
        });
    }
}

/// Returns the kind of a port. `None` for extended ports, and for local interfaces, which no remote client could reach.
fn plain(model: &Model, port: &Port, mirror: bool) -> Option<PlainKind> {
    Some(match &port.kind {
        PortKind::Provides(ty) if mirror => PlainKind::Receptacle(interface(model, ty)?),
        PortKind::Uses { ty, .. } if mirror => PlainKind::Facet(interface(model, ty)?),
        PortKind::Provides(ty) => PlainKind::Facet(interface(model, ty)?),
        PortKind::Uses { ty, multiple: false } => PlainKind::Receptacle(interface(model, ty)?),
        PortKind::Uses { ty, multiple: true } => PlainKind::Multiple(interface(model, ty)?),
        PortKind::Emits(event) => PlainKind::Emitter(name(model, *event)),
        PortKind::Publishes(event) => PlainKind::Publisher(name(model, *event)),
        PortKind::Consumes(event) => PlainKind::Sink(name(model, *event)),
        PortKind::Extended { .. } => return None,
    })
}

fn interface(model: &Model, ty: &Type) -> Option<Option<String>> {
    let Type::Named(id) = model.resolve(ty) else {
        return Some(None);
    };
    match &model.def(*id).kind {
        DefKind::Interface(Interface { kind: InterfaceKind::Local, .. }) => None,
        _ => Some(Some(name(model, *id))),
    }
}

fn home(model: &Model, id: DefId, body: &Home) -> HomeExecutor {
    let mut bodies = vec![(id, body)];
    let mut next = body.base;
    while let Some(base) = next {
        let DefKind::Home(body) = &model.def(base).kind else {
            break;
        };
        bodies.push((base, body));
        next = body.base;
    }
    bodies.reverse();
    let mut found = HomeExecutor {
        chain: bodies.iter().map(|(id, _)| name(model, *id)).collect(),
        supports: Vec::new(),
        manages: name(model, body.manages),
        key: body.primary_key.map(|key| name(model, key)),
        factories: Vec::new(),
        finders: Vec::new(),
    };
    for (_, body) in bodies {
        let supports = body.supports.iter().map(|id| name(model, *id));
        found.supports.extend(supports);
        let factories = body.factories.iter().map(|one| one.name.clone());
        found.factories.extend(factories);
        let finders = body.finders.iter().map(|one| one.name.clone());
        found.finders.extend(finders);
    }
    found
}
