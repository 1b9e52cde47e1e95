//! Layout of pieces in lines.

use super::scan::{Kind, Piece, error};
use super::wrap::{Break, wrap};
use super::{Error, FormatOptions};
use crate::lex::scan::BLANKS;
use std::rc::Rc;

/// Maximum number of levels of nested braces: each level adds indentation.
const MAX_DEPTH: usize = crate::parse::MAX_DEPTH as usize;

pub(super) fn layout(pieces: &[Piece<'_>], options: &FormatOptions) -> Result<String, Error> {
    let mut layout = Layout {
        pieces,
        options,
        out: String::new(),
        line: String::new(),
        breaks: Vec::new(),
        continued: false,
        bodies: Bodies::default(),
        conditions: Vec::new(),
        state: State::default(),
        one_line: None,
    };
    for at in 0..pieces.len() {
        layout.piece(at)?;
    }
    layout.flush();
    match layout.bodies.last() {
        Some(body) => Err(error(body.line, "this `{` is never closed")),
        None => Ok(layout.out),
    }
}

struct Layout<'p, 's> {
    pieces: &'p [Piece<'s>],
    options: &'p FormatOptions,
    out: String,
    /// Line being filled, without indentation.
    line: String,
    /// Places where the line may be broken.
    breaks: Vec<Break>,
    /// Whether the declaration began on an earlier line.
    continued: bool,
    /// Open braces.
    bodies: Bodies,
    /// Open braces at each `#if`.
    conditions: Vec<Bodies>,
    state: State,
    /// Piece that closes a body which stays on one line.
    one_line: Option<usize>,
}

#[derive(Debug)]
struct Body {
    /// Whether commas end lines.
    list: bool,
    line: usize,
    /// Enclosing braces.
    around: Bodies,
}

/// Open braces, innermost first; copies share them with the original, so that each `#if` can have one.
#[derive(Debug, Clone, Default)]
struct Bodies {
    innermost: Option<Rc<Body>>,
    depth: usize,
}

impl Bodies {
    fn last(&self) -> Option<&Body> {
        self.innermost.as_deref()
    }

    fn push(&mut self, list: bool, line: usize) {
        let around = std::mem::take(self);
        self.depth = around.depth + 1;
        self.innermost = Some(Rc::new(Body { list, line, around }));
    }

    fn pop(&mut self) -> Option<()> {
        let around = self.last()?.around.clone();
        *self = around;
        Some(())
    }
}

/// State that decides on spaces.
#[derive(Debug, Clone, Default)]
struct State {
    /// Previous token; `None` where no space depends on it.
    last: Option<usize>,
    /// Whether the previous token was a sign, or opened or closed something.
    tight: bool,
    /// Whether the token is in a `case` or `default`, up to its colon.
    label: bool,
    /// Whether a declaration begins here.
    start: bool,
    /// Whether the declaration began with `enum` or `bitmask`, so that commas in its body end lines.
    list: bool,
    /// Number of open `<` in each open `(` or `[`.
    angles: Vec<usize>,
    /// Number of open `<` outside of them.
    outside: usize,
    /// Whether the next token is the rest of a `>>`: no space between the two.
    shift: bool,
    /// Whether the declaration so far consists of annotations, or of one name that may be a macro.
    prelude: bool,
    /// Whether the declaration began with an annotation.
    annotated: bool,
}

impl Layout<'_, '_> {
    fn piece(&mut self, at: usize) -> Result<(), Error> {
        let piece = self.pieces[at];
        match piece.kind {
            Kind::Directive => self.directive(&piece),
            Kind::Skipped => self.as_it_is(&piece),
            Kind::Line | Kind::Block => self.comment(at),
            _ if self.one_line.is_some() => self.token(at),
            _ if piece.is("{") => return self.open(at),
            _ if piece.is("}") => return self.close(at),
            _ => {
                if self.line.is_empty() && !self.continued {
                    self.blank_line(&piece);
                }
                self.break_after_prelude(&piece);
                self.token(at);
                let outside = self.depth() == 0;
                let ends = piece.is(";") || (piece.is(",") && self.in_list());
                if ends && outside {
                    self.end();
                }
            }
        }
        Ok(())
    }

    /// Marks the declaration as ended with this line.
    fn end(&mut self) {
        self.flush();
        self.continued = false;
        self.state = State { start: true, ..State::default() };
    }

    fn in_list(&self) -> bool {
        self.bodies.last().is_some_and(|body| body.list)
    }

    /// Returns the number of open parentheses and brackets.
    fn depth(&self) -> usize {
        self.state.angles.len()
    }

    fn as_it_is(&mut self, piece: &Piece<'_>) {
        self.flush();
        self.blank_line(piece);
        self.out += piece.text;
        self.out.push('\n');
        self.continued |= self.state.last.is_some();
    }

    fn directive(&mut self, piece: &Piece<'_>) {
        self.as_it_is(piece);
        let word = piece.text[1..].trim_start();
        if word.starts_with("if") {
            self.conditions.push(self.bodies.clone());
        } else if word.starts_with("el") {
            if let Some(before) = self.conditions.last() {
                self.bodies = before.clone();
            }
        } else if word.starts_with("endif") {
            self.conditions.pop();
        }
    }

    fn comment(&mut self, at: usize) {
        let piece = self.pieces[at];
        let short = piece.kind == Kind::Block && !piece.text.contains('\n');
        let more = self
            .pieces
            .get(at + 1)
            .is_some_and(|next| next.newlines == 0 && next.kind != Kind::Line);
        if short && more && (!self.line.is_empty() || piece.newlines > 0) {
            // The comment belongs to the next piece on its line.
            if piece.newlines > 0 && self.state.last.is_none() {
                self.flush();
                self.blank_line(&piece);
            }
            if !self.line.is_empty() {
                self.line.push(' ');
            }
            self.line += piece.text;
            self.state.tight = false;
            return;
        }
        let trails = piece.newlines == 0 && at > 0 && self.pieces[at - 1].kind != Kind::Directive;
        if !trails {
            self.flush();
            self.blank_line(&piece);
            self.continued |= self.state.last.is_some();
            let indent = self.indent(self.continued);
            let text = block(piece.text, &indent);
            self.out += &indent;
            self.out += &text;
            self.out.push('\n');
            return;
        }
        self.flush();
        self.continued |= self.state.last.is_some();
        let indent = self.indent(self.continued);
        if self.out.ends_with('\n') {
            self.out.pop();
            self.out.push(' ');
        }
        self.out += &block(piece.text, &indent);
        self.out.push('\n');
    }

    fn open(&mut self, at: usize) -> Result<(), Error> {
        let line = self.pieces[at].line;
        let list = self.state.list;
        if let Some(text) = self.body_on_one_line(at) {
            let close = self.matching(at).unwrap_or(at);
            let before = self.indent(self.continued).len() + self.line.chars().count();
            let length = before + 3 + text.chars().count() + self.tail(close);
            if close == at + 1 || length <= self.options.width {
                self.space_before_brace();
                self.line += "{";
                self.state = State { last: Some(at), start: true, ..State::default() };
                self.one_line = Some(close);
                return Ok(());
            }
        }
        if self.bodies.depth >= MAX_DEPTH {
            return Err(error(
                line,
                "braces are nested deeper than 100 levels, the limit of the compiler",
            ));
        }
        self.space_before_brace();
        self.line.push('{');
        self.flush();
        self.continued = false;
        self.bodies.push(list, line);
        self.state = State { start: true, ..State::default() };
        Ok(())
    }

    fn space_before_brace(&mut self) {
        if !self.line.is_empty() {
            self.line.push(' ');
        }
    }

    fn matching(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (at, piece) in self.pieces.iter().enumerate().skip(open) {
            if piece.is("{") {
                depth += 1;
            } else if piece.is("}") {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            if depth > 1 {
                return None;
            }
        }
        None
    }

    /// Returns the greatest length of the rest of a declaration after a `}`.
    fn tail(&self, close: usize) -> usize {
        let mut length = 0;
        for piece in &self.pieces[close + 1..] {
            if piece.is("{") || piece.is("}") || piece.kind == Kind::Directive {
                break;
            }
            length += piece.text.chars().count() + usize::from(!piece.is(";"));
            if piece.is(";") {
                break;
            }
        }
        length
    }

    /// Returns the text of a body that was written on one line, or is empty, for one line.
    fn body_on_one_line(&self, open: usize) -> Option<String> {
        let close = self.matching(open)?;
        let inside = &self.pieces[open + 1..=close];
        let plain = |piece: &Piece<'_>| {
            matches!(piece.kind, Kind::Word | Kind::Literal | Kind::Punct)
                && (piece.newlines == 0 || inside.len() == 1)
        };
        if !inside.iter().all(plain) {
            return None;
        }
        let mut trial = Layout {
            out: String::new(),
            line: String::new(),
            breaks: Vec::new(),
            bodies: Bodies::default(),
            conditions: Vec::new(),
            state: State { last: Some(open), start: true, ..State::default() },
            one_line: Some(close),
            ..*self
        };
        for at in open + 1..=close {
            trial.token(at);
        }
        Some(trial.line)
    }

    fn close(&mut self, at: usize) -> Result<(), Error> {
        self.flush();
        self.continued = false;
        if self.bodies.pop().is_none() {
            return Err(error(self.pieces[at].line, "this `}` closes nothing"));
        }
        self.line.push('}');
        self.state = State { last: Some(at), ..State::default() };
        Ok(())
    }

    /// Ends the line after the annotations and macros before a declaration, if they were on separate lines.
    fn break_after_prelude(&mut self, piece: &Piece<'_>) {
        let closed = self.state.last.is_some_and(|last| self.pieces[last].is(")"));
        let begins = piece.kind == Kind::Word || piece.is("@");
        let done = self.state.prelude && (self.state.annotated || closed) && self.depth() == 0;
        if done && begins && piece.newlines > 0 && !self.line.is_empty() {
            self.flush();
            self.state.last = None;
            self.state.start = true;
        }
    }

    /// Appends one token, with the space it needs.
    fn token(&mut self, at: usize) {
        let piece = self.pieces[at];
        let closes_one_line = self.one_line == Some(at);
        let space = match (closes_one_line, self.state.last) {
            // Without a previous token, the line is empty or begins with a comment.
            (_, None) => true,
            (true, Some(last)) => !self.pieces[last].is("{"),
            (false, Some(last)) if self.pieces[last].is("{") => true,
            (false, Some(last)) => self.space(last, at),
        };
        if space && !self.line.is_empty() {
            self.note_break(&piece);
            self.line.push(' ');
        }
        self.line += piece.text;
        self.follow(at);
        if closes_one_line {
            self.one_line = None;
            self.state = State { last: Some(at), ..State::default() };
        }
    }

    fn note_break(&mut self, piece: &Piece<'_>) {
        // A body on one line must not be broken, because formatting the result again would not keep it on one line.
        if self.one_line.is_some() {
            return;
        }
        let Some(last) = self.state.last else { return };
        let last = self.pieces[last];
        let raises = piece.is_word(&["raises", "getraises", "setraises", "context"]);
        let outside = self.depth() == 0;
        let weight = if raises && outside {
            2
        } else if last.is(",") || last.is(":") || last.is("=") || piece.is("|") || piece.is("+") {
            1
        } else {
            return;
        };
        self.breaks.push(Break { at: self.line.len(), weight });
    }

    /// Reports whether a space separates two tokens of one declaration.
    fn space(&self, last: usize, at: usize) -> bool {
        let (before, piece) = (self.pieces[last], self.pieces[at]);
        if self.state.tight || self.state.shift {
            return false;
        }
        if before.kind == Kind::Punct && matches!(before.text, "(" | "[" | "@" | "~" | "::" | "<") {
            return false;
        }
        if piece.kind != Kind::Punct {
            return true;
        }
        match piece.text {
            ";" | "," | ")" | "]" | "[" | "<" => false,
            ">" if self.closes_angle(at) => before.is(">") && piece.space,
            "::" if before.kind == Kind::Word => piece.space,
            "(" => {
                let words = ["switch", "raises", "getraises", "setraises", "context", "case"];
                before.is_word(&words) || (before.kind == Kind::Punct && before.text != ">")
            }
            ":" => !self.state.label,
            _ => true,
        }
    }

    /// Reports whether a `>` closes a `<`, and is no half of a shift.
    fn closes_angle(&self, at: usize) -> bool {
        let depth = self.angle_depth();
        let doubled = self.pieces.get(at + 1).is_some_and(|next| next.is(">") && !next.space);
        depth >= 2 || (depth == 1 && !doubled)
    }

    fn angle_depth(&self) -> usize {
        let inside = self.state.angles.last();
        inside.copied().unwrap_or(self.state.outside)
    }

    /// Updates the state for the following tokens.
    fn follow(&mut self, at: usize) {
        let piece = self.pieces[at];
        let before = self.state.last.map(|last| self.pieces[last]);
        let starts = std::mem::take(&mut self.state.start);
        let state = &mut self.state;
        state.tight = false;
        let shifted = std::mem::take(&mut state.shift);
        if starts {
            state.prelude = piece.is("@") || piece.kind == Kind::Word;
            state.annotated = piece.is("@");
        } else if self.depth() == 0 && !piece.is(")") && !piece.is("(") {
            let names = self.state.annotated
                && (before.is_some_and(|before| before.is("@") || before.is("::"))
                    || piece.is("::")
                    || piece.is("@"));
            self.state.prelude &= names;
        }
        let state = &mut self.state;
        if piece.is_word(&["enum", "bitmask"]) {
            state.list = true;
        }
        if starts && piece.is_word(&["case", "default"]) {
            state.label = true;
        }
        match piece.text {
            _ if piece.kind != Kind::Punct => {}
            "(" | "[" => state.angles.push(0),
            ")" | "]" => {
                state.angles.pop();
            }
            "<" => *state.angles.last_mut().unwrap_or(&mut state.outside) += 1,
            ">" => {
                let depth = state.angles.last_mut().unwrap_or(&mut state.outside);
                let next = self.pieces.get(at + 1);
                let doubled = next.is_some_and(|next| next.is(">") && !next.space);
                if shifted {
                    // The first half of a `>>` did not close a `<`, so this is the rest of a shift.
                } else if *depth >= 2 || (*depth == 1 && !doubled) {
                    *depth -= 1;
                } else if doubled {
                    state.shift = true;
                }
            }
            "-" | "+" | "~" => {
                let operand = before.is_some_and(|before| {
                    before.kind != Kind::Punct && !before.is_word(&["case", "default"])
                        || before.is(")")
                });
                state.tight = !operand;
            }
            ":" if state.label && state.angles.is_empty() => {
                state.label = false;
                state.start = true;
            }
            ";" if state.angles.is_empty() => state.start = true,
            _ => {}
        }
        self.state.last = Some(at);
    }

    /// Writes an empty line, if the source had any.
    fn blank_line(&mut self, piece: &Piece<'_>) {
        let wanted = piece.newlines > 1 && !self.out.is_empty();
        // An empty line joined by a `\` belongs to the text before it, so it does not count as a blank line.
        let blank = self.out.ends_with("\n\n") && !self.joined();
        if wanted && !blank && !self.after_brace() {
            self.out.push('\n');
        }
    }

    /// Reports whether the last line is empty and joined to the one before by a `\`.
    fn joined(&self) -> bool {
        let before = self.out.strip_suffix("\n\n").unwrap_or_default();
        before.trim_end_matches(BLANKS).ends_with('\\')
    }

    /// Reports whether the last line opens a body.
    fn after_brace(&self) -> bool {
        let last = self.out.trim_end_matches('\n');
        let last = last.rsplit('\n').next().unwrap_or_default();
        last.trim_end().ends_with('{')
    }

    fn indent(&self, continued: bool) -> String {
        let levels = self.bodies.depth + usize::from(continued);
        " ".repeat(levels * self.options.indent)
    }

    /// Writes the line, broken if it is too long.
    fn flush(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let indent = self.indent(self.continued);
        let deeper = self.indent(true);
        let line = std::mem::take(&mut self.line);
        let breaks = std::mem::take(&mut self.breaks);
        wrap(&line, &breaks, &indent, &deeper, self.options.width, &mut self.out);
    }
}

/// Returns a comment with its further lines below the first: lines that begin with `*` are aligned with it, others
/// kept.
fn block(text: &str, indent: &str) -> String {
    // `lines` would drop an empty last line, which must be kept if a `\` joins it.
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().trim_end().to_owned();
    for line in lines {
        out.push('\n');
        match line.trim_start().starts_with('*') {
            true => {
                out += indent;
                out.push(' ');
                out += line.trim();
            }
            false => out += line.trim_end(),
        }
    }
    out
}
