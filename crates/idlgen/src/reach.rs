//! Definitions to generate: those of the main file, and those that they need from included files.

use std::collections::BTreeSet;

use oxorb_idl::model::{Def, DefId, DefKind, Export, Field, Model, Type, Value};

/// Returns the ids of all definitions to generate, including enclosing scopes.
pub(crate) fn reachable(model: &Model) -> BTreeSet<DefId> {
    let mut reach = Reach { model, found: BTreeSet::new(), values_only: false };
    for def in model.defs().filter(|def| def.in_main_file) {
        reach.def(def.id);
    }
    reach.found
}

/// Returns the definitions contained in values that are transferred in calls of these interfaces, or in values of these
/// types. Excludes enclosing scopes, and interfaces that references refer to.
pub(crate) fn values_of(model: &Model, ids: &[DefId]) -> BTreeSet<DefId> {
    let mut reach = Reach { model, found: BTreeSet::new(), values_only: true };
    for id in ids {
        match &model.def(*id).kind {
            DefKind::Interface(interface) => {
                let exports = interface.exports.iter();
                exports.for_each(|export| reach.export(export));
            }
            _ => reach.def(*id),
        }
    }
    reach.found
}

struct Reach<'m> {
    model: &'m Model,
    found: BTreeSet<DefId>,
    /// Whether only transferred values count.
    values_only: bool,
}

impl Reach<'_> {
    fn def(&mut self, id: DefId) {
        if !self.found.insert(id) {
            return;
        }
        let def: &Def = self.model.def(id);
        if let Some(parent) = def.parent.filter(|_| !self.values_only) {
            self.def(parent);
        }
        match &def.kind {
            // Modules are reached from their members, which are reached only by name. The other kinds refer to nothing.
            DefKind::Module(_)
            | DefKind::ForwardInterface(_)
            | DefKind::Native
            | DefKind::Enum(_)
            | DefKind::BitMask(_)
            | DefKind::BitSet(_)
            | DefKind::TemplateModule(_) => {}
            // No code is generated for these kinds.
            DefKind::Component(_)
            | DefKind::Connector(_)
            | DefKind::PortType(_)
            | DefKind::Home(_) => {}
            DefKind::ValueType(value) => {
                value.bases.iter().for_each(|base| self.def(*base));
                value.supports.iter().for_each(|base| self.def(*base));
                value.state.iter().for_each(|one| self.field(&one.field));
                value.exports.iter().for_each(|export| self.export(export));
                for factory in &value.factories {
                    factory.params.iter().for_each(|param| self.ty(&param.ty));
                    factory.raises.iter().for_each(|id| self.def(*id));
                }
            }
            DefKind::ValueBox(content) => self.ty(content),
            DefKind::Interface(_) if self.values_only => {}
            DefKind::Interface(interface) => {
                interface.bases.iter().for_each(|base| self.def(*base));
                interface.exports.iter().for_each(|export| self.export(export));
            }
            DefKind::Struct(body) | DefKind::Exception(body) => {
                body.base.iter().for_each(|base| self.def(*base));
                body.fields.iter().for_each(|field| self.field(field));
            }
            DefKind::Union(body) => {
                self.ty(&body.discriminator);
                for case in &body.cases {
                    self.field(&case.field);
                    case.labels.iter().for_each(|label| self.value(label));
                }
            }
            DefKind::Typedef(alias) => self.ty(&alias.ty),
            DefKind::Const(constant) => {
                self.ty(&constant.ty);
                self.value(&constant.value);
            }
        }
    }

    fn export(&mut self, export: &Export) {
        match export {
            Export::Operation(operation) => {
                operation.returns.iter().for_each(|ty| self.ty(ty));
                operation.params.iter().for_each(|param| self.ty(&param.ty));
                operation.raises.iter().for_each(|id| self.def(*id));
            }
            Export::Attribute(attribute) => {
                self.ty(&attribute.ty);
                let raises = attribute.get_raises.iter().chain(&attribute.set_raises);
                raises.for_each(|id| self.def(*id));
            }
        }
    }

    fn field(&mut self, field: &Field) {
        self.ty(&field.ty);
        field.default.iter().for_each(|value| self.value(value));
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Named(id) => self.def(*id),
            Type::Sequence(element, _) | Type::Array(element, _) => self.ty(element),
            Type::Map(key, value, _) => {
                self.ty(key);
                self.ty(value);
            }
            _ => {}
        }
    }

    fn value(&mut self, value: &Value) {
        if let Value::Enumerator(id, _) = value {
            self.def(*id);
        }
    }
}
