//! Parser of the contents of files and modules.

use super::cursor::name_of;
use super::{Parse, Parser};
use crate::ast::{Constructed, Declarator, Definition, DefinitionKind, Ident, Item, Notes};
use crate::check::syntax::Syntax;
use crate::lex::{Keyword, Punct, TokenKind};

/// Context of a declaration, which determines the permitted declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// File or module.
    Module,
    Interface,
    Value,
    Component,
    Connector,
    PortType,
    Home,
}

impl Place {
    fn text(self) -> &'static str {
        match self {
            Place::Module => "a module",
            Place::Interface => "an interface",
            Place::Value => "a valuetype",
            Place::Component => "a component",
            Place::Connector => "a connector",
            Place::PortType => "a port type",
            Place::Home => "a home",
        }
    }

    fn allows(self, keyword: Keyword) -> bool {
        use Keyword as K;
        match keyword {
            K::Module
            | K::Interface
            | K::Local
            | K::Abstract
            | K::ValueType
            | K::Custom
            | K::EventType
            | K::Component
            | K::Connector
            | K::PortType
            | K::Home
            | K::Import
            | K::Alias => self == Place::Module,
            K::Public | K::Private => self == Place::Value,
            K::Factory => matches!(self, Place::Value | Place::Home),
            K::Finder => self == Place::Home,
            K::Provides | K::Uses => self.has_ports(),
            K::Emits | K::Publishes | K::Consumes => self == Place::Component,
            K::Port | K::MirrorPort => matches!(self, Place::Component | Place::Connector),
            K::Attribute | K::ReadOnly => self != Place::Module,
            _ => !self.has_ports(),
        }
    }

    /// Reports whether the place can contain ports and attributes only.
    fn has_ports(self) -> bool {
        matches!(self, Place::Component | Place::Connector | Place::PortType)
    }

    /// Reports whether the place can contain operations, whose result type may have the name of a word added by CORBA 3
    /// or IDL 4.
    fn has_operations(self) -> bool {
        matches!(self, Place::Interface | Place::Value | Place::Home)
    }
}

impl Parser<'_, '_> {
    pub(super) fn file(&mut self) -> Vec<Item> {
        let mut items = self.items(Place::Module);
        while !self.cursor.at_end() {
            // Before the end of the file, `items` stops only at a `}`, which closes nothing here.
            self.report(self.cursor.span(), Syntax::UnmatchedBrace);
            self.cursor.bump();
            self.eat(Punct::Semicolon);
            items.extend(self.items(Place::Module));
        }
        items
    }

    /// Parses declarations up to a `}` or the end.
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
            items.extend(self.item(place));
        }
    }

    /// Parses a declaration; consumes at least one token unless a `}` is next.
    fn item(&mut self, place: Place) -> Option<Item> {
        self.naming = None;
        let before = self.cursor.span();
        let mut notes = Notes::default();
        let kind = match self.nested(|p| p.definition(place, &mut notes)) {
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
        let span = before.to(self.cursor.last());
        kind.map(|kind| Item::Definition(Definition { notes, kind, span }))
    }

    fn definition(&mut self, place: Place, notes: &mut Notes) -> Parse<DefinitionKind> {
        if self.at_annotation_definition() {
            return self.annotation_definition();
        }
        *notes = self.notes()?;
        let TokenKind::Keyword(keyword) = *self.cursor.peek() else {
            return self.nameless(place);
        };
        if place.has_operations() && keyword.is_contextual() && self.looks_like_operation(place) {
            return self.nameless(place);
        }
        if !place.allows(keyword) && begins_declaration(keyword) {
            self.report(self.cursor.span(), Syntax::Misplaced(keyword, place.text()));
            // The misplaced declaration is parsed to report the errors inside it, and to keep its name.
            let kind = self.declaration(keyword, place)?;
            self.expect_semicolon()?;
            return Ok(unusable(kind));
        }
        let kind = self.declaration(keyword, place)?;
        self.expect_semicolon()?;
        Ok(kind)
    }

    fn declaration(&mut self, keyword: Keyword, place: Place) -> Parse<DefinitionKind> {
        use Keyword as K;
        match keyword {
            K::Module => self.module(),
            K::Interface | K::Local => self.interface(),
            K::Abstract => match self.cursor.peek_after(1) {
                TokenKind::Keyword(K::ValueType | K::EventType) => self.value_type(),
                _ => self.interface(),
            },
            K::ValueType | K::EventType | K::Custom => self.value_type(),
            K::Typedef => self.typedef(),
            K::Const => self.constant(),
            K::Exception => self.exception(),
            K::Struct => self.struct_or_forward(),
            K::Union => self.union_or_forward(),
            K::Enum => self.enum_definition(),
            K::BitMask => self.bitmask(),
            K::BitSet => self.bitset(),
            K::Native => {
                self.cursor.bump();
                Ok(DefinitionKind::Native(self.declared("the name of the native type")?))
            }
            K::TypeId => self.type_id(),
            K::TypePrefix => self.type_prefix(),
            K::Import => self.import(),
            K::Alias => self.alias(),
            K::Component | K::Connector => self.component(),
            K::PortType => self.port_type(),
            K::Home => self.home(),
            K::Public | K::Private => self.state(),
            K::Factory | K::Finder => self.factory(),
            K::Provides
            | K::Uses
            | K::Emits
            | K::Publishes
            | K::Consumes
            | K::Port
            | K::MirrorPort => self.port(keyword),
            _ => self.bare(place),
        }
    }

    /// Reports whether an operation begins here: in an interface, words added by CORBA 3 or IDL 4 may be the result
    /// type of an operation.
    fn looks_like_operation(&self, place: Place) -> bool {
        match self.cursor.peek_after(1) {
            TokenKind::Punct(Punct::PathSep) => true,
            kind if name_of(kind).is_some() => {
                let finder = place == Place::Home && self.at_keyword(Keyword::Finder);
                !finder && self.cursor.peek_after(2) == &TokenKind::Punct(Punct::ParenOpen)
            }
            _ => false,
        }
    }

    /// Parses a declaration without a leading keyword: an operation or an attribute, or an error.
    fn nameless(&mut self, place: Place) -> Parse<DefinitionKind> {
        let kind = self.bare(place)?;
        self.expect_semicolon()?;
        Ok(kind)
    }

    /// Parses like [`Self::nameless`], up to the `;`.
    fn bare(&mut self, place: Place) -> Parse<DefinitionKind> {
        if place == Place::Module {
            let problem = Syntax::expected_definition(self.cursor.peek());
            return Err(self.report(self.cursor.span(), problem));
        }
        let attribute = self.at_keyword(Keyword::Attribute) || self.at_keyword(Keyword::ReadOnly);
        if place.has_ports() && !attribute {
            return Err(self.unexpected("a port or an attribute"));
        }
        self.export()
    }

    fn module(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        if self.at(Punct::PathSep) {
            let template = self.scoped_name("the name of a template module")?;
            return self.instance_of(template);
        }
        let name = self.declared("the name of the module")?;
        if self.eat(Punct::PathSep) {
            let mut template = self.scoped_name("a name")?;
            template.parts.insert(0, name);
            return self.instance_of(template);
        }
        if self.at(Punct::Less) {
            return self.template(name);
        }
        self.expect(Punct::BraceOpen)?;
        let body = self.body(Place::Module, &name)?;
        Ok(DefinitionKind::Module { name, body })
    }

    /// Parses a body after its opening brace.
    pub(super) fn body(&mut self, place: Place, name: &Ident) -> Parse<Vec<Item>> {
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

    /// Parses `a, b[3], c`.
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

/// Reports whether the word only begins a declaration of its own kind.
fn begins_declaration(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::Module
            | K::Interface
            | K::Local
            | K::Abstract
            | K::ValueType
            | K::Custom
            | K::EventType
            | K::Component
            | K::Connector
            | K::PortType
            | K::Home
            | K::Import
            | K::Alias
            | K::Public
            | K::Private
            | K::Factory
            | K::Finder
            | K::Provides
            | K::Uses
            | K::Emits
            | K::Publishes
            | K::Consumes
            | K::Port
            | K::MirrorPort
            | K::Typedef
            | K::Const
            | K::Exception
            | K::Struct
            | K::Union
            | K::Enum
            | K::BitMask
            | K::BitSet
            | K::Native
    )
}

/// Returns a placeholder for a declaration in a wrong place, which keeps only the name.
fn unusable(kind: DefinitionKind) -> DefinitionKind {
    let name = match kind {
        DefinitionKind::Module { name, .. }
        | DefinitionKind::ValueBox { name, .. }
        | DefinitionKind::BitMask { name, .. }
        | DefinitionKind::PortType { name, .. }
        | DefinitionKind::Const { name, .. }
        | DefinitionKind::Native(name) => name,
        DefinitionKind::Interface(body) => body.name,
        DefinitionKind::ValueType(body) => body.name,
        DefinitionKind::Constructed(Constructed::Struct(body))
        | DefinitionKind::Exception(body) => body.name,
        DefinitionKind::Constructed(Constructed::Union(body)) => body.name,
        DefinitionKind::Constructed(Constructed::Enum(body)) => body.name,
        DefinitionKind::BitSet(body) => body.name,
        DefinitionKind::Component(body) => body.name,
        DefinitionKind::Home(body) => body.name,
        DefinitionKind::Port(port) => port.name,
        DefinitionKind::Factory(factory) => factory.name,
        DefinitionKind::Template(template) => template.name.clone(),
        DefinitionKind::Instance(instance) => instance.name,
        other => return other,
    };
    DefinitionKind::Unusable(name)
}
