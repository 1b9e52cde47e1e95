//! Macros: their table, their arguments, their expansion.

use super::Preprocessor;
use super::problem::PreProblem;
use crate::lex::scan::scan_text;
use crate::lex::{Raw, RawKind};
use crate::source::Span;
use std::cell::Cell;
use std::rc::Rc;

/// Macro defined by `#define`.
#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) name: Rc<str>,
    pub(crate) kind: MacroKind,
    pub(crate) body: Vec<Raw>,
    pub(crate) defined_at: Span,
    /// Number of expansions of the macro being read; while it is not zero, the name is not expanded.
    pub(crate) busy: Cell<u32>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum MacroKind {
    Object,
    Function {
        params: Vec<Rc<str>>,
        variadic: bool,
    },
    /// `__FILE__`.
    File,
    /// `__LINE__`.
    Line,
}

/// Maximum number of levels of macros in arguments of macros.
const MAX_DEPTH: usize = 100;

/// Cost of a produced token in addition to its text: about its memory, in octets.
const TOKEN_COST: usize = 16;

impl Macro {
    pub(crate) fn is_predefined(&self) -> bool {
        matches!(self.kind, MacroKind::File | MacroKind::Line)
    }

    /// Reports whether a second definition is identical (C11 6.10.3).
    pub(crate) fn same_as(&self, other: &Macro) -> bool {
        self.kind == other.kind
            && self.body.len() == other.body.len()
            && self
                .body
                .iter()
                .zip(&other.body)
                .enumerate()
                .all(|(n, (a, b))| a.text == b.text && (n == 0 || a.spaced == b.spaced))
    }

    /// Returns the parameter named by a token of the body.
    fn param(&self, token: &Raw) -> Option<usize> {
        match &self.kind {
            MacroKind::Function { params, .. } if token.kind == RawKind::Word => {
                params.iter().position(|param| *param == token.text)
            }
            _ => None,
        }
    }

    fn is_function(&self) -> bool {
        matches!(self.kind, MacroKind::Function { .. })
    }
}

impl Preprocessor<'_> {
    /// Returns the next token with all macros expanded; `None` at the end.
    pub(crate) fn next_expanded(&mut self) -> Option<Raw> {
        loop {
            let mut raw = self.next_raw()?;
            if self.operand_of_defined(&raw) {
                raw.frozen = true;
            }
            if raw.kind != RawKind::Word || raw.frozen {
                return Some(raw);
            }
            let Some(used) = self.macros.get(&raw.text).map(Rc::clone) else {
                return Some(raw);
            };
            if used.busy.get() > 0 {
                raw.frozen = true;
                return Some(raw);
            }
            if let Some(no_call) = self.expand(&used, raw) {
                return Some(no_call);
            }
        }
    }

    /// Expands tokens without further input after them: an argument, a condition.
    pub(crate) fn expand_all(&mut self, tokens: Vec<Raw>) -> Vec<Raw> {
        if self.depth == MAX_DEPTH {
            let at = tokens.first().map_or_else(Span::default, |token| token.span);
            self.stop(at, PreProblem::ExpansionTooDeep { limit: MAX_DEPTH });
            return Vec::new();
        }
        self.depth += 1;
        let below = self.frames.len();
        self.push_tokens(tokens, None, true);
        let mut expanded = Vec::new();
        while let Some(raw) = self.next_expanded() {
            expanded.push(raw);
        }
        self.frames.truncate(below);
        self.depth -= 1;
        expanded
    }

    /// Reports whether a token belongs to `defined NAME` or `defined(NAME)`, which macros may also expand to.
    fn operand_of_defined(&mut self, raw: &Raw) -> bool {
        let operand = self.after_defined;
        self.after_defined = match self.in_condition {
            true => raw.is_word("defined") || (operand && raw.is_punct("(")),
            false => false,
        };
        operand
    }

    /// Puts the expansion before the rest of the input. Returns `name` if it is a function-like macro without
    /// arguments.
    fn expand(&mut self, used: &Rc<Macro>, name: Raw) -> Option<Raw> {
        let mut place = name.span;
        let mut args = Vec::new();
        match &used.kind {
            MacroKind::Object => {}
            MacroKind::File => {
                let text = format!("\"{}\"", escaped(self.map.excerpt(name.span).name));
                self.push_tokens(scan_text(&text, name.span), None, false);
                return None;
            }
            MacroKind::Line => {
                let line = self.map.line(name.span).to_string();
                self.push_tokens(scan_text(&line, name.span), None, false);
                return None;
            }
            MacroKind::Function { params, variadic } => {
                if !self.peek().is_some_and(|next| next.is_punct("(")) {
                    return Some(name);
                }
                let (found, end) = self.arguments(used, *variadic, params.len())?;
                place = place.to(end);
                args = found;
                if !self.count_fits(used, &mut args, place) {
                    return None;
                }
            }
        }
        let mut tokens = self.substitute(used, &args, place);
        if let Some(first) = tokens.first_mut() {
            first.doc = name.doc;
            first.spaced = name.spaced;
        }
        self.map.note_expansion(place, used.defined_at);
        self.charge(&tokens, place);
        self.push_tokens(tokens, Some(Rc::clone(used)), false);
        None
    }

    /// Reads `( .. )`, beginning at the parenthesis. `None` if it is never closed.
    fn arguments(
        &mut self,
        used: &Macro,
        variadic: bool,
        params: usize,
    ) -> Option<(Vec<Vec<Raw>>, Span)> {
        let opening = self.next_raw()?.span;
        let mut args = vec![Vec::new()];
        let mut depth = 0_usize;
        loop {
            let Some(raw) = self.peek().filter(|raw| !raw.is_directive()) else {
                let directive = self.peek().is_some();
                let name = used.name.to_string();
                let problem = PreProblem::ArgumentsUnterminated { name, directive };
                self.out.push(opening, problem);
                return None;
            };
            let (open, close) = (raw.is_punct("("), raw.is_punct(")"));
            let split = raw.is_punct(",") && depth == 0 && !(variadic && args.len() == params);
            let raw = self.next_raw()?;
            if close && depth == 0 {
                return Some((args, raw.span));
            }
            depth = depth + usize::from(open) - usize::from(close);
            if split {
                args.push(Vec::new());
            } else {
                args.last_mut()?.push(raw);
            }
        }
    }

    fn count_fits(&mut self, used: &Macro, args: &mut Vec<Vec<Raw>>, place: Span) -> bool {
        let MacroKind::Function { params, variadic } = &used.kind else {
            return true;
        };
        if params.is_empty() && args.len() == 1 && args[0].is_empty() {
            args.clear();
        }
        if *variadic && args.len() + 1 == params.len() {
            args.push(Vec::new());
        }
        if args.len() == params.len() {
            return true;
        }
        let problem = PreProblem::ArgumentCount {
            name: used.name.to_string(),
            wanted: params.len() - usize::from(*variadic),
            variadic: *variadic,
            found: args.len(),
            defined: used.defined_at,
        };
        self.out.push(place, problem);
        false
    }

    /// Returns the body with parameters replaced by arguments, and with `#` and `##` applied.
    fn substitute(&mut self, used: &Macro, args: &[Vec<Raw>], place: Span) -> Vec<Raw> {
        let mut expanded: Vec<Option<Vec<Raw>>> = vec![None; args.len()];
        let mut result: Vec<Raw> = Vec::new();
        // Whether the left operand of the next `##` is empty.
        let mut left_empty = true;
        let mut pasting = false;
        let mut at = 0;
        while let Some(token) = used.body.get(at) {
            at += 1;
            if token.is_punct("##") {
                pasting = true;
                continue;
            }
            let pasted = pasting || used.body.get(at).is_some_and(|next| next.is_punct("##"));
            let mut piece = if token.is_punct("#") && used.is_function() {
                // A parameter follows, because any other definition was rejected.
                let param = used.body.get(at).and_then(|next| used.param(next));
                at += 1;
                vec![stringized(&args[param.unwrap_or(0)], place)]
            } else {
                match used.param(token) {
                    Some(param) if pasted => args[param].clone(),
                    Some(param) => {
                        let known = expanded[param].take();
                        let tokens = known.unwrap_or_else(|| self.expand_all(args[param].clone()));
                        expanded[param].insert(tokens).clone()
                    }
                    None => vec![Raw { span: place, doc: None, ..token.clone() }],
                }
            };
            if let Some(first) = piece.first_mut() {
                first.spaced = token.spaced;
            }
            let empty = piece.is_empty();
            if pasting && !left_empty && !empty {
                let right = piece.remove(0);
                let left = result.pop().unwrap_or_else(|| right.clone());
                result.extend(self.paste(&left, &right, place));
            }
            left_empty = empty && (left_empty || !pasting);
            pasting = false;
            result.extend(piece);
            if self.stopped {
                return Vec::new();
            }
        }
        result
    }

    fn paste(&mut self, left: &Raw, right: &Raw, place: Span) -> Vec<Raw> {
        let text = format!("{}{}", left.text, right.text);
        let mut tokens = scan_text(&text, place);
        if tokens.len() != 1 || &*tokens[0].text != text.as_str() {
            let problem = PreProblem::PasteInvalid {
                left: left.text.to_string(),
                right: right.text.to_string(),
            };
            self.out.push(place, problem);
            return vec![left.clone(), right.clone()];
        }
        tokens[0].spaced = left.spaced;
        tokens
    }

    /// Charges the output of macros against its limit.
    fn charge(&mut self, tokens: &[Raw], place: Span) {
        let limit = self.options.limits.macro_octets;
        self.produced += TOKEN_COST; // an empty expansion costs time, too
        for token in tokens {
            self.produced = self.produced.saturating_add(TOKEN_COST + token.text.len());
        }
        if self.produced > limit {
            self.stop(place, PreProblem::ExpansionTooLarge { limit });
        }
    }
}

fn stringized(arg: &[Raw], place: Span) -> Raw {
    let mut text = String::from("\"");
    for (n, token) in arg.iter().enumerate() {
        if n > 0 && token.spaced {
            text.push(' ');
        }
        match token.kind {
            RawKind::Str | RawKind::Char | RawKind::Unterminated => text += &escaped(&token.text),
            _ => text += &token.text,
        }
    }
    text.push('"');
    Raw {
        kind: RawKind::Str,
        text: text.into(),
        span: place,
        spaced: false,
        first: false,
        frozen: false,
        doc: None,
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
