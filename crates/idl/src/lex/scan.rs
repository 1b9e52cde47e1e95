//! Splitting of text into preprocessing tokens: white space, comments, line continuations.

use super::comment::Comments;
use super::problem::LexProblem;
use super::raw::{Raw, RawKind};
use crate::diagnostic::Diagnostics;
use crate::source::{FileId, Span};
use std::rc::Rc;
use std::sync::Arc;

/// All punctuation marks, longer ones before their prefixes.
pub(crate) const PUNCTUATION: &[&str] = &[
    "...", "::", "<<", ">>", "##", "&&", "||", "==", "!=", "<=", ">=", ";", "{", "}", ":", ",",
    "=", "+", "-", "(", ")", "<", ">", "[", "]", "|", "^", "&", "*", "/", "%", "~", "@", "#", "!",
    "?",
];

/// White space other than line ends.
pub(crate) const BLANKS: [char; 5] = [' ', '\t', '\r', '\x0b', '\x0c'];

/// Returns the length of a line joint at the start of the text: a `\`, optional blanks, and the end of the line; 0 if
/// there is none.
pub(crate) fn joint(text: &str) -> usize {
    let Some(behind) = text.strip_prefix('\\') else {
        return 0;
    };
    let end = behind.trim_start_matches(BLANKS);
    if end.starts_with('\n') { text.len() - end.len() + 1 } else { 0 }
}

/// Scanner of one file, from front to back.
#[derive(Debug)]
pub(crate) struct Scanner {
    text: Arc<str>,
    file: FileId,
    at: usize,
    /// Whether only white space and comments followed the last line end.
    fresh_line: bool,
}

impl Scanner {
    pub(crate) fn new(file: FileId, text: Arc<str>) -> Self {
        Scanner { text, file, at: 0, fresh_line: true }
    }

    pub(crate) fn file(&self) -> FileId {
        self.file
    }

    /// Returns the next token; `None` at the end of the text.
    pub(crate) fn next(&mut self, out: &mut Diagnostics) -> Option<Raw> {
        let start = self.at;
        let mut comments = Comments::default();
        self.skip_space(&mut comments, out);
        let spaced = self.at != start;
        let first = self.fresh_line;
        let from = self.at;
        let mut cursor = self.cursor();
        let kind = scan_token(&mut cursor)?;
        self.at = cursor.at;
        self.fresh_line = false;
        Some(Raw {
            kind,
            text: spelling(&self.text[from..self.at]),
            span: self.span(from, self.at),
            spaced,
            first,
            frozen: false,
            doc: comments.finish(),
        })
    }

    /// Returns the `<..>` of an `#include`, if it comes next.
    pub(crate) fn header_name(&mut self) -> Option<(String, Span)> {
        let rest = &self.text[self.at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let name = rest[blank..].strip_prefix('<')?;
        let length = name.find(['>', '\n'])?;
        if name[length..].starts_with('\n') {
            return None;
        }
        let name = name[..length].to_owned();
        let from = self.at + blank;
        let to = from + length + 2;
        self.at = to;
        Some((name, self.span(from, to)))
    }

    /// Returns the rest of the line, without entering the next one.
    pub(crate) fn rest_of_line(&mut self) -> (String, Span) {
        let from = self.at;
        let mut cursor = self.cursor();
        let mut line = String::new();
        while let Some(c) = cursor.peek().filter(|&c| c != '\n') {
            line.push(c);
            cursor.bump();
        }
        self.at = cursor.at;
        let raw = &self.text[from..self.at];
        let start = from + raw.len() - raw.trim_start().len();
        let end = start + self.text[start..self.at].trim_end().len();
        (line.trim().to_owned(), self.span(start, end))
    }

    /// Returns the start of the line after `offset`.
    pub(crate) fn next_line(&self, offset: u32) -> u32 {
        let offset = offset as usize;
        let length = self.text[offset..].find('\n');
        length.map_or(self.text.len(), |length| offset + length + 1) as u32
    }

    /// Returns the places of blanks between a `\` and the end of the line that it joins.
    pub(crate) fn blanks_in_joints(&self) -> Vec<Span> {
        let joints = self.text.match_indices('\\').map(|(at, _)| (at, joint(&self.text[at..])));
        joints
            .filter(|&(at, length)| {
                length > 0 && !matches!(&self.text[at..at + length], "\\\n" | "\\\r\n")
            })
            .map(|(at, _)| self.span(at, at + 1))
            .collect()
    }

    /// Returns the empty span at the start of the text.
    pub(crate) fn start(&self) -> Span {
        self.span(0, 0)
    }

    /// Returns the empty span at the end of the text.
    pub(crate) fn end(&self) -> Span {
        self.span(self.text.len(), self.text.len())
    }

    fn skip_space(&mut self, comments: &mut Comments, out: &mut Diagnostics) {
        loop {
            let mut cursor = Cursor { text: &self.text, at: self.at };
            match cursor.bump() {
                Some('\n') => {
                    self.fresh_line = true;
                    comments.line_end();
                }
                Some(' ' | '\t' | '\r' | '\x0b' | '\x0c') => {}
                Some('/') if cursor.peek() == Some('/') => {
                    while cursor.peek().is_some_and(|c| c != '\n') {
                        cursor.bump();
                    }
                    if self.fresh_line {
                        comments.line(&self.text[self.at..cursor.at]);
                    }
                }
                Some('/') if cursor.peek() == Some('*') => {
                    cursor.bump();
                    let opening = self.span(self.at, cursor.at);
                    let body = cursor.at;
                    match cursor.find_comment_end() {
                        Some(end) if self.fresh_line => comments.block(&self.text[body..end]),
                        Some(_) => {}
                        None => out.push(opening, LexProblem::UnterminatedComment),
                    }
                }
                _ => return,
            }
            self.at = cursor.at;
        }
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor { text: &self.text, at: self.at }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }
}

/// Returns the tokens of a text that is in no file; all have the same span.
pub(crate) fn scan_text(text: &str, span: Span) -> Vec<Raw> {
    let mut cursor = Cursor { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        while cursor.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            cursor.bump();
        }
        let from = cursor.at;
        let Some(kind) = scan_token(&mut cursor) else {
            return tokens;
        };
        tokens.push(Raw {
            kind,
            text: text[from..cursor.at].into(),
            span,
            spaced: false,
            first: false,
            frozen: false,
            doc: None,
        });
    }
}

fn scan_token(cursor: &mut Cursor<'_>) -> Option<RawKind> {
    let start = *cursor;
    let c = cursor.bump()?;
    let next = cursor.peek();
    Some(match c {
        'L' if next == Some('\'') || next == Some('"') => {
            cursor.bump();
            quoted(cursor, next.unwrap_or('"'))
        }
        '\'' | '"' => quoted(cursor, c),
        _ if is_word_start(c) => {
            while cursor.peek().is_some_and(is_word_part) {
                cursor.bump();
            }
            RawKind::Word
        }
        _ if c.is_ascii_digit() || (c == '.' && next.is_some_and(|n| n.is_ascii_digit())) => {
            number(cursor, c == '0' && matches!(next, Some('x' | 'X')));
            RawKind::Number
        }
        _ => {
            let mark = PUNCTUATION.iter().find(|mark| start.starts_with(mark));
            match mark {
                Some(mark) => {
                    for _ in 1..mark.len() {
                        cursor.bump();
                    }
                    RawKind::Punct
                }
                None => RawKind::Other,
            }
        }
    })
}

fn quoted(cursor: &mut Cursor<'_>, quote: char) -> RawKind {
    while let Some(c) = cursor.peek().filter(|&c| c != '\n') {
        cursor.bump();
        if c == quote {
            return if quote == '"' { RawKind::Str } else { RawKind::Char };
        }
        if c == '\\' && cursor.peek().is_some_and(|c| c != '\n') {
            cursor.bump();
        }
    }
    RawKind::Unterminated
}

fn number(cursor: &mut Cursor<'_>, hexadecimal: bool) {
    let mut last = '0';
    while let Some(c) = cursor.peek() {
        let sign_of_exponent = !hexadecimal && matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        if !(is_word_part(c) || c == '.' || sign_of_exponent) {
            return;
        }
        last = c;
        cursor.bump();
    }
}

/// Reports whether a character can start a word. Includes letters that IDL lacks, so that a name with such a letter is
/// one error.
fn is_word_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_word_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn spelling(written: &str) -> Rc<str> {
    if !written.contains('\\') {
        return written.into();
    }
    let mut cursor = Cursor { text: written, at: 0 };
    let mut text = String::with_capacity(written.len());
    while let Some(c) = cursor.bump() {
        text.push(c);
    }
    text.into()
}

/// Position in a text that skips line continuations.
#[derive(Clone, Copy)]
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.visible()..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let at = self.visible();
        let c = self.text[at..].chars().next();
        // At the end of the text, the position does not change, even if a line continuation precedes the end.
        if let Some(c) = c {
            self.at = at + c.len_utf8();
        }
        c
    }

    fn starts_with(mut self, mark: &str) -> bool {
        mark.chars().all(|c| self.bump() == Some(c))
    }

    /// Moves after the next `*/` and returns its offset; moves to the end of the text if there is none.
    fn find_comment_end(&mut self) -> Option<usize> {
        loop {
            let before = self.at;
            match self.bump() {
                Some('*') if self.peek() == Some('/') => {
                    self.bump();
                    return Some(before);
                }
                Some(_) => {}
                None => {
                    self.at = self.text.len();
                    return None;
                }
            }
        }
    }

    /// Returns the offset of the next visible character.
    fn visible(&self) -> usize {
        let mut at = self.at;
        loop {
            match joint(&self.text[at..]) {
                0 => return at,
                length => at += length,
            }
        }
    }
}
