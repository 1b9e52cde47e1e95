//! Parser of annotations, applied and defined.

use super::cursor::name_of;
use super::{Parse, Parser};
use crate::ast::{Annotation, AnnotationDef, AnnotationMember, Ident, Notes, ScopedName};
use crate::ast::{DefinitionKind, Expr};
use crate::lex::{Keyword, Punct, TokenKind};
use std::sync::Arc;

impl Parser<'_, '_> {
    /// Parses the comment and the annotations before a declaration.
    pub(super) fn notes(&mut self) -> Parse<Notes> {
        let doc = self.cursor.doc();
        let annotations = self.annotations()?;
        let doc = doc.or_else(|| self.cursor.doc());
        Ok(Notes { doc: doc.map(Arc::from), annotations })
    }

    pub(super) fn annotations(&mut self) -> Parse<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.at(Punct::At) {
            let start = self.cursor.bump();
            let name = self.annotation_name()?;
            let span = start.to(name.span());
            let params = match self.eat(Punct::ParenOpen) {
                true => self.annotation_params()?,
                false => Vec::new(),
            };
            annotations.push(Annotation { name, span, params });
        }
        Ok(annotations)
    }

    /// Parses a scoped name, or a word that is a keyword elsewhere: `@default`.
    fn annotation_name(&mut self) -> Parse<ScopedName> {
        match self.cursor.peek() {
            TokenKind::Keyword(keyword) if !keyword.is_contextual() => {
                let name = keyword.as_str().into();
                let span = self.cursor.bump();
                Ok(ScopedName { absolute: false, parts: vec![Ident { name, span }] })
            }
            _ => self.scoped_name("the name of an annotation"),
        }
    }

    /// Parses the parameters, after the `(`.
    fn annotation_params(&mut self) -> Parse<Vec<(Option<Ident>, Expr)>> {
        let mut params = Vec::new();
        if self.eat(Punct::ParenClose) {
            return Ok(params);
        }
        // Within parentheses, `>>` cannot close anything outside them, so it is always a shift.
        let angles = std::mem::take(&mut self.angles);
        let all = loop {
            match self.annotation_param() {
                Ok(param) => params.push(param),
                Err(reported) => break Err(reported),
            }
            if !self.eat(Punct::Comma) {
                break Ok(params);
            }
        };
        self.angles = angles;
        let all = all?;
        self.expect(Punct::ParenClose)?;
        Ok(all)
    }

    fn annotation_param(&mut self) -> Parse<(Option<Ident>, Expr)> {
        let named = self.cursor.peek_after(1) == &TokenKind::Punct(Punct::Equals);
        let word = match self.cursor.peek() {
            TokenKind::Keyword(keyword) if named => Some(keyword.as_str()),
            kind if named => name_of(kind),
            _ => None,
        };
        let name = word.map(|word| Ident { name: word.into(), span: self.cursor.bump() });
        if name.is_some() {
            self.expect(Punct::Equals)?;
        }
        Ok((name, self.expr()?))
    }

    /// Reports whether `@annotation Name {` comes next.
    pub(super) fn at_annotation_definition(&self) -> bool {
        self.at(Punct::At)
            && name_of(self.cursor.peek_after(1)) == Some("annotation")
            && name_of(self.cursor.peek_after(2)).is_some()
    }

    pub(super) fn annotation_definition(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        self.cursor.bump();
        let name = self.ident("the name of the annotation")?;
        self.expect(Punct::BraceOpen)?;
        let mut members = Vec::new();
        while !self.at(Punct::BraceClose) && !self.cursor.at_end() {
            match self.annotation_member() {
                Ok(found) => members.extend(found),
                Err(_) => self.skip_declaration(),
            }
        }
        self.close(&name);
        self.expect_semicolon()?;
        Ok(DefinitionKind::Annotation(AnnotationDef { name, members }))
    }

    /// Parses `long v default 1;`; types and constants inside only serve other members.
    fn annotation_member(&mut self) -> Parse<Option<AnnotationMember>> {
        if self.at_keyword(Keyword::Enum)
            || self.at_keyword(Keyword::Const)
            || self.at_keyword(Keyword::Typedef)
        {
            self.skip_declaration();
            return Ok(None);
        }
        let ty = match self.eat_keyword(Keyword::Any) {
            true => None,
            false => Some(self.type_spec()?),
        };
        let name = match self.cursor.peek() {
            // A member may be named like a keyword, for annotations that mirror the standard ones.
            TokenKind::Keyword(keyword) if !keyword.is_contextual() => {
                Ident { name: keyword.as_str().into(), span: self.cursor.bump() }
            }
            _ => self.ident("the name of the member")?,
        };
        let default = match self.eat_keyword(Keyword::Default) {
            true => Some(self.expr()?),
            false => None,
        };
        self.expect_semicolon()?;
        Ok(Some(AnnotationMember { ty, name, default }))
    }
}
