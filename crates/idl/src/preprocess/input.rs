//! Sources of tokens: files that include each other, and expansions on top.

use super::Preprocessor;
use super::condition::Condition;
use super::macros::Macro;
use super::problem::PreProblem;
use crate::diagnostic::Diagnostics;
use crate::lex::scan::Scanner;
use crate::lex::{Raw, TokenKind};
use crate::source::{FileId, Span};
use std::rc::Rc;

/// Level of input; the topmost one is read first.
#[derive(Debug)]
pub(crate) enum Frame {
    File(FileFrame),
    Tokens(TokenFrame),
}

/// File being read.
#[derive(Debug)]
pub(crate) struct FileFrame {
    pub(crate) scanner: Scanner,
    peeked: Option<Raw>,
    /// Open conditionals of the file, innermost last.
    pub(crate) conditions: Vec<Condition>,
    /// Whether the start and end of the file are hidden from the parser.
    silent: bool,
}

/// Tokens inserted before the rest of the input.
#[derive(Debug)]
pub(crate) struct TokenFrame {
    tokens: std::vec::IntoIter<Raw>,
    /// Macro that produced the tokens.
    owner: Option<Rc<Macro>>,
    /// Whether reading stops at its end, instead of continuing below.
    barrier: bool,
}

impl FileFrame {
    fn peek(&mut self, out: &mut Diagnostics) -> Option<&Raw> {
        if self.peeked.is_none() {
            self.peeked = self.scanner.next(out);
        }
        self.peeked.as_ref()
    }

    pub(crate) fn next(&mut self, out: &mut Diagnostics) -> Option<Raw> {
        self.peek(out)?;
        self.peeked.take()
    }

    /// Returns the next token if it is on the line of the previous one.
    pub(crate) fn next_in_line(&mut self, out: &mut Diagnostics) -> Option<Raw> {
        if self.peek(out)?.first {
            return None;
        }
        self.peeked.take()
    }

    /// Returns the rest of the line.
    pub(crate) fn line(&mut self, out: &mut Diagnostics) -> Vec<Raw> {
        std::iter::from_fn(|| self.next_in_line(out)).collect()
    }
}

impl Preprocessor<'_> {
    /// Returns the next token as written; executes directives on the way. `None` at the end of all input, or of the
    /// tokens of [`expand_all`](Self::expand_all).
    pub(crate) fn next_raw(&mut self) -> Option<Raw> {
        while !self.stopped {
            match self.frames.last_mut()? {
                Frame::Tokens(frame) => match frame.tokens.next() {
                    Some(raw) => return Some(raw),
                    None if frame.barrier => return None,
                    None => self.pop_tokens(),
                },
                Frame::File(frame) => match frame.next(self.out) {
                    Some(raw) if raw.is_directive() => self.directive(),
                    Some(raw) => return Some(raw),
                    None => self.leave_file(),
                },
            }
        }
        None
    }

    /// Returns the token that [`next_raw`](Self::next_raw) would read, without executing directives or leaving the
    /// file.
    pub(crate) fn peek(&mut self) -> Option<&Raw> {
        while let Some(Frame::Tokens(frame)) = self.frames.last()
            && frame.tokens.as_slice().is_empty()
            && !frame.barrier
        {
            self.pop_tokens();
        }
        match self.frames.last_mut()? {
            Frame::Tokens(frame) => frame.tokens.as_slice().first(),
            Frame::File(frame) => frame.peek(self.out),
        }
    }

    pub(crate) fn push_tokens(
        &mut self,
        tokens: Vec<Raw>,
        owner: Option<Rc<Macro>>,
        barrier: bool,
    ) {
        if let Some(owner) = &owner {
            owner.busy.set(owner.busy.get() + 1);
        }
        self.frames.push(Frame::Tokens(TokenFrame { tokens: tokens.into_iter(), owner, barrier }));
    }

    pub(crate) fn enter_file(&mut self, file: FileId, at: Span, silent: bool) {
        let scanner = Scanner::new(file, self.map.shared_text(file));
        self.octets = self.octets.saturating_add(self.map.text(file).len());
        let limit = self.options.limits.source_octets;
        if self.octets > limit {
            self.stop(at, PreProblem::TooMuchSource { limit });
            return;
        }
        if !silent {
            for at in scanner.blanks_in_joints() {
                self.out.push(at, PreProblem::BlanksInJoint);
            }
            self.read.push(file);
            self.sink.mark(TokenKind::FileStart(file), scanner.start());
        }
        self.frames.push(Frame::File(FileFrame {
            scanner,
            peeked: None,
            conditions: Vec::new(),
            silent,
        }));
    }

    /// Returns the file being read, and the diagnostics, for directives: only files contain them, so a file is on top.
    pub(crate) fn file(&mut self) -> (&mut FileFrame, &mut Diagnostics) {
        match self.frames.last_mut() {
            Some(Frame::File(frame)) => (frame, self.out),
            _ => unreachable!("directives are read from files only"),
        }
    }

    /// Returns the number of open files.
    pub(crate) fn include_depth(&self) -> usize {
        let files = self.frames.iter().filter(|f| matches!(f, Frame::File(_)));
        files.count()
    }

    fn leave_file(&mut self) {
        let Some(Frame::File(frame)) = self.frames.pop() else {
            return;
        };
        for open in &frame.conditions {
            let directive = open.directive;
            self.out.push(open.opened, PreProblem::UnterminatedCondition { directive });
        }
        if !frame.silent {
            self.sink.mark(TokenKind::FileEnd, frame.scanner.end());
        }
    }

    fn pop_tokens(&mut self) {
        if let Some(Frame::Tokens(frame)) = self.frames.pop()
            && let Some(owner) = frame.owner
        {
            owner.busy.set(owner.busy.get() - 1);
        }
    }
}
