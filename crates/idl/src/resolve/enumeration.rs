//! Resolution of enums, and of the annotations that change their values.

use super::Resolver;
use super::annotation::Target;
use super::scope::Entity;
use crate::ast::{self, Notes};
use crate::check::bits::BitProblem;
use crate::model::{DefId, DefKind, Enum, Enumerator};
use crate::source::Span;
use std::collections::BTreeMap;

impl Resolver<'_> {
    pub(super) fn enum_type(&mut self, notes: &Notes, body: &ast::Enum) -> Option<DefId> {
        let def = self.define(notes, &body.name, DefKind::Enum(Enum::default()));
        let bound = self.bit_bound(&notes.annotations, 32);
        let most = (1i128 << bound.unwrap_or(32)) - 1;
        let mut enumerators = Vec::new();
        let mut default: Option<(u32, Span)> = None;
        let mut values: BTreeMap<i128, Span> = BTreeMap::new();
        let mut next = 0;
        for found in &body.enumerators {
            let name = &found.name;
            let ordinal = enumerators.len() as u32;
            let outer = self.enter_declaration(name.span, &found.notes);
            match def {
                Some(def) => {
                    self.declare(name, Entity::Enumerator(def, ordinal));
                }
                // The enum could not be declared. Its enumerators are declared anyway, so that
                // their uses cause no further errors.
                None => self.poison(name),
            }
            self.leave_declaration(outer);
            if def.is_none() {
                continue;
            }
            let annotations = &found.notes.annotations;
            if self.is_set(annotations, "default_literal") {
                match default {
                    Some((_, at)) => self.report(name.span, BitProblem::TwoDefaults { at }),
                    None => default = Some((ordinal, name.span)),
                }
            }
            let value = self.enumerator_value(annotations, name.span, next, most);
            if let Some(at) = values.insert(value, name.span) {
                self.report(name.span, BitProblem::ValueTwice { value, at });
            }
            next = value + 1;
            enumerators.push(Enumerator {
                name: name.name.to_string(),
                span: name.span,
                doc: found.notes.doc(),
                annotations: self.annotations(annotations, Target::Enumerator),
                value: value as u32,
            });
        }
        let def = def?;
        if let DefKind::Enum(body) = &mut self.model.def_mut(def).kind {
            body.bit_bound = bound;
            body.default = default.map(|(ordinal, _)| ordinal);
            body.enumerators = enumerators;
        }
        Some(def)
    }

    /// Returns the value of `@value`, or else `next`.
    fn enumerator_value(
        &mut self,
        annotations: &[ast::Annotation],
        span: Span,
        next: i128,
        most: i128,
    ) -> i128 {
        let problem = |found| BitProblem::Value { found, most };
        if let Some(expr) = self.standard_value(annotations, "value") {
            let value = self.integer_in(expr, 0..=most, problem);
            return value.unwrap_or(next);
        }
        if next > most {
            self.report(span, problem(next.to_string()));
        }
        next
    }

    /// Returns the value of `@bit_bound` of an enum or bitmask.
    pub(super) fn bit_bound(&mut self, annotations: &[ast::Annotation], most: i128) -> Option<u16> {
        let expr = self.standard_value(annotations, "bit_bound")?;
        let problem = |found| BitProblem::Bound { found, most };
        self.integer_in(expr, 1..=most, problem).map(|bound| bound as u16)
    }
}
