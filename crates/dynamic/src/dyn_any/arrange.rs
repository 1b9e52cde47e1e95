//! Normal form of values: members in order and with their names, octets as one string, nil as a
//! reference.

use oxorb_cdr::{Dynamic, Field, MemberRef, Shape, TcKind, TypeRef};

/// Converts a value of the type into the form in which components are counted.
pub(super) fn arrange(ty: TypeRef<'_>, value: &mut Dynamic) {
    let ty = ty.resolved();
    match (ty.shape(), &mut *value) {
        (Shape::Struct | Shape::Except, Dynamic::Struct(fields)) => {
            order(ty.members(), fields);
        }
        (_, Dynamic::Value(value)) => match value.ty.shape() {
            Shape::ValueBox(content) => {
                if let [only] = value.fields.as_mut_slice() {
                    arrange(content, &mut only.value);
                }
            }
            _ => {
                let members = value.ty.as_ref().state_members();
                order(members.into_iter(), &mut value.fields);
            }
        },
        (Shape::Union { discriminator, .. }, Dynamic::Union(selected)) => {
            arrange(discriminator, &mut selected.discriminator);
            let member = selected.discriminator.label();
            let member = member.and_then(|label| ty.select(label));
            if let (Some(member), Some(field)) = (member, &mut selected.member) {
                if field.name.is_empty() {
                    field.name = member.name.clone();
                }
                arrange(member.ty, &mut field.value);
            }
        }
        (Shape::Enum, Dynamic::Enum { name, ordinal }) if name.is_empty() => {
            if let Some(known) = ty.enumerators().get(*ordinal as usize) {
                *name = known.clone();
            }
        }
        (
            Shape::Sequence { element, .. } | Shape::Array { element, .. },
            Dynamic::Sequence(elements) | Dynamic::Array(elements),
        ) => {
            if element.resolved().kind() == TcKind::Octet {
                let octets = elements.iter().map(u8::try_from);
                let octets = octets.collect::<Result<_, _>>().unwrap_or_default();
                *value = Dynamic::Octets(octets);
            } else if has_forms(element) {
                elements.iter_mut().for_each(|value| arrange(element, value));
            }
        }
        (Shape::Named(kind), Dynamic::Null) if kind != TcKind::AbstractInterface => {
            *value = Dynamic::Reference(Default::default());
        }
        _ => {}
    }
}

/// Sorts members into the order of the type, with all their names.
fn order<'t>(members: impl Iterator<Item = MemberRef<'t>>, fields: &mut [Field]) {
    let named = fields.iter().any(|field| !field.name.is_empty());
    for (at, member) in members.enumerate() {
        if named {
            let mut ahead = fields[at..].iter();
            if let Some(ahead) = ahead.position(|field| field.name == *member.name) {
                fields[at..=at + ahead].rotate_right(1);
            }
        }
        if fields[at].name.is_empty() {
            fields[at].name = member.name.clone();
        }
        arrange(member.ty, &mut fields[at].value);
    }
}

/// Reports whether values of a type have more than one form.
fn has_forms(ty: TypeRef<'_>) -> bool {
    let simple = matches!(
        ty.resolved().shape(),
        Shape::Simple(_) | Shape::String { .. } | Shape::Wstring { .. } | Shape::Fixed { .. }
    );
    !simple
}
