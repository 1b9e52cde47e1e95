//! Resolution of annotations, standard and user-defined.

use super::Resolver;
use super::scope::Entity;
use crate::ast::{self, Expr, ExprKind, Ident};
use crate::check::annotation::AnnotationProblem;
use crate::constant::{Raw, evaluate};
use crate::model::{
    Annotation, AnnotationDef, AnnotationMember, AnnotationParam, AnnotationValue, DefKind, Type,
    Value,
};
use crate::source::Span;
use std::rc::Rc;
use std::sync::Arc;

/// Annotations that all names of a declaration share; `None` before the first name.
pub(super) type SharedAnnotations = Option<Arc<[Annotation]>>;

impl Resolver<'_> {
    /// Returns applied annotations for the model; a name without a value stays a name.
    pub(super) fn annotations(
        &mut self,
        applied: &[ast::Annotation],
        on: Target,
    ) -> Arc<[Annotation]> {
        if applied.is_empty() {
            return Arc::default();
        }
        self.check_places(applied, on);
        let mut found: Vec<Annotation> = Vec::new();
        for one in applied {
            let user = self.user_annotation(one);
            let params: Vec<AnnotationParam> = one
                .params
                .iter()
                .filter_map(|(name, expr)| {
                    self.annotation_param(name.as_ref(), expr, user.as_deref())
                })
                .collect();
            if let Some(user) = &user {
                self.check_members(one, user, &params);
            }
            found.push(Annotation { name: one.name.text(), span: one.span, params });
        }
        found.into()
    }

    /// Returns applied annotations as [`annotations`](Self::annotations) does, for one of the names of a declaration.
    /// Only the first name evaluates them, because a declaration with many names and long annotations is short.
    pub(super) fn annotations_once(
        &mut self,
        applied: &[ast::Annotation],
        on: Target,
        shared: &mut SharedAnnotations,
    ) -> Arc<[Annotation]> {
        Arc::clone(shared.get_or_insert_with(|| self.annotations(applied, on)))
    }

    fn annotation_param(
        &mut self,
        name: Option<&Ident>,
        expr: &Expr,
        user: Option<&AnnotationDef>,
    ) -> Option<AnnotationParam> {
        let only = user.filter(|user| user.members.len() == 1);
        let only = only.map(|user| user.members[0].name.clone());
        let name = match name {
            Some(name) => name.name.to_string(),
            None => only.unwrap_or_else(|| "value".into()),
        };
        let members = user.map_or(&[][..], |user| &user.members);
        let ty = members.iter().find(|member| member.name == name);
        if let Some(ty) = ty.and_then(|member| member.ty.clone()) {
            let value = AnnotationValue::Constant(self.value(expr, &ty)?);
            return Some(AnnotationParam { name, value });
        }
        let value = match &expr.kind {
            ExprKind::Name(of) if !self.has_value(of) => AnnotationValue::Name(of.text()),
            _ => AnnotationValue::Constant(to_value(evaluate(expr, None, self)?)),
        };
        Some(AnnotationParam { name, value })
    }

    fn has_value(&self, name: &ast::ScopedName) -> bool {
        match self.find(name) {
            Some(Entity::Enumerator(..)) => true,
            Some(Entity::Def(def)) => matches!(self.model.def(def).kind, DefKind::Const(_)),
            _ => false,
        }
    }

    fn check_members(
        &mut self,
        applied: &ast::Annotation,
        user: &AnnotationDef,
        params: &[AnnotationParam],
    ) {
        for param in params {
            if !user.members.iter().any(|member| member.name == param.name) {
                let problem = AnnotationProblem::NoMember {
                    annotation: applied.name.text(),
                    member: param.name.clone(),
                    at: user.span,
                };
                self.report(applied.span, problem);
            }
        }
        for member in &user.members {
            let set = params.iter().any(|param| param.name == member.name);
            // If a value was wrong, `params` lacks it, and its member only seems to be unset.
            if member.default.is_none() && !set && params.len() == applied.params.len() {
                let problem = AnnotationProblem::Unset {
                    annotation: applied.name.text(),
                    member: member.name.clone(),
                    at: user.span,
                };
                self.report(applied.span, problem);
            }
        }
    }

    /// Returns the user-defined annotation for `@name`, if any, from the scopes around, innermost first.
    fn user_annotation(&self, applied: &ast::Annotation) -> Option<Rc<AnnotationDef>> {
        if self.user_annotations.is_empty() {
            return None;
        }
        let text = applied.name.text();
        let text = text.trim_start_matches("::");
        let mut scopes = self.scopes.outwards(self.here);
        scopes
            .find_map(|scope| {
                let full = match self.scope_name(scope).as_str() {
                    "" => text.to_owned(),
                    around => format!("{around}::{text}"),
                };
                self.user_annotations.get(&full)
            })
            .cloned()
    }

    pub(super) fn annotation_definition(&mut self, body: &ast::AnnotationDef) {
        let name = &body.name;
        let scoped_name = match self.scope_name(self.here).as_str() {
            "" => name.name.to_string(),
            around => format!("{around}::{}", name.name),
        };
        if let Some(earlier) = self.user_annotations.get(&scoped_name) {
            let problem =
                AnnotationProblem::DefinedTwice { name: name.name.to_string(), at: earlier.span };
            self.report(name.span, problem);
            return;
        }
        let members = body.members.iter().map(|member| self.annotation_member(member)).collect();
        let made = AnnotationDef { scoped_name: scoped_name.clone(), span: name.span, members };
        self.model.add_annotation(made.clone());
        self.user_annotations.insert(scoped_name, made.into());
    }

    fn annotation_member(&mut self, member: &ast::AnnotationMember) -> AnnotationMember {
        let ty = member.ty.as_ref().and_then(|spec| match &spec.kind {
            // The name may be that of a type defined inside the annotation, which the parser skips.
            ast::TypeKind::Named(name)
                if self.find(name).is_none() && self.idl4_type(name).is_none() =>
            {
                None
            }
            _ => self.constant_type(spec),
        });
        let default = member.default.as_ref().and_then(|expr| match &ty {
            Some(ty) => self.value(expr, ty),
            None => match &expr.kind {
                ExprKind::Name(name) if !self.has_value(name) => {
                    Some(Value::String(name.text().into()))
                }
                _ => evaluate(expr, None, self).map(to_value),
            },
        });
        AnnotationMember { name: member.name.name.to_string(), ty, default }
    }

    /// Reports whether a standard annotation is applied, and its value is not `FALSE`.
    pub(super) fn is_set(&self, applied: &[ast::Annotation], name: &str) -> bool {
        self.set_at(applied, name).is_some()
    }

    /// Returns the place of an annotation that [is set](Self::is_set).
    pub(super) fn set_at(&self, applied: &[ast::Annotation], name: &str) -> Option<Span> {
        let found = standard(applied, name)?;
        match found.params.first() {
            Some((_, expr)) if self.is_false(expr) => None,
            _ => Some(found.span),
        }
    }

    /// Reports whether an expression is `FALSE` or a constant with this value. IDL has no operators on booleans.
    fn is_false(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Boolean(value) => !value,
            ExprKind::Name(name) => {
                let Some(Entity::Def(def)) = self.find(name) else { return false };
                let kind = &self.model.def(def).kind;
                matches!(kind, DefKind::Const(found) if found.value == Value::Boolean(false))
            }
            _ => false,
        }
    }

    /// Returns the value of a standard annotation that needs one; `None` without the annotation, or if an error was
    /// reported.
    pub(super) fn standard_value<'t>(
        &mut self,
        applied: &'t [ast::Annotation],
        name: &str,
    ) -> Option<&'t Expr> {
        let found = standard(applied, name)?;
        let value = found.params.first().map(|(_, expr)| expr);
        if value.is_none() {
            let name = name.to_owned();
            self.report(found.span, AnnotationProblem::NoValue { name });
        }
        value
    }

    /// Returns the value of `@default(value)` for a member of type `ty`.
    pub(super) fn default_of(&mut self, applied: &[ast::Annotation], ty: &Type) -> Option<Value> {
        let expr = self.standard_value(applied, "default")?;
        self.value(expr, ty)
    }

    /// Warns of standard annotations that have no meaning on their target; `on` is the kind of target.
    fn check_places(&mut self, applied: &[ast::Annotation], on: Target) {
        let mut misplaced: Vec<(Span, AnnotationProblem)> = Vec::new();
        for one in applied {
            let name = one.name.text();
            let vain = VAIN.iter().find(|(known, _)| *known == name);
            if let Some((_, why)) = vain
                && self.user_annotation(one).is_none()
            {
                misplaced.push((one.span, AnnotationProblem::Vain { name, why }));
                continue;
            }
            let Some((_, targets, wanted)) = PLACES.iter().find(|(known, ..)| *known == name)
            else {
                continue;
            };
            if !targets.contains(&on) && self.user_annotation(one).is_none() {
                misplaced.push((one.span, AnnotationProblem::Misapplied { name, wanted }));
            }
        }
        for (span, problem) in misplaced {
            self.report(span, problem);
        }
    }
}

/// Kind of an annotation's target, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Enum,
    BitMask,
    Enumerator,
    Flag,
    Member,
    Operation,
    Other,
}

/// Annotations that change meanings, with their targets, and the targets in words.
const PLACES: &[(&str, &[Target], &str)] = &[
    ("bit_bound", &[Target::Enum, Target::BitMask], "enums and bitmasks"),
    ("position", &[Target::Flag], "flags of bitmasks"),
    ("value", &[Target::Enumerator], "enumerators"),
    ("default_literal", &[Target::Enumerator], "enumerators"),
    ("optional", &[Target::Member], "members"),
    ("key", &[Target::Member], "members"),
    ("oneway", &[Target::Operation], "operations"),
];

/// Standard annotations that are not supported but would change behaviour, and the reason.
const VAIN: &[(&str, &str)] = &[
    ("appendable", "values are sent in CORBA's encoding, which has no place for other members"),
    ("mutable", "values are sent in CORBA's encoding, which has no place for other members"),
    ("must_understand", "members cannot be omitted in CORBA's encoding"),
    ("verbatim", "text is not copied into the Rust code"),
];

fn standard<'t>(applied: &'t [ast::Annotation], name: &str) -> Option<&'t ast::Annotation> {
    applied.iter().find(|one| one.name.text() == name)
}

fn to_value(raw: Raw) -> Value {
    match raw {
        Raw::Integer(value) => Value::Integer(value),
        Raw::Float(value) if value.double.is_finite() => Value::Float(value.double),
        Raw::Float(value) => Value::LongDouble(value.long),
        Raw::Boolean(value) => Value::Boolean(value),
        Raw::Char(value) | Raw::WChar(value) => Value::Char(value),
        Raw::Str(value) | Raw::WStr(value) => Value::String(value),
        Raw::Enumerator(def, ordinal) => Value::Enumerator(def, ordinal),
        Raw::Fixed(value) => Value::Fixed(value.to_string()),
    }
}
