//! Problems of a single token (E02..).

use super::MAX_NAME;
use crate::diagnostic::{Code, Problem, Severity};

/// Malformed token.
#[derive(Debug)]
pub(crate) enum LexProblem {
    UnterminatedComment,
    UnterminatedQuote { quote: char },
    StrayCharacter(char),
    StrayMark(Box<str>),
    ForeignLetter { name: Box<str>, letter: char },
    LoneUnderscore,
    TwoUnderscores { name: Box<str> },
    NoLetter { name: Box<str> },
    LongName { octets: usize },
    KeywordCase { name: Box<str>, keyword: &'static str, lenient: bool },
    BadDigit { digit: char, base: u32 },
    NoDigits { what: &'static str },
    Suffix { suffix: Box<str> },
    IntegerTooLarge,
    FloatTooLarge,
    FixedTooLong { digits: usize },
    BadEscape { escape: Box<str> },
    WideEscape,
    Surrogate,
    EscapeTooLarge,
    EmptyChar,
    LongChar { count: usize },
    WideCharInNarrow(char),
    NulInString,
    MixedStrings,
}

impl Problem for LexProblem {
    fn code(&self) -> Code {
        use LexProblem::*;
        Code(match self {
            UnterminatedComment => "E0201",
            UnterminatedQuote { .. } => "E0202",
            StrayCharacter(_) | StrayMark(_) => "E0203",
            ForeignLetter { .. } => "E0204",
            LoneUnderscore => "E0205",
            TwoUnderscores { .. } => "E0217",
            NoLetter { .. } => "E0218",
            LongName { .. } => "E0224",
            KeywordCase { lenient: false, .. } => "E0206",
            KeywordCase { lenient: true, .. } => "W0206",
            BadDigit { .. } => "E0207",
            NoDigits { .. } => "E0208",
            Suffix { .. } => "E0209",
            IntegerTooLarge => "E0210",
            FloatTooLarge => "E0219",
            FixedTooLong { .. } => "E0220",
            BadEscape { .. } => "E0211",
            EscapeTooLarge => "E0221",
            WideEscape => "E0212",
            WideCharInNarrow(_) => "E0222",
            Surrogate => "E0213",
            LongChar { .. } => "E0214",
            EmptyChar => "E0223",
            NulInString => "E0215",
            MixedStrings => "E0216",
        })
    }

    fn severity(&self) -> Severity {
        match self {
            LexProblem::KeywordCase { lenient: true, .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    fn message(&self) -> String {
        use LexProblem::*;
        match self {
            UnterminatedComment => "this comment never ends".into(),
            UnterminatedQuote { quote: '"' } => "this string never ends".into(),
            UnterminatedQuote { .. } => "this character literal never ends".into(),
            StrayCharacter(c) => match printable(*c) {
                Some(c) => format!("the character `{c}` has no meaning in IDL"),
                None => format!("the character U+{:04X} has no meaning in IDL", u32::from(*c)),
            },
            StrayMark(mark) => format!("`{mark}` has no meaning in IDL"),
            ForeignLetter { name, letter } => {
                format!("`{letter}` in the name `{name}` is not a letter of IDL")
            }
            LoneUnderscore => "`_` alone is not a name".into(),
            TwoUnderscores { name } => format!("the name `{name}` starts with two underscores"),
            NoLetter { name } => format!("the name `{name}` does not start with a letter"),
            LongName { octets } => {
                format!("a name can have at most {MAX_NAME} octets, this one has {octets}")
            }
            KeywordCase { name, keyword, .. } => {
                format!("the name `{name}` differs from the keyword `{keyword}` only in case")
            }
            BadDigit { digit, base } => {
                format!("`{digit}` is not a valid {} digit", base_name(*base))
            }
            NoDigits { what } => format!("the {what} has no digits"),
            Suffix { suffix } => format!("`{suffix}` cannot follow a number"),
            IntegerTooLarge => "this integer does not fit into any IDL type".into(),
            FloatTooLarge => "this number is too large for a `long double`".into(),
            FixedTooLong { digits } => {
                format!("a fixed-point literal can have at most 31 digits, this one has {digits}")
            }
            BadEscape { escape } => format!("`{escape}` is not an escape sequence of IDL"),
            EscapeTooLarge => "this escape sequence is larger than one octet".into(),
            WideEscape => "`\\u` is only allowed in wide literals".into(),
            WideCharInNarrow(c) => format!("`{c}` does not fit into a `char`"),
            Surrogate => "this escape sequence is half a surrogate pair, not a character".into(),
            EmptyChar => "this character literal is empty".into(),
            LongChar { count } => {
                format!("a character literal must have one character, this one has {count}")
            }
            NulInString => "a string cannot contain the character NUL".into(),
            MixedStrings => "a wide and a narrow string cannot be joined".into(),
        }
    }

    fn label(&self) -> String {
        use LexProblem::*;
        match self {
            UnterminatedComment | UnterminatedQuote { .. } => "starts here".into(),
            NulInString => "ends the string on the wire".into(),
            _ => String::new(),
        }
    }

    fn help(&self) -> Option<String> {
        use LexProblem::*;
        Some(match self {
            UnterminatedComment => "close it with `*/`; comments do not nest".into(),
            UnterminatedQuote { quote } => {
                format!("close it with `{quote}` on the same line; neighbouring strings are joined")
            }
            ForeignLetter { .. } => "names consist of A-Z, a-z, 0-9 and `_`".into(),
            LoneUnderscore | TwoUnderscores { .. } | NoLetter { .. } => {
                "a name starts with a letter; one `_` before it only escapes a keyword".into()
            }
            KeywordCase { keyword, .. } if keyword.chars().all(char::is_uppercase) => {
                format!("write `{keyword}`")
            }
            KeywordCase { name, .. } => format!("rename it, or declare it as `_{name}`"),
            BadDigit { base: 8, .. } => {
                "a number that starts with 0 is octal; drop the 0 for a decimal one".into()
            }
            Suffix { .. } => "IDL literals have no type suffixes; only `d` marks fixed-point".into(),
            BadEscape { .. } => {
                "IDL supports \\n \\t \\v \\b \\r \\f \\a \\\\ \\? \\' \\\" \\ooo \\xhh, and \\uhhhh in wide literals"
                    .into()
            }
            WideEscape | WideCharInNarrow(_) => "write a wide literal: `L'..'` or `L\"..\"`".into(),
            Surrogate => "write the character itself".into(),
            LongChar { .. } => "write a string: `\"..\"`".into(),
            MixedStrings => "write `L` before both or before neither".into(),
            _ => return None,
        })
    }
}

fn printable(c: char) -> Option<char> {
    (!c.is_control() && !c.is_whitespace()).then_some(c)
}

fn base_name(base: u32) -> &'static str {
    match base {
        8 => "octal",
        16 => "hexadecimal",
        _ => "decimal",
    }
}
