//! Resolution of bitmasks and bitsets.

use super::Resolver;
use super::annotation::Target;
use super::scope::{Entity, ScopeKind};
use crate::ast::{self, Ident, Notes, TypeSpec};
use crate::check::bases::Bases;
use crate::check::bits::BitProblem;
use crate::check::wrong_kind::Wanted;
use crate::model::{Basic, BitField, BitMask, BitSet, DefId, DefKind, Flag, Type};
use crate::source::Span;
use std::collections::BTreeMap;

impl Resolver<'_> {
    pub(super) fn bitmask(&mut self, notes: &Notes, name: &Ident, flags: &[ast::Enumerator]) {
        let def = self.define(notes, name, DefKind::BitMask(BitMask::default()));
        let bit_bound = self.bit_bound(&notes.annotations, 64).unwrap_or(32);
        let bound = i128::from(bit_bound);
        let scope = self.scopes.add(self.here, ScopeKind::Constructed, def);
        let flags = self.inside(scope, |r| {
            let mut taken: BTreeMap<i128, Span> = BTreeMap::new();
            let mut next = 0;
            let flags = flags.iter().map(|flag| {
                let name = &flag.name;
                let outer = r.enter_declaration(name.span, &flag.notes);
                r.declare(name, Entity::Member);
                r.leave_declaration(outer);
                let position = r.position(flag, next, bound);
                next = position + 1;
                if let Some(at) = taken.insert(position, name.span) {
                    r.report(name.span, BitProblem::PositionTwice { position, at });
                }
                Flag {
                    name: name.name.to_string(),
                    span: name.span,
                    doc: flag.notes.doc(),
                    annotations: r.annotations(&flag.notes.annotations, Target::Flag),
                    position: position as u16,
                }
            });
            flags.collect()
        });
        if let Some(def) = def {
            self.model.def_mut(def).kind = DefKind::BitMask(BitMask { bit_bound, flags });
        }
    }

    /// Returns the value of `@position`, or else `next`.
    fn position(&mut self, flag: &ast::Enumerator, next: i128, bound: i128) -> i128 {
        let problem = |found| BitProblem::Position { found, bound };
        if let Some(expr) = self.standard_value(&flag.notes.annotations, "position") {
            let position = self.integer_in(expr, 0..=bound - 1, problem);
            return position.unwrap_or(next);
        }
        if next >= bound {
            self.report(flag.name.span, problem(next.to_string()));
        }
        next
    }

    pub(super) fn bitset(&mut self, notes: &Notes, body: &ast::BitSet) {
        let base = body.bases.first().and_then(|base| self.look_up_def(base, Wanted::BitSet));
        if let Some(second) = body.bases.get(1) {
            self.report(second.span(), BitProblem::SecondBase);
        }
        let base_of = |def: &DefId| match &self.model.def(*def).kind {
            DefKind::BitSet(body) => body.base,
            _ => None,
        };
        // With more than 64 bases, some would have no bit, because a bitset has at most 64.
        let long = std::iter::successors(base, base_of).nth(64).is_some();
        if long {
            self.report(body.name.span, Bases::TooMany { limit: 64 });
        }
        let base = base.filter(|_| !long);
        let empty = DefKind::BitSet(BitSet::default());
        let def = self.define(notes, &body.name, empty);
        let scope = self.scopes.add(self.here, ScopeKind::Constructed, def);
        let fields = self.inside(scope, |r| {
            let mut fields = Vec::new();
            for field in &body.fields {
                r.bitfield(field, &mut fields);
            }
            fields
        });
        let set = BitSet { base, fields };
        let all = self.model.all_bits(&set);
        let bits = all.iter().map(|field| u32::from(field.bits)).sum();
        if bits > 64 {
            self.report(body.name.span, BitProblem::Total { bits });
        }
        if let Some(def) = def {
            self.model.def_mut(def).kind = DefKind::BitSet(set);
        }
    }

    fn bitfield(&mut self, field: &ast::BitField, fields: &mut Vec<BitField>) {
        let problem = |found| BitProblem::Width { found };
        let bits = self.integer_in(&field.bits, 1..=64, problem);
        let declared = match (&field.ty, bits) {
            (Some(ty), Some(bits)) => self.bitfield_type(ty, bits),
            _ => None,
        };
        for name in &field.names {
            let outer = self.enter_declaration(field.span.to(name.span), &field.notes);
            self.declare(name, Entity::Member);
            self.leave_declaration(outer);
        }
        let Some(bits) = bits else { return };
        let ty = declared.unwrap_or(match bits {
            1 => Basic::Boolean,
            2..=8 => Basic::Octet,
            9..=16 => Basic::UShort,
            17..=32 => Basic::ULong,
            _ => Basic::ULongLong,
        });
        let annotations = self.annotations(&field.notes.annotations, Target::Member);
        let made = |name: Option<&Ident>| BitField {
            name: name.map(|name| name.name.to_string()),
            span: name.map_or(field.span, |name| name.span),
            doc: field.notes.doc(),
            annotations: annotations.clone(),
            bits: bits as u16,
            ty,
        };
        match &field.names[..] {
            [] => fields.push(made(None)),
            names => fields.extend(names.iter().map(|name| made(Some(name)))),
        }
    }

    fn bitfield_type(&mut self, spec: &TypeSpec, bits: i128) -> Option<Basic> {
        let ty = self.named_type(spec)?;
        let plain = self.plain(&ty);
        let (basic, size) = match plain {
            Type::Basic(basic @ Basic::Boolean) => (*basic, 1),
            Type::Basic(basic @ (Basic::Octet | Basic::Int8 | Basic::UInt8)) => (*basic, 8),
            Type::Basic(basic @ (Basic::Short | Basic::UShort)) => (*basic, 16),
            Type::Basic(basic @ (Basic::Long | Basic::ULong)) => (*basic, 32),
            Type::Basic(basic @ (Basic::LongLong | Basic::ULongLong)) => (*basic, 64),
            other => {
                let found = self.describe(other);
                self.report(spec.span, BitProblem::FieldType { found });
                return None;
            }
        };
        if bits > size {
            let ty = basic.as_str();
            self.report(spec.span, BitProblem::TooWideForType { bits, ty });
        }
        Some(basic)
    }
}
