//! `#if` and related directives.

use super::Preprocessor;
use super::expression::evaluate;
use super::problem::{ConditionProblem, PreProblem};
use crate::lex::scan::scan_text;
use crate::lex::{Raw, RawKind};
use crate::source::Span;

/// Open conditional of a file.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) directive: &'static str,
    pub(crate) opened: Span,
    /// Whether a group was taken, so that all later ones are skipped.
    taken: bool,
    else_at: Option<Span>,
}

/// Kind of a conditional directive's test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    Expression,
    Defined,
    NotDefined,
}

impl Preprocessor<'_> {
    /// Handles `#if`, `#ifdef` and `#ifndef`: continues with the group that is taken.
    pub(crate) fn open_condition(&mut self, directive: &'static str, test: Test, name: &Raw) {
        let holds = self.test(directive, test, name);
        let (file, _) = self.file();
        file.conditions.push(Condition {
            directive,
            opened: name.span,
            taken: holds,
            else_at: None,
        });
        if !holds {
            self.skip_group();
        }
    }

    /// Handles `#elif` and `#else` after a group that was taken.
    pub(crate) fn end_group(&mut self, name: &Raw) {
        self.alternative(name);
        self.skip_group();
    }

    /// Handles `#endif`.
    pub(crate) fn close_condition(&mut self, name: &Raw) {
        let (file, out) = self.file();
        if file.conditions.pop().is_none() {
            let directive = "endif";
            out.push(name.span, PreProblem::StrayConditional { directive });
        }
        // Ignores the rest of the line, which is a comment by convention: `#endif GUARD`.
        file.line(out);
    }

    /// Skips groups until one is taken or the conditional ends.
    fn skip_group(&mut self) {
        if self.file().0.conditions.is_empty() {
            return;
        }
        let mut nested = 0_usize;
        loop {
            let (file, out) = self.file();
            let Some(raw) = file.next(out) else {
                return; // the open condition is reported where the file ends
            };
            if !raw.is_directive() {
                continue;
            }
            let Some(name) = file.next_in_line(out) else {
                continue;
            };
            match &*name.text {
                "if" | "ifdef" | "ifndef" => nested += 1,
                "endif" if nested > 0 => nested -= 1,
                "endif" => return self.close_condition(&name),
                "elif" | "elifdef" | "elifndef" | "else"
                    if nested == 0 && self.alternative(&name) =>
                {
                    return;
                }
                _ => {}
            }
        }
    }

    /// Handles `#elif` and `#else`. Returns whether their group is taken.
    fn alternative(&mut self, name: &Raw) -> bool {
        let (directive, test) = match &*name.text {
            "else" => ("else", None),
            "elifdef" => ("elifdef", Some(Test::Defined)),
            "elifndef" => ("elifndef", Some(Test::NotDefined)),
            _ => ("elif", Some(Test::Expression)),
        };
        let (file, out) = self.file();
        let Some(condition) = file.conditions.last_mut() else {
            out.push(name.span, PreProblem::StrayConditional { directive });
            file.line(out);
            return true;
        };
        if let Some(other) = condition.else_at {
            out.push(name.span, PreProblem::AfterElse { directive, other });
            file.line(out);
            return false;
        }
        if test.is_none() {
            condition.else_at = Some(name.span);
        }
        if condition.taken {
            file.line(out);
            return false;
        }
        let holds = match test {
            Some(test) => self.test(directive, test, name),
            None => {
                let (file, out) = self.file();
                file.line(out);
                true
            }
        };
        if let Some(condition) = self.file().0.conditions.last_mut() {
            condition.taken = holds;
        }
        holds
    }

    /// Reads the rest of the line and returns whether the condition holds.
    fn test(&mut self, directive: &'static str, test: Test, name: &Raw) -> bool {
        let (file, out) = self.file();
        let mut line = file.line(out);
        if let Test::Expression = test {
            return self.expression(line, name.span);
        }
        if !line.first().is_some_and(|token| token.kind == RawKind::Word) {
            out.push(name.span, PreProblem::MacroName { directive });
            return false;
        }
        let asked = line.remove(0);
        if let Some(more) = line.first() {
            out.push(more.span, PreProblem::TrailingTokens { directive });
        }
        self.macros.contains_key(&asked.text) == matches!(test, Test::Defined)
    }

    fn expression(&mut self, line: Vec<Raw>, at: Span) -> bool {
        self.in_condition = true;
        let line = self.expand_all(line);
        self.in_condition = false;
        let result = self.resolve_defined(line).and_then(|line| evaluate(&line));
        match result {
            Ok(holds) => holds,
            Err((place, problem)) => {
                let place = place.unwrap_or(at);
                self.out.push(place, PreProblem::BadCondition(problem));
                false
            }
        }
    }

    /// Replaces `defined NAME` and `defined(NAME)` by 1 or 0.
    fn resolve_defined(
        &self,
        line: Vec<Raw>,
    ) -> Result<Vec<Raw>, (Option<Span>, ConditionProblem)> {
        let mut result = Vec::with_capacity(line.len());
        let mut tokens = line.into_iter();
        while let Some(token) = tokens.next() {
            if !token.is_word("defined") {
                result.push(token);
                continue;
            }
            let mut name = tokens.next();
            if name.as_ref().is_some_and(|name| name.is_punct("(")) {
                name = tokens.next();
                if !tokens.next().is_some_and(|close| close.is_punct(")")) {
                    return Err((Some(token.span), ConditionProblem::DefinedWithoutName));
                }
            }
            let Some(name) = name.filter(|name| name.kind == RawKind::Word) else {
                return Err((Some(token.span), ConditionProblem::DefinedWithoutName));
            };
            let known = self.macros.contains_key(&name.text);
            result.extend(scan_text(if known { "1" } else { "0" }, token.span.to(name.span)));
        }
        Ok(result)
    }
}
