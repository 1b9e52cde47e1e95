//! Tokens: what the preprocessor hands to the parser.

mod comment;
mod convert;
mod keyword;
mod literal;
mod problem;
mod raw;
pub(crate) mod scan;

pub(crate) use convert::Converter;
pub(crate) use literal::narrow_string;
pub(crate) use raw::{Raw, RawKind};

pub use keyword::Keyword;

use crate::source::{FileId, Span};
use std::fmt;

/// Token of IDL, all macros expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Kind of token.
    pub kind: TokenKind,
    /// Place of the token; where the outermost macro was used if it came out of one.
    pub span: Span,
    /// The comment right before it, without comment marks: a `/* */` block or
    /// `//` lines with no blank line between comment and token. A comment
    /// that shares its first line with an earlier token belongs to that one
    /// and is dropped.
    pub doc: Option<Box<str>>,
}

/// Kind of a token.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    /// A name that is no keyword in exactly this spelling.
    Ident {
        /// Name without the `_` of an escaped identifier.
        name: Box<str>,
        /// Written with a leading `_`, so that it is never a keyword.
        escaped: bool,
    },
    /// A keyword; those that are [contextual](Keyword::is_contextual) are names
    /// wherever the grammar asks for one.
    Keyword(Keyword),
    /// Decimal, octal or hexadecimal; never negative.
    Integer(i128),
    /// Number with a point, an exponent or both.
    Float(f64),
    /// The digits and the point of a `fixed` literal, without the `d`.
    Fixed(Box<str>),
    /// `'c'`: U+0000 to U+00FF.
    Char(char),
    /// `L'c'`.
    WChar(char),
    /// `"text"`, neighbours already joined.
    Str(Box<str>),
    /// `L"text"`, neighbours already joined.
    WStr(Box<str>),
    /// Punctuation.
    Punct(Punct),
    /// A `#pragma` that has a meaning in CORBA, standing where it stood.
    Pragma(Pragma),
    /// Start of a file. Files nest; every file has its own pair of
    /// [`FileStart`](TokenKind::FileStart) and [`FileEnd`](TokenKind::FileEnd), main files too, so
    /// that a prefix pragma ends where its file ends.
    FileStart(FileId),
    /// Closes the last open [`FileStart`](TokenKind::FileStart).
    FileEnd,
    /// Always the last token, and only there.
    Eof,
}

/// A `#pragma` that CORBA defines (CORBA 3.3 part 1, 14.7.5).
#[derive(Debug, Clone, PartialEq)]
pub enum Pragma {
    /// `#pragma prefix "omg.org"`.
    Prefix(Box<str>),
    /// `#pragma ID name "id"`.
    Id {
        /// The declaration it names.
        name: PragmaName,
        /// The repository id, as written.
        id: Box<str>,
    },
    /// `#pragma version name 1.0`.
    Version {
        /// The declaration it names.
        name: PragmaName,
        /// Number before the point.
        major: u32,
        /// Number behind the point.
        minor: u32,
    },
}

/// A scoped name in a pragma.
#[derive(Debug, Clone, PartialEq)]
pub struct PragmaName {
    /// Starts with `::`.
    pub absolute: bool,
    /// Parts, at least one, without escapes.
    pub parts: Vec<Box<str>>,
    /// Span from the first to the last part.
    pub span: Span,
}

macro_rules! puncts {
    ($($name:ident $text:literal,)+) => {
        /// Punctuation of IDL.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Punct {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        impl Punct {
            /// Returns the mark as written.
            pub fn as_str(self) -> &'static str {
                match self { $(Punct::$name => $text,)+ }
            }

            /// The reverse of [`as_str`](Self::as_str).
            pub(crate) fn from_text(text: &str) -> Option<Punct> {
                match text { $($text => Some(Punct::$name),)+ _ => None }
            }
        }
    };
}

puncts! {
    Semicolon ";",
    BraceOpen "{",
    BraceClose "}",
    Colon ":",
    PathSep "::",
    Comma ",",
    Equals "=",
    Plus "+",
    Minus "-",
    ParenOpen "(",
    ParenClose ")",
    Less "<",
    Greater ">",
    BracketOpen "[",
    BracketClose "]",
    Bar "|",
    Caret "^",
    Ampersand "&",
    ShiftLeft "<<",
    ShiftRight ">>",
    Star "*",
    Slash "/",
    Percent "%",
    Tilde "~",
    At "@",
}

/// Writes the token as an error message names it: "`;`", "identifier `x`", "end of file".
impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Ident { name, escaped } => {
                write!(f, "identifier `{}{name}`", if *escaped { "_" } else { "" })
            }
            TokenKind::Keyword(keyword) => write!(f, "keyword `{}`", keyword.as_str()),
            TokenKind::Integer(value) => write!(f, "integer `{value}`"),
            TokenKind::Float(value) => write!(f, "floating-point literal `{value:?}`"),
            TokenKind::Fixed(digits) => write!(f, "fixed-point literal `{digits}d`"),
            TokenKind::Char(c) => write!(f, "character {c:?}"),
            TokenKind::WChar(c) => write!(f, "wide character L{c:?}"),
            TokenKind::Str(text) => write!(f, "string {text:?}"),
            TokenKind::WStr(text) => write!(f, "wide string L{text:?}"),
            TokenKind::Punct(punct) => write!(f, "`{}`", punct.as_str()),
            TokenKind::Pragma(Pragma::Prefix(_)) => f.write_str("`#pragma prefix`"),
            TokenKind::Pragma(Pragma::Id { .. }) => f.write_str("`#pragma ID`"),
            TokenKind::Pragma(Pragma::Version { .. }) => f.write_str("`#pragma version`"),
            TokenKind::FileStart(_) => f.write_str("start of an included file"),
            TokenKind::FileEnd | TokenKind::Eof => f.write_str("end of file"),
        }
    }
}
