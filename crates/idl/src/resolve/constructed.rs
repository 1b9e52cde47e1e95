//! Resolution of structs, exceptions, unions and enums.

use super::annotation::{SharedAnnotations, Target};
use super::interface::MAX_BASES;
use super::scope::{Entity, ScopeKind};
use super::{Completeness, Resolver};
use crate::ast::{self, Ident, Label, Member, Notes, TypeSpec};
use crate::check::anonymous::Position;
use crate::check::bases::Bases;
use crate::check::struct_base::StructBase;
use crate::check::union::Union as UnionProblem;
use crate::check::wrong_kind::Wanted;
use crate::model::{Basic, Case, DefId, DefKind, Field, Struct, Type, Union, Value};
use crate::source::Span;
use std::collections::BTreeMap;

impl Resolver<'_> {
    pub(super) fn forward_struct(&mut self, notes: &Notes, name: &Ident) {
        self.announce(notes, name, "a struct", DefKind::Struct(Struct::default()));
    }

    pub(super) fn forward_union(&mut self, notes: &Notes, name: &Ident) {
        self.announce(notes, name, "a union", empty_union());
    }

    pub(super) fn struct_type(&mut self, notes: &Notes, body: &ast::Struct) -> Option<DefId> {
        // The base is looked up before the struct is declared, so that it cannot be the struct
        // itself.
        let base = self.struct_base(body);
        let kind = DefKind::Struct(Struct { base, ..Struct::default() });
        let def = self.begin(notes, &body.name, "a struct", kind);
        self.members_of(def, body);
        def
    }

    fn struct_base(&mut self, body: &ast::Struct) -> Option<DefId> {
        let name = body.bases.first()?;
        if let Some(second) = body.bases.get(1) {
            self.report(second.span(), StructBase::Second);
        }
        let base = self.look_up_def(name, Wanted::StructBase)?;
        if self.incomplete.contains_key(&base) {
            let problem =
                StructBase::Incomplete { name: name.text(), at: self.model.def(base).span };
            self.report(name.span(), problem);
            return None;
        }
        let base_of = |def: &DefId| match &self.model.def(*def).kind {
            DefKind::Struct(body) => body.base,
            _ => None,
        };
        if std::iter::successors(Some(base), base_of).nth(MAX_BASES).is_some() {
            self.report(name.span(), Bases::TooMany { limit: MAX_BASES });
            return None;
        }
        Some(base)
    }

    pub(super) fn exception(&mut self, notes: &Notes, body: &ast::Struct) {
        if let Some(base) = body.bases.first() {
            self.report(base.span(), StructBase::Exception);
        }
        let def = self.define(notes, &body.name, DefKind::Exception(Struct::default()));
        self.members_of(def, body);
    }

    fn members_of(&mut self, def: Option<DefId>, body: &ast::Struct) {
        let scope = self.open(def);
        let fields = self.inside(scope, |r| {
            let mut fields = Vec::new();
            for (at, member) in body.members.iter().enumerate() {
                r.items(body.asides.behind(at));
                r.fields(member, &mut fields);
            }
            r.items(body.asides.behind(body.members.len()));
            fields
        });
        let Some(def) = def else { return };
        self.made_of(def, fields.iter().map(|field| &field.ty));
        self.incomplete.remove(&def);
        self.check_inherited_members(def, &fields);
        if let DefKind::Struct(body) | DefKind::Exception(body) = &mut self.model.def_mut(def).kind
        {
            body.fields = fields;
        }
    }

    /// Checks that no member is named like one of a base.
    fn check_inherited_members(&mut self, def: DefId, fields: &[Field]) {
        let DefKind::Struct(body) = &self.model.def(def).kind else {
            return;
        };
        if let Some(base) = body.base {
            self.made_of(def, [Type::Named(base)].iter());
        }
        let DefKind::Struct(body) = &self.model.def(def).kind else {
            return;
        };
        let mut inherited = BTreeMap::new();
        for other in self.model.all_fields(body) {
            inherited.entry(other.name.to_ascii_lowercase()).or_insert(other.span);
        }
        let twice: Vec<(Span, StructBase)> = fields
            .iter()
            .filter_map(|field| {
                let at = *inherited.get(&field.name.to_ascii_lowercase())?;
                let problem = StructBase::MemberTwice { name: field.name.clone(), at };
                Some((field.span, problem))
            })
            .collect();
        for (span, problem) in twice {
            self.report(span, problem);
        }
    }

    fn fields(&mut self, member: &Member, fields: &mut Vec<Field>) {
        let outer = self.enter_declaration(member.span, &member.notes);
        // The type of an `@external` member may be defined later, but must not contain this struct.
        let external = self.is_set(&member.notes.annotations, "external");
        let base = match external {
            true => self.external_type(&member.ty),
            false => self.used_type(&member.ty, Position::Member),
        };
        let mut annotations = None;
        for declarator in &member.declarators {
            let field = self.field(base.clone(), &member.notes, declarator, &mut annotations);
            fields.extend(field);
        }
        self.leave_declaration(outer);
    }

    fn field(
        &mut self,
        base: Option<Type>,
        notes: &Notes,
        declarator: &ast::Declarator,
        annotations: &mut SharedAnnotations,
    ) -> Option<Field> {
        self.declare(&declarator.name, Entity::Member);
        self.declared_field(base, notes, declarator, annotations)
    }

    /// Returns a member whose name was declared.
    pub(super) fn declared_field(
        &mut self,
        base: Option<Type>,
        notes: &Notes,
        declarator: &ast::Declarator,
        annotations: &mut SharedAnnotations,
    ) -> Option<Field> {
        let name = &declarator.name;
        let ty = self.member_dimensions(base?, declarator)?;
        let default = self.default_of(&notes.annotations, &ty);
        Some(Field {
            name: name.name.to_string(),
            span: name.span,
            doc: notes.doc(),
            annotations: self.annotations_once(&notes.annotations, Target::Member, annotations),
            ty,
            optional: self.is_set(&notes.annotations, "optional"),
            key: self.is_set(&notes.annotations, "key"),
            default,
        })
    }

    pub(super) fn union_type(&mut self, notes: &Notes, body: &ast::Union) -> Option<DefId> {
        let def = self.begin(notes, &body.name, "a union", empty_union());
        let scope = self.open(def);
        let (discriminator, cases) = self.inside(scope, |r| {
            let discriminator = r.discriminator(&body.discriminator);
            let cases = r.cases(body, discriminator.as_ref());
            (discriminator, cases)
        });
        let def = def?;
        self.incomplete.remove(&def);
        self.made_of(def, cases.iter().map(|case| &case.field.ty));
        if let (DefKind::Union(union), Some(discriminator)) =
            (&mut self.model.def_mut(def).kind, discriminator)
        {
            union.discriminator = discriminator;
            union.cases = cases;
        }
        Some(def)
    }

    /// Returns the scope of a definition for its members.
    pub(super) fn open(&mut self, def: Option<DefId>) -> super::ScopeId {
        if let Some(def) = def
            && !matches!(self.model.def(def).kind, DefKind::Exception(_))
        {
            self.incomplete.insert(def, Completeness::BeingDefined);
        }
        self.scopes.add(self.here, ScopeKind::Constructed, def)
    }

    fn discriminator(&mut self, spec: &TypeSpec) -> Option<Type> {
        let ty = self.named_type(spec)?;
        let plain = self.plain(&ty);
        let allowed = match plain {
            Type::Basic(basic) => {
                !matches!(basic, Basic::Float | Basic::Double | Basic::LongDouble)
            }
            Type::Named(def) => matches!(self.model.def(*def).kind, DefKind::Enum(_)),
            _ => false,
        };
        if !allowed {
            let found = self.describe(plain);
            self.report(spec.span, UnionProblem::Discriminator { found });
            return None;
        }
        Some(ty)
    }

    fn cases(&mut self, body: &ast::Union, discriminator: Option<&Type>) -> Vec<Case> {
        let mut seen: BTreeMap<i128, Span> = BTreeMap::new();
        let mut default: Option<Span> = None;
        let mut cases = Vec::new();
        for (at, case) in body.cases.iter().enumerate() {
            self.items(body.asides.behind(at));
            let mut labels = Vec::new();
            let mut is_default = false;
            for label in &case.labels {
                match label {
                    Label::Default(span) => {
                        is_default = true;
                        match default {
                            Some(at) => self.report(*span, UnionProblem::TwoDefaults { at }),
                            None => default = Some(*span),
                        }
                    }
                    Label::Value(expr) => {
                        let value = discriminator.and_then(|ty| self.value(expr, ty));
                        let Some(value) = value else { continue };
                        let key = label_key(&value);
                        if let Some(at) = seen.get(&key).copied() {
                            let value = self.show(&value);
                            self.report(expr.span, UnionProblem::DuplicateLabel { value, at });
                            continue;
                        }
                        seen.insert(key, expr.span);
                        labels.push(value);
                    }
                }
            }
            let outer = self.enter_declaration(case.span, &case.notes);
            let base = self.used_type(&case.ty, Position::Member);
            let field = self.field(base, &case.notes, &case.declarator, &mut None);
            self.leave_declaration(outer);
            let Some(field) = field else { continue };
            cases.push(Case { labels, is_default, field });
        }
        self.items(body.asides.behind(body.cases.len()));
        if let (Some(span), Some(ty)) = (default, discriminator)
            && self.cardinality(ty) == Some(seen.len())
        {
            let discriminator = self.describe(self.plain(ty));
            let problem = UnionProblem::SuperfluousDefault {
                discriminator,
                lenient: self.lenient.superfluous_default,
            };
            self.report(span, problem);
            for case in &mut cases {
                case.is_default = false;
            }
            // Without `default`, a case that has no labels is never selected, and so never
            // marshalled.
            cases.retain(|case| !case.labels.is_empty());
        }
        cases
    }

    /// Returns the number of values of a discriminator, if labels can cover them all.
    fn cardinality(&self, ty: &Type) -> Option<usize> {
        match self.plain(ty) {
            Type::Basic(Basic::Boolean) => Some(2),
            Type::Basic(Basic::Octet | Basic::Int8 | Basic::UInt8 | Basic::Char) => Some(256),
            Type::Basic(Basic::Short | Basic::UShort | Basic::WChar) => Some(1 << 16),
            Type::Named(def) => match &self.model.def(*def).kind {
                DefKind::Enum(body) => Some(body.enumerators.len()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns a key that identifies a value of the discriminator.
fn label_key(value: &Value) -> i128 {
    match value {
        Value::Integer(value) => *value,
        Value::Boolean(value) => i128::from(*value),
        Value::Char(value) => i128::from(u32::from(*value)),
        Value::Enumerator(_, ordinal) => i128::from(*ordinal),
        Value::Float(_) | Value::LongDouble(_) | Value::String(_) | Value::Fixed(_) => {
            unreachable!("no discriminator has such values")
        }
    }
}

fn empty_union() -> DefKind {
    DefKind::Union(Union {
        discriminator: Type::Basic(Basic::Long),
        cases: Vec::new(),
        members: Vec::new(),
    })
}
