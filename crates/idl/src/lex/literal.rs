//! Values of literals.

use super::problem::LexProblem;
use super::raw::Raw;
use super::{Token, TokenKind};
use crate::constant::Real;
use crate::diagnostic::Diagnostics;
use std::ops::Range;

/// Error, and the range of the spelling that it concerns.
type Failed = (LexProblem, Range<usize>);

/// Returns the value of a number; after an error, still a value of the intended kind.
pub(crate) fn number(raw: &Raw, out: &mut Diagnostics) -> TokenKind {
    match parse_number(&raw.text) {
        Ok(kind) => kind,
        Err((problem, part)) => {
            out.push(raw.part(part.start, part.end), problem);
            meant(&raw.text)
        }
    }
}

/// Returns the value of `'c'` or `L'c'`.
pub(crate) fn character(raw: &Raw, out: &mut Diagnostics) -> TokenKind {
    let (wide, text) = unquote(raw, out);
    let mut chars = text.chars();
    let value = match (chars.next(), chars.next()) {
        (Some(c), None) => c,
        (None, _) => {
            out.push(raw.span, LexProblem::EmptyChar);
            ' '
        }
        (Some(c), Some(_)) => {
            let count = text.chars().count();
            out.push(raw.span, LexProblem::LongChar { count });
            c
        }
    };
    match wide {
        true => TokenKind::WChar(value),
        false if u32::from(value) > 0xff => {
            out.push(raw.span, LexProblem::WideCharInNarrow(value));
            TokenKind::Char('?')
        }
        false => TokenKind::Char(value),
    }
}

/// Returns the text of `".."` or `L".."`, and whether it is wide.
pub(crate) fn string(raw: &Raw, out: &mut Diagnostics) -> (bool, String) {
    let (wide, mut text) = unquote(raw, out);
    if text.contains('\0') {
        out.push(raw.span, LexProblem::NulInString);
        text.retain(|c| c != '\0');
    }
    (wide, text)
}

/// Returns the text of `".."`; `None` for any other token.
pub(crate) fn narrow_string(raw: &Raw, out: &mut Diagnostics) -> Option<Box<str>> {
    if raw.kind != super::RawKind::Str || raw.text.starts_with('L') {
        return None;
    }
    Some(string(raw, out).1.into())
}

fn meant(text: &str) -> TokenKind {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    match hexadecimal {
        false if text.ends_with(['d', 'D']) => TokenKind::Fixed("1".into()),
        false if text.contains(['.', 'e', 'E']) => TokenKind::Float(Real::literal("1.0")),
        _ => TokenKind::Integer(1),
    }
}

fn parse_number(text: &str) -> Result<TokenKind, Failed> {
    if text.starts_with("0x") || text.starts_with("0X") {
        return integer(text, 2, 16);
    }
    let mantissa = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[mantissa..];
    match rest.bytes().next() {
        None if text.starts_with('0') && text.len() > 1 => integer(text, 1, 8),
        None => integer(text, 0, 10),
        Some(b'.' | b'e' | b'E' | b'd' | b'D') => real(text),
        Some(_) => Err(suffix(text, mantissa)),
    }
}

fn integer(text: &str, start: usize, base: u32) -> Result<TokenKind, Failed> {
    let digits = &text[start..];
    if digits.is_empty() {
        let what = "hexadecimal number";
        return Err((LexProblem::NoDigits { what }, 0..text.len()));
    }
    if let Some(length) = digits.find(|c: char| !c.is_digit(base)) {
        let (at, rest) = (start + length, &digits[length..]);
        if rest.trim_matches(['u', 'U', 'l', 'L']).is_empty() {
            return Err(suffix(text, at));
        }
        let digit = rest.chars().next().unwrap_or_default();
        let part = at..at + digit.len_utf8();
        return Err((LexProblem::BadDigit { digit, base }, part));
    }
    i128::from_str_radix(digits, base)
        .map(TokenKind::Integer)
        .map_err(|_| (LexProblem::IntegerTooLarge, 0..text.len()))
}

/// Parses a floating-point or fixed-point literal: `digits [. digits] [e [sign] digits] [d]`.
fn real(text: &str) -> Result<TokenKind, Failed> {
    let digits_from = |at: usize| text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let mut at = digits_from(0);
    let whole = &text[..at];
    let mut fraction = "";
    if text[at..].starts_with('.') {
        let start = at + 1;
        at = start + digits_from(start);
        fraction = &text[start..at];
    }
    if let Some(b'd' | b'D') = text.as_bytes().get(at)
        && at + 1 == text.len()
    {
        // Leading zeros, and trailing zeros of the fraction, do not count as digits.
        let digits = whole.trim_start_matches('0').len() + fraction.trim_end_matches('0').len();
        if digits > 31 {
            return Err((LexProblem::FixedTooLong { digits }, 0..text.len()));
        }
        return Ok(TokenKind::Fixed(text[..at].into()));
    }
    if text[at..].starts_with(['e', 'E']) {
        let signed = text[at + 1..].starts_with(['+', '-']);
        let start = at + 1 + usize::from(signed);
        let exponent = digits_from(start);
        if exponent == 0 {
            return Err((LexProblem::NoDigits { what: "exponent" }, at..text.len()));
        }
        at = start + exponent;
    }
    if at < text.len() {
        return Err(suffix(text, at));
    }
    match Real::literal(text) {
        value if value.long.is_finite() => Ok(TokenKind::Float(value)),
        _ => Err((LexProblem::FloatTooLarge, 0..text.len())),
    }
}

fn suffix(text: &str, at: usize) -> Failed {
    let suffix = text[at..].into();
    (LexProblem::Suffix { suffix }, at..text.len())
}

/// Returns the text between the quotes with escapes resolved, and whether an `L` precedes them.
fn unquote(raw: &Raw, out: &mut Diagnostics) -> (bool, String) {
    let wide = raw.text.starts_with('L');
    let start = 1 + usize::from(wide);
    let body = &raw.text[start..raw.text.len() - 1];
    let mut text = String::with_capacity(body.len());
    let mut at = 0;
    while let Some(c) = body[at..].chars().next() {
        let (value, length) = match c {
            '\\' => escape(&body[at..], wide),
            _ => (Ok(c), c.len_utf8()),
        };
        match value {
            Ok(value) => text.push(value),
            Err(problem) => {
                out.push(raw.part(start + at, start + at + length), problem);
                text.push('?');
            }
        }
        at += length;
    }
    (wide, text)
}

/// Returns the character of an escape sequence, and the length of the sequence.
fn escape(text: &str, wide: bool) -> (Result<char, LexProblem>, usize) {
    let Some(letter) = text[1..].chars().next() else {
        let escape = text.into();
        return (Err(LexProblem::BadEscape { escape }), text.len());
    };
    let simple = match letter {
        'n' => '\n',
        't' => '\t',
        'v' => '\x0b',
        'b' => '\x08',
        'r' => '\r',
        'f' => '\x0c',
        'a' => '\x07',
        '\\' | '?' | '\'' | '"' => letter,
        '0'..='7' => return numeric(text, 1, 8, 3),
        'x' => return numeric(text, 2, 16, 2),
        'u' if wide => return numeric(text, 2, 16, 4),
        'u' => {
            let (_, length) = numeric(text, 2, 16, 4);
            return (Err(LexProblem::WideEscape), length);
        }
        _ => {
            let length = 1 + letter.len_utf8();
            let escape = text[..length].into();
            return (Err(LexProblem::BadEscape { escape }), length);
        }
    };
    (Ok(simple), 2)
}

fn numeric(text: &str, start: usize, base: u32, most: usize) -> (Result<char, LexProblem>, usize) {
    let digits = text[start..].chars().take(most).take_while(|c| c.is_digit(base)).count();
    let length = start + digits;
    let value = u32::from_str_radix(&text[start..length], base);
    let value = match value {
        Err(_) => Err(LexProblem::BadEscape { escape: text[..length].into() }),
        Ok(value) if most < 4 && value > 0xff => Err(LexProblem::EscapeTooLarge),
        Ok(value) => char::from_u32(value).ok_or(LexProblem::Surrogate),
    };
    (value, length)
}

/// String literal that may still be joined with the next one.
#[derive(Debug)]
pub(crate) struct Joining {
    wide: bool,
    text: String,
    token: Token,
}

impl Joining {
    pub(crate) fn new(raw: Raw, out: &mut Diagnostics) -> Self {
        let (wide, text) = string(&raw, out);
        Joining { wide, text, token: Token { kind: TokenKind::Eof, span: raw.span, doc: raw.doc } }
    }

    pub(crate) fn join(&mut self, raw: &Raw, out: &mut Diagnostics) {
        let (wide, text) = string(raw, out);
        if wide != self.wide {
            out.push(raw.span, LexProblem::MixedStrings);
        }
        self.text += &text;
        self.token.span = self.token.span.to(raw.span);
    }

    pub(crate) fn finish(self) -> Token {
        let text = self.text.into();
        let kind = match self.wide {
            true => TokenKind::WStr(text),
            false => TokenKind::Str(text),
        };
        Token { kind, ..self.token }
    }
}
