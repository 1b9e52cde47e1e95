//! Constructs of IDL that this version knows but does not compile: they are
//! named at their place and skipped, and the names they declare stay known.

use super::cursor::name_of;
use super::definition::Place;
use super::{Parse, Parser, Reported};
use crate::ast::{DefinitionKind, Ident};
use crate::check::not_yet::NotYet;
use crate::lex::{Keyword, Punct, TokenKind};

/// Standard annotations that change types, values or the wire: to ignore them
/// would be to compile something else than what was written.
const MEANINGFUL_ANNOTATIONS: &[&str] = &[
    "bit_bound",
    "default_literal",
    "external",
    "optional",
    "position",
    "value",
];

impl Parser<'_, '_> {
    /// Reports that `construct`, which begins at the next token, is not supported.
    pub(super) fn not_yet_here(&mut self, construct: &str) -> Reported {
        self.report(self.cursor.span(), NotYet::new(construct))
    }

    /// A whole declaration of a kind that is not supported, if one begins here.
    pub(super) fn not_yet_definition(&mut self, place: Place) -> Parse<Option<DefinitionKind>> {
        let TokenKind::Keyword(keyword) = self.cursor.peek() else {
            return Ok(None);
        };
        let second = self.cursor.peek_after(1);
        let (construct, declares) = match keyword {
            Keyword::ValueType | Keyword::Custom => ("valuetypes", true),
            Keyword::Abstract if second == &TokenKind::Keyword(Keyword::ValueType) => {
                ("valuetypes", true)
            }
            Keyword::Abstract if second == &TokenKind::Keyword(Keyword::EventType) => {
                ("event types", true)
            }
            // In an interface these may be the return type of an operation.
            _ if place == Place::Interface && self.looks_like_operation() => return Ok(None),
            Keyword::BitSet => ("bitsets", true),
            Keyword::BitMask => ("bitmasks", true),
            Keyword::TypeId => ("`typeid`", false),
            Keyword::TypePrefix => ("`typeprefix`", false),
            _ if place == Place::Interface => return Ok(None),
            Keyword::EventType => ("event types", true),
            Keyword::Component => ("components", true),
            Keyword::Home => ("homes", true),
            Keyword::PortType => ("port types", true),
            Keyword::Connector => ("connectors", true),
            Keyword::Alias => ("aliases of template modules", false),
            Keyword::Import => ("`import`", false),
            _ => return Ok(None),
        };
        let span = self.cursor.span();
        while let TokenKind::Keyword(
            Keyword::Abstract | Keyword::Custom | Keyword::ValueType | Keyword::EventType,
        ) = self.cursor.peek()
        {
            self.cursor.bump();
        }
        if let TokenKind::Keyword(
            Keyword::BitSet
            | Keyword::BitMask
            | Keyword::Component
            | Keyword::Home
            | Keyword::PortType
            | Keyword::Connector,
        ) = self.cursor.peek()
        {
            self.cursor.bump();
        }
        let name = match name_of(self.cursor.peek()) {
            Some(name) if declares => Some(Ident {
                name: name.into(),
                span: self.cursor.span(),
            }),
            _ => None,
        };
        if !declares {
            self.cursor.bump();
        }
        self.skip_declaration();
        Ok(Some(DefinitionKind::NotYet {
            construct,
            span,
            name,
        }))
    }

    fn looks_like_operation(&self) -> bool {
        match self.cursor.peek_after(1) {
            TokenKind::Punct(Punct::PathSep) => true,
            kind if name_of(kind).is_some() => {
                self.cursor.peek_after(2) == &TokenKind::Punct(Punct::ParenOpen)
            }
            _ => false,
        }
    }

    /// Skips annotations; those that mean nothing to CORBA are none of our business.
    pub(super) fn annotations(&mut self) -> Parse<()> {
        while self.at(Punct::At) {
            let start = self.cursor.span();
            self.cursor.bump();
            let name = self.scoped_name("the name of an annotation")?;
            let text = name.text();
            if MEANINGFUL_ANNOTATIONS.contains(&text.trim_start_matches("::")) {
                let problem = NotYet::new(&format!("`@{text}`"));
                self.report(start.to(name.span()), problem);
            }
            if self.at(Punct::ParenOpen) {
                self.skip_brackets();
            }
        }
        Ok(())
    }

    /// `@annotation Name { ... };` defines nothing that CORBA knows: skips it.
    pub(super) fn eat_annotation_definition(&mut self) -> bool {
        let found = self.at(Punct::At)
            && name_of(self.cursor.peek_after(1)) == Some("annotation")
            && name_of(self.cursor.peek_after(2)).is_some();
        if found {
            self.cursor.bump();
            self.skip_declaration();
        }
        found
    }

    /// From an opening bracket to the one that closes it.
    fn skip_brackets(&mut self) {
        let mut open = 0u32;
        loop {
            match self.cursor.peek() {
                TokenKind::Punct(Punct::ParenOpen) => open += 1,
                TokenKind::Punct(Punct::ParenClose) => open -= 1,
                TokenKind::Punct(Punct::Semicolon | Punct::BraceClose) | TokenKind::Eof => return,
                _ => {}
            }
            self.cursor.bump();
            if open == 0 {
                return;
            }
        }
    }

    /// From `<` to the `>` that closes it.
    pub(super) fn skip_angles(&mut self) -> Parse<()> {
        self.expect(Punct::Less)?;
        let outer = std::mem::replace(&mut self.angles, 1);
        let mut open = 1u32;
        while open > 0 {
            if self.cursor.eat_greater() {
                open -= 1;
                continue;
            }
            match self.cursor.peek() {
                TokenKind::Punct(Punct::Less) => open += 1,
                TokenKind::Punct(Punct::Semicolon | Punct::BraceOpen | Punct::BraceClose)
                | TokenKind::Eof => {
                    self.angles = outer;
                    return Err(self.unexpected("`>`"));
                }
                _ => {}
            }
            self.cursor.bump();
        }
        self.angles = outer;
        Ok(())
    }
}
