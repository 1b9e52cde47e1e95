//! C preprocessor as IDL uses it (CORBA 3.3 part 1, 7.3), followed by the lexer.
//!
//! Files and expansions are on one stack of [`Frame`](input::Frame)s, so neither includes nor nested macros recurse;
//! only macros in arguments of macros do, to a fixed depth. [`Limits`](crate::Limits) bound the rest.

mod builtin;
mod condition;
mod directive;
mod expression;
mod import;
mod include;
mod input;
mod macros;
mod pragma;
mod problem;

use crate::Options;
use crate::diagnostic::{Code, Diagnostics};
use crate::lex::{Converter, Token, TokenKind};
use crate::source::{FileId, SourceMap, Span};
pub(crate) use builtin::orb_has;
use import::Imports;
use input::Frame;
use macros::{Macro, MacroKind};
use problem::PreProblem;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Code of an `#include` without a file: many names will be missing.
pub(crate) const INCLUDE_NOT_FOUND: Code = Code("E0103");

/// Returns the tokens of `main` and all its includes, with macros expanded.
///
/// The last token, and only the last, is [`Eof`](crate::lex::TokenKind::Eof). Never fails: problems are added to `out`,
/// and the tokens are a best guess.
pub fn preprocess(
    map: &mut SourceMap,
    main: FileId,
    options: &Options,
    out: &mut Diagnostics,
) -> Vec<Token> {
    preprocess_all(map, &[main], options, out)
}

/// Returns the tokens of several files, as if one file included them in this order, except that a file included by one
/// of them is not read again for a later one.
pub(crate) fn preprocess_all(
    map: &mut SourceMap,
    mains: &[FileId],
    options: &Options,
    out: &mut Diagnostics,
) -> Vec<Token> {
    let mut preprocessor = Preprocessor {
        sink: Converter::new(options.lenient.keyword_case),
        options,
        out,
        frames: Vec::new(),
        macros: HashMap::new(),
        once: HashSet::new(),
        read: Vec::new(),
        includes: 0,
        octets: 0,
        produced: 0,
        depth: 0,
        in_condition: false,
        after_defined: false,
        stopped: false,
        map,
    };
    preprocessor.predefine();
    for &main in mains {
        preprocessor.read_main(main);
    }
    preprocessor.finish(mains)
}

/// Preprocessor of one translation unit.
pub(crate) struct Preprocessor<'a> {
    map: &'a mut SourceMap,
    options: &'a Options,
    out: &'a mut Diagnostics,
    sink: Converter,
    frames: Vec<Frame>,
    macros: HashMap<Rc<str>, Rc<Macro>>,
    /// Files that are not to be read again, by identity.
    once: HashSet<PathBuf>,
    /// Files read for the present main file.
    read: Vec<FileId>,
    includes: usize,
    octets: usize,
    /// Number of octets produced by macros so far, see [`Limits::macro_octets`](crate::Limits).
    produced: usize,
    /// Level of nested macro arguments.
    depth: usize,
    /// Whether the tokens of an `#if` are being expanded, so that `defined` has a meaning.
    in_condition: bool,
    /// Whether the next token is the operand of `defined`, or the `(` before it.
    after_defined: bool,
    /// Whether a limit was reached: nothing more is read.
    stopped: bool,
}

impl Preprocessor<'_> {
    fn predefine(&mut self) {
        for (name, kind) in [("__FILE__", MacroKind::File), ("__LINE__", MacroKind::Line)] {
            let predefined = Macro {
                name: name.into(),
                kind,
                body: Vec::new(),
                defined_at: Span::default(),
                busy: Cell::new(0),
            };
            self.macros.insert(name.into(), Rc::new(predefined));
        }
        let mut text = String::from("#define __OXORB_IDL__ 1\n");
        for define in &self.options.defines {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            let line = format!("#define {name} {value}").replace(['\n', '\r'], " ");
            text += line.trim_end_matches('\\');
            text.push('\n');
        }
        let file = self.map.add_builtin("<command line>", &text, None);
        self.enter_file(file, Span::default(), true);
        self.drain();
    }

    fn read_main(&mut self, main: FileId) {
        if self.once.contains(&self.map.identity(self.map.path(main))) {
            return;
        }
        let start = Span { file: main, ..Span::default() };
        self.enter_file(main, start, false);
        self.drain();
        for file in std::mem::take(&mut self.read) {
            self.once.insert(self.map.identity(self.map.path(file)));
        }
    }

    fn drain(&mut self) {
        let mut imports = Imports::default();
        while let Some(raw) = self.next_expanded() {
            let (span, ends) = (raw.span, imports.sees(&raw));
            self.sink.push(raw, self.out);
            if ends && let Some((title, text)) = self.builtin(Path::new("orb.idl")) {
                let file = self.map.add_builtin(title, text, Some(span));
                self.enter_file(file, span, false);
            }
        }
    }

    /// Stops reading all input, because a limit was exceeded.
    fn stop(&mut self, at: Span, why: PreProblem) {
        if !self.stopped {
            self.stopped = true;
            self.out.push(at, why);
        }
    }

    fn finish(mut self, mains: &[FileId]) -> Vec<Token> {
        let file = mains.last().copied().unwrap_or_default();
        let at = self.map.text(file).len() as u32;
        let end = Span { file, start: at, end: at };
        if self.stopped {
            // Discards the tokens read so far, because an incomplete source would cause misleading errors.
            self.sink.clear();
            self.sink.mark(TokenKind::FileStart(file), end);
            self.sink.mark(TokenKind::FileEnd, end);
        }
        self.sink.finish(end)
    }
}
