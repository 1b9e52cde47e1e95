//! Tokens of AADL: words, numbers and signs.

use super::{ModelError, TextPosition};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    Text,
    Sign,
    /// Body of an annex.
    Annex,
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    pub(super) place: TextPosition,
}

impl Token<'_> {
    /// Reports whether the token is this word or sign; case is ignored.
    pub(super) fn is(&self, what: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Sign) && self.text.eq_ignore_ascii_case(what)
    }

    pub(super) fn refuse(&self, why: impl Into<String>) -> ModelError {
        ModelError { place: self.place, why: why.into() }
    }

    /// Returns the token as shown in messages.
    pub(super) fn shown(&self) -> String {
        match self.kind {
            Kind::End => "the end of the text".into(),
            _ => {
                let short: String = self.text.chars().take(40).collect();
                format!("{short:?}")
            }
        }
    }
}

/// Maximum length of a word, in octets.
const LONGEST_WORD: usize = 128;

const SIGNS: [&str; 13] = ["+=>", "=>", "::", "..", "->", "{", "}", "(", ")", "[", "]", ":", ";"];

/// Splits a text; the last token is [`Kind::End`].
pub(super) fn split(text: &str, at: usize, most: usize) -> Result<Vec<Token<'_>>, ModelError> {
    let mut tokens = Vec::new();
    let (mut line, mut column) = (1, 1);
    let mut rest = text;
    loop {
        let place = TextPosition { text: at, line, column };
        let refuse = |why: &str| ModelError { place, why: why.into() };
        let Some(first) = rest.chars().next() else {
            tokens.push(Token { kind: Kind::End, text: "", place });
            return Ok(tokens);
        };
        let (kind, length) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            _ if rest.starts_with("{**") => {
                let end = rest.find("**}").ok_or_else(|| refuse("an annex without an end"))?;
                (Some(Kind::Annex), end + 3)
            }
            '"' => {
                let end = rest[1..].find(['"', '\n']);
                let end = end.filter(|end| rest[1 + end..].starts_with('"'));
                (Some(Kind::Text), end.ok_or_else(|| refuse("a text without an end"))? + 2)
            }
            '0'..='9' => (Some(Kind::Number), number(rest)),
            _ if first.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                (Some(Kind::Word), end.unwrap_or(rest.len()))
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let length = sign.map_or(first.len_utf8(), |sign| sign.len());
                (Some(Kind::Sign), length)
            }
        };
        let (token, after) = rest.split_at(length);
        if let Some(kind) = kind {
            if kind == Kind::Word && token.len() > LONGEST_WORD {
                return Err(refuse("a name can have at most 128 characters"));
            }
            if tokens.len() >= most {
                return Err(refuse("the model is too large"));
            }
            tokens.push(Token { kind, text: token, place });
        }
        for c in token.chars() {
            (line, column) = match c {
                '\n' => (line + 1, 1),
                _ => (line, column + 1),
            };
        }
        rest = after;
    }
}

/// Returns the length of a number. A point belongs to it unless two points begin a range.
fn number(text: &str) -> usize {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '_');
        end.unwrap_or(text.len())
    };
    let whole = digits(text);
    let rest = &text[whole..];
    match rest.strip_prefix('.').filter(|after| after.starts_with(|c: char| c.is_ascii_digit())) {
        Some(after) => whole + 1 + digits(after),
        None => whole,
    }
}
