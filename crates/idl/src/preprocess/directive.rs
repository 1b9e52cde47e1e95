//! Lines that start with `#`.

use super::Preprocessor;
use super::condition::Test;
use super::macros::{Macro, MacroKind};
use super::problem::PreProblem;
use crate::diagnostic::Diagnostics;
use crate::lex::{Raw, RawKind, narrow_string};
use std::cell::Cell;
use std::rc::Rc;

impl Preprocessor<'_> {
    /// Executes one directive; its `#` was just read.
    pub(crate) fn directive(&mut self) {
        let (file, out) = self.file();
        let Some(name) = file.next_in_line(out) else {
            return; // a `#` alone is allowed
        };
        match &*name.text {
            "include" => self.include(&name),
            "define" => self.define(&name),
            "undef" => self.undefine(&name),
            "if" => self.open_condition("if", Test::Expression, &name),
            "ifdef" => self.open_condition("ifdef", Test::Defined, &name),
            "ifndef" => self.open_condition("ifndef", Test::NotDefined, &name),
            "elif" | "elifdef" | "elifndef" | "else" => self.end_group(&name),
            "endif" => self.close_condition(&name),
            "error" => {
                let (text, span) = file.scanner.rest_of_line();
                out.push(name.span.to(span), PreProblem::ErrorDirective { text });
            }
            "warning" => {
                let (text, span) = file.scanner.rest_of_line();
                out.push(name.span.to(span), PreProblem::WarningDirective { text });
            }
            "line" => self.line_directive(&name, None),
            "pragma" => self.pragma(),
            "ident" | "sccs" => {
                file.line(out);
            }
            _ if name.kind == RawKind::Number => self.line_directive(&name.clone(), Some(name)),
            _ => {
                file.line(out);
                let unknown = name.text.to_string();
                out.push(name.span, PreProblem::UnknownDirective { name: unknown });
            }
        }
    }

    fn define(&mut self, directive: &Raw) {
        let (file, out) = self.file();
        let mut line = file.line(out).into_iter().peekable();
        let name = match line.next() {
            Some(name) if name.kind == RawKind::Word && !name.is_word("defined") => name,
            other => {
                let at = other.map_or(directive.span, |token| token.span);
                out.push(at, PreProblem::MacroName { directive: "define" });
                return;
            }
        };
        let kind = if line.peek().is_some_and(|t| t.is_punct("(") && !t.spaced) {
            match parameters(&mut line) {
                Ok(kind) => kind,
                Err(why) => {
                    out.push(name.span, PreProblem::MacroParameters { why });
                    return;
                }
            }
        } else {
            MacroKind::Object
        };
        let defined = Macro {
            name: Rc::clone(&name.text),
            kind,
            body: line.collect(),
            defined_at: name.span,
            busy: Cell::new(0),
        };
        if !body_is_sound(&defined, out) {
            return;
        }
        if let Some(known) = self.macros.get(&name.text) {
            let name_text = name.text.to_string();
            if known.is_predefined() {
                let problem = PreProblem::MacroPredefined { name: name_text };
                self.out.push(name.span, problem);
                return;
            }
            if !known.same_as(&defined) {
                let first = known.defined_at;
                let name_text = PreProblem::MacroRedefined { name: name_text, first };
                self.out.push(name.span, name_text);
            }
        }
        self.macros.insert(name.text, Rc::new(defined));
    }

    fn undefine(&mut self, directive: &Raw) {
        let (file, out) = self.file();
        let line = file.line(out);
        let Some(name) = line.first().filter(|name| name.kind == RawKind::Word) else {
            out.push(directive.span, PreProblem::MacroName { directive: "undef" });
            return;
        };
        if let Some(more) = line.get(1) {
            let directive = "undef";
            out.push(more.span, PreProblem::TrailingTokens { directive });
        }
        if self.macros.get(&name.text).is_some_and(|known| known.is_predefined()) {
            let problem = PreProblem::MacroPredefined { name: name.text.to_string() };
            self.out.push(name.span, problem);
            return;
        }
        self.macros.remove(&name.text);
    }

    /// Handles `#line 12 "file"`, or `# 12 "file" flags` as written by other preprocessors.
    fn line_directive(&mut self, directive: &Raw, number: Option<Raw>) {
        let (file, out) = self.file();
        let rest = file.line(out);
        let end = rest.last().map_or(directive.span, |token| token.span).end;
        let id = file.scanner.file();
        let next_line = file.scanner.next_line(end);
        let tokens = match number {
            Some(number) => [vec![number], rest].concat(),
            None => self.expand_all(rest),
        };
        let line = tokens.first().and_then(|number| {
            let plain = number.text.bytes().all(|digit| digit.is_ascii_digit());
            number.text.parse::<u32>().ok().filter(|_| plain)
        });
        let name = tokens.get(1).map(|name| narrow_string(name, self.out));
        match (line, name) {
            (Some(line), None) => self.map.rename_from(id, next_line, None, line),
            (Some(line), Some(Some(name))) => {
                self.map.rename_from(id, next_line, Some(&name), line);
            }
            _ => self.out.push(directive.span, PreProblem::LineMalformed),
        }
    }
}

/// Maximum number of parameters: twice the number that C requires; each is compared with each token of the body.
const MAX_PARAMETERS: usize = 250;

/// Parses `(a, b)` or `(a, ...)`.
fn parameters(line: &mut impl Iterator<Item = Raw>) -> Result<MacroKind, &'static str> {
    let mut params: Vec<Rc<str>> = Vec::new();
    let mut variadic = false;
    line.next();
    loop {
        let token = line.next().ok_or("`)` is missing")?;
        if token.is_punct(")") && params.is_empty() {
            break;
        }
        if token.is_punct("...") {
            variadic = true;
            params.push("__VA_ARGS__".into());
        } else if token.kind != RawKind::Word {
            return Err("a name is missing");
        } else if params.contains(&token.text) {
            return Err("a name occurs twice");
        } else {
            params.push(token.text);
        }
        if params.len() > MAX_PARAMETERS {
            return Err("there are more than 250");
        }
        let next = line.next().ok_or("`)` is missing")?;
        if next.is_punct(")") {
            break;
        }
        if variadic || !next.is_punct(",") {
            return Err("`,` or `)` is missing");
        }
    }
    Ok(MacroKind::Function { params, variadic })
}

/// Checks that `##` joins two tokens, and that `#` precedes a parameter.
fn body_is_sound(defined: &Macro, out: &mut Diagnostics) -> bool {
    let body = &defined.body;
    for edge in [body.first(), body.last()].into_iter().flatten() {
        if edge.is_punct("##") {
            out.push(edge.span, PreProblem::PasteAtEdge);
            return false;
        }
    }
    if let MacroKind::Function { params, .. } = &defined.kind {
        for (n, token) in body.iter().enumerate() {
            let parameter = body.get(n + 1).is_some_and(|next| params.contains(&next.text));
            if token.is_punct("#") && !parameter {
                out.push(token.span, PreProblem::StringizeWithoutParameter);
                return false;
            }
        }
    }
    true
}
