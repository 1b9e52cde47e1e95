//! Tokens as the preprocessor sees them: words, numbers and marks with their spelling.

use crate::source::Span;
use std::rc::Rc;

/// A preprocessing token.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) kind: RawKind,
    /// Text as written, line continuations removed.
    pub(crate) text: Rc<str>,
    pub(crate) span: Span,
    /// White space or a comment stands before it.
    pub(crate) spaced: bool,
    /// The first one on its line; only such a `#` starts a directive.
    pub(crate) first: bool,
    /// Came out of the macro of its own name, so it is never expanded again.
    pub(crate) frozen: bool,
    pub(crate) doc: Option<Box<str>>,
}

/// Shape of a [`Raw`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawKind {
    /// A word, escaped or not, keyword or not; perhaps with letters that IDL lacks.
    Word,
    /// Starts with a digit, or a point and a digit; may be malformed.
    Number,
    /// `'..'` or `L'..'`.
    Char,
    /// `".."` or `L".."`.
    Str,
    /// A quote without its partner on the same line, and the rest of the line.
    Unterminated,
    /// Mark of [`PUNCTUATION`](super::scan::PUNCTUATION).
    Punct,
    /// A character that has no place in IDL.
    Other,
}

impl Raw {
    pub(crate) fn is_punct(&self, text: &str) -> bool {
        self.kind == RawKind::Punct && &*self.text == text
    }

    pub(crate) fn is_word(&self, text: &str) -> bool {
        self.kind == RawKind::Word && &*self.text == text
    }

    /// Whether this starts a directive line.
    pub(crate) fn is_directive(&self) -> bool {
        self.first && self.is_punct("#")
    }

    /// The place of a part of the text, as close as it is known.
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
