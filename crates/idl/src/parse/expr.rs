//! Parser of constant expressions.

use super::{Parse, Parser};
use crate::ast::{Binary, Expr, ExprKind, Unary};
use crate::lex::{Keyword, Punct, TokenKind};
use std::sync::Arc;

/// Operators from the loosest level to the tightest.
const LEVELS: [&[(Punct, Binary)]; 6] = [
    &[(Punct::Bar, Binary::Or)],
    &[(Punct::Caret, Binary::Xor)],
    &[(Punct::Ampersand, Binary::And)],
    &[(Punct::ShiftLeft, Binary::ShiftLeft), (Punct::ShiftRight, Binary::ShiftRight)],
    &[(Punct::Plus, Binary::Add), (Punct::Minus, Binary::Subtract)],
    &[
        (Punct::Star, Binary::Multiply),
        (Punct::Slash, Binary::Divide),
        (Punct::Percent, Binary::Remainder),
    ],
];

impl Parser<'_, '_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(|p| p.level(0))
    }

    fn level(&mut self, level: usize) -> Parse<Expr> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let first = self.level(level + 1)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(operators) {
            self.cursor.bump();
            rest.push((operator, self.level(level + 1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let span = first.span.to(self.cursor.last());
        Ok(Expr { kind: ExprKind::Chain(Box::new(first), rest), span })
    }

    fn operator(&self, operators: &[(Punct, Binary)]) -> Option<Binary> {
        let TokenKind::Punct(found) = self.cursor.peek() else {
            return None;
        };
        // Inside two or more `<`, a `>>` closes two of them. Inside a single `<`, it can only be a shift, because its
        // second `>` would close nothing.
        if *found == Punct::ShiftRight && self.angles >= 2 {
            return None;
        }
        operators.iter().find(|(punct, _)| punct == found).map(|(_, operator)| *operator)
    }

    fn unary(&mut self) -> Parse<Expr> {
        let operator = match self.cursor.peek() {
            TokenKind::Punct(Punct::Minus) => Unary::Minus,
            TokenKind::Punct(Punct::Plus) => Unary::Plus,
            TokenKind::Punct(Punct::Tilde) => Unary::Not,
            _ => return self.primary(),
        };
        let start = self.cursor.bump();
        let operand = self.primary()?;
        Ok(Expr {
            span: start.to(operand.span),
            kind: ExprKind::Unary(operator, Box::new(operand)),
        })
    }

    fn primary(&mut self) -> Parse<Expr> {
        let kind = match self.cursor.peek() {
            TokenKind::Integer(value) => ExprKind::Integer(*value),
            TokenKind::Float(value) => ExprKind::Float(*value),
            TokenKind::Char(value) => ExprKind::Char(*value),
            TokenKind::WChar(value) => ExprKind::WChar(*value),
            TokenKind::Str(value) => ExprKind::Str(Arc::from(&**value)),
            TokenKind::WStr(value) => ExprKind::WStr(Arc::from(&**value)),
            TokenKind::Keyword(Keyword::True) => ExprKind::Boolean(true),
            TokenKind::Keyword(Keyword::False) => ExprKind::Boolean(false),
            TokenKind::Fixed(digits) => ExprKind::Fixed(digits.clone()),
            TokenKind::Punct(Punct::ParenOpen) => return self.parenthesised(),
            _ => {
                let start = self.cursor.span();
                let name = self.scoped_name("a value")?;
                return Ok(Expr { kind: ExprKind::Name(name), span: start.to(self.cursor.last()) });
            }
        };
        let span = self.cursor.bump();
        Ok(Expr { kind, span })
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let start = self.cursor.bump();
        // Within parentheses, `>>` cannot close anything outside them, so it is always a shift.
        let angles = std::mem::take(&mut self.angles);
        let inner = self.expr();
        self.angles = angles;
        let inner = inner?;
        let end = self.expect(Punct::ParenClose)?;
        Ok(Expr { span: start.to(end), ..inner })
    }
}
