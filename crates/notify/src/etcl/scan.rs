//! Scanner, which divides a constraint into tokens.

use crate::etcl::{Dialect, ParseError, Reason};

/// A token of a constraint.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Token<'t> {
    /// A name. An unescaped word may also be a keyword.
    Word {
        text: &'t str,
        escaped: bool,
    },
    Integer(u64),
    Float(f64),
    /// The text between the quotes, with its escapes.
    String(&'t str),
    Symbol(&'static str),
    End,
}

/// Punctuation. Longer symbols come first, so that they are found before their prefixes.
const SYMBOLS: [&str; 17] =
    ["==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", "+", "-", "*", "/", "~", "$", "."];

/// Position in a text, and the rules for reading it.
#[derive(Clone)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
}

/// Context that determines the meaning of a point followed by digits. Within a component, `.0` is a position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    Expression,
    Component,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str, dialect: Dialect) -> Self {
        Self { text, at: 0, dialect }
    }

    /// Returns the position of the next token.
    pub(crate) fn place(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    /// Returns an error at a position.
    pub(crate) fn error_at(&self, at: usize, reason: Reason) -> ParseError {
        /// Maximum number of characters of the constraint in an error.
        const SHOWN: usize = 20;
        ParseError { at, near: self.text[at..].chars().take(SHOWN).collect(), reason }
    }

    /// Returns the next token without consuming it.
    pub(crate) fn peek(&self, within: Within) -> Result<Token<'t>, ParseError> {
        self.clone().next(within)
    }

    /// Consumes and returns the next token.
    pub(crate) fn next(&mut self, within: Within) -> Result<Token<'t>, ParseError> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        match first {
            'A'..='Z' | 'a'..='z' | '_' | '\\' => return self.word(),
            '\'' => return self.string(),
            '0'..='9' => return self.number(within),
            '.' if within == Within::Expression
                && rest[1..].starts_with(|c: char| c.is_ascii_digit()) =>
            {
                return self.number(within);
            }
            _ => {}
        }
        match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => Err(self.error_at(self.at, Reason::UnknownCharacter(first))),
        }
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        let blank =
            |c: char| c.is_ascii_whitespace() || self.dialect == Dialect::Tao && !starts_word(c);
        self.at += rest.find(|c| !blank(c)).unwrap_or(rest.len());
    }

    fn word(&mut self) -> Result<Token<'t>, ParseError> {
        let start = self.at;
        let rest = &self.text[start..];
        let escaped = rest.starts_with('\\');
        let name = &rest[usize::from(escaped)..];
        let length =
            name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
        if length == 0 || escaped && !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let hint = "\\ must be followed by a name that begins with a letter";
            return Err(self.error_at(start, Reason::Expected { wanted: "a name", hint }));
        }
        self.at = start + usize::from(escaped) + length;
        // TAO keeps the backslash in the name, and thus never finds a property with the name.
        let text = match self.dialect {
            Dialect::Standard => &name[..length],
            Dialect::Tao => &self.text[start..self.at],
        };
        Ok(Token::Word { text, escaped })
    }

    fn string(&mut self) -> Result<Token<'t>, ParseError> {
        let start = self.at;
        let inside = &self.text[start + 1..];
        let mut octets = inside.bytes().enumerate();
        while let Some((at, octet)) = octets.next() {
            match octet {
                b'\'' => {
                    self.at = start + at + 2;
                    return Ok(Token::String(&inside[..at]));
                }
                b'\\' => drop(octets.next()),
                _ => {}
            }
        }
        Err(self.error_at(start, Reason::OpenString))
    }

    fn number(&mut self, within: Within) -> Result<Token<'t>, ParseError> {
        let start = self.at;
        let rest = &self.text[start..];
        let whole = digits(rest);
        let (length, is_float) = match within {
            Within::Component => (whole, false),
            Within::Expression => self.float(rest, whole),
        };
        self.at = start + length;
        let token = match is_float {
            false => rest[..length].parse().map(Token::Integer).ok(),
            true => rest[..length].parse().map(Token::Float).ok(),
        };
        token.ok_or_else(|| self.error_at(start, Reason::NumberTooLarge))
    }

    /// Returns the length of a number that begins with `whole` digits, and whether the number has a fraction or an
    /// exponent.
    fn float(&self, rest: &str, whole: usize) -> (usize, bool) {
        let mut length = whole;
        let mut is_float = false;
        if let Some(fraction) = rest[length..].strip_prefix('.') {
            let digits = digits(fraction);
            // TAO's grammar does not accept `5.` as a number.
            if digits > 0 || self.dialect == Dialect::Standard {
                length += 1 + digits;
                is_float = true;
            }
        }
        let exponent = rest[length..].strip_prefix(['e', 'E']);
        if let Some(exponent) = exponent
            && (is_float || self.dialect == Dialect::Standard)
        {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let digits = digits(&exponent[sign..]);
            if digits > 0 && (sign == 1 || self.dialect == Dialect::Standard) {
                length += 1 + sign + digits;
                is_float = true;
            }
        }
        (length, is_float)
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_\\'=!<>()[]+-*/~$.".contains(c)
}

/// Returns a string with its escapes resolved.
pub(crate) fn unescaped(written: &str) -> Box<str> {
    let mut text = String::with_capacity(written.len());
    let mut characters = written.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match characters.next() {
            Some(escaped @ ('\'' | '\\')) => text.push(escaped),
            other => {
                text.push('\\');
                text.extend(other);
            }
        }
    }
    text.into()
}
