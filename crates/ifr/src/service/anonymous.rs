//! Unnamed types.

use oxorb::values::TypeCode;

use super::{NO_SUCH, Object};
use crate::corba::*;
use crate::{EntryId, Kind};

impl PrimitiveDef for Object {
    fn kind(&self) -> oxorb::Result<PrimitiveKind> {
        match self.kind() {
            Kind::Primitive(kind) => Ok(*kind),
            _ => Err(NO_SUCH),
        }
    }
}

impl StringDef for Object {
    fn bound(&self) -> oxorb::Result<u32> {
        match self.kind() {
            Kind::String(bound) => Ok(*bound),
            _ => Err(NO_SUCH),
        }
    }
}

impl WstringDef for Object {
    fn bound(&self) -> oxorb::Result<u32> {
        match self.kind() {
            Kind::Wstring(bound) => Ok(*bound),
            _ => Err(NO_SUCH),
        }
    }
}

impl FixedDef for Object {
    fn digits(&self) -> oxorb::Result<u16> {
        match self.kind() {
            Kind::Fixed(digits, _) => Ok(*digits),
            _ => Err(NO_SUCH),
        }
    }

    fn scale(&self) -> oxorb::Result<i16> {
        match self.kind() {
            Kind::Fixed(_, scale) => Ok(*scale),
            _ => Err(NO_SUCH),
        }
    }
}

impl Object {
    /// Returns the element type of a sequence or array, and the number of elements.
    fn elements(&self) -> oxorb::Result<(EntryId, u32)> {
        match self.kind() {
            Kind::Sequence(element, count) | Kind::Array(element, count) => Ok((*element, *count)),
            _ => Err(NO_SUCH),
        }
    }
}

impl SequenceDef for Object {
    fn bound(&self) -> oxorb::Result<u32> {
        Ok(self.elements()?.1)
    }

    fn element_type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_of(self.elements()?.0))
    }

    fn element_type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        self.nilable(self.elements()?.0)
    }
}

impl ArrayDef for Object {
    fn length(&self) -> oxorb::Result<u32> {
        Ok(self.elements()?.1)
    }

    fn element_type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.type_of(self.elements()?.0))
    }

    fn element_type_def(&self) -> oxorb::Result<Option<IdlTypeRef>> {
        self.nilable(self.elements()?.0)
    }
}
