//! Modules, constants, and named types.

use oxorb::Any;
use oxorb::values::TypeCode;

use super::{NO_SUCH, Object, text};
use crate::Kind;
use crate::corba::*;

impl ModuleDef for Object {}

impl TypedefDef for Object {}

impl NativeDef for Object {}

impl ConstantDef for Object {
    fn r#type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_code())
    }

    fn type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::Constant { ty, .. } => self.nilable(*ty),
            _ => Err(NO_SUCH),
        }
    }

    fn value(&self) -> oxorb::Result<Any> {
        match self.kind() {
            Kind::Constant { value, .. } => Ok(text::outgoing(value)),
            _ => Err(NO_SUCH),
        }
    }
}

impl StructDef for Object {
    fn members(&self) -> oxorb::Result<Vec<StructMember>> {
        match self.kind() {
            Kind::Struct(members) => self.struct_members(members),
            _ => Err(NO_SUCH),
        }
    }
}

impl ExceptionDef for Object {
    fn r#type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_code())
    }

    fn members(&self) -> oxorb::Result<Vec<StructMember>> {
        match self.kind() {
            Kind::Exception(members) => self.struct_members(members),
            _ => Err(NO_SUCH),
        }
    }
}

impl UnionDef for Object {
    fn discriminator_type(&self) -> oxorb::Result<TypeCode> {
        match self.kind() {
            Kind::Union { discriminator, .. } => Ok(self.type_of(*discriminator)),
            _ => Err(NO_SUCH),
        }
    }

    fn discriminator_type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::Union { discriminator, .. } => self.nilable(*discriminator),
            _ => Err(NO_SUCH),
        }
    }

    fn members(&self) -> oxorb::Result<Vec<UnionMember>> {
        let Kind::Union { members, .. } = self.kind() else {
            return Err(NO_SUCH);
        };
        let members = members.iter().map(|member| {
            Ok(UnionMember {
                name: member.name.clone(),
                label: text::outgoing(&member.label),
                r#type: self.type_of(member.ty),
                type_def: self.nilable(member.ty)?,
            })
        });
        members.collect()
    }
}

impl EnumDef for Object {
    fn members(&self) -> oxorb::Result<Vec<String>> {
        match self.kind() {
            Kind::Enum(members) => Ok(members.clone()),
            _ => Err(NO_SUCH),
        }
    }
}

impl AliasDef for Object {
    fn original_type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::Alias(original) => self.nilable(*original),
            _ => Err(NO_SUCH),
        }
    }
}

impl ValueBoxDef for Object {
    fn original_type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        match self.kind() {
            Kind::ValueBox(original) => self.nilable(*original),
            _ => Err(NO_SUCH),
        }
    }
}
