//! Diagnostics of the front end about a source, as values; text comes last.
//!
//! Every kind of problem is a type of its own, beside the code that finds it
//! (families share an enum), and implements [`Problem`]. A run collects them
//! all in [`Diagnostics`]; nothing stops at the first one.

mod render;

pub use render::{render_json, render_text};

use crate::source::{SourceMap, Span};
use std::fmt;

/// Kind of problem; implemented next to the check.
pub trait Problem: fmt::Debug + Send + Sync {
    /// Never reused for anything else, never renumbered.
    fn code(&self) -> Code;

    /// Warnings leave the model usable.
    fn severity(&self) -> Severity {
        Severity::Error
    }

    /// Returns the problem in one sentence without a full stop; names in backquotes.
    fn message(&self) -> String;

    /// A few words under the place itself; may be empty.
    fn label(&self) -> String {
        String::new()
    }

    /// Returns places that explain this one.
    fn related(&self) -> Vec<(Span, String)> {
        Vec::new()
    }

    /// Returns the cure.
    fn help(&self) -> Option<String> {
        None
    }
}

/// A stable name of a kind of problem: `E0101`, `W0102`.
///
/// The first two digits say which stage found it: 00 driver, 01 preprocessor, 02 lexer,
/// 03 parser, 04 names, 05 constants, 06 types and interfaces, 07 pragmas and
/// repository ids, 09 not supported yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub &'static str);

impl Code {
    /// Valid IDL that this version does not compile yet.
    pub fn is_not_yet(self) -> bool {
        self.0.starts_with("E09")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Compiles, but look at it.
    Warning,
    /// The source yields no model.
    Error,
}

/// A problem and its place.
#[derive(Debug)]
pub struct Diagnostic {
    /// Place of the problem.
    pub span: Span,
    /// Problem.
    pub problem: Box<dyn Problem>,
}

/// All that one run has to say: in order of discovery while it lasts, in
/// reading order when [`compile`](crate::compile) has returned.
#[derive(Debug)]
pub struct Diagnostics {
    all: Vec<Diagnostic>,
    errors: usize,
    suppressed: usize,
    limit: usize,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Diagnostics::with_limit(Self::DEFAULT_LIMIT)
    }
}

impl Diagnostics {
    /// Number of diagnostics that are kept by default: nobody reads more in one go.
    pub const DEFAULT_LIMIT: usize = 100;

    /// Keeps `limit` diagnostics and counts the rest.
    pub fn with_limit(limit: usize) -> Self {
        Diagnostics { all: Vec::new(), errors: 0, suppressed: 0, limit: limit.max(1) }
    }

    /// Adds one; the same problem at the same place counts once (a file
    /// without include guard is read twice).
    pub fn push(&mut self, span: Span, problem: impl Problem + 'static) {
        let error = problem.severity() == Severity::Error;
        self.errors += usize::from(error);
        let known = |d: &Diagnostic| {
            d.span == span
                && d.problem.code() == problem.code()
                && d.problem.message() == problem.message()
        };
        if self.all.len() >= self.limit {
            self.suppressed += 1;
        } else if !self.all.iter().any(known) {
            self.all.push(Diagnostic { span, problem: Box::new(problem) });
        }
    }

    /// Whether the source is to be refused.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of errors, those beyond the limit too.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Returns the number of diagnostics that were dropped for the limit.
    pub fn suppressed(&self) -> usize {
        self.suppressed
    }

    /// Puts them in the order in which a reader who follows every `#include`
    /// meets their places.
    pub(crate) fn sort(&mut self, map: &SourceMap) {
        self.all.sort_by_cached_key(|diagnostic| reading_order(diagnostic.span, map));
    }

    /// Returns the diagnostics that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.all.iter()
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The outermost file, then the way from there: where each file is included,
/// and the place itself.
fn reading_order(span: Span, map: &SourceMap) -> Vec<u32> {
    let includes = std::iter::successors(Some(span), |at| map.included_at(at.file));
    let mut way: Vec<Span> = includes.collect();
    way.reverse();
    let outermost = way[0].file.0;
    std::iter::once(outermost).chain(way.into_iter().map(|at| at.start)).collect()
}

impl<'d> IntoIterator for &'d Diagnostics {
    type Item = &'d Diagnostic;
    type IntoIter = std::slice::Iter<'d, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
