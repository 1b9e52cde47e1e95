//! Writing of types and data as elements.

use super::{Data, Type, holder, resolve};
use crate::described::bare;
use crate::element::Element;

pub(in crate::model) fn write_type(kind: &Type, name: &str) -> Element {
    let mut element = Element::new(name);
    let mut say = |kind: &str, inner: Option<Element>| {
        element.children.push(Element::text("kind", format!("tk_{kind}")));
        element.children.extend(inner);
    };
    let named = |detail: &str, name: &str, type_id: &str| {
        let mut inner = Element::new(detail);
        inner.children.push(Element::text("name", name));
        inner.children.push(Element::text("typeId", type_id));
        inner
    };
    match kind {
        Type::Null => say("null", None),
        Type::Basic(basic) => say(basic.name(), None),
        Type::Bounded { basic, bound } => {
            let mut inner = Element::new("boundedString");
            inner.children.push(bare("bound", bound));
            say(basic.name(), Some(inner));
        }
        Type::Enum { name, type_id, members } => {
            let mut inner = named("enum", name, type_id);
            inner.children.extend(members.iter().map(|member| Element::text("member", member)));
            say("enum", Some(inner));
        }
        Type::Struct { name, type_id, members } => {
            let mut inner = named("struct", name, type_id);
            inner.children.extend(members.iter().map(|(name, kind)| {
                let mut member = Element::new("member");
                member.children.push(Element::text("name", name));
                member.children.push(write_type(kind, "type"));
                member
            }));
            say("struct", Some(inner));
        }
        Type::Sequence { bound, element } => {
            let mut inner = Element::new("sequence");
            inner.children.extend(bound.map(|bound| bare("bound", bound)));
            inner.children.push(write_type(element, "elementType"));
            say("sequence", Some(inner));
        }
        Type::Array { length, element } => {
            let mut inner = Element::new("array");
            inner.children.push(bare("length", length));
            inner.children.push(write_type(element, "elementType"));
            say("array", Some(inner));
        }
        Type::Alias { name, type_id, element } => {
            let mut inner = named("alias", name, type_id);
            inner.children.push(write_type(element, "elementType"));
            say("alias", Some(inner));
        }
    }
    element
}

pub(super) fn write_data(name: &str, kind: &Type, data: &Data) -> Element {
    let kind = resolve(kind);
    let mut element = Element::new(name);
    match (kind, data) {
        (Type::Sequence { element: of, .. }, Data::Sequence(items)) => {
            element.children.extend(items.iter().map(|item| match holder(of) {
                Some(name) => write_leaf(name, item),
                None => write_data("element", of, item),
            }));
        }
        (Type::Array { element: of, .. }, Data::Sequence(items)) => {
            let items = items.iter().map(|item| write_data("element", of, item));
            element.children.extend(items);
        }
        (Type::Struct { members, .. }, Data::Struct(items)) => {
            element.children.extend(members.iter().zip(items).map(|((name, kind), item)| {
                let mut member = Element::new("member");
                member.children.push(Element::text("name", name));
                member.children.push(write_data("value", kind, item));
                member
            }));
        }
        (kind, data) => element.children.extend(holder(kind).map(|name| write_leaf(name, data))),
    }
    element
}

fn write_leaf(name: &str, data: &Data) -> Element {
    match data {
        Data::Integer(number) => bare(name, number),
        Data::Unsigned(number) => bare(name, number),
        // `{:?}` writes as many digits as are necessary to read the same number again.
        Data::Float(number) => Element::text(name, format!("{number:?}")),
        Data::Double(number) => Element::text(name, format!("{number:?}")),
        Data::Boolean(value) => bare(name, value),
        Data::Text(text) | Data::Enum(text) => Element::text(name, text),
        Data::Null | Data::Struct(_) | Data::Sequence(_) => Element::new(name),
    }
}
