//! Constraints, which determine whether an event passes a filter.

use std::fmt;

use crate::etcl::evaluate::{Clock, Evaluation};
use crate::etcl::node::Node;
use crate::etcl::parse::parse;
use crate::etcl::scratch::Scratch;
use crate::etcl::value::Value;
use crate::etcl::{Grammar, Mismatch, Options, ParseError, Subject};
use crate::memory::block;

/// A parsed and checked constraint, which determines whether an event passes a filter.
///
/// An event does not match if a part that the constraint names is missing or has another kind, even under `not`. Only
/// `exist` tests whether a part exists. Strings are equal if their octets are equal. Numbers are compared as integers
/// of at least 64 bits, or as doubles if one of them is a double.
#[derive(Clone)]
pub struct Constraint {
    text: Box<str>,
    /// Tree of the constraint; `None` if it is empty, and thus always true.
    node: Option<Node>,
    options: Options,
}

impl Constraint {
    /// Parses and checks a constraint. An empty or blank constraint is true for every event.
    pub fn parse(text: &str, grammar: Grammar) -> Result<Self, ParseError> {
        Self::parse_with(text, grammar, Options::default())
    }

    /// Parses like [`parse`](Self::parse), with other rules and limits.
    pub fn parse_with(text: &str, grammar: Grammar, options: Options) -> Result<Self, ParseError> {
        Ok(Self { node: parse(text, grammar, &options)?, text: text.into(), options })
    }

    /// Returns the text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the size in octets of the constraint's heap memory, for its text and its tree.
    ///
    /// ```
    /// use oxorb_notify::etcl::{Constraint, Grammar};
    ///
    /// let short = Constraint::parse("$a == 1", Grammar::Extended)?;
    /// let long = Constraint::parse("$a == 1 + 1 + 1 + 1", Grammar::Extended)?;
    /// assert!(long.octets() > short.octets());
    /// # Ok::<(), oxorb_notify::etcl::ParseError>(())
    /// ```
    pub fn octets(&self) -> usize {
        block(self.text.len()) + self.node.as_ref().map_or(0, Node::octets)
    }

    /// Reports whether the constraint is true for an event. Returns `false` if the constraint cannot be evaluated for
    /// the event.
    pub fn matches(&self, event: Subject<'_>) -> bool {
        self.evaluate(event).unwrap_or(false)
    }

    /// Evaluates like [`matches`](Self::matches), but returns the reason if the constraint cannot be evaluated.
    pub fn evaluate(&self, event: Subject<'_>) -> Result<bool, Mismatch> {
        self.evaluate_within(event, &mut self.work())
    }

    /// Evaluates like [`evaluate`](Self::evaluate), but takes at most `work` steps, and subtracts the steps taken from
    /// `work`. Several constraints can thus share a number of steps. Returns [`Mismatch::TooMuchWork`] if it needs
    /// more steps than `work`, or than [`ConstraintLimits::work`](crate::etcl::ConstraintLimits::work) permits.
    ///
    /// ```
    /// use oxorb_cdr::Any;
    /// use oxorb_notify::etcl::{Constraint, Grammar, Mismatch, Subject};
    ///
    /// let constraint = Constraint::parse("$ > 5", Grammar::Extended)?;
    /// let (seven, mut work) = (Any::new(7_i32), 100);
    /// assert_eq!(constraint.evaluate_within(Subject::Any(&seven), &mut work), Ok(true));
    /// assert!(work < 100);
    /// let late = constraint.evaluate_within(Subject::Any(&seven), &mut 0);
    /// assert_eq!(late, Err(Mismatch::TooMuchWork));
    /// # Ok::<(), oxorb_notify::etcl::ParseError>(())
    /// ```
    pub fn evaluate_within(&self, event: Subject<'_>, work: &mut usize) -> Result<bool, Mismatch> {
        self.run(event, Clock::System, work)
    }

    /// Evaluates like [`evaluate`](Self::evaluate), with `now` as the value of `$curtime`, in 100 ns since 15 October
    /// 1582 (`TimeBase::TimeT`).
    pub fn evaluate_at(&self, event: Subject<'_>, now: u64) -> Result<bool, Mismatch> {
        self.run(event, Clock::At(now), &mut self.work())
    }

    /// Returns the maximum number of steps of one evaluation.
    fn work(&self) -> usize {
        self.options.limits.work
    }

    fn run(&self, event: Subject<'_>, clock: Clock, work: &mut usize) -> Result<bool, Mismatch> {
        let Some(node) = &self.node else {
            return Ok(true);
        };
        let permitted = self.work().min(*work);
        let scratch = Scratch::new(permitted);
        let evaluation =
            Evaluation { subject: event, clock, scratch: &scratch, dialect: self.options.dialect };
        let value = evaluation.value(node);
        *work -= permitted - scratch.left();
        match value? {
            Value::Boolean(result) => Ok(result),
            _ => Err(Mismatch::NotBoolean),
        }
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Constraint").field(&self.text).finish()
    }
}
