//! References of definitions to others.

use super::Printer;
use crate::model::{
    Attribute, ComponentExport, DefId, DefKind, Export, Factory, Param, PortKind, Type, Value,
};

impl Printer<'_> {
    /// Returns all definitions that a definition refers to, including those inside it.
    pub(super) fn refers_to(&self, id: DefId) -> Vec<DefId> {
        let mut found = Refs::default();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            found.def(&self.model.def(id).kind, &mut todo);
        }
        found.ids
    }

    pub(super) fn uses_type_code(&self, id: DefId) -> bool {
        let mut found = Refs::default();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            found.def(&self.model.def(id).kind, &mut todo);
        }
        found.type_code
    }
}

#[derive(Default)]
struct Refs {
    ids: Vec<DefId>,
    type_code: bool,
}

impl Refs {
    /// Collects the definitions that `kind` refers to; those defined inside are added to `inside`.
    fn def(&mut self, kind: &DefKind, inside: &mut Vec<DefId>) {
        match kind {
            DefKind::Interface(body) => {
                self.ids.extend(&body.bases);
                inside.extend(&body.members);
                self.exports(&body.exports);
            }
            DefKind::Struct(body) | DefKind::Exception(body) => {
                self.ids.extend(body.base);
                inside.extend(&body.members);
                for field in &body.fields {
                    self.ty(&field.ty);
                    self.value(field.default.as_ref());
                }
            }
            DefKind::Union(body) => {
                self.ty(&body.discriminator);
                inside.extend(&body.members);
                for case in &body.cases {
                    self.ty(&case.field.ty);
                }
            }
            DefKind::Typedef(alias) => self.ty(&alias.ty),
            DefKind::Const(constant) => {
                self.ty(&constant.ty);
                self.value(Some(&constant.value));
            }
            DefKind::ValueType(body) => {
                self.ids.extend(body.bases.iter().chain(&body.supports));
                inside.extend(&body.members);
                for member in &body.state {
                    self.ty(&member.field.ty);
                }
                self.factories(&body.factories);
                self.exports(&body.exports);
            }
            DefKind::ValueBox(ty) => self.ty(ty),
            DefKind::BitSet(body) => self.ids.extend(body.base),
            DefKind::Component(body) | DefKind::Connector(body) => {
                self.ids.extend(body.base);
                self.ids.extend(&body.supports);
                self.ports(&body.exports);
            }
            DefKind::PortType(body) => self.ports(&body.exports),
            DefKind::Home(body) => {
                self.ids.extend(body.base);
                self.ids.extend(&body.supports);
                self.ids.push(body.manages);
                self.ids.extend(body.primary_key);
                inside.extend(&body.members);
                self.exports(&body.exports);
                self.factories(&body.factories);
                self.factories(&body.finders);
            }
            DefKind::Module(_)
            | DefKind::TemplateModule(_)
            | DefKind::ForwardInterface(_)
            | DefKind::Enum(_)
            | DefKind::BitMask(_)
            | DefKind::Native => {}
        }
    }

    fn exports(&mut self, exports: &[Export]) {
        for export in exports {
            match export {
                Export::Operation(operation) => {
                    if let Some(ty) = &operation.returns {
                        self.ty(ty);
                    }
                    self.params(&operation.params);
                    self.ids.extend(&operation.raises);
                }
                Export::Attribute(attribute) => self.attribute(attribute),
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute) {
        self.ty(&attribute.ty);
        let raises = attribute.get_raises.iter().chain(&attribute.set_raises);
        self.ids.extend(raises);
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            self.ty(&param.ty);
        }
    }

    fn factories(&mut self, factories: &[Factory]) {
        for factory in factories {
            self.params(&factory.params);
            self.ids.extend(&factory.raises);
        }
    }

    fn ports(&mut self, exports: &[ComponentExport]) {
        for export in exports {
            match export {
                ComponentExport::Attribute(attribute) => self.attribute(attribute),
                ComponentExport::Port(port) => match &port.kind {
                    PortKind::Provides(ty) | PortKind::Uses { ty, .. } => self.ty(ty),
                    PortKind::Emits(id)
                    | PortKind::Publishes(id)
                    | PortKind::Consumes(id)
                    | PortKind::Extended { port_type: id, .. } => self.ids.push(*id),
                },
            }
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Named(id) => self.ids.push(*id),
            Type::Sequence(element, _) | Type::Array(element, _) => self.ty(element),
            Type::Map(key, value, _) => {
                self.ty(key);
                self.ty(value);
            }
            Type::TypeCode => self.type_code = true,
            _ => {}
        }
    }

    fn value(&mut self, value: Option<&Value>) {
        if let Some(Value::Enumerator(id, _)) = value {
            self.ids.push(*id);
        }
    }
}
