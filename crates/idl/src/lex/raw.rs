//! Preprocessing tokens: words, numbers and punctuation with their spelling.

use crate::source::Span;
use std::rc::Rc;

/// Preprocessing token.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) kind: RawKind,
    /// Text as written, line continuations removed.
    pub(crate) text: Rc<str>,
    pub(crate) span: Span,
    /// Whether white space or a comment precedes it.
    pub(crate) spaced: bool,
    /// Whether the token is the first on its line; only such a `#` starts a directive.
    pub(crate) first: bool,
    /// Whether the token came from the macro of its own name, and so is never expanded again.
    pub(crate) frozen: bool,
    pub(crate) doc: Option<Box<str>>,
}

/// Shape of a [`Raw`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawKind {
    /// Word, escaped or not, keyword or not; may contain letters that IDL lacks.
    Word,
    /// Number: starts with a digit, or with a point and a digit; may be malformed.
    Number,
    /// `'..'` or `L'..'`.
    Char,
    /// `".."` or `L".."`.
    Str,
    /// Quote without a closing quote on the same line, and the rest of the line.
    Unterminated,
    /// Token of [`PUNCTUATION`](super::scan::PUNCTUATION).
    Punct,
    /// Character that IDL does not use.
    Other,
}

impl Raw {
    pub(crate) fn is_punct(&self, text: &str) -> bool {
        self.kind == RawKind::Punct && &*self.text == text
    }

    pub(crate) fn is_word(&self, text: &str) -> bool {
        self.kind == RawKind::Word && &*self.text == text
    }

    /// Reports whether the token starts a directive line.
    pub(crate) fn is_directive(&self) -> bool {
        self.first && self.is_punct("#")
    }

    /// Returns the place of a part of the text, as precisely as known.
    pub(crate) fn part(&self, start: usize, end: usize) -> Span {
        if self.text.len() == (self.span.end - self.span.start) as usize {
            Span {
                file: self.span.file,
                start: self.span.start + start as u32,
                end: self.span.start + end as u32,
            }
        } else {
            self.span
        }
    }
}
