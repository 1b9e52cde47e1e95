//! Parser of structs, unions, enums and exceptions.

use super::{Parse, Parser};
use crate::ast::{
    Asides, Case, Constructed, Declarator, DefinitionKind, Enum, Enumerator, Ident, Label, Member,
    Struct, TypeKind, Union,
};
use crate::check::syntax::Syntax;
use crate::check::union::EmptyUnion;
use crate::lex::{Keyword, Punct};

impl Parser<'_, '_> {
    pub(super) fn struct_or_forward(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the struct")?;
        if self.at(Punct::Semicolon) {
            return Ok(DefinitionKind::ForwardStruct(name));
        }
        let body = self.struct_body(name)?;
        Ok(DefinitionKind::Constructed(Constructed::Struct(body)))
    }

    pub(super) fn union_or_forward(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the union")?;
        if self.at(Punct::Semicolon) {
            return Ok(DefinitionKind::ForwardUnion(name));
        }
        let body = self.union_body(name)?;
        Ok(DefinitionKind::Constructed(Constructed::Union(body)))
    }

    pub(super) fn enum_definition(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the enum")?;
        let body = self.enum_body(name)?;
        Ok(DefinitionKind::Constructed(Constructed::Enum(body)))
    }

    pub(super) fn exception(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the exception")?;
        Ok(DefinitionKind::Exception(self.struct_body(name)?))
    }

    /// Parses a `struct`, `union` or `enum` within another declaration.
    pub(super) fn constructed(&mut self, keyword: Keyword) -> Parse<Constructed> {
        self.cursor.bump();
        let name = self.ident("the name of the type")?;
        self.nested(|p| match keyword {
            Keyword::Struct => Ok(Constructed::Struct(p.struct_body(name)?)),
            Keyword::Union => Ok(Constructed::Union(p.union_body(name)?)),
            _ => Ok(Constructed::Enum(p.enum_body(name)?)),
        })
    }

    fn struct_body(&mut self, name: Ident) -> Parse<Struct> {
        let bases = match self.eat(Punct::Colon) {
            true => self.scoped_names("the name of a base struct")?,
            false => Vec::new(),
        };
        self.expect(Punct::BraceOpen)?;
        let mut members = Vec::new();
        let mut asides = Asides::default();
        loop {
            self.asides(members.len(), &mut asides);
            if self.at(Punct::BraceClose) || self.cursor.at_end() {
                break;
            }
            match self.member() {
                Ok(member) => members.push(member),
                Err(_) => self.skip_declaration(),
            }
        }
        self.close(&name);
        Ok(Struct { name, bases, members, asides })
    }

    fn asides(&mut self, members: usize, asides: &mut Asides) {
        let pending = self.cursor.take_pending().into_iter();
        asides.0.extend(pending.map(|item| (members, item)));
    }

    fn member(&mut self) -> Parse<Member> {
        let start = self.cursor.span();
        let notes = self.notes()?;
        let ty = self.type_spec_or_constructed()?;
        if matches!(ty.kind, TypeKind::Named(_)) && self.at(Punct::Semicolon) {
            return Err(self.report(ty.span, Syntax::MemberWithoutType));
        }
        let declarators = self.member_declarators()?;
        self.expect_semicolon()?;
        let span = start.to(self.cursor.last());
        Ok(Member { notes, ty, declarators, span })
    }

    /// Parses like [`Self::declarators`], but keeps the name of the enclosing declaration.
    pub(super) fn member_declarators(&mut self) -> Parse<Vec<Declarator>> {
        let outer = self.naming.clone();
        let declarators = self.declarators("the name of the member");
        self.naming = outer;
        declarators
    }

    fn union_body(&mut self, name: Ident) -> Parse<Union> {
        if !self.eat_keyword(Keyword::Switch) {
            return Err(self.unexpected("`switch` and the type of the discriminator"));
        }
        self.expect(Punct::ParenOpen)?;
        self.annotations()?;
        let discriminator = self.type_spec_or_constructed()?;
        self.expect(Punct::ParenClose)?;
        self.expect(Punct::BraceOpen)?;
        if self.at(Punct::BraceClose) {
            let empty = EmptyUnion { name: name.name.to_string() };
            self.report(name.span, empty);
        }
        let mut cases = Vec::new();
        let mut asides = Asides::default();
        loop {
            self.asides(cases.len(), &mut asides);
            if self.at(Punct::BraceClose) || self.cursor.at_end() {
                break;
            }
            match self.case() {
                Ok(case) => cases.push(case),
                Err(_) => self.skip_declaration(),
            }
        }
        self.close(&name);
        Ok(Union { name, discriminator, cases, asides })
    }

    fn case(&mut self) -> Parse<Case> {
        let start = self.cursor.span();
        let mut notes = self.notes()?;
        let mut labels = Vec::new();
        loop {
            if self.at_keyword(Keyword::Case) {
                self.cursor.bump();
                labels.push(Label::Value(self.expr()?));
            } else if self.at_keyword(Keyword::Default) {
                labels.push(Label::Default(self.cursor.bump()));
            } else {
                break;
            }
            self.expect(Punct::Colon)?;
            notes.annotations.extend(self.annotations()?);
        }
        if labels.is_empty() {
            return Err(self.unexpected("`case` or `default`"));
        }
        let ty = self.type_spec_or_constructed()?;
        let outer = self.naming.clone();
        let declarator = self.declarator("the name of the member");
        self.naming = outer;
        let declarator = declarator?;
        if self.at(Punct::Comma) {
            return Err(self.report(self.cursor.span(), Syntax::SecondUnionMember));
        }
        self.expect_semicolon()?;
        let span = start.to(self.cursor.last());
        Ok(Case { labels, notes, ty, declarator, span })
    }

    fn enum_body(&mut self, name: Ident) -> Parse<Enum> {
        let enumerators = self.enumerators(&name, Syntax::EmptyEnum)?;
        Ok(Enum { name, enumerators })
    }

    /// Parses the `{ a, b }` of an enum or bitmask.
    pub(super) fn enumerators(&mut self, name: &Ident, empty: Syntax) -> Parse<Vec<Enumerator>> {
        self.expect(Punct::BraceOpen)?;
        let mut enumerators = Vec::new();
        loop {
            if self.at(Punct::BraceClose) {
                if enumerators.is_empty() {
                    self.report(name.span, empty);
                } else {
                    self.report(self.cursor.last(), Syntax::TrailingComma);
                }
                break;
            }
            let notes = self.notes()?;
            let name = self.ident("the name of an enumerator")?;
            enumerators.push(Enumerator { notes, name });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        if !self.at(Punct::BraceClose) {
            return Err(self.unexpected("`,` or `}`"));
        }
        self.close(name);
        Ok(enumerators)
    }
}
