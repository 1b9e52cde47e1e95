//! Tokens to tree, by recursive descent.
//!
//! Parsing never fails: what cannot be understood is reported and skipped to
//! the end of its declaration, and the rest is parsed as if it had not been
//! there. Recursion is bounded by [`MAX_DEPTH`] and every loop consumes a
//! token or ends, so that any token stream ends.

mod annotation;
mod bits;
mod component;
mod constructed;
mod cursor;
mod definition;
mod expr;
mod ids;
mod interface;
mod template;
mod types;
mod value;

use crate::ast::Tree;
use crate::diagnostic::Diagnostics;
use crate::lex::Token;
use cursor::Cursor;

/// Most levels of nested modules, types and parentheses.
pub(crate) const MAX_DEPTH: u32 = 100;

/// Parses a preprocessed token stream; what is wrong goes to `diagnostics`.
pub(crate) fn parse(tokens: &[Token], diagnostics: &mut Diagnostics) -> Tree {
    let mut parser = Parser {
        cursor: Cursor::new(tokens),
        diagnostics,
        depth: 0,
        angles: 0,
        naming: None,
        ended_early: false,
    };
    Tree { items: parser.file() }
}

/// Proof that something was reported; the caller recovers.
#[derive(Debug)]
struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'t, 'd> {
    cursor: Cursor<'t>,
    diagnostics: &'d mut Diagnostics,
    depth: u32,
    /// Number of open `<`; decides what `>>` means.
    angles: u32,
    /// The name that the declaration being parsed declares, once it was seen.
    naming: Option<crate::ast::Ident>,
    /// The stream ended inside braces, and that was reported.
    ended_early: bool,
}
