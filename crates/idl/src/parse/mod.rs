//! Parser: tokens to tree, by recursive descent.
//!
//! Parsing never fails: a declaration that cannot be parsed is reported and skipped to its end, and the rest is parsed
//! as if it were absent. Recursion is bounded by [`MAX_DEPTH`] and every loop consumes a token or ends, so that parsing
//! ends for any token stream.

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

/// Maximum number of levels of nested modules, types and parentheses.
pub(crate) const MAX_DEPTH: u32 = 100;

/// Parses a preprocessed token stream; errors are added to `diagnostics`.
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

/// Proof that an error was reported; the caller recovers.
#[derive(Debug)]
struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'t, 'd> {
    cursor: Cursor<'t>,
    diagnostics: &'d mut Diagnostics,
    depth: u32,
    /// Number of open `<`; decides the meaning of `>>`.
    angles: u32,
    /// Name declared by the current declaration, once it was parsed.
    naming: Option<crate::ast::Ident>,
    /// Whether the stream ended inside braces, which was reported.
    ended_early: bool,
}
