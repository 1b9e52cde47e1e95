//! Text to pieces: tokens, comments and directives, and what white space
//! stood before each.

use super::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, keyword or number.
    Word,
    /// A string or character.
    Literal,
    Punct,
    /// `// ...`
    Line,
    /// `/* ... */`
    Block,
    /// `#...`, with all lines that a `\` joins.
    Directive,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    /// Line ends between it and the piece before.
    pub(super) newlines: usize,
    /// White space stands right before it.
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
    let (mut at, mut line) = (0, 1);
    let (mut newlines, mut space, mut line_start) = (0, false, true);
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        if c == '\n' {
            newlines += 1;
            line += 1;
            line_start = true;
        }
        if c.is_whitespace() || c == '\u{feff}' || rest.starts_with("\\\n") {
            if c == '\\' && joins_words(&source[..at], &rest[2..]) {
                return Err(error(line, "a `\\` joins two lines in mid-word: join them first"));
            }
            space = true;
            at += c.len_utf8();
            continue;
        }
        let (kind, length) = match c {
            '/' if rest.starts_with("//") => (Kind::Line, line_length(rest)),
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(end) => (Kind::Block, end + 4),
                None => return Err(error(line, "this comment never ends")),
            },
            '#' if line_start => (Kind::Directive, directive_length(rest)),
            '"' | '\'' => (Kind::Literal, literal_length(rest, line)?),
            'L' if rest[1..].starts_with(['"', '\'']) => {
                (Kind::Literal, 1 + literal_length(&rest[1..], line)?)
            }
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                (Kind::Word, number_length(rest))
            }
            _ if c.is_ascii_digit() => (Kind::Word, number_length(rest)),
            _ if is_wordy(c) => (Kind::Word, rest.find(|c| !is_wordy(c)).unwrap_or(rest.len())),
            _ if rest.starts_with("::") || rest.starts_with("<<") => (Kind::Punct, 2),
            _ => (Kind::Punct, c.len_utf8()),
        };
        let whole = &rest[..length];
        let text = match kind {
            Kind::Line | Kind::Directive => whole.trim_end(),
            _ => whole,
        };
        pieces.push(Piece { kind, text, newlines, space, line });
        line += whole.matches('\n').count();
        at += length;
        // A comment may stand before a directive.
        line_start &= kind == Kind::Block;
        (newlines, space) = (0, false);
    }
    Ok(pieces)
}

/// Whether the text before and after a `\` at the end of a line may be one token, which white space would take apart.
fn joins_words(before: &str, after: &str) -> bool {
    let touches = |c: char| !c.is_whitespace();
    before.ends_with(touches) && after.starts_with(touches)
}

fn is_wordy(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Up to the end of the line; a `\` before it joins the next one.
fn line_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(end) = text[at..].find('\n') {
        at += end;
        if !text[..at].trim_end_matches('\r').ends_with('\\') {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Returns the length of a directive: that of a line, but comments inside may span several.
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

fn literal_length(text: &str, line: usize) -> Result<usize, Error> {
    let mut chars = text.char_indices();
    let quote = chars.next().map(|(_, quote)| quote);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' => break,
            _ if Some(c) == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err(error(line, "this literal never ends"))
}

pub(super) fn error(line: usize, what: &'static str) -> Error {
    Error { line, what }
}
