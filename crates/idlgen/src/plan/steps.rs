//! Estimate of the code size for reading a value.

use oxorb_idl::model::{DefId, DefKind, Field, Model};

use super::{Plan, size};

/// Maximum number of steps to be inlined wherever a value is read.
const WORTH_INLINING: usize = 24;

/// Reports whether values of a definition are read directly into their destination, instead of by a function whose
/// result has to be moved there.
pub(crate) fn is_read_in_place(model: &Model, id: DefId) -> bool {
    let mut open = Vec::new();
    Steps { model, open: &mut open }.named(id) <= WORTH_INLINING
}

/// Counter of the steps that are inlined, down to function calls.
struct Steps<'m, 'o> {
    model: &'m Model,
    /// Types being counted, by which recursion is detected.
    open: &'o mut Vec<DefId>,
}

impl Steps<'_, '_> {
    fn plan(&mut self, plan: &Plan) -> usize {
        match plan {
            // A value of fixed layout is one step, because all its members are read with one check.
            Plan::Named(_) if size(self.model, plan).fixed => 1,
            Plan::Named(id) => match self.named(*id) {
                steps if steps > WORTH_INLINING && !self.open.contains(id) => 1,
                steps => steps,
            },
            Plan::Array { element, .. } | Plan::Optional(element) => 1 + self.plan(element),
            // Any other value is read by one call, including the elements of a sequence.
            _ => 1,
        }
    }

    fn named(&mut self, id: DefId) -> usize {
        if self.open.contains(&id) {
            return WORTH_INLINING + 1;
        }
        self.open.push(id);
        let steps = match &self.model.def(id).kind {
            DefKind::Struct(body) | DefKind::Exception(body) => {
                self.fields(self.model.all_fields(body).into_iter())
            }
            DefKind::Union(body) => 1 + self.fields(body.cases.iter().map(|case| &case.field)),
            _ => 1,
        };
        self.open.pop();
        steps
    }

    fn fields<'f>(&mut self, fields: impl Iterator<Item = &'f Field>) -> usize {
        let mut steps = 0;
        for field in fields {
            steps += Plan::of_field(self.model, field).map_or(1, |plan| self.plan(&plan));
            if steps > WORTH_INLINING {
                break; // how many more does not matter
            }
        }
        steps
    }
}
