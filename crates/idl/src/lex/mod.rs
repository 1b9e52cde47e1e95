//! Tokens passed from the preprocessor to the parser.

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

pub use crate::constant::Real;
use crate::source::{FileId, Span};
use std::fmt;

/// Maximum number of octets of a name, of a scoped name, and of a repository id or prefix. Definitions contain the
/// names of the scopes around them, so that names of any length would take memory out of proportion to the source.
pub(crate) const MAX_NAME: usize = 1024;

/// Token of IDL, all macros expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Kind of token.
    pub kind: TokenKind,
    /// Place of the token; for a token from a macro, the use of the outermost macro.
    pub span: Span,
    /// Comment directly before the token, without comment marks: a `/* */` block or `//` lines with no blank line
    /// between comment and token. A comment that shares its first line with an earlier token documents that token, and
    /// is dropped.
    pub doc: Option<Box<str>>,
}

/// Kind of a token.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    /// Name that is not exactly the spelling of a keyword.
    Ident {
        /// Name without the `_` of an escaped identifier.
        name: Box<str>,
        /// Whether the name was written with a leading `_`, and so is never a keyword.
        escaped: bool,
    },
    /// Keyword; [contextual](Keyword::is_contextual) ones are names wherever the grammar expects a name.
    Keyword(Keyword),
    /// Decimal, octal or hexadecimal integer; never negative.
    Integer(i128),
    /// Number with a point, an exponent or both.
    Float(Real),
    /// Digits and point of a `fixed` literal, without the `d`.
    Fixed(Box<str>),
    /// `'c'`: U+0000 to U+00FF.
    Char(char),
    /// `L'c'`.
    WChar(char),
    /// `"text"`, with adjacent literals joined.
    Str(Box<str>),
    /// `L"text"`, with adjacent literals joined.
    WStr(Box<str>),
    /// Punctuation.
    Punct(Punct),
    /// A `#pragma` with a meaning in CORBA, at its position.
    Pragma(Pragma),
    /// Start of a file. Files nest; every file has its own pair of [`FileStart`](TokenKind::FileStart) and
    /// [`FileEnd`](TokenKind::FileEnd), including main files, so that a prefix pragma ends with its file.
    FileStart(FileId),
    /// End of the innermost open [`FileStart`](TokenKind::FileStart).
    FileEnd,
    /// End of the input: always the last token, and only there.
    Eof,
}

/// Pragma defined by CORBA (CORBA 3.3 part 1, 14.7.5).
#[derive(Debug, Clone, PartialEq)]
pub enum Pragma {
    /// `#pragma prefix "omg.org"`.
    Prefix(Box<str>),
    /// `#pragma ID name "id"`.
    Id {
        /// Declaration that the pragma names.
        name: PragmaName,
        /// Repository id, as written.
        id: Box<str>,
    },
    /// `#pragma version name 1.0`.
    Version {
        /// Declaration that the pragma names.
        name: PragmaName,
        /// Number before the point.
        major: u32,
        /// Number after the point.
        minor: u32,
    },
}

/// Scoped name in a pragma.
#[derive(Debug, Clone, PartialEq)]
pub struct PragmaName {
    /// Whether the name starts with `::`.
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
            /// Returns the punctuation as written.
            pub fn as_str(self) -> &'static str {
                match self { $(Punct::$name => $text,)+ }
            }

            /// Returns the punctuation with this spelling.
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

/// Writes the token in the form of error messages: "`;`", "identifier `x`", "end of file".
impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Ident { name, escaped } => {
                write!(f, "identifier `{}{name}`", if *escaped { "_" } else { "" })
            }
            TokenKind::Keyword(keyword) => write!(f, "keyword `{}`", keyword.as_str()),
            TokenKind::Integer(value) => write!(f, "integer `{value}`"),
            TokenKind::Float(value) => write!(f, "floating-point literal `{value}`"),
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
