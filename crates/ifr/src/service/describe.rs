//! Descriptions: all properties of an entry in one struct.

use oxorb::Any;

use super::{NO_SUCH, Object, text};
use crate::corba::*;
use crate::{Entry, EntryId, Kind, Member, Named, Parameter};

impl Object {
    /// Returns the description of an entry, according to its kind.
    pub(super) fn description(&self, id: EntryId) -> oxorb::Result<Any> {
        let entry = self.repository().entry(id);
        let named = entry.named.as_ref().ok_or(NO_SUCH)?;
        let Named { name, version, .. } = named;
        let (name, version) = (name.clone(), version.clone());
        let (own, defined_in) = (named.id.clone(), self.id_of(named.defined_in));
        Ok(match &entry.kind {
            Kind::Module => Any::new(ModuleDescription { name, id: own, defined_in, version }),
            Kind::Constant { value, .. } => Any::new(ConstantDescription {
                name,
                id: own,
                defined_in,
                version,
                r#type: entry.ty.clone(),
                value: text::outgoing(value),
            }),
            Kind::Exception(_) => Any::new(self.exception(id)?),
            Kind::Attribute { .. } => Any::new(self.attribute(entry, named)),
            Kind::Operation { .. } => Any::new(self.operation(entry, named)?),
            Kind::Interface { bases, .. } => Any::new(InterfaceDescription {
                name,
                id: own,
                defined_in,
                version,
                base_interfaces: self.ids_of(bases),
            }),
            Kind::Value(body) => Any::new(ValueDescription {
                name,
                id: own,
                is_abstract: body.is_abstract,
                is_custom: body.is_custom,
                defined_in,
                version,
                supported_interfaces: self.ids_of(&body.supports),
                abstract_base_values: self.ids_of(&body.abstract_bases),
                is_truncatable: body.is_truncatable,
                base_value: body.base.map(|base| self.id_of(base)).unwrap_or_default(),
            }),
            Kind::ValueMember { .. } => Any::new(self.value_member(entry, named)?),
            _ => Any::new(TypeDescription {
                name,
                id: own,
                defined_in,
                version,
                r#type: entry.ty.clone(),
            }),
        })
    }

    /// Returns the repository id; empty for the repository itself.
    pub(super) fn id_of(&self, id: EntryId) -> String {
        self.repository().entry(id).repository_id().to_owned()
    }

    pub(super) fn ids_of(&self, ids: &[EntryId]) -> Vec<String> {
        ids.iter().map(|id| self.id_of(*id)).collect()
    }

    pub(super) fn struct_members(&self, members: &[Member]) -> oxorb::Result<Vec<StructMember>> {
        let members = members.iter().map(|member| {
            Ok(StructMember {
                name: member.name.clone(),
                r#type: self.type_of(member.ty),
                type_def: self.nilable(member.ty)?,
            })
        });
        members.collect()
    }

    pub(super) fn parameters(
        &self,
        params: &[Parameter],
    ) -> oxorb::Result<Vec<ParameterDescription>> {
        let params = params.iter().map(|param| {
            Ok(ParameterDescription {
                name: param.name.clone(),
                r#type: self.type_of(param.ty),
                type_def: self.nilable(param.ty)?,
                mode: param.mode,
            })
        });
        params.collect()
    }

    pub(super) fn attribute(&self, entry: &Entry, named: &Named) -> AttributeDescription {
        AttributeDescription {
            name: named.name.clone(),
            id: named.id.clone(),
            defined_in: self.id_of(named.defined_in),
            version: named.version.clone(),
            r#type: entry.ty.clone(),
            mode: attribute_mode(&entry.kind),
        }
    }

    pub(super) fn ext_attribute(
        &self,
        entry: &Entry,
        named: &Named,
    ) -> oxorb::Result<ExtAttributeDescription> {
        let Kind::Attribute { get_raises, set_raises, .. } = &entry.kind else {
            return Err(NO_SUCH);
        };
        let AttributeDescription { name, id, defined_in, version, r#type, mode } =
            self.attribute(entry, named);
        Ok(ExtAttributeDescription {
            name,
            id,
            defined_in,
            version,
            r#type,
            mode,
            get_exceptions: self.exceptions_of(get_raises)?,
            put_exceptions: self.exceptions_of(set_raises)?,
        })
    }

    pub(super) fn exceptions_of(
        &self,
        raises: &[EntryId],
    ) -> oxorb::Result<Vec<ExceptionDescription>> {
        raises.iter().map(|id| self.exception(*id)).collect()
    }

    pub(super) fn operation(
        &self,
        entry: &Entry,
        named: &Named,
    ) -> oxorb::Result<OperationDescription> {
        let Kind::Operation { params, raises, contexts, oneway, .. } = &entry.kind else {
            return Err(NO_SUCH);
        };
        Ok(OperationDescription {
            name: named.name.clone(),
            id: named.id.clone(),
            defined_in: self.id_of(named.defined_in),
            version: named.version.clone(),
            result: entry.ty.clone(),
            mode: operation_mode(*oneway),
            contexts: contexts.clone(),
            parameters: self.parameters(params)?,
            exceptions: self.exceptions_of(raises)?,
        })
    }

    pub(super) fn value_member(&self, entry: &Entry, named: &Named) -> oxorb::Result<ValueMember> {
        let Kind::ValueMember { ty, public } = entry.kind else {
            return Err(NO_SUCH);
        };
        Ok(ValueMember {
            name: named.name.clone(),
            id: named.id.clone(),
            defined_in: self.id_of(named.defined_in),
            version: named.version.clone(),
            r#type: entry.ty.clone(),
            type_def: self.nilable(ty)?,
            access: visibility(public),
        })
    }

    fn exception(&self, id: EntryId) -> oxorb::Result<ExceptionDescription> {
        let entry = self.repository().entry(id);
        let named = entry.named.as_ref().ok_or(NO_SUCH)?;
        Ok(ExceptionDescription {
            name: named.name.clone(),
            id: named.id.clone(),
            defined_in: self.id_of(named.defined_in),
            version: named.version.clone(),
            r#type: entry.ty.clone(),
        })
    }
}

pub(super) fn attribute_mode(kind: &Kind) -> AttributeMode {
    match kind {
        Kind::Attribute { readonly: true, .. } => AttributeMode::AttrReadonly,
        _ => AttributeMode::AttrNormal,
    }
}

pub(super) fn operation_mode(oneway: bool) -> OperationMode {
    match oneway {
        true => OperationMode::OpOneway,
        false => OperationMode::OpNormal,
    }
}

pub(super) fn visibility(public: bool) -> Visibility {
    match public {
        true => PUBLIC_MEMBER,
        false => PRIVATE_MEMBER,
    }
}
