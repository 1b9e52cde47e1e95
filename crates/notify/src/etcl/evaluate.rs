//! Evaluation of a constraint for an event.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::etcl::arithmetic::{Comparison, compare, compute};
use crate::etcl::node::Node;
use crate::etcl::part::{Part, find};
use crate::etcl::path::{Path, Root};
use crate::etcl::scratch::Scratch;
use crate::etcl::subject::List;
use crate::etcl::value::Value;
use crate::etcl::{Dialect, Mismatch, Subject};

/// Source of the value of `$curtime`.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    System,
    /// Time in 100 ns since 15 October 1582.
    At(u64),
}

/// Evaluation of one constraint for one event.
#[derive(Clone, Copy)]
pub(crate) struct Evaluation<'e> {
    pub(crate) subject: Subject<'e>,
    pub(crate) clock: Clock,
    pub(crate) scratch: &'e Scratch,
    pub(crate) dialect: Dialect,
}

impl<'e> Evaluation<'e> {
    pub(crate) fn value(&self, node: &'e Node) -> Result<Value<'e>, Mismatch> {
        self.scratch.spend(1)?;
        Ok(match node {
            Node::Literal(Value::Text(text)) => Value::Text(Cow::Borrowed(text)),
            Node::Literal(value) => value.clone(),
            Node::Path(path) => self.simple(path)?,
            Node::Exist(path) => Value::Boolean(self.exists(path)?),
            Node::Default(path) => Value::Boolean(self.part(path)?.selects_default(self.scratch)?),
            Node::Not(operand) => Value::Boolean(!self.boolean(operand)?),
            Node::All(operands) => Value::Boolean(self.all(operands, true)?),
            Node::Any(operands) => Value::Boolean(!self.all(operands, false)?),
            Node::Compare(comparison, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.spend_on(&left)?;
                Value::Boolean(compare(&left, *comparison, &right, self.dialect)?)
            }
            Node::Compute(first, rest) => {
                let mut result = self.value(first)?;
                for (operator, operand) in rest {
                    result = compute(&result, *operator, &self.value(operand)?, self.dialect)?;
                }
                result
            }
            Node::In(value, path) => Value::Boolean(self.is_element(value, path)?),
            Node::Within(operands) => {
                let [part, whole] = &**operands;
                let (part, whole) = (self.value(part)?, self.value(whole)?);
                self.spend_on(&whole)?;
                let found = part.with_text(|part| whole.with_text(|whole| whole.contains(part)));
                Value::Boolean(found.flatten().ok_or(Mismatch::Kinds)?)
            }
            Node::Never => Value::Boolean(false),
        })
    }

    fn boolean(&self, node: &'e Node) -> Result<bool, Mismatch> {
        match self.value(node)? {
            Value::Boolean(value) => Ok(value),
            _ => Err(Mismatch::Kinds),
        }
    }

    /// Reports whether all operands have the value `wanted`. Stops at the first one that does not.
    fn all(&self, operands: &'e [Node], wanted: bool) -> Result<bool, Mismatch> {
        for operand in operands {
            if self.boolean(operand)? != wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_element(&self, value: &'e Node, path: &'e Path) -> Result<bool, Mismatch> {
        let value = self.value(value)?;
        let sequence = self.part(path)?;
        if self.dialect == Dialect::Tao {
            return Ok(false);
        }
        sequence.any_element(self.scratch, |element| {
            compare(&value, Comparison::Equal, element, self.dialect)
        })
    }

    /// Reports whether the event has a part, whatever its kind.
    fn exists(&self, path: &'e Path) -> Result<bool, Mismatch> {
        match self.part(path) {
            Ok(_) => Ok(true),
            Err(error @ (Mismatch::Malformed(_) | Mismatch::TooMuchWork)) => Err(error),
            Err(error) if self.dialect == Dialect::Tao => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn simple(&self, path: &'e Path) -> Result<Value<'e>, Mismatch> {
        self.part(path)?.simple()
    }

    fn part(&self, path: &'e Path) -> Result<Part<'e>, Mismatch> {
        let root = match &path.root {
            Root::Whole => self.whole()?,
            Root::Variable(name) => self.variable(name)?,
        };
        let mut steps = path.steps.iter();
        steps.try_fold(root, |part, step| part.step(step, self.scratch, self.dialect))
    }

    fn whole(&self) -> Result<Part<'e>, Mismatch> {
        match self.subject {
            Subject::Structured(event) => Ok(Part::Event(event)),
            Subject::Any(any) => Part::of_any(any, self.scratch),
            Subject::Properties(list) => Ok(Part::Properties(List::Whole(list))),
        }
    }

    /// Returns a variable of the language or, if there is none with this name, a property or member with this name.
    fn variable(&self, name: &str) -> Result<Part<'e>, Mismatch> {
        if name == "curtime" && self.dialect == Dialect::Standard {
            return Ok(Part::Time(self.now()));
        }
        if let Some(text) = self.fixed_field(name) {
            return Ok(Part::text(text));
        }
        match self.subject {
            Subject::Structured(event) => {
                let header = match self.dialect {
                    Dialect::Standard => self.property(List::VariableHeader(event), name)?,
                    Dialect::Tao => None,
                };
                match header {
                    Some(part) => Ok(part),
                    None => self.needed(List::FilterableData(event), name),
                }
            }
            Subject::Properties(list) => self.needed(List::Whole(list), name),
            Subject::Any(any) => {
                let whole = Part::of_any(any, self.scratch)?;
                match whole.clone().named(name, self.scratch, self.dialect) {
                    Err(Mismatch::NoSequence) => whole.member(name, self.scratch, self.dialect),
                    found => found,
                }
            }
        }
    }

    fn fixed_field(&self, name: &str) -> Option<&'e str> {
        Some(match (self.subject, name) {
            (Subject::Structured(event), "domain_name") => event.domain_name(),
            (Subject::Structured(event), "type_name") => event.type_name(),
            (Subject::Structured(event), "event_name") => event.event_name(),
            (Subject::Any(_), "type_name") => "%ANY",
            (Subject::Properties(_), "type_name") => "%TYPED",
            (_, "domain_name" | "event_name") => "",
            _ => return None,
        })
    }

    fn needed(&self, list: List<'e>, name: &str) -> Result<Part<'e>, Mismatch> {
        self.property(list, name)?.ok_or(Mismatch::Missing)
    }

    fn property(&self, list: List<'e>, name: &str) -> Result<Option<Part<'e>>, Mismatch> {
        match find(list, name, self.scratch, self.dialect)? {
            Some(value) => Part::of_any(value, self.scratch).map(Some),
            None => Ok(None),
        }
    }

    fn spend_on(&self, value: &Value<'_>) -> Result<(), Mismatch> {
        match value {
            Value::Text(text) => self.scratch.spend(text.len()),
            _ => Ok(()),
        }
    }

    fn now(&self) -> u64 {
        /// Time between 15 October 1582 and 1 January 1970, in seconds.
        const BEFORE_1970: u64 = 12_219_292_800;
        match self.clock {
            Clock::At(time) => time,
            Clock::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                BEFORE_1970 * 10_000_000 + (since.as_nanos() / 100) as u64
            }
        }
    }
}
