//! Whether values may go from caller to servant within a process without being marshalled.

use oxorb_idl::model::{Basic, DefId, DefKind, Field, Model};

use super::Plan;

/// Treatment of the values of a type in a call within the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Passing {
    /// Each can be marshalled, and comes out equal and apart from the original.
    Always,
    /// Most can: a character, a bound, a reference with policies of its own is looked at first.
    Checked,
    /// Values are marshalled: shared where a message copies, or of a depth that only messages limit.
    Never,
}

/// Returns how values with this plan pass.
pub(crate) fn passing(model: &Model, plan: &Plan) -> Passing {
    let mut open = Vec::new();
    Walk { model, open: &mut open }.plan(plan)
}

struct Walk<'m, 'o> {
    model: &'m Model,
    /// The definitions around: a type that holds itself is found by them.
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
