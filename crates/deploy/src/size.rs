//! Approximate sizes of elements of documents, for limits on the plans that are made from them.

use std::iter::Sum;

use crate::model::basic::{Property, Requirement};
use crate::model::plan::{ConnectionResource, ExternalReference};
use crate::model::value::{Any, Data, Type};

/// Number of elements, and octets of their names and values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) elements: usize,
    pub(crate) octets: usize,
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::default(), |sum, one| Size {
            elements: sum.elements + one.elements,
            octets: sum.octets + one.octets,
        })
    }
}

/// Returns the size of an element with names of this many octets.
pub(crate) fn element(octets: usize) -> Size {
    Size { elements: 1, octets }
}

/// Returns the size of a requirement, with its properties.
pub(crate) fn requirement(one: &Requirement) -> Size {
    let named = element(length(&one.name) + one.resource_type.len());
    one.property.iter().map(property).chain([named]).sum()
}

/// Returns the size of a resource of a connection, with its properties.
pub(crate) fn resource(one: &ConnectionResource) -> Size {
    let names = length(&one.target_name) + one.requirement_name.len() + one.resource_name.len();
    let named = element(names + one.resource_value.as_ref().map_or(0, any));
    one.property.iter().map(property).chain([named]).sum()
}

/// Returns the size of a reference to an outside object.
pub(crate) fn reference(one: &ExternalReference) -> Size {
    let named = element(one.location.len() + length(&one.port_name));
    one.supported_type.iter().map(|name| element(name.len())).chain([named]).sum()
}

fn property(one: &Property) -> Size {
    element(one.name.len() + any(&one.value))
}

fn length(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

/// Returns the octets of a value.
pub(crate) fn any(value: &Any) -> usize {
    kind(&value.kind) + data(&value.data)
}

/// Returns the octets of a type.
pub(crate) fn kind(of: &Type) -> usize {
    16 + match of {
        Type::Null | Type::Basic(_) | Type::Bounded { .. } => 0,
        Type::Enum { name, type_id, members } => {
            name.len() + type_id.len() + members.iter().map(|one| 16 + one.len()).sum::<usize>()
        }
        Type::Struct { name, type_id, members } => {
            let members = members.iter().map(|(name, of)| name.len() + kind(of));
            name.len() + type_id.len() + members.sum::<usize>()
        }
        Type::Sequence { element, .. } | Type::Array { element, .. } => kind(element),
        Type::Alias { name, type_id, element } => name.len() + type_id.len() + kind(element),
    }
}

/// Returns the octets of the data of a value.
pub(crate) fn data(of: &Data) -> usize {
    16 + match of {
        Data::Text(text) | Data::Enum(text) => text.len(),
        Data::Struct(items) | Data::Sequence(items) => items.iter().map(data).sum(),
        _ => 0,
    }
}
