//! Replacement of the references in decoded values.

use std::sync::Arc;

use crate::SystemException;
use crate::ior::{Ior, TaggedProfile};
use oxorb_cdr::{Any, Dynamic, DynamicError, Field, RawProfile, RawReference};

use crate::bridge::interfaces;
use crate::bridge::passage::{Passage, Towards};

/// Replaces the references in a value by their counterparts. Returns whether that has changed the value.
///
/// # Errors
/// Those of [`Counterparts`](crate::bridge::passage::Counterparts); MARSHAL for an any whose value is malformed.
pub(crate) fn replace(
    passage: &Arc<Passage>,
    value: &mut Dynamic,
    towards: Towards,
) -> Result<bool, SystemException> {
    let everywhere = passage.rules.everywhere;
    match value {
        Dynamic::Reference(raw) if !raw.is_nil() => {
            let ior = to_ior(raw);
            let counterpart = passage.counterparts.counterpart(passage, &ior, towards)?;
            let changed = counterpart != ior;
            if changed {
                *raw = from_ior(&counterpart);
            }
            Ok(changed)
        }
        Dynamic::Struct(fields) => replace_fields(passage, fields, towards),
        Dynamic::Union(selected) => {
            replace_fields(passage, selected.member.as_mut_slice(), towards)
        }
        Dynamic::Sequence(items) | Dynamic::Array(items) => {
            let mut changed = false;
            for item in items {
                changed |= replace(passage, item, towards)?;
            }
            Ok(changed)
        }
        Dynamic::Value(value) if everywhere => replace_fields(passage, &mut value.fields, towards),
        Dynamic::Any(any) if everywhere => replace_any(passage, any, towards),
        Dynamic::String(text) if everywhere => replace_text(passage, text, towards),
        _ => Ok(false),
    }
}

fn replace_fields(
    passage: &Arc<Passage>,
    fields: &mut [Field],
    towards: Towards,
) -> Result<bool, SystemException> {
    let mut changed = false;
    for field in fields {
        changed |= replace(passage, &mut field.value, towards)?;
    }
    Ok(changed)
}

fn replace_any(
    passage: &Arc<Passage>,
    any: &mut Any,
    towards: Towards,
) -> Result<bool, SystemException> {
    if !interfaces::may_carry_references(any.type_code().as_ref()) {
        return Ok(false);
    }
    let malformed =
        |error: DynamicError| SystemException::from_cdr(error.to_cdr(0), towards.completed());
    let mut content = any.dynamic().map_err(malformed)?;
    let changed = replace(passage, &mut content, towards)?;
    if changed {
        let ty = any.type_code().clone();
        *any = Any::with_type(ty, content).map_err(malformed)?;
    }
    Ok(changed)
}

/// Replaces text that is a stringified reference as a whole.
fn replace_text(
    passage: &Arc<Passage>,
    text: &mut String,
    towards: Towards,
) -> Result<bool, SystemException> {
    let Some(ior) = stringified(text) else {
        return Ok(false);
    };
    let counterpart = passage.counterparts.counterpart(passage, &ior, towards)?;
    let changed = counterpart != ior;
    if changed {
        *text = counterpart.to_string();
    }
    Ok(changed)
}

/// Returns the reference that a text denotes, if the text is a stringified reference (`IOR:`, in upper or lower case)
/// as a whole, apart from white space around it.
pub(crate) fn stringified(text: &str) -> Option<Ior> {
    let text = text.trim();
    let is_stringified = text.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("IOR:"));
    let ior: Ior = is_stringified.then(|| text.parse().ok()).flatten()?;
    (!ior.is_nil()).then_some(ior)
}

fn to_ior(raw: &RawReference) -> Ior {
    let profiles = raw
        .profiles
        .iter()
        .map(|profile| TaggedProfile { tag: profile.tag, data: profile.data.clone() });
    Ior { type_id: raw.type_id.clone(), profiles: profiles.collect() }
}

fn from_ior(ior: &Ior) -> RawReference {
    let profiles = ior
        .profiles
        .iter()
        .map(|profile| RawProfile { tag: profile.tag, data: profile.data.clone() });
    RawReference { type_id: ior.type_id.clone(), profiles: profiles.collect() }
}
