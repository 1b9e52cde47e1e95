//! Interfaces, their operations and attributes.

use oxorb::values::TypeCode;

use super::describe::{attribute_mode, operation_mode};
use super::{NO_SUCH, Object};
use crate::Kind;
use crate::corba::interface_attr_extension::ExtFullInterfaceDescription;
use crate::corba::interface_def::FullInterfaceDescription;
use crate::corba::*;

impl InterfaceDef for Object {
    fn base_interfaces(&self) -> oxorb::Result<Vec<Option<InterfaceDefRef>>> {
        match self.kind() {
            Kind::Interface { bases, .. } => self.all(bases),
            _ => Err(NO_SUCH),
        }
    }

    fn is_a(&self, interface_id: &str) -> oxorb::Result<bool> {
        Ok(self.repository().is_a(self.id, interface_id))
    }

    fn describe_interface(&self) -> oxorb::Result<FullInterfaceDescription> {
        let entry = self.repository().entry(self.id);
        let named = entry.named.as_ref().ok_or(NO_SUCH)?;
        let Kind::Interface { bases, .. } = &entry.kind else {
            return Err(NO_SUCH);
        };
        Ok(FullInterfaceDescription {
            name: named.name.clone(),
            id: named.id.clone(),
            defined_in: self.id_of(named.defined_in),
            version: named.version.clone(),
            operations: self.operations()?,
            attributes: self.attributes(),
            base_interfaces: self.ids_of(bases),
            r#type: entry.ty.clone(),
        })
    }
}

impl AbstractInterfaceDef for Object {}

impl LocalInterfaceDef for Object {}

impl ExtInterfaceDef for Object {}

impl ExtAbstractInterfaceDef for Object {}

impl ExtLocalInterfaceDef for Object {}

impl InterfaceAttrExtension for Object {
    fn describe_ext_interface(&self) -> oxorb::Result<ExtFullInterfaceDescription> {
        let FullInterfaceDescription {
            name,
            id,
            defined_in,
            version,
            operations,
            base_interfaces,
            r#type,
            ..
        } = self.describe_interface()?;
        Ok(ExtFullInterfaceDescription {
            name,
            id,
            defined_in,
            version,
            operations,
            attributes: self.ext_attributes()?,
            base_interfaces,
            r#type,
        })
    }
}

impl Object {
    /// Returns all operations, inherited ones after the interface's own.
    pub(super) fn operations(&self) -> oxorb::Result<Vec<OperationDescription>> {
        let repository = self.repository();
        let ids = repository.contents(self.id, DefinitionKind::DkOperation, false);
        let entries = ids.iter().map(|id| repository.entry(*id));
        let described =
            entries.filter_map(|entry| Some(self.operation(entry, entry.named.as_ref()?)));
        described.collect()
    }

    /// Returns all attributes with their exceptions, inherited ones after the interface's own.
    pub(super) fn ext_attributes(&self) -> oxorb::Result<Vec<ExtAttributeDescription>> {
        let repository = self.repository();
        let ids = repository.contents(self.id, DefinitionKind::DkAttribute, false);
        let entries = ids.iter().map(|id| repository.entry(*id));
        let described =
            entries.filter_map(|entry| Some(self.ext_attribute(entry, entry.named.as_ref()?)));
        described.collect()
    }

    /// Returns all attributes, inherited ones after the interface's own.
    pub(super) fn attributes(&self) -> Vec<AttributeDescription> {
        let repository = self.repository();
        let ids = repository.contents(self.id, DefinitionKind::DkAttribute, false);
        let entries = ids.iter().map(|id| repository.entry(*id));
        entries.filter_map(|entry| Some(self.attribute(entry, entry.named.as_ref()?))).collect()
    }
}

impl AttributeDef for Object {
    fn r#type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_code())
    }

    fn type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::Attribute { ty, .. } => self.nilable(*ty),
            _ => Err(NO_SUCH),
        }
    }

    fn mode(&self) -> oxorb::Result<AttributeMode> {
        Ok(attribute_mode(self.kind()))
    }
}

impl ExtAttributeDef for Object {
    fn get_exceptions(&self) -> oxorb::Result<Vec<ExceptionDescription>> {
        match self.kind() {
            Kind::Attribute { get_raises, .. } => self.exceptions_of(get_raises),
            _ => Err(NO_SUCH),
        }
    }

    fn set_exceptions(&self) -> oxorb::Result<Vec<ExceptionDescription>> {
        match self.kind() {
            Kind::Attribute { set_raises, .. } => self.exceptions_of(set_raises),
            _ => Err(NO_SUCH),
        }
    }

    fn describe_attribute(&self) -> oxorb::Result<ExtAttributeDescription> {
        let entry = self.repository().entry(self.id);
        self.ext_attribute(entry, entry.named.as_ref().ok_or(NO_SUCH)?)
    }
}

impl OperationDef for Object {
    fn result(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_code())
    }

    fn result_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::Operation { result, .. } => self.nilable(*result),
            _ => Err(NO_SUCH),
        }
    }

    fn params(&self) -> oxorb::Result<Vec<ParameterDescription>> {
        match self.kind() {
            Kind::Operation { params, .. } => self.parameters(params),
            _ => Err(NO_SUCH),
        }
    }

    fn mode(&self) -> oxorb::Result<OperationMode> {
        match self.kind() {
            Kind::Operation { oneway, .. } => Ok(operation_mode(*oneway)),
            _ => Err(NO_SUCH),
        }
    }

    fn contexts(&self) -> oxorb::Result<Vec<String>> {
        match self.kind() {
            Kind::Operation { contexts, .. } => Ok(contexts.clone()),
            _ => Err(NO_SUCH),
        }
    }

    fn exceptions(&self) -> oxorb::Result<Vec<Option<ExceptionDefRef>>> {
        match self.kind() {
            Kind::Operation { raises, .. } => self.all(raises),
            _ => Err(NO_SUCH),
        }
    }
}
