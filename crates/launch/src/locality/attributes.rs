//! Attributes of instances, set through their references.

use oxorb_cdr::{Dynamic, RawProfile, RawReference, TcKind, TypeCode};
use oxorb_component::Attribute;
use oxorb_core::{Context, Interface, ObjectRef, Orb};
use oxorb_deploy::basic::Property;
use oxorb_deploy::plan::Instance;
use oxorb_deploy::value::{Basic, Data, Type};
use oxorb_dynamic::Signature;

use crate::{LaunchError, wire};

/// CIAO's oldest setting. It is the only one whose name contains no dot.
const COMPONENT_IOR: &str = "ComponentIOR";

/// Reports whether a property is a setting of the deployment engine, and not an attribute.
pub(super) fn is_setting(property: &Property) -> bool {
    property.name.contains('.') || property.name == COMPONENT_IOR
}

/// Sets the attributes for which the plan has values, in the order of the plan.
pub(super) fn set(
    orb: &Orb,
    object: &ObjectRef,
    known: &[Attribute],
    instance: &Instance,
) -> Result<(), LaunchError> {
    let properties = instance.config_property.iter();
    for property in properties.filter(|property| !is_setting(property)) {
        set_one(orb, object, known, property).map_err(|wrong| {
            let what = format!(
                "attribute {:?} of instance {:?} was not set: {}",
                property.name, instance.name, wrong.what
            );
            LaunchError::new(&instance.name, property.place, what).cure(wrong.cure)
        })?;
    }
    Ok(())
}

/// Reason why an attribute was not set.
struct Wrong {
    what: String,
    cure: String,
}

fn wrong(what: impl Into<String>, cure: impl Into<String>) -> Wrong {
    let (what, cure) = (what.into(), cure.into());
    Wrong { what, cure }
}

fn set_one(
    orb: &Orb,
    object: &ObjectRef,
    known: &[Attribute],
    property: &Property,
) -> Result<(), Wrong> {
    let mut all = known.iter();
    let Some(attribute) = all.find(|one| one.name == property.name) else {
        let settable = known.iter().filter(|one| one.is_settable);
        let names: Vec<&str> = settable.map(|one| one.name).collect();
        let cure = match names.as_slice() {
            [] => "it has none".to_owned(),
            names => format!("it has {}", names.join(", ")),
        };
        return Err(wrong("there is no such attribute", cure));
    };
    if !attribute.is_settable {
        return Err(wrong("it is readonly", "omit it"));
    }
    let ty = attribute.type_code();
    let value = value(orb, property, &ty)?;
    if let Err(error) = value.check(&ty) {
        return Err(wrong(error.to_string(), hint(&ty)));
    }
    let signature = Signature::attribute_set(attribute.name, ty);
    oxorb_dynamic::invoke(Interface::reference(object), &signature, &[value], &Context::new())
        .map_err(|exception| wrong(format!("the component raised {exception}"), ""))?;
    Ok(())
}

/// Returns the notation for values of a type, as a hint in error messages.
fn hint(ty: &TypeCode) -> String {
    let basic = match ty.resolved().kind() {
        TcKind::Short => Basic::Short,
        TcKind::Long => Basic::Long,
        TcKind::Longlong => Basic::LongLong,
        TcKind::Ushort => Basic::UShort,
        TcKind::Ulong => Basic::ULong,
        TcKind::Ulonglong => Basic::ULongLong,
        TcKind::Float => Basic::Float,
        TcKind::Double => Basic::Double,
        TcKind::Longdouble => Basic::LongDouble,
        TcKind::Boolean => Basic::Boolean,
        TcKind::Octet => Basic::Octet,
        TcKind::Char => Basic::Char,
        TcKind::Wchar => Basic::WChar,
        TcKind::String => Basic::String,
        TcKind::Wstring => Basic::WString,
        TcKind::Objref => Basic::Objref,
        _ => return format!("write its value as a {ty}"),
    };
    format!("write {{ {} = ... }}", basic.name())
}

fn value(orb: &Orb, property: &Property, ty: &TypeCode) -> Result<Dynamic, Wrong> {
    let is_reference =
        matches!(ty.resolved().kind(), TcKind::Objref | TcKind::Component | TcKind::Home);
    match (&property.value.kind, &property.value.data) {
        (Type::Basic(Basic::Objref), Data::Text(text)) if is_reference => {
            let object = orb.string_to_object(text);
            let object = object.map_err(|error| wrong(error.to_string(), ""))?;
            let ior = Interface::reference(&object).ior();
            let profiles = ior
                .profiles
                .iter()
                .map(|profile| RawProfile { tag: profile.tag, data: profile.data.clone() });
            Ok(Dynamic::Reference(RawReference {
                type_id: ior.type_id.clone(),
                profiles: profiles.collect(),
            }))
        }
        (kind, data) => wire::dynamic(kind, data).map_err(|why| wrong(why, "")),
    }
}
