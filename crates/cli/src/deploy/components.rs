//! Component types from IDL, for plans.

use std::collections::BTreeSet;
use std::path::PathBuf;

use oxorb_deploy::basic::PortKind;
use oxorb_deploy::check::{ComponentType, Components, Port};
use oxorb_deploy::value::{self, Basic};
use oxorb_idl::model::{self, Component, ComponentExport, DefId, DefKind, Model, PortType, Type};

use crate::idl::Reading;
use oxorb_terminal::output::{Failed, because};

/// Maximum number of ports, attributes, and names and parts of their types in all components. IDL of a package is
/// untrusted input, and a short text may describe any number of them.
const MOST_ELEMENTS: usize = 500_000;

/// Maximum size in octets of all names.
const MOST_OCTETS: usize = 64 << 20;

/// Maximum number of parts of an attribute's type. Types with more parts, and recursive ones, are not converted.
const MOST_PARTS: usize = 1_000;

/// Returns the components of IDL files; `None` without files. Prints the errors in the files.
pub(super) fn read(files: &[PathBuf], reading: &Reading) -> Result<Option<Components>, Failed> {
    match files {
        [] => Ok(None),
        files => of(&reading.model(files)?).map(Some).map_err(because),
    }
}

/// Returns all components and connectors of a model. Their ports include the inherited ones, extended ports, and the
/// basic ports for which extended ports stand. An error names the limit that they exceed.
pub(super) fn of(model: &Model) -> Result<Components, String> {
    let mut conversion = Conversion { model, elements: MOST_ELEMENTS, octets: MOST_OCTETS };
    let mut all = Components::new();
    for def in model.defs() {
        if let DefKind::Component(component) | DefKind::Connector(component) = &def.kind {
            conversion.spend(1, def.scoped_name.len())?;
            all.insert(def.scoped_name.clone(), conversion.component(component)?);
        }
    }
    Ok(all)
}

/// Conversion of the components of a model, with the remaining numbers of elements and octets.
struct Conversion<'m> {
    model: &'m Model,
    elements: usize,
    octets: usize,
}

impl<'m> Conversion<'m> {
    /// Subtracts a number of elements and octets from the limits.
    fn spend(&mut self, elements: usize, octets: usize) -> Result<(), String> {
        let beyond = |most: usize, what: &str| {
            format!("the components of the IDL have more than {most} {what}, the limit")
        };
        self.elements = self
            .elements
            .checked_sub(elements)
            .ok_or_else(|| beyond(MOST_ELEMENTS, "ports, attributes and parts of their types"))?;
        self.octets = self
            .octets
            .checked_sub(octets)
            .ok_or_else(|| beyond(MOST_OCTETS, "octets of names"))?;
        Ok(())
    }

    /// Returns a component or connector, with its inherited ports.
    fn component(&mut self, component: &'m Component) -> Result<ComponentType, String> {
        let model = self.model;
        let mut found = ComponentType::default();
        let mut next = Some(component);
        while let Some(component) = next {
            self.spend(1, 0)?;
            self.add(&component.exports, "", false, &mut found)?;
            next = component.base.and_then(|id| match &model.def(id).kind {
                DefKind::Component(above) | DefKind::Connector(above) => Some(above),
                _ => None,
            });
        }
        Ok(found)
    }

    /// Adds ports and settable attributes under a prefix. The ports of a mirror port have the reverse direction.
    fn add(
        &mut self,
        exports: &'m [ComponentExport],
        prefix: &str,
        is_mirror: bool,
        into: &mut ComponentType,
    ) -> Result<(), String> {
        let model = self.model;
        for export in exports {
            self.spend(1, 0)?;
            let port = match export {
                ComponentExport::Attribute(attribute) if attribute.readonly => continue,
                ComponentExport::Attribute(attribute) => {
                    let name = self.name(prefix, &attribute.name)?;
                    let kind = self.plan_type(&attribute.ty, &mut { MOST_PARTS })?;
                    into.attributes.insert(name, kind);
                    continue;
                }
                ComponentExport::Port(port) => port,
            };
            if is_local(model, &port.kind) {
                continue;
            }
            let name = self.name(prefix, &port.name)?;
            let (kind, (type_name, is_also)) = match &port.kind {
                model::PortKind::Provides(ty) if is_mirror => {
                    (PortKind::SimplexReceptacle, self.interface(ty)?)
                }
                model::PortKind::Provides(ty) => (PortKind::Facet, self.interface(ty)?),
                model::PortKind::Uses { ty, .. } if is_mirror => {
                    (PortKind::Facet, self.interface(ty)?)
                }
                model::PortKind::Uses { ty, multiple: true } => {
                    (PortKind::MultiplexReceptacle, self.interface(ty)?)
                }
                model::PortKind::Uses { ty, .. } => {
                    (PortKind::SimplexReceptacle, self.interface(ty)?)
                }
                model::PortKind::Emits(id) => (PortKind::EventEmitter, self.with_bases(*id)?),
                model::PortKind::Publishes(id) => (PortKind::EventPublisher, self.with_bases(*id)?),
                model::PortKind::Consumes(id) => (PortKind::EventConsumer, self.with_bases(*id)?),
                model::PortKind::Extended { port_type, mirror } => {
                    let def = model.def(*port_type);
                    if let DefKind::PortType(ports) = &def.kind {
                        // As in generated code, the direction of a nested extended port depends only on its own
                        // declaration. A mirror port around it does not reverse the direction a second time.
                        self.add(&ports.exports, &format!("{name}_"), *mirror, into)?;
                        let port = self.extended(&def.scoped_name, ports, *mirror)?;
                        into.ports.insert(name, port);
                    }
                    continue;
                }
            };
            into.ports.insert(name, Port { kind, type_name, is_also, basic: Vec::new() });
        }
        Ok(())
    }

    /// Returns a name with a prefix.
    fn name(&mut self, prefix: &str, name: &str) -> Result<String, String> {
        self.spend(0, prefix.len() + name.len())?;
        Ok(format!("{prefix}{name}"))
    }

    /// Returns an extended port or a mirror port.
    fn extended(
        &mut self,
        type_name: &str,
        ports: &PortType,
        is_mirror: bool,
    ) -> Result<Port, String> {
        self.spend(1, type_name.len())?;
        let mut basic = Vec::new();
        for export in &ports.exports {
            if let ComponentExport::Port(port) = export {
                self.spend(1, port.name.len())?;
                basic.push(port.name.clone());
            }
        }
        Ok(Port {
            kind: if is_mirror { PortKind::MirrorPort } else { PortKind::ExtendedPort },
            type_name: type_name.to_owned(),
            is_also: [type_name.to_owned()].into(),
            basic,
        })
    }

    /// Returns the name of an interface and of all its bases.
    fn interface(&mut self, ty: &'m Type) -> Result<(String, BTreeSet<String>), String> {
        let object = "Object".to_owned();
        self.spend(1, object.len())?;
        let Type::Named(id) = self.model.resolve(ty) else {
            return Ok((object.clone(), [object].into()));
        };
        let (name, mut all) = self.with_bases(*id)?;
        all.insert(object);
        Ok((name, all))
    }

    /// Returns the name of an interface or event type, and the names of the type and of all its bases.
    fn with_bases(&mut self, id: DefId) -> Result<(String, BTreeSet<String>), String> {
        let model = self.model;
        let mut all = BTreeSet::new();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            let def = model.def(id);
            self.spend(1, def.scoped_name.len())?;
            if !all.insert(def.scoped_name.clone()) {
                continue;
            }
            match &def.kind {
                DefKind::Interface(interface) => todo.extend(&interface.bases),
                DefKind::ValueType(value) => todo.extend(&value.bases),
                _ => {}
            }
        }
        Ok((model.def(id).scoped_name.clone(), all))
    }

    /// Returns the type of values in plans. `None` if plans do not support the type, or if it has more than `left`
    /// parts.
    fn plan_type(&mut self, ty: &'m Type, left: &mut usize) -> Result<Option<value::Type>, String> {
        self.spend(1, 0)?;
        if !take(left, 1) {
            return Ok(None);
        }
        Ok(match self.model.resolve(ty) {
            Type::String(bound) => Some(text(Basic::String, *bound)),
            Type::WString(bound) => Some(text(Basic::WString, *bound)),
            Type::Object => Some(value::Type::Basic(Basic::Objref)),
            Type::Basic(kind) => basic(*kind).map(value::Type::Basic),
            Type::Sequence(element, bound) => {
                let element = self.plan_type(element, left)?;
                element.map(|element| value::Type::Sequence {
                    bound: *bound,
                    element: Box::new(element),
                })
            }
            Type::Array(element, lengths) => {
                self.spend(lengths.len(), 0)?;
                if !take(left, lengths.len()) {
                    return Ok(None);
                }
                let mut found = self.plan_type(element, left)?;
                for &length in lengths.iter().rev() {
                    found = found
                        .map(|element| value::Type::Array { length, element: Box::new(element) });
                }
                found
            }
            Type::Named(id) => self.named(*id, left)?,
            _ => None,
        })
    }

    /// Returns the type of values in plans for a named type.
    fn named(&mut self, id: DefId, left: &mut usize) -> Result<Option<value::Type>, String> {
        let model = self.model;
        let def = model.def(id);
        self.spend(0, def.name.len() + def.repository_id.len())?;
        let (name, type_id) = (def.name.clone(), def.repository_id.clone());
        match &def.kind {
            DefKind::Interface(_)
            | DefKind::ForwardInterface(_)
            | DefKind::Component(_)
            | DefKind::Home(_) => Ok(Some(value::Type::Basic(Basic::Objref))),
            DefKind::Enum(body) => {
                let mut members = Vec::new();
                for one in &body.enumerators {
                    self.spend(1, one.name.len())?;
                    members.push(one.name.clone());
                }
                Ok(Some(value::Type::Enum { name, type_id, members }))
            }
            DefKind::Struct(body) => {
                let fields = model.all_fields(body);
                // The fields of a type that is not converted count, too, because they were collected.
                self.spend(fields.len(), 0)?;
                let mut members = Vec::new();
                for field in fields {
                    // Plans have no values without a member.
                    if field.optional {
                        return Ok(None);
                    }
                    self.spend(0, field.name.len())?;
                    let Some(kind) = self.plan_type(&field.ty, left)? else {
                        return Ok(None);
                    };
                    members.push((field.name.clone(), kind));
                }
                Ok(Some(value::Type::Struct { name, type_id, members }))
            }
            _ => Ok(None),
        }
    }
}

/// Subtracts a number of parts, unless fewer are left.
fn take(left: &mut usize, parts: usize) -> bool {
    match left.checked_sub(parts) {
        Some(less) => {
            *left = less;
            true
        }
        None => false,
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

fn text(basic: Basic, bound: Option<u32>) -> value::Type {
    match bound {
        Some(bound) => value::Type::Bounded { basic, bound },
        None => value::Type::Basic(basic),
    }
}

fn basic(kind: model::Basic) -> Option<Basic> {
    Some(match kind {
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
    })
}
