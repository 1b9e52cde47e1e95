//! Component types from IDL, for the check of a plan.

use std::collections::BTreeSet;

use oxorb_deploy::basic::PortKind;
use oxorb_deploy::check::{ComponentType, Components, Port};
use oxorb_deploy::value::Basic;
use oxorb_idl::model::{self, ComponentExport, DefId, DefKind, Model, Type};

/// Returns all components and connectors of a model, with their inherited ports and those of extended ports.
pub(super) fn of(model: &Model) -> Components {
    let components = model.defs().filter_map(|def| match &def.kind {
        DefKind::Component(component) | DefKind::Connector(component) => {
            Some((def.scoped_name.clone(), component))
        }
        _ => None,
    });
    components
        .map(|(name, component)| {
            let mut found = ComponentType::default();
            let mut chain = vec![component];
            let mut base = component.base;
            while let Some(DefKind::Component(above) | DefKind::Connector(above)) =
                base.map(|id| &model.def(id).kind)
            {
                chain.push(above);
                base = above.base;
            }
            for component in chain {
                add(model, &component.exports, "", false, &mut found);
            }
            (name, found)
        })
        .collect()
}

/// Adds ports under a prefix; those of a mirror port with their direction reversed.
fn add(
    model: &Model,
    exports: &[ComponentExport],
    prefix: &str,
    is_mirror: bool,
    into: &mut ComponentType,
) {
    for export in exports {
        let port = match export {
            ComponentExport::Attribute(attribute) if attribute.readonly => continue,
            ComponentExport::Attribute(attribute) => {
                let name = format!("{prefix}{}", attribute.name);
                into.attributes.insert(name, basic(model, &attribute.ty));
                continue;
            }
            ComponentExport::Port(port) => port,
        };
        if is_local(model, &port.kind) {
            continue;
        }
        let name = format!("{prefix}{}", port.name);
        let (kind, (type_name, is_also)) = match &port.kind {
            model::PortKind::Provides(ty) if is_mirror => {
                (PortKind::SimplexReceptacle, interface(model, ty))
            }
            model::PortKind::Provides(ty) => (PortKind::Facet, interface(model, ty)),
            model::PortKind::Uses { ty, .. } if is_mirror => {
                (PortKind::Facet, interface(model, ty))
            }
            model::PortKind::Uses { ty, multiple: true } => {
                (PortKind::MultiplexReceptacle, interface(model, ty))
            }
            model::PortKind::Uses { ty, .. } => (PortKind::SimplexReceptacle, interface(model, ty)),
            model::PortKind::Emits(id) => (PortKind::EventEmitter, event(model, *id)),
            model::PortKind::Publishes(id) => (PortKind::EventPublisher, event(model, *id)),
            model::PortKind::Consumes(id) => (PortKind::EventConsumer, event(model, *id)),
            model::PortKind::Extended { port_type, mirror } => {
                if let DefKind::PortType(ports) = &model.def(*port_type).kind {
                    add(
                        model,
                        &ports.exports,
                        &format!("{name}_"),
                        // As in generated code, only the nested port decides: within a mirror port, it is not reversed
                        // a second time.
                        *mirror,
                        into,
                    );
                }
                continue;
            }
        };
        into.ports.insert(name, Port { kind, type_name, is_also });
    }
}

/// Reports whether a port has a local interface. No plan can connect such a port, because clients have no operation for
/// it.
fn is_local(model: &Model, kind: &model::PortKind) -> bool {
    let (model::PortKind::Provides(ty) | model::PortKind::Uses { ty, .. }) = kind else {
        return false;
    };
    let Type::Named(id) = model.resolve(ty) else {
        return false;
    };
    matches!(
        &model.def(*id).kind,
        DefKind::Interface(interface) if interface.kind == model::InterfaceKind::Local
    )
}

/// Returns the name of an interface and of all its bases.
fn interface(model: &Model, ty: &Type) -> (String, BTreeSet<String>) {
    let object = || "Object".to_owned();
    let Type::Named(id) = model.resolve(ty) else {
        return (object(), [object()].into());
    };
    let def = model.def(*id);
    let mut all: BTreeSet<String> = [def.scoped_name.clone(), object()].into();
    if let DefKind::Interface(interface) = &def.kind {
        all.extend(
            model.all_bases(interface).into_iter().map(|base| model.def(base).scoped_name.clone()),
        );
    }
    (def.scoped_name.clone(), all)
}

/// Returns the name of an event type and of all its bases.
fn event(model: &Model, id: DefId) -> (String, BTreeSet<String>) {
    let mut all = BTreeSet::new();
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        let def = model.def(id);
        if !all.insert(def.scoped_name.clone()) {
            continue;
        }
        if let DefKind::ValueType(value) = &def.kind {
            todo.extend(&value.bases);
        }
    }
    (model.def(id).scoped_name.clone(), all)
}

fn basic(model: &Model, ty: &Type) -> Option<Basic> {
    Some(match model.resolve(ty) {
        Type::String(_) => Basic::String,
        Type::WString(_) => Basic::WString,
        Type::Object => Basic::Objref,
        Type::Basic(basic) => match basic {
            model::Basic::Octet => Basic::Octet,
            model::Basic::Boolean => Basic::Boolean,
            model::Basic::Char => Basic::Char,
            model::Basic::WChar => Basic::WChar,
            model::Basic::Short => Basic::Short,
            model::Basic::UShort => Basic::UShort,
            model::Basic::Long => Basic::Long,
            model::Basic::ULong => Basic::ULong,
            model::Basic::LongLong => Basic::LongLong,
            model::Basic::ULongLong => Basic::ULongLong,
            model::Basic::Float => Basic::Float,
            model::Basic::Double => Basic::Double,
            model::Basic::LongDouble => Basic::LongDouble,
            // Deployment plans cannot express these types of IDL 4.
            model::Basic::Int8 | model::Basic::UInt8 => return None,
        },
        _ => return None,
    })
}
