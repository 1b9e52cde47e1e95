//! Parser of template modules and their instances.

use super::cursor::name_of;
use super::definition::Place;
use super::{Parse, Parser};
use crate::ast::{
    DefinitionKind, Ident, Instance, ScopedName, Template, TemplateArg, TemplateParam,
    TemplateParamKind, TypeKind,
};
use crate::lex::{Keyword, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_, '_> {
    /// Parses a template, or an instance of one, after `module Name<`.
    pub(super) fn template(&mut self, name: Ident) -> Parse<DefinitionKind> {
        self.expect(Punct::Less)?;
        if self.at_template_param() {
            let mut params = Vec::new();
            self.angles += 1;
            let all = loop {
                match self.template_param() {
                    Ok(param) => params.push(param),
                    Err(reported) => break Err(reported),
                }
                if !self.eat(Punct::Comma) {
                    break Ok(());
                }
            };
            self.angles -= 1;
            all?;
            self.expect_greater()?;
            self.expect(Punct::BraceOpen)?;
            self.naming = Some(name.clone());
            let begin = self.cursor.position();
            let body = self.body(Place::Module, &name)?;
            let octets = self.cursor.octets_since(begin);
            let template = Template { name, params, body, octets };
            return Ok(DefinitionKind::Template(template.into()));
        }
        let template = ScopedName { absolute: false, parts: vec![name] };
        self.instance(template, None)
    }

    /// Parses an instance after `module A::T<`.
    pub(super) fn instance_of(&mut self, template: ScopedName) -> Parse<DefinitionKind> {
        self.expect(Punct::Less)?;
        self.instance(template, None)
    }

    /// Parses `alias T<A> Name`.
    pub(super) fn alias(&mut self) -> Parse<DefinitionKind> {
        let alias = self.cursor.bump();
        let template = self.scoped_name("the name of a template module")?;
        self.expect(Punct::Less)?;
        self.instance(template, Some(alias))
    }

    fn at_template_param(&self) -> bool {
        match self.cursor.peek() {
            TokenKind::Keyword(
                Keyword::Interface
                | Keyword::ValueType
                | Keyword::Struct
                | Keyword::Union
                | Keyword::Exception
                | Keyword::Enum
                | Keyword::Const,
            ) => true,
            // Before a name, these words begin a parameter. As an argument, such a word would be
            // followed by `,`, `>` or `::`.
            TokenKind::Keyword(Keyword::TypeName | Keyword::EventType) => {
                name_of(self.cursor.peek_after(1)).is_some()
            }
            // `sequence<A> S` is a parameter, and `sequence<A>` is an argument.
            TokenKind::Keyword(Keyword::Sequence) => {
                name_of(self.cursor.peek_after(2)).is_some()
                    && self.cursor.peek_after(3) == &TokenKind::Punct(Punct::Greater)
                    && name_of(self.cursor.peek_after(4)).is_some()
            }
            _ => false,
        }
    }

    fn template_param(&mut self) -> Parse<TemplateParam> {
        let kind = match self.cursor.peek() {
            TokenKind::Keyword(Keyword::TypeName) => TemplateParamKind::Typename,
            TokenKind::Keyword(Keyword::Interface) => TemplateParamKind::Interface,
            TokenKind::Keyword(Keyword::ValueType) => TemplateParamKind::ValueType,
            TokenKind::Keyword(Keyword::EventType) => TemplateParamKind::EventType,
            TokenKind::Keyword(Keyword::Struct) => TemplateParamKind::Struct,
            TokenKind::Keyword(Keyword::Union) => TemplateParamKind::Union,
            TokenKind::Keyword(Keyword::Exception) => TemplateParamKind::Exception,
            TokenKind::Keyword(Keyword::Enum) => TemplateParamKind::Enum,
            TokenKind::Keyword(Keyword::Const) => {
                self.cursor.bump();
                let ty = self.type_spec()?;
                let name = self.ident("the name of the parameter")?;
                let kind = TemplateParamKind::Const(ty);
                return Ok(TemplateParam { kind, name });
            }
            TokenKind::Keyword(Keyword::Sequence) => {
                self.cursor.bump();
                self.expect(Punct::Less)?;
                let of = self.ident("the name of an earlier parameter")?;
                self.expect_greater()?;
                let name = self.ident("the name of the parameter")?;
                let kind = TemplateParamKind::Sequence(of);
                return Ok(TemplateParam { kind, name });
            }
            _ => return Err(self.unexpected("`typename` or another kind of parameter")),
        };
        self.cursor.bump();
        let name = self.ident("the name of the parameter")?;
        Ok(TemplateParam { kind, name })
    }

    /// Parses an instance, after the `<`.
    fn instance(&mut self, template: ScopedName, alias: Option<Span>) -> Parse<DefinitionKind> {
        self.angles += 1;
        let mut args = Vec::new();
        let all = loop {
            match self.template_arg() {
                Ok(arg) => args.push(arg),
                Err(reported) => break Err(reported),
            }
            if !self.eat(Punct::Comma) {
                break Ok(());
            }
        };
        self.angles -= 1;
        all?;
        self.expect_greater()?;
        let name = self.declared("the name of the instance")?;
        Ok(DefinitionKind::Instance(Instance { template, args, name, alias }))
    }

    fn template_arg(&mut self) -> Parse<TemplateArg> {
        let is_type = match self.cursor.peek() {
            TokenKind::Keyword(Keyword::True | Keyword::False) => false,
            TokenKind::Keyword(keyword) if !keyword.is_contextual() => true,
            TokenKind::Ident { .. } | TokenKind::Keyword(_) => {
                // A name may denote a type or a value. It is parsed as a type unless the rest of an
                // expression follows.
                return self.named_arg();
            }
            TokenKind::Punct(Punct::PathSep) => return self.named_arg(),
            _ => false,
        };
        match is_type {
            true => self.nested(Self::type_spec).map(TemplateArg::Type),
            false => self.expr().map(TemplateArg::Value),
        }
    }

    fn named_arg(&mut self) -> Parse<TemplateArg> {
        let ty = self.type_spec();
        let ty = ty?;
        let ends = self.at(Punct::Comma)
            || self.at(Punct::Greater)
            || self.at(Punct::ShiftRight)
            || !matches!(ty.kind, TypeKind::Named(_));
        match ends {
            true => Ok(TemplateArg::Type(ty)),
            false => Err(self.unexpected("`,` or `>`; put an expression in parentheses")),
        }
    }
}
