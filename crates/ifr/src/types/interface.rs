//! Interfaces of IDL as signatures.

use oxorb_dynamic::{Direction, Signature};
use oxorb_idl::model::{
    self, Attribute as IdlAttribute, DefId, DefKind, Export, InterfaceKind, Operation,
};

use crate::types::{Types, Unsupported};

/// Interface with all inherited operations and attributes.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Names from file scope down to this one, joined by `::`.
    pub scoped_name: String,
    /// Repository id: `IDL:bank/Account:1.0`.
    pub repository_id: String,
    /// Repository ids of the interface, and of its bases, nearest first.
    pub ids: Vec<String>,
    /// Operations by their names on the wire: the interface's own first, attributes as `_get_` and `_set_`.
    pub operations: Vec<Signature>,
    /// Attributes, the interface's own first.
    pub attributes: Vec<Attribute>,
}

/// Attribute. Its type is the result of the operation `_get_` with its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Name as in IDL.
    pub name: String,
    /// Whether the attribute has no `_set_` operation.
    pub readonly: bool,
}

impl Interface {
    /// Returns the signature of the operation with this name on the wire.
    pub fn signature(&self, operation: &str) -> Option<&Signature> {
        let mut operations = self.operations.iter();
        operations.find(|known| known.operation == operation)
    }

    /// Returns an attribute by its name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|known| known.name == name)
    }

    /// Reports whether objects of this interface support another interface.
    pub fn is_a(&self, repository_id: &str) -> bool {
        self.ids.iter().any(|id| id == repository_id)
    }
}

impl Types {
    /// Returns an interface by its scoped name or repository id.
    pub fn interface(&self, name: &str) -> Result<Interface, Unsupported> {
        let def = self.find(name);
        let def = def.ok_or_else(|| Unsupported::Unknown(name.to_owned()))?;
        self.interface_of(def.id)
    }

    /// Returns the interface of a definition.
    pub fn interface_of(&self, id: DefId) -> Result<Interface, Unsupported> {
        let def = self.model().def(id);
        let interface = match &def.kind {
            DefKind::Interface(interface) => interface,
            DefKind::ForwardInterface(_) => {
                return Err(Unsupported::Undefined(def.scoped_name.clone()));
            }
            _ => return Err(Unsupported::NotAnInterface(def.scoped_name.clone())),
        };
        let mut found = Interface {
            scoped_name: def.scoped_name.clone(),
            repository_id: def.repository_id.clone(),
            ids: Vec::new(),
            operations: Vec::new(),
            attributes: Vec::new(),
        };
        let bases = self.model().all_bases(interface);
        for id in std::iter::once(id).chain(bases) {
            let def = self.model().def(id);
            found.ids.push(def.repository_id.clone());
            if let DefKind::Interface(interface) = &def.kind {
                self.add_exports(interface, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Returns the interfaces whose objects can be called, in order of appearance.
    pub fn interfaces(&self) -> impl Iterator<Item = &model::Def> {
        self.model().defs().filter(|def| match &def.kind {
            DefKind::Interface(interface) => interface.kind != InterfaceKind::Local,
            _ => false,
        })
    }

    /// Returns the signature of an operation.
    pub fn signature(&self, operation: &Operation) -> Result<Signature, Unsupported> {
        let mut signature = Signature::new(&operation.name);
        if let Some(returns) = &operation.returns {
            signature = signature.returning(self.of(returns)?);
        }
        for param in &operation.params {
            let direction = match param.direction {
                model::Direction::In => Direction::In,
                model::Direction::Out => Direction::Out,
                model::Direction::InOut => Direction::InOut,
            };
            signature = signature.with(&param.name, direction, self.of(&param.ty)?);
        }
        signature = self.raising(signature, &operation.raises)?;
        signature.context.clone_from(&operation.context);
        signature.oneway = operation.oneway;
        Ok(signature)
    }

    fn add_exports(
        &self,
        interface: &model::Interface,
        to: &mut Interface,
    ) -> Result<(), Unsupported> {
        for export in &interface.exports {
            match export {
                Export::Operation(operation) => to.operations.push(self.signature(operation)?),
                Export::Attribute(attribute) => {
                    to.operations.push(self.reader(attribute)?);
                    if !attribute.readonly {
                        to.operations.push(self.writer(attribute)?);
                    }
                    to.attributes.push(Attribute {
                        name: attribute.name.clone(),
                        readonly: attribute.readonly,
                    });
                }
            }
        }
        Ok(())
    }

    fn reader(&self, attribute: &IdlAttribute) -> Result<Signature, Unsupported> {
        let ty = self.of(&attribute.ty)?;
        let signature = Signature::attribute_get(&attribute.name, ty);
        self.raising(signature, &attribute.get_raises)
    }

    fn writer(&self, attribute: &IdlAttribute) -> Result<Signature, Unsupported> {
        let ty = self.of(&attribute.ty)?;
        let signature = Signature::attribute_set(&attribute.name, ty);
        self.raising(signature, &attribute.set_raises)
    }

    fn raising(&self, signature: Signature, raises: &[DefId]) -> Result<Signature, Unsupported> {
        raises.iter().try_fold(signature, |signature, id| Ok(signature.raising(self.of_def(*id)?)))
    }
}
