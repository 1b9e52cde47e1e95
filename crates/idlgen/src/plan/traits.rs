//! Properties of a type's values, derived from all its parts.

use oxorb_idl::model::{Basic, DefId, DefKind, Field, Model};

use super::{Plan, Target};

/// Properties of a definition's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// Whether the type is small and flat: scalars and structs of scalars, no array.
    pub copy: bool,
    /// Whether equality is an equivalence relation: no float and no reference inside.
    pub eq: bool,
}

impl Traits {
    /// Returns the properties of a struct, union, exception or enum.
    pub fn of(model: &Model, id: DefId) -> Traits {
        let mut walk = Walk { model, seen: vec![id], traits: Traits { copy: true, eq: true } };
        walk.parts(id);
        walk.traits
    }
}

struct Walk<'m> {
    model: &'m Model,
    seen: Vec<DefId>,
    traits: Traits,
}

impl Walk<'_> {
    fn parts(&mut self, id: DefId) {
        match &self.model.def(id).kind {
            DefKind::Struct(body) | DefKind::Exception(body) => {
                let fields = self.model.all_fields(body);
                fields.into_iter().for_each(|field| self.field(field));
            }
            DefKind::Union(body) => {
                self.traits.copy = false;
                body.cases.iter().for_each(|case| self.field(&case.field));
            }
            _ => {}
        }
    }

    fn field(&mut self, field: &Field) {
        match Plan::of_field(self.model, field) {
            Ok(plan) => self.plan(&plan),
            Err(_) => self.traits.eq = false,
        }
    }

    fn plan(&mut self, plan: &Plan) {
        match plan {
            Plan::Basic(basic) => self.basic(*basic),
            Plan::Fixed { .. } => {}
            Plan::Text { .. } | Plan::TypeCode | Plan::InPlace => self.traits.copy = false,
            Plan::Any
            | Plan::Value
            | Plan::Abstract
            | Plan::Reference(Target::Object | Target::Interface(_)) => {
                self.traits.copy = false;
                self.traits.eq = false;
            }
            Plan::Block { element, .. } => {
                self.basic(*element);
                self.traits.copy = false;
            }
            Plan::Map { key, value, .. } => {
                self.plan(key);
                self.plan(value);
                self.traits.copy = false;
            }
            Plan::Local(_) => (self.traits.copy, self.traits.eq) = (false, false),
            Plan::List { element, .. } | Plan::Array { element, .. } | Plan::Optional(element) => {
                self.plan(element);
                self.traits.copy = false;
            }
            Plan::Named(id) => {
                if !self.seen.contains(id) {
                    self.seen.push(*id);
                    self.parts(*id);
                }
            }
        }
    }

    fn basic(&mut self, basic: Basic) {
        let float = matches!(basic, Basic::Float | Basic::Double | Basic::LongDouble);
        self.traits.eq &= !float;
    }
}
