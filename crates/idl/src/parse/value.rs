//! Parser of valuetypes and event types.

use super::definition::Place;
use super::{Parse, Parser};
use crate::ast::{DefinitionKind, Factory, ValueType, ValueWords};
use crate::lex::{Keyword, Punct};
use crate::model::ValueKind;

impl Parser<'_, '_> {
    /// Parses a valuetype, beginning at `abstract`, `custom`, `valuetype` or `eventtype`.
    pub(super) fn value_type(&mut self) -> Parse<DefinitionKind> {
        let kind = if self.eat_keyword(Keyword::Abstract) {
            ValueKind::Abstract
        } else if self.eat_keyword(Keyword::Custom) {
            ValueKind::Custom
        } else {
            ValueKind::Stateful
        };
        let event = self.eat_keyword(Keyword::EventType);
        if !event && !self.eat_keyword(Keyword::ValueType) {
            return Err(self.unexpected("`valuetype` or `eventtype`"));
        }
        let what = ValueWords { kind, event };
        let name = self.declared("the name of the valuetype")?;
        let opens = self.at(Punct::Colon) || self.at(Punct::BraceOpen);
        if !opens && !self.at_keyword(Keyword::Supports) {
            if self.at(Punct::Semicolon) && kind != ValueKind::Custom {
                return Ok(DefinitionKind::ForwardValue { what, name });
            }
            if event || kind != ValueKind::Stateful {
                return Err(self.unexpected("`:`, `supports` or `{`"));
            }
            let ty = self.type_spec_or_constructed()?;
            self.naming = Some(name.clone());
            return Ok(DefinitionKind::ValueBox { name, ty });
        }
        let (mut truncatable, mut bases) = (None, Vec::new());
        if self.eat(Punct::Colon) {
            if self.at_keyword(Keyword::Truncatable) {
                truncatable = Some(self.cursor.bump());
            }
            bases = self.scoped_names("the name of a base valuetype")?;
        }
        let supports = self.supports()?;
        self.expect(Punct::BraceOpen)?;
        let body = self.body(Place::Value, &name)?;
        Ok(DefinitionKind::ValueType(ValueType { what, name, truncatable, bases, supports, body }))
    }

    /// Parses `supports I, J` if present.
    pub(super) fn supports(&mut self) -> Parse<Vec<crate::ast::ScopedName>> {
        match self.eat_keyword(Keyword::Supports) {
            true => self.scoped_names("the name of a supported interface"),
            false => Ok(Vec::new()),
        }
    }

    /// Parses `public long a, b`.
    pub(super) fn state(&mut self) -> Parse<DefinitionKind> {
        let public = self.at_keyword(Keyword::Public);
        self.cursor.bump();
        let ty = self.type_spec_or_constructed()?;
        let declarators = self.member_declarators()?;
        Ok(DefinitionKind::State { public, ty, declarators })
    }

    /// Parses `factory f(in long a) raises (E)`, or `finder`.
    pub(super) fn factory(&mut self) -> Parse<DefinitionKind> {
        let finder = self.at_keyword(Keyword::Finder);
        self.cursor.bump();
        let name = self.declared("the name of the factory")?;
        self.expect(Punct::ParenOpen)?;
        let params = self.params()?;
        let raises = self.raises(Keyword::Raises)?;
        Ok(DefinitionKind::Factory(Factory { finder, name, params, raises }))
    }
}
