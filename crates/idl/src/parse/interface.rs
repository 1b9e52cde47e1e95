//! Parser of interfaces, operations and attributes.

use super::definition::Place;
use super::{Parse, Parser};
use crate::ast::{Attribute, DefinitionKind, Interface, Operation, Param, ScopedName};
use crate::check::context::context_name;
use crate::check::syntax::Syntax;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::model::{Direction, InterfaceKind};

impl Parser<'_, '_> {
    /// Parses an interface, beginning at `interface`, `local` or `abstract`.
    pub(super) fn interface(&mut self) -> Parse<DefinitionKind> {
        let kind = if self.eat_keyword(Keyword::Local) {
            InterfaceKind::Local
        } else if self.eat_keyword(Keyword::Abstract) {
            InterfaceKind::Abstract
        } else {
            InterfaceKind::Unconstrained
        };
        if !self.eat_keyword(Keyword::Interface) {
            return Err(self.unexpected("`interface`"));
        }
        let name = self.declared("the name of the interface")?;
        if self.at(Punct::Semicolon) {
            return Ok(DefinitionKind::ForwardInterface { kind, name });
        }
        let mut bases = Vec::new();
        if self.eat(Punct::Colon) {
            bases = self.scoped_names("the name of a base interface")?;
        }
        if !self.eat(Punct::BraceOpen) {
            return Err(self.unexpected("`{` or `;`"));
        }
        let body = self.body(Place::Interface, &name)?;
        Ok(DefinitionKind::Interface(Interface { kind, name, bases, body }))
    }

    /// Parses an operation or an attribute.
    pub(super) fn export(&mut self) -> Parse<DefinitionKind> {
        if self.at_keyword(Keyword::ReadOnly) || self.at_keyword(Keyword::Attribute) {
            return self.attribute();
        }
        let oneway = self.at_keyword(Keyword::Oneway).then(|| self.cursor.bump());
        let returns = match self.eat_keyword(Keyword::Void) {
            true => None,
            false => Some(self.type_spec()?),
        };
        let name = self.declared("the name of the operation")?;
        if !self.eat(Punct::ParenOpen) {
            return Err(self.unexpected("`(` and the parameters of the operation"));
        }
        let params = self.params()?;
        let raises = self.raises(Keyword::Raises)?;
        let context = self.context()?;
        Ok(DefinitionKind::Operation(Operation { oneway, returns, name, params, raises, context }))
    }

    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        let mut params = Vec::new();
        if self.eat(Punct::ParenClose) {
            return Ok(params);
        }
        loop {
            params.push(self.param()?);
            if self.eat(Punct::ParenClose) {
                return Ok(params);
            }
            if !self.eat(Punct::Comma) {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
    }

    fn param(&mut self) -> Parse<Param> {
        let mut notes = self.notes()?;
        let direction = match self.cursor.peek() {
            TokenKind::Keyword(Keyword::In) => Direction::In,
            TokenKind::Keyword(Keyword::Out) => Direction::Out,
            TokenKind::Keyword(Keyword::InOut) => Direction::InOut,
            _ => return Err(self.unexpected("`in`, `out` or `inout`")),
        };
        let direction_span = self.cursor.bump();
        notes.annotations.extend(self.annotations()?);
        let ty = self.type_spec()?;
        // Not parsed by `declared`, because the name of a parameter must not replace that of the
        // operation.
        let name = self.ident("the name of the parameter")?;
        Ok(Param { notes, direction, direction_span, ty, name })
    }

    /// Parses `raises (A, B)` if present.
    pub(super) fn raises(&mut self, word: Keyword) -> Parse<Vec<ScopedName>> {
        if !self.eat_keyword(word) {
            return Ok(Vec::new());
        }
        self.expect(Punct::ParenOpen)?;
        let names = self.scoped_names("the name of an exception")?;
        self.expect(Punct::ParenClose)?;
        Ok(names)
    }

    fn context(&mut self) -> Parse<Vec<Box<str>>> {
        let mut context = Vec::new();
        if !self.eat_keyword(Keyword::Context) {
            return Ok(context);
        }
        self.expect(Punct::ParenOpen)?;
        loop {
            let TokenKind::Str(text) = self.cursor.peek() else {
                return Err(self.unexpected("a string"));
            };
            let text = text.clone();
            let at = self.cursor.bump();
            context_name(&text, at, self.diagnostics);
            context.push(text);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::ParenClose)?;
        Ok(context)
    }

    fn attribute(&mut self) -> Parse<DefinitionKind> {
        let readonly = self.eat_keyword(Keyword::ReadOnly);
        if !self.eat_keyword(Keyword::Attribute) {
            return Err(self.unexpected("`attribute`"));
        }
        let ty = self.type_spec()?;
        let mut names = vec![self.declared("the name of the attribute")?];
        while self.eat(Punct::Comma) {
            names.push(self.declared("the name of the attribute")?);
        }
        let (mut get_raises, mut set_raises) = (Vec::new(), Vec::new());
        // `raises` is allowed for readonly attributes only, `getraises` and `setraises` for the
        // others.
        if readonly {
            get_raises = self.raises(Keyword::Raises)?;
        } else {
            get_raises.extend(self.raises(Keyword::GetRaises)?);
            set_raises.extend(self.raises(Keyword::SetRaises)?);
        }
        if let ([_, second, ..], false) =
            (&names[..], get_raises.is_empty() && set_raises.is_empty())
        {
            self.report(second.span, Syntax::RaisesOfSeveral);
            // Each attribute would have a copy of the exceptions.
            get_raises.clear();
            set_raises.clear();
        }
        Ok(DefinitionKind::Attribute(Attribute { readonly, ty, names, get_raises, set_raises }))
    }

    /// Parses at least one name, separated by commas.
    pub(super) fn scoped_names(&mut self, wanted: &str) -> Parse<Vec<ScopedName>> {
        let mut names = vec![self.scoped_name(wanted)?];
        while self.eat(Punct::Comma) {
            names.push(self.scoped_name(wanted)?);
        }
        Ok(names)
    }
}
