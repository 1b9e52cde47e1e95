//! Valuetypes.

use oxorb::values::TypeCode;

use super::describe::visibility;
use super::{NO_SUCH, Object};
use crate::Kind;
use crate::corba::ext_value_def::ExtFullValueDescription;
use crate::corba::value_def::FullValueDescription;
use crate::corba::*;
use crate::repository::ValueBody;

impl Object {
    fn body(&self) -> oxorb::Result<&ValueBody> {
        match self.kind() {
            Kind::Value(body) => Ok(body),
            _ => Err(NO_SUCH),
        }
    }

    /// Returns all state, inherited state after the valuetype's own.
    fn state(&self) -> oxorb::Result<Vec<ValueMember>> {
        let repository = self.repository();
        let ids = repository.contents(self.id, DefinitionKind::DkValueMember, false);
        let entries = ids.iter().map(|id| repository.entry(*id));
        let described =
            entries.filter_map(|entry| Some(self.value_member(entry, entry.named.as_ref()?)));
        described.collect()
    }
}

impl ValueDef for Object {
    fn supported_interfaces(&self) -> oxorb::Result<Vec<Option<InterfaceDefRef>>> {
        self.all(&self.body()?.supports)
    }

    fn initializers(&self) -> oxorb::Result<Vec<Initializer>> {
        let initializers = self.body()?.initializers.iter();
        initializers
            .map(|factory| {
                Ok(Initializer {
                    members: self.struct_members(&factory.params)?,
                    name: factory.name.clone(),
                })
            })
            .collect()
    }

    fn base_value(&self) -> oxorb::Result<Option<ValueDefRef>> {
        let base = self.body()?.base;
        base.map(|base| self.reference(base)).transpose()
    }

    fn abstract_base_values(&self) -> oxorb::Result<Vec<Option<ValueDefRef>>> {
        self.all(&self.body()?.abstract_bases)
    }

    fn is_abstract(&self) -> oxorb::Result<bool> {
        Ok(self.body()?.is_abstract)
    }

    fn is_custom(&self) -> oxorb::Result<bool> {
        Ok(self.body()?.is_custom)
    }

    fn is_truncatable(&self) -> oxorb::Result<bool> {
        Ok(self.body()?.is_truncatable)
    }

    fn is_a(&self, id: &str) -> oxorb::Result<bool> {
        Ok(self.repository().is_a(self.id, id))
    }

    fn describe_value(&self) -> oxorb::Result<FullValueDescription> {
        let entry = self.repository().entry(self.id);
        let named = entry.named.as_ref().ok_or(NO_SUCH)?;
        let body = self.body()?;
        Ok(FullValueDescription {
            name: named.name.clone(),
            id: named.id.clone(),
            is_abstract: body.is_abstract,
            is_custom: body.is_custom,
            defined_in: self.id_of(named.defined_in),
            version: named.version.clone(),
            operations: self.operations()?,
            attributes: self.attributes(),
            members: self.state()?,
            initializers: self.initializers()?,
            supported_interfaces: self.ids_of(&body.supports),
            abstract_base_values: self.ids_of(&body.abstract_bases),
            is_truncatable: body.is_truncatable,
            base_value: body.base.map(|base| self.id_of(base)).unwrap_or_default(),
            r#type: entry.ty.clone(),
        })
    }
}

impl ExtValueDef for Object {
    fn ext_initializers(&self) -> oxorb::Result<Vec<ExtInitializer>> {
        let initializers = self.body()?.initializers.iter();
        initializers
            .map(|factory| {
                Ok(ExtInitializer {
                    members: self.struct_members(&factory.params)?,
                    exceptions: self.exceptions_of(&factory.raises)?,
                    name: factory.name.clone(),
                })
            })
            .collect()
    }

    fn describe_ext_value(&self) -> oxorb::Result<ExtFullValueDescription> {
        let FullValueDescription {
            name,
            id,
            is_abstract,
            is_custom,
            defined_in,
            version,
            operations,
            members,
            supported_interfaces,
            abstract_base_values,
            is_truncatable,
            base_value,
            r#type,
            ..
        } = self.describe_value()?;
        Ok(ExtFullValueDescription {
            name,
            id,
            is_abstract,
            is_custom,
            defined_in,
            version,
            operations,
            attributes: self.ext_attributes()?,
            members,
            initializers: self.ext_initializers()?,
            supported_interfaces,
            abstract_base_values,
            is_truncatable,
            base_value,
            r#type,
        })
    }
}

impl ValueMemberDef for Object {
    fn r#type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_code())
    }

    fn type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::ValueMember { ty, .. } => self.nilable(*ty),
            _ => Err(NO_SUCH),
        }
    }

    fn access(&self) -> oxorb::Result<Visibility> {
        match self.kind() {
            Kind::ValueMember { public, .. } => Ok(visibility(*public)),
            _ => Err(NO_SUCH),
        }
    }
}
