//! Cursor of the parser: lookahead, consumption, expectation, recovery.

use super::{MAX_DEPTH, Parse, Parser, Reported};
use crate::ast::{Ident, Item};
use crate::check::syntax::Syntax;
use crate::check::too_deep::TooDeep;
use crate::diagnostic::Problem;
use crate::lex::{Keyword, MAX_NAME, Punct, Token, TokenKind};
use crate::source::Span;

/// Octets that count for a token in addition to its text: about the memory of a definition, divided by its tokens.
const TOKEN: usize = 64;

/// Position in the token stream that only sees tokens of the grammar; pragmas and file boundaries on the way are set
/// aside as [`Item`]s.
pub(super) struct Cursor<'t> {
    tokens: &'t [Token],
    at: usize,
    /// Whether the first half of a `>>` was consumed as `>`.
    half: bool,
    /// Span of the token consumed last.
    last: Span,
    pending: Vec<Item>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(tokens: &'t [Token]) -> Self {
        let mut cursor = Cursor {
            tokens,
            at: 0,
            half: false,
            last: tokens.first().map_or(Span::default(), |token| token.span),
            pending: Vec::new(),
        };
        cursor.settle();
        cursor
    }

    /// Returns the next token.
    pub(super) fn peek(&self) -> &'t TokenKind {
        if self.half {
            return &TokenKind::Punct(Punct::Greater);
        }
        self.tokens.get(self.at).map_or(&TokenKind::Eof, |token| &token.kind)
    }

    /// Returns the token `n` places after the next one.
    pub(super) fn peek_after(&self, n: usize) -> &'t TokenKind {
        self.tokens
            .iter()
            .skip(self.at)
            .filter(|token| !is_aside(&token.kind))
            .nth(n)
            .map_or(&TokenKind::Eof, |token| &token.kind)
    }

    /// Returns the span of the next token.
    pub(super) fn span(&self) -> Span {
        let Some(token) = self.tokens.get(self.at) else {
            return self.last;
        };
        let mut span = token.span;
        if self.half {
            span.start += 1;
        }
        span
    }

    /// Returns the span of the last consumed token.
    pub(super) fn last(&self) -> Span {
        self.last
    }

    /// Returns the position in the token stream, for [`octets_since`](Self::octets_since).
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the octets of the names and strings from a position to the next token, and 64 for each token.
    pub(super) fn octets_since(&self, position: usize) -> usize {
        let tokens = self.tokens.get(position..self.at).unwrap_or_default();
        let text = |token: &Token| match &token.kind {
            TokenKind::Ident { name, .. } => name.len(),
            TokenKind::Fixed(text) | TokenKind::Str(text) | TokenKind::WStr(text) => text.len(),
            TokenKind::Pragma(_) => MAX_NAME,
            _ => 0,
        };
        tokens.iter().map(|token| TOKEN + text(token)).sum()
    }

    /// Returns the comment before the next token.
    pub(super) fn doc(&self) -> Option<Box<str>> {
        self.tokens.get(self.at).and_then(|token| token.doc.clone())
    }

    /// Consumes the next token; stays at the end of the stream.
    pub(super) fn bump(&mut self) -> Span {
        let span = self.span();
        self.half = false;
        self.last = span;
        if !self.at_end() {
            self.at += 1;
            self.settle();
        }
        span
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.peek(), TokenKind::Eof)
    }

    /// Consumes a `>`, or the first half of a `>>`.
    pub(super) fn eat_greater(&mut self) -> bool {
        match self.peek() {
            TokenKind::Punct(Punct::Greater) => {
                self.bump();
                true
            }
            TokenKind::Punct(Punct::ShiftRight) => {
                let mut first = self.span();
                first.end = first.start + 1;
                self.last = first;
                self.half = true;
                true
            }
            _ => false,
        }
    }

    /// Returns the pragmas and file boundaries passed since the last call.
    pub(super) fn take_pending(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.pending)
    }

    fn settle(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            match &token.kind {
                TokenKind::Pragma(pragma) => {
                    self.pending.push(Item::Pragma(pragma.clone(), token.span));
                }
                TokenKind::FileStart(_) => self.pending.push(Item::FileStart),
                TokenKind::FileEnd => self.pending.push(Item::FileEnd),
                _ => break,
            }
            self.at += 1;
        }
    }
}

/// Returns the name that a token stands for: an identifier or a contextual keyword.
pub(super) fn name_of(kind: &TokenKind) -> Option<&str> {
    match kind {
        TokenKind::Ident { name, .. } => Some(name),
        TokenKind::Keyword(keyword) if keyword.is_contextual() => Some(keyword.as_str()),
        _ => None,
    }
}

fn is_aside(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Pragma(_) | TokenKind::FileStart(_) | TokenKind::FileEnd)
}

impl Parser<'_, '_> {
    pub(super) fn report(&mut self, span: Span, problem: impl Problem + 'static) -> Reported {
        self.diagnostics.push(span, problem);
        Reported
    }

    /// Reports that the grammar does not allow the next token.
    pub(super) fn unexpected(&mut self, wanted: &str) -> Reported {
        let problem =
            Syntax::Unexpected { wanted: wanted.to_owned(), found: self.cursor.peek().to_string() };
        self.report(self.cursor.span(), problem)
    }

    pub(super) fn at(&self, punct: Punct) -> bool {
        matches!(self.cursor.peek(), TokenKind::Punct(found) if *found == punct)
    }

    pub(super) fn at_keyword(&self, keyword: Keyword) -> bool {
        matches!(self.cursor.peek(), TokenKind::Keyword(found) if *found == keyword)
    }

    pub(super) fn eat(&mut self, punct: Punct) -> bool {
        let found = self.at(punct);
        if found {
            self.cursor.bump();
        }
        found
    }

    pub(super) fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.cursor.bump();
        }
        found
    }

    pub(super) fn expect(&mut self, punct: Punct) -> Parse<Span> {
        if self.at(punct) {
            return Ok(self.cursor.bump());
        }
        Err(self.unexpected(&format!("`{}`", punct.as_str())))
    }

    pub(super) fn expect_greater(&mut self) -> Parse<Span> {
        if self.cursor.eat_greater() {
            return Ok(self.cursor.last());
        }
        Err(self.unexpected("`>`"))
    }

    /// Expects the `;` after a declaration. If it is missing before a word that only begins a declaration, the error is
    /// reported and parsing continues as if it were present.
    pub(super) fn expect_semicolon(&mut self) -> Parse<()> {
        if self.eat(Punct::Semicolon) {
            return Ok(());
        }
        if self.ended_early && self.cursor.at_end() {
            return Ok(());
        }
        let found = self.cursor.peek().to_string();
        let problem = Syntax::MissingSemicolon { found };
        let reported = self.report(self.cursor.last().after(), problem);
        if self.at(Punct::BraceClose) || self.cursor.at_end() || self.at_declaration_keyword() {
            Ok(())
        } else {
            Err(reported)
        }
    }

    /// Expects the `}` that closes the body of `name`. It is missing only at the end of the stream, which is reported
    /// once.
    pub(super) fn close(&mut self, name: &Ident) {
        if self.eat(Punct::BraceClose) || self.ended_early {
            return;
        }
        self.ended_early = true;
        self.report(self.cursor.last().after(), Syntax::unclosed(name));
    }

    /// Parses a name that is being declared or used.
    pub(super) fn ident(&mut self, wanted: &str) -> Parse<Ident> {
        if let Some(name) = name_of(self.cursor.peek()) {
            let span = self.cursor.bump();
            return Ok(Ident { name: name.into(), span });
        }
        if let TokenKind::Keyword(keyword) = self.cursor.peek() {
            let problem = Syntax::KeywordAsName { keyword: *keyword, wanted: wanted.to_owned() };
            return Err(self.report(self.cursor.span(), problem));
        }
        Err(self.unexpected(wanted))
    }

    /// Parses like [`Self::ident`], and records the name as that of the declaration.
    pub(super) fn declared(&mut self, wanted: &str) -> Parse<Ident> {
        let ident = self.ident(wanted)?;
        self.naming = Some(ident.clone());
        Ok(ident)
    }

    /// Runs `f` one level deeper, unless the limit is reached.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.report(self.cursor.span(), TooDeep { limit: MAX_DEPTH }));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Skips the rest of a declaration: through the next `;` outside brackets, or up to the `}` of the enclosing body,
    /// or up to a word that only begins a declaration.
    pub(super) fn skip_declaration(&mut self) {
        let mut open = 0u32;
        loop {
            match self.cursor.peek() {
                TokenKind::Eof => return,
                TokenKind::Punct(Punct::BraceOpen | Punct::ParenOpen | Punct::BracketOpen) => {
                    open += 1;
                }
                TokenKind::Punct(Punct::BraceClose) if open == 0 => return,
                TokenKind::Punct(Punct::BraceClose) => {
                    open -= 1;
                    self.cursor.bump();
                    if open == 0 && self.at_declaration_keyword() {
                        return;
                    }
                    continue;
                }
                TokenKind::Punct(Punct::ParenClose | Punct::BracketClose) => {
                    open = open.saturating_sub(1);
                }
                TokenKind::Punct(Punct::Semicolon) if open == 0 => {
                    self.cursor.bump();
                    return;
                }
                _ => {}
            }
            self.cursor.bump();
        }
    }

    /// Reports whether the next word only begins a declaration.
    pub(super) fn at_declaration_keyword(&self) -> bool {
        matches!(
            self.cursor.peek(),
            TokenKind::Keyword(
                Keyword::Module
                    | Keyword::Interface
                    | Keyword::Local
                    | Keyword::Abstract
                    | Keyword::Typedef
                    | Keyword::Const
                    | Keyword::Exception
                    | Keyword::Struct
                    | Keyword::Union
                    | Keyword::Enum
                    | Keyword::ValueType
                    | Keyword::Native
                    | Keyword::Attribute
                    | Keyword::ReadOnly
                    | Keyword::Oneway
            )
        )
    }
}
