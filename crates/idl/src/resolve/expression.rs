//! Evaluation of constant expressions with resolved names.

use super::Resolver;
use super::scope::Entity;
use crate::ast::{Expr, ScopedName};
use crate::check::bits::BitProblem;
use crate::check::bound::{Bound, Bounded};
use crate::check::constant::Constant;
use crate::check::fixed::Fixed;
use crate::constant::{Decimal, Raw, Real, World, evaluate, fit};
use crate::model::{Basic, DefKind, Type, Value};
use crate::source::Span;
use std::sync::Arc;

impl Resolver<'_> {
    /// Returns the value of an expression of type `ty`; `None` if an error was reported.
    pub(super) fn value(&mut self, expr: &Expr, ty: &Type) -> Option<Value> {
        let plain = self.plain(ty).clone();
        let target = match plain {
            Type::Basic(basic) => Some(basic),
            _ => None,
        };
        let raw = evaluate(expr, target, self)?;
        match fit(raw, &plain, &self.describe(ty)) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.report(expr.span, problem);
                None
            }
        }
    }

    /// Returns type and value of a constant declared as `fixed`, which gets the digits and scale of its value; `None`
    /// if an error was reported.
    pub(super) fn fixed_constant(
        &mut self,
        span: Span,
        shaped: bool,
        expr: &Expr,
    ) -> Option<(Type, Value)> {
        if shaped {
            self.report(span, Fixed::ShapeOfConstant);
            return None;
        }
        match evaluate(expr, None, self)? {
            Raw::Fixed(value) => {
                let (digits, scale) = value.shape();
                let ty = Type::Fixed(digits, scale);
                Some((ty, Value::Fixed(value.to_string())))
            }
            raw => {
                let help = match raw {
                    Raw::Integer(value) => Some(format!("write `{value}d`")),
                    _ => None,
                };
                let problem = Constant::Mismatch {
                    found: raw.what().into(),
                    wanted: "a value of `fixed`".into(),
                    help,
                };
                self.report(expr.span, problem);
                None
            }
        }
    }

    /// Returns the value of any integer; `None` if an error was reported.
    pub(super) fn integer(&mut self, expr: &Expr) -> Option<i128> {
        match evaluate(expr, None, self)? {
            Raw::Integer(value) => Some(value),
            raw => {
                let problem = Constant::Mismatch {
                    found: raw.what().into(),
                    wanted: "an integer".into(),
                    help: None,
                };
                self.report(expr.span, problem);
                None
            }
        }
    }

    /// Returns the value of an integer in a range; `None` if an error was reported.
    pub(super) fn integer_in(
        &mut self,
        expr: &Expr,
        range: std::ops::RangeInclusive<i128>,
        problem: impl FnOnce(String) -> BitProblem,
    ) -> Option<i128> {
        let value = self.integer(expr)?;
        if !range.contains(&value) {
            self.report(expr.span, problem(value.to_string()));
            return None;
        }
        Some(value)
    }

    /// Returns the value of a bound or dimension; `None` if an error was reported.
    pub(super) fn bound(&mut self, expr: &Expr, of: Bounded) -> Option<u32> {
        match evaluate(expr, Some(Basic::ULong), self)? {
            Raw::Integer(value) => match u32::try_from(value) {
                Ok(value) if value > 0 => Some(value),
                _ => {
                    self.report(expr.span, Bound { of, value });
                    None
                }
            },
            raw => {
                let problem = Constant::Mismatch {
                    found: raw.what().into(),
                    wanted: "a positive integer".into(),
                    help: None,
                };
                self.report(expr.span, problem);
                None
            }
        }
    }

    /// Returns a value in source form.
    pub(super) fn show(&self, value: &Value) -> String {
        match value {
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::LongDouble(value) => value.to_string(),
            Value::Boolean(true) => "TRUE".into(),
            Value::Boolean(false) => "FALSE".into(),
            Value::Char(value) => format!("{value:?}"),
            Value::String(value) => format!("{value:?}"),
            Value::Fixed(value) => format!("{value}d"),
            Value::Enumerator(def, ordinal) => match &self.model.def(*def).kind {
                DefKind::Enum(body) => body.enumerators[*ordinal as usize].name.clone(),
                _ => ordinal.to_string(),
            },
        }
    }
}

impl World for Resolver<'_> {
    fn value_of(&mut self, name: &ScopedName) -> Option<Raw> {
        let found = self.look_up(name)?;
        let def = match found.entity {
            Entity::Enumerator(def, ordinal) => return Some(Raw::Enumerator(def, ordinal)),
            Entity::Def(def) => Some(def),
            _ => None,
        };
        if def.is_some_and(|def| self.poisoned.contains(&def)) {
            return None;
        }
        if let Some(def) = def
            && let DefKind::Const(constant) = &self.model.def(def).kind
        {
            let wide =
                matches!(self.plain(&constant.ty), Type::Basic(Basic::WChar) | Type::WString(_));
            return match &constant.value {
                Value::Integer(value) => Some(Raw::Integer(*value)),
                Value::Float(value) => Some(Raw::Float(Real::from(*value))),
                Value::LongDouble(value) => Some(Raw::Float(Real::from(*value))),
                Value::Boolean(value) => Some(Raw::Boolean(*value)),
                Value::Char(value) if wide => Some(Raw::WChar(*value)),
                Value::Char(value) => Some(Raw::Char(*value)),
                Value::String(value) if wide => Some(Raw::WStr(Arc::clone(value))),
                Value::String(value) => Some(Raw::Str(Arc::clone(value))),
                Value::Enumerator(def, ordinal) => Some(Raw::Enumerator(*def, *ordinal)),
                Value::Fixed(text) => Some(Raw::Fixed(match text.strip_prefix('-') {
                    Some(text) => Decimal::literal(text).negated(),
                    None => Decimal::literal(text),
                })),
            };
        }
        let problem = Constant::NoValue {
            name: name.text(),
            found: self.what(found.entity),
            at: found.declared,
        };
        self.report(name.span(), problem);
        None
    }

    fn wrong(&mut self, span: Span, problem: Constant) {
        self.report(span, problem);
    }
}
