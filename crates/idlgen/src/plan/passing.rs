//! Passing of values from caller to servant within a process without marshalling.

use oxorb_idl::model::{Basic, DefId, DefKind, Field, Model};

use super::Plan;

/// Passing of a type's values in a call within the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Passing {
    /// Values are always passed directly: marshalling never fails, and its result would be equal and independent.
    Always,
    /// Values are passed directly if marshalling would accept their characters and bounds, and if references have no
    /// policies of their own.
    Checked,
    /// Values are always marshalled: they may share parts that a message would copy, or be nested more deeply than a
    /// message permits.
    Never,
}

/// Returns the passing of values with this plan.
pub(crate) fn passing(model: &Model, plan: &Plan) -> Passing {
    let mut open = Vec::new();
    Walk { model, open: &mut open }.plan(plan)
}

struct Walk<'m, 'o> {
    model: &'m Model,
    /// Enclosing definitions, by which recursive types are detected.
    open: &'o mut Vec<DefId>,
}

impl Walk<'_, '_> {
    fn plan(&mut self, plan: &Plan) -> Passing {
        match plan {
            Plan::Basic(Basic::Char) | Plan::Text { .. } | Plan::Reference(_) => Passing::Checked,
            Plan::Basic(_) | Plan::Fixed { .. } | Plan::InPlace => Passing::Always,
            Plan::Block { bound, .. } => bounded(*bound),
            Plan::List { element, bound } => self.plan(element).max(bounded(*bound)),
            Plan::Map { key, value, bound, .. } => {
                self.plan(key).max(self.plan(value)).max(bounded(*bound))
            }
            Plan::Optional(element) | Plan::Array { element, .. } => self.plan(element),
            Plan::Named(id) => self.named(*id),
            Plan::Any | Plan::TypeCode | Plan::Value | Plan::Abstract | Plan::Local(_) => {
                Passing::Never
            }
        }
    }

    fn named(&mut self, id: DefId) -> Passing {
        if self.open.contains(&id) {
            return Passing::Never;
        }
        self.open.push(id);
        let passing = match &self.model.def(id).kind {
            DefKind::Struct(body) | DefKind::Exception(body) => {
                self.fields(self.model.all_fields(body).into_iter())
            }
            DefKind::Union(body) => {
                let head = Plan::of(self.model, &body.discriminator);
                let head = head.map_or(Passing::Never, |head| self.plan(&head));
                head.max(self.fields(body.cases.iter().map(|case| &case.field)))
            }
            DefKind::BitSet(_) => Passing::Checked,
            _ => Passing::Always,
        };
        self.open.pop();
        passing
    }

    fn fields<'f>(&mut self, fields: impl Iterator<Item = &'f Field>) -> Passing {
        let passing = fields.map(|field| match Plan::of_field(self.model, field) {
            Ok(plan) => self.plan(&plan),
            Err(_) => Passing::Never,
        });
        passing.max().unwrap_or(Passing::Always)
    }
}

fn bounded(bound: Option<u32>) -> Passing {
    match bound {
        Some(_) => Passing::Checked,
        None => Passing::Always,
    }
}
