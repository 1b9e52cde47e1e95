//! Members omitted from JSON.

use oxorb_cdr::{Dynamic, DynamicErrorKind, Field, MemberRef, Shape, TypeCode, TypeRef};
use serde_json::Value;

use super::{JsonError, Reader};

/// Maximum number of default values added to one message. The limit is needed because a small type may have
/// very many parts.
const MOST: usize = 1 << 20;

/// Maximum nesting depth of structs that are filled in, because each level uses stack.
const MAX_DEPTH: usize = 128;

/// Interpretation of a member omitted from JSON.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum LeftOut {
    /// Use this value, such as that of the member's `@default`.
    Default(Value),
    /// Use zero, false, empty, nil, or the first enumerator or union member; fill in the members of
    /// a struct as if each were omitted.
    Zero,
    /// Report an error that names the member and ends with this advice, which may be empty.
    Refused(&'static str),
}

impl Reader<'_> {
    /// Returns the value of an omitted value of a type: members of a struct according to
    /// [`Names::left_out`](super::Names::left_out), anything else zero.
    pub fn zero(&mut self, ty: &TypeCode) -> Result<Dynamic, JsonError> {
        self.fill(ty.as_ref(), MAX_DEPTH)
    }

    /// Returns the value of an omitted member of `whole`. `missing` starts the text of a refusal.
    pub(super) fn left_out(
        &mut self,
        whole: TypeRef<'_>,
        member: MemberRef<'_>,
        missing: &str,
    ) -> Result<Dynamic, JsonError> {
        self.fill_member(whole, member, missing, MAX_DEPTH)
    }

    fn fill_member(
        &mut self,
        whole: TypeRef<'_>,
        member: MemberRef<'_>,
        missing: &str,
        levels: usize,
    ) -> Result<Dynamic, JsonError> {
        let id = whole.id().unwrap_or_default();
        let value = match self.names.left_out(id, member.name) {
            LeftOut::Default(json) => self.read(&json, member.ty),
            LeftOut::Zero => self.fill(member.ty, levels),
            LeftOut::Refused(advice) => {
                return Err(JsonError::new(format!("{missing}{advice}")));
            }
        };
        value.map_err(|error| error.within(member.name))
    }

    fn fill(&mut self, ty: TypeRef<'_>, levels: usize) -> Result<Dynamic, JsonError> {
        let ty = ty.resolved();
        let levels = levels.checked_sub(1).ok_or_else(too_large)?;
        if !matches!(ty.shape(), Shape::Struct | Shape::Except) {
            let value =
                Dynamic::default_for(&ty.to_type_code()).map_err(|error| match error.reason {
                    DynamicErrorKind::TooLarge => too_large(),
                    _ => JsonError::new(error.to_string()),
                })?;
            self.filled += parts(&value);
            return if self.filled > MOST { Err(too_large()) } else { Ok(value) };
        }
        self.filled += 1;
        if self.filled > MOST {
            return Err(too_large());
        }
        let fields = ty.members().map(|member| {
            let value = self.fill_member(ty, member, "the member is missing", levels)?;
            let name = member.name.clone();
            Ok(Field { name, value })
        });
        Ok(Dynamic::Struct(fields.collect::<Result<_, JsonError>>()?))
    }
}

fn parts(value: &Dynamic) -> usize {
    let octets = match value {
        Dynamic::Octets(octets) => octets.len(),
        _ => 0,
    };
    let within = (0..value.component_count()).filter_map(|at| value.element(at));
    1 + octets + within.map(parts).sum::<usize>()
}

fn too_large() -> JsonError {
    JsonError::new(format!(
        "the omitted members have more than {MOST} values or {MAX_DEPTH} levels: write them explicitly"
    ))
}
