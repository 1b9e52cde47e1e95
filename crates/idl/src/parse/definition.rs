//! What stands in files and modules.

use super::{Parse, Parser};
use crate::ast::{Declarator, Definition, DefinitionKind, Item};
use crate::check::syntax::Syntax;
use crate::lex::{Keyword, Punct, TokenKind};

/// What encloses a declaration, and so which declarations may stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Module,
    Interface,
}

impl Parser<'_, '_> {
    pub(super) fn file(&mut self) -> Vec<Item> {
        let mut items = self.items(Place::Module);
        while !self.cursor.at_end() {
            // `items` stops only at a `}`.
            self.report(self.cursor.span(), Syntax::UnmatchedBrace);
            self.cursor.bump();
            self.eat(Punct::Semicolon);
            items.extend(self.items(Place::Module));
        }
        items
    }

    /// Declarations up to a `}` or the end.
    pub(super) fn items(&mut self, place: Place) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            items.append(&mut self.cursor.take_pending());
            if self.cursor.at_end() || self.at(Punct::BraceClose) {
                return items;
            }
            if self.at(Punct::Semicolon) {
                self.report(self.cursor.span(), Syntax::StraySemicolon);
                self.cursor.bump();
                continue;
            }
            if self.eat_annotation_definition() {
                continue;
            }
            items.extend(self.item(place));
        }
    }

    /// One declaration; consumes at least one token unless a `}` is next.
    fn item(&mut self, place: Place) -> Option<Item> {
        self.naming = None;
        let doc = self.cursor.doc();
        let before = self.cursor.span();
        let kind = match self.nested(|p| p.definition(place)) {
            Ok(kind) => Some(kind),
            Err(_) => {
                if self.cursor.span() == before && !self.at(Punct::BraceOpen) {
                    self.cursor.bump();
                }
                let name = self.naming.take();
                self.skip_declaration();
                name.map(DefinitionKind::Unusable)
            }
        };
        kind.map(|kind| Item::Definition(Definition { doc, kind }))
    }

    fn definition(&mut self, place: Place) -> Parse<DefinitionKind> {
        self.annotations()?;
        if let Some(kind) = self.not_yet_definition(place)? {
            return Ok(kind);
        }
        let TokenKind::Keyword(keyword) = self.cursor.peek() else {
            return self.nameless(place);
        };
        let kind = match keyword {
            Keyword::Module | Keyword::Interface | Keyword::Local | Keyword::Abstract
                if place == Place::Interface =>
            {
                self.report(self.cursor.span(), Syntax::Misplaced(*keyword));
                // Parsed for the errors inside, and to know its name.
                match self.module_or_interface(*keyword)? {
                    DefinitionKind::Module { name, .. } => DefinitionKind::Unusable(name),
                    DefinitionKind::Interface(interface) => {
                        DefinitionKind::Unusable(interface.name)
                    }
                    other => other,
                }
            }
            Keyword::Module | Keyword::Interface | Keyword::Local | Keyword::Abstract => {
                self.module_or_interface(*keyword)?
            }
            Keyword::Typedef => self.typedef()?,
            Keyword::Const => self.constant()?,
            Keyword::Exception => self.exception()?,
            Keyword::Struct => self.struct_or_forward()?,
            Keyword::Union => self.union_or_forward()?,
            Keyword::Enum => self.enum_definition()?,
            Keyword::Native => {
                self.cursor.bump();
                DefinitionKind::Native(self.declared("the name of the native type")?)
            }
            _ => return self.nameless(place),
        };
        self.expect_semicolon()?;
        Ok(kind)
    }

    /// A declaration that no keyword of its own begins: an operation or an
    /// attribute, or a mistake.
    fn nameless(&mut self, place: Place) -> Parse<DefinitionKind> {
        if place == Place::Module {
            let problem = Syntax::expected_definition(self.cursor.peek());
            return Err(self.report(self.cursor.span(), problem));
        }
        let kind = self.export()?;
        self.expect_semicolon()?;
        Ok(kind)
    }

    fn module_or_interface(&mut self, keyword: Keyword) -> Parse<DefinitionKind> {
        if keyword == Keyword::Module {
            self.module()
        } else {
            self.interface()
        }
    }

    fn module(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the module")?;
        if self.at(Punct::Less) {
            return Err(self.not_yet_here("template modules"));
        }
        self.expect(Punct::BraceOpen)?;
        let body = self.body(Place::Module, &name)?;
        Ok(DefinitionKind::Module { name, body })
    }

    /// What stands between braces, after the opening one.
    pub(super) fn body(&mut self, place: Place, name: &crate::ast::Ident) -> Parse<Vec<Item>> {
        let items = self.items(place);
        self.close(name);
        Ok(items)
    }

    fn typedef(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let ty = self.type_spec_or_constructed()?;
        let declarators = self.declarators("the new name")?;
        Ok(DefinitionKind::Typedef { ty, declarators })
    }

    fn constant(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let ty = self.type_spec()?;
        let name = self.declared("the name of the constant")?;
        if !self.eat(Punct::Equals) {
            return Err(self.unexpected("`=` and the value of the constant"));
        }
        let value = self.expr()?;
        Ok(DefinitionKind::Const { ty, name, value })
    }

    /// `a, b[3], c`.
    pub(super) fn declarators(&mut self, wanted: &str) -> Parse<Vec<Declarator>> {
        let mut declarators = vec![self.declarator(wanted)?];
        while self.eat(Punct::Comma) {
            declarators.push(self.declarator(wanted)?);
        }
        Ok(declarators)
    }

    pub(super) fn declarator(&mut self, wanted: &str) -> Parse<Declarator> {
        let name = self.declared(wanted)?;
        let mut dimensions = Vec::new();
        while self.eat(Punct::BracketOpen) {
            dimensions.push(self.expr()?);
            self.expect(Punct::BracketClose)?;
        }
        Ok(Declarator { name, dimensions })
    }
}
