//! Diagnostics of the front end about a source, as values that are rendered as text at the end.
//!
//! Each kind of problem is a separate type, next to the code that finds it (families share an enum), and implements
//! [`Problem`]. A run collects all problems in [`Diagnostics`] and does not stop at the first one.

mod render;

pub use render::{render_json, render_text};

use crate::source::{SourceMap, Span};
use std::fmt;

/// Kind of problem; implemented next to the check.
pub trait Problem: fmt::Debug + Send + Sync {
    /// Returns the code, which is never reused or renumbered.
    fn code(&self) -> Code;

    /// Returns the severity; warnings leave the model usable.
    fn severity(&self) -> Severity {
        Severity::Error
    }

    /// Returns the problem in one sentence without a full stop; names in backquotes.
    fn message(&self) -> String;

    /// Returns a few words to print under the place; may be empty.
    fn label(&self) -> String {
        String::new()
    }

    /// Returns places that explain the problem.
    fn related(&self) -> Vec<(Span, String)> {
        Vec::new()
    }

    /// Returns a suggested correction.
    fn help(&self) -> Option<String> {
        None
    }
}

/// Stable name of a kind of problem: `E0101`, `W0102`.
///
/// The first two digits identify the stage that finds it: 00 driver, 01 preprocessor, 02 lexer, 03 parser, 04 names, 05
/// constants, 06 types and interfaces, 07 pragmas and repository ids, 09 not supported yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub &'static str);

impl Code {
    /// Reports whether the problem is valid IDL that this version does not compile yet.
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
    /// Problem that does not prevent compilation.
    Warning,
    /// Problem that prevents a model.
    Error,
}

/// Problem and its place.
#[derive(Debug)]
pub struct Diagnostic {
    /// Place of the problem.
    pub span: Span,
    /// Problem.
    pub problem: Box<dyn Problem>,
}

/// Diagnostics of one run: in order of discovery during the run, and in reading order after [`compile`](crate::compile)
/// has returned.
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
    /// Default limit on the number of diagnostics kept.
    pub const DEFAULT_LIMIT: usize = 100;

    /// Returns an empty collection that keeps `limit` diagnostics and counts the rest.
    pub fn with_limit(limit: usize) -> Self {
        Diagnostics { all: Vec::new(), errors: 0, suppressed: 0, limit: limit.max(1) }
    }

    /// Adds a problem; a repeated problem at the same place counts once (a file without include guard is read twice).
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

    /// Reports whether there is any error, which prevents a model.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of errors, including those beyond the limit.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Returns the number of diagnostics dropped because of the limit.
    pub fn suppressed(&self) -> usize {
        self.suppressed
    }

    /// Sorts the diagnostics in the order of their places for a reader who follows every `#include`.
    pub(crate) fn sort(&mut self, map: &SourceMap) {
        self.all.sort_by_cached_key(|diagnostic| reading_order(diagnostic.span, map));
    }

    /// Returns the diagnostics that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.all.iter()
    }

    /// Reports whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Returns the sort key of a place: the offsets of the `#include`s that lead to it, outermost first, and its own.
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
