//! IDL formatter: `oxorb idl fmt`.
//!
//! Works on the text before any preprocessing: directives, comments and macros are kept, and only the white space
//! between tokens changes. Hence it needs no include path, and can format files that do not compile.

mod group;
mod layout;
mod scan;
mod wrap;

use scan::{Kind, Piece, scan};
use std::fmt;

/// Formatting style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatOptions {
    /// Spaces per level (default: 4).
    pub indent: usize,
    /// Longest line in characters, where it can be broken (default: 100).
    pub width: usize,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions { indent: 4, width: 100 }
    }
}

/// Error for a text that cannot be split into tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// Line of the error, from 1.
    pub line: usize,
    what: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Formats a text in the given style; formatting is idempotent.
///
/// Each declaration gets its own line; bodies written on one line stay there if they fit; single empty lines are kept.
/// Lines that the preprocessor skips are kept as they are: those below `#if 0`, and those of a conditional with an
/// unterminated literal.
///
/// # Errors
/// An unterminated comment or, outside conditionals, an unterminated literal; braces that do not match or nest deeper
/// than 100 levels.
///
/// ```
/// use oxorb_idl::format::{FormatOptions, format};
/// let text = "module m{ // why\ninterface I:B,C{void f(in long a,out  long b)raises(X);};};";
/// assert_eq!(
///     format(text, &FormatOptions::default())?,
///     "module m { // why\n    interface I : B, C { void f(in long a, out long b) raises (X); };\n};\n"
/// );
/// # Ok::<(), oxorb_idl::format::Error>(())
/// ```
pub fn format(source: &str, options: &FormatOptions) -> Result<String, Error> {
    let pieces = scan(source)?;
    let text = layout::layout(&pieces, options)?;
    let again = scan(&text)?;
    let same = |(a, b): (&Piece<'_>, &Piece<'_>)| a.kind == b.kind && words(a).eq(words(b));
    if pieces.len() != again.len() || !pieces.iter().zip(&again).all(same) {
        // Fails instead of changing the meaning of the text.
        return Err(Error { line: 1, what: "formatting would change this text" });
    }
    Ok(text)
}

/// Returns a piece without the white space inside comments.
fn words<'s>(piece: &Piece<'s>) -> Box<dyn Iterator<Item = &'s str> + 's> {
    match piece.kind {
        Kind::Block => Box::new(piece.text.split_whitespace()),
        Kind::Line => Box::new(piece.text.split('\n').map(str::trim)),
        _ => Box::new(std::iter::once(piece.text)),
    }
}
