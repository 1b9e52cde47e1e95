//! Parser of components, connectors, port types and homes.

use super::definition::Place;
use super::{Parse, Parser};
use crate::ast::{Component, DefinitionKind, Home, Port, PortKind, ScopedName};
use crate::lex::{Keyword, Punct, TokenKind};

impl Parser<'_, '_> {
    pub(super) fn component(&mut self) -> Parse<DefinitionKind> {
        let connector = self.at_keyword(Keyword::Connector);
        self.cursor.bump();
        let name = self.declared(match connector {
            true => "the name of the connector",
            false => "the name of the component",
        })?;
        if self.at(Punct::Semicolon) && !connector {
            return Ok(DefinitionKind::ForwardComponent(name));
        }
        let bases = self.bases()?;
        let (supports, place) = match connector {
            true => (Vec::new(), Place::Connector),
            false => (self.supports()?, Place::Component),
        };
        self.expect(Punct::BraceOpen)?;
        let body = self.body(place, &name)?;
        Ok(DefinitionKind::Component(Component { connector, name, bases, supports, body }))
    }

    pub(super) fn port_type(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the port type")?;
        if self.at(Punct::Semicolon) {
            return Ok(DefinitionKind::ForwardPortType(name));
        }
        self.expect(Punct::BraceOpen)?;
        let body = self.body(Place::PortType, &name)?;
        Ok(DefinitionKind::PortType { name, body })
    }

    pub(super) fn home(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the home")?;
        let bases = self.bases()?;
        let supports = self.supports()?;
        if !self.eat_keyword(Keyword::Manages) {
            return Err(self.unexpected("`manages` and the name of a component"));
        }
        let manages = self.scoped_name("the name of a component")?;
        let primary_key = match self.eat_keyword(Keyword::PrimaryKey) {
            true => Some(self.scoped_name("the name of a valuetype")?),
            false => None,
        };
        self.expect(Punct::BraceOpen)?;
        let body = self.body(Place::Home, &name)?;
        Ok(DefinitionKind::Home(Home { name, bases, supports, manages, primary_key, body }))
    }

    /// Parses `: A, B` if present.
    fn bases(&mut self) -> Parse<Vec<ScopedName>> {
        match self.eat(Punct::Colon) {
            true => self.scoped_names("the name of a base"),
            false => Ok(Vec::new()),
        }
    }

    /// Parses a port, beginning at the word for its kind.
    pub(super) fn port(&mut self, keyword: Keyword) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let kind = match keyword {
            Keyword::Provides => PortKind::Provides,
            Keyword::Uses => PortKind::Uses { multiple: self.eat_multiple() },
            Keyword::Emits => PortKind::Emits,
            Keyword::Publishes => PortKind::Publishes,
            Keyword::Consumes => PortKind::Consumes,
            _ => PortKind::Extended { mirror: keyword == Keyword::MirrorPort },
        };
        let ty = self.type_spec()?;
        let name = self.declared("the name of the port")?;
        Ok(DefinitionKind::Port(Port { kind, ty, name }))
    }

    /// Consumes `multiple`, unless it is the name of the interface.
    fn eat_multiple(&mut self) -> bool {
        self.cursor.peek_after(2) != &TokenKind::Punct(Punct::Semicolon)
            && self.eat_keyword(Keyword::Multiple)
    }
}
