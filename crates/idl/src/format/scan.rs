//! Splitting of text into pieces: tokens, comments and directives, with the white space before each.

use super::Error;
use super::group::Groups;
use crate::lex::scan::{BLANKS, joint};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Name, keyword or number.
    Word,
    /// String or character literal.
    Literal,
    Punct,
    /// `// ...`
    Line,
    /// `/* ... */`
    Block,
    /// `#...`, with all lines joined by a `\`.
    Directive,
    /// Lines that the preprocessor skips, unchanged.
    Skipped,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    /// Number of line ends since the previous piece.
    pub(super) newlines: usize,
    /// Whether white space directly precedes it.
    pub(super) space: bool,
    /// Line, from 1.
    pub(super) line: usize,
}

impl Piece<'_> {
    pub(super) fn is(&self, punct: &str) -> bool {
        self.kind == Kind::Punct && self.text == punct
    }

    pub(super) fn is_word(&self, words: &[&str]) -> bool {
        self.kind == Kind::Word && words.contains(&self.text)
    }
}

pub(super) fn scan(source: &str) -> Result<Vec<Piece<'_>>, Error> {
    let mut pieces = Vec::new();
    let mut groups = Groups::default();
    let (mut at, mut line) = (0, 1);
    let (mut newlines, mut space, mut line_start) = (0, false, true);
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let joins = joint(rest);
        if joins > 0 {
            if joins_words(&source[..at], &rest[joins..]) {
                groups
                    .wrong(error(line, "a `\\` joins two lines within a word: join them first"))?;
            }
            // The logical line continues after the `\`, so `line_start` stays as it is: a `#` there starts no
            // directive.
            space = true;
            line += 1;
            at += joins;
            continue;
        }
        if c == '\n' {
            newlines += 1;
            line += 1;
            line_start = true;
        }
        if c.is_whitespace() || c == '\u{feff}' {
            space = true;
            at += c.len_utf8();
            continue;
        }
        let mut literal = |text: &str| {
            let (length, ends) = literal_length(text);
            match ends {
                true => Ok(length),
                false => groups.wrong(error(line, "this literal never ends")).map(|()| length),
            }
        };
        let (kind, length) = match c {
            '/' if rest.starts_with("//") => (Kind::Line, line_length(rest)),
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(end) => (Kind::Block, end + 4),
                None => return Err(error(line, "this comment never ends")),
            },
            '#' if line_start => (Kind::Directive, directive_length(rest)),
            '"' | '\'' => (Kind::Literal, literal(rest)?),
            'L' if rest[1..].starts_with(['"', '\'']) => (Kind::Literal, 1 + literal(&rest[1..])?),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                (Kind::Word, number_length(rest))
            }
            _ if c.is_ascii_digit() => (Kind::Word, number_length(rest)),
            _ if is_wordy(c) => (Kind::Word, rest.find(|c| !is_wordy(c)).unwrap_or(rest.len())),
            _ if rest.starts_with("::") || rest.starts_with("<<") => (Kind::Punct, 2),
            _ => (Kind::Punct, c.len_utf8()),
        };
        let (whole, behind) = rest.split_at(length);
        let text = match kind {
            Kind::Line | Kind::Directive => without_blanks(whole, behind),
            _ => whole,
        };
        let mut piece = Piece { kind, text, newlines, space, line };
        if kind == Kind::Directive {
            groups.directive(source, &mut pieces, &mut piece, at..at + length);
        }
        pieces.push(piece);
        line += whole.matches('\n').count();
        at += length;
        // A block comment may precede a directive on its line.
        line_start &= kind == Kind::Block;
        (newlines, space) = (0, false);
    }
    groups.finish()?;
    Ok(pieces)
}

/// Returns whole lines without trailing blanks. A final `\` joins the line `behind`, so that its own empty line is kept
/// if more text follows.
pub(super) fn without_blanks<'s>(lines: &'s str, behind: &str) -> &'s str {
    let text = lines.trim_end();
    match lines[text.len()..].find('\n') {
        Some(end) if text.ends_with('\\') && !behind.trim_start().is_empty() => {
            &lines[..text.len() + end + 1]
        }
        _ => text,
    }
}

/// Reports whether the text before and after a joining `\` may be one token, which white space would split.
fn joins_words(before: &str, after: &str) -> bool {
    let touches = |c: char| !c.is_whitespace();
    before.ends_with(touches) && after.starts_with(touches)
}

fn is_wordy(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a line; a `\` at its end joins the next one.
fn line_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(end) = text[at..].find('\n') {
        at += end;
        if !text[..at].trim_end_matches(BLANKS).ends_with('\\') {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Returns the length of a directive: a line, but comments inside may span several.
fn directive_length(text: &str) -> usize {
    let mut at = 0;
    loop {
        let end = at + line_length(&text[at..]);
        let open = text[at..end].rfind("/*").map(|open| at + open);
        match open {
            Some(open) if !text[open..end].contains("*/") => match text[open..].find("*/") {
                Some(close) => at = open + close + 2,
                None => return end,
            },
            _ => return end,
        }
    }
}

fn number_length(text: &str) -> usize {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !hexadecimal;
        if !is_wordy(c) && c != '.' && !sign {
            return at;
        }
        before = c;
    }
    text.len()
}

/// Returns the length of a literal, and whether it ends on its line.
fn literal_length(text: &str) -> (usize, bool) {
    let mut chars = text.char_indices();
    let quote = chars.next().map(|(_, quote)| quote);
    while let Some((at, c)) = chars.next() {
        match c {
            // A `\` that joins lines is not an escape. It is ASCII, so its length in octets is its number of
            // characters.
            '\\' => {
                for _ in 1..joint(&text[at..]).max(2) {
                    chars.next();
                }
            }
            '\n' => return (at, false),
            _ if Some(c) == quote => return (at + 1, true),
            _ => {}
        }
    }
    (text.len(), false)
}

pub(super) fn error(line: usize, what: &'static str) -> Error {
    Error { line, what }
}
