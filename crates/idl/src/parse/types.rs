//! Parser of types and scoped names.

use super::cursor::name_of;
use super::{Parse, Parser};
use crate::ast::{Expr, ScopedName, TypeKind, TypeSpec};
use crate::check::syntax::Syntax;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::model::Basic;

impl Parser<'_, '_> {
    /// Parses a type, or the definition of a struct, union or enum in its place.
    pub(super) fn type_spec_or_constructed(&mut self) -> Parse<TypeSpec> {
        if let TokenKind::Keyword(keyword @ (Keyword::Struct | Keyword::Union | Keyword::Enum)) =
            self.cursor.peek()
        {
            let start = self.cursor.span();
            let constructed = self.constructed(*keyword)?;
            return Ok(TypeSpec {
                kind: TypeKind::Constructed(Box::new(constructed)),
                span: start.to(self.cursor.last()),
            });
        }
        self.type_spec()
    }

    pub(super) fn type_spec(&mut self) -> Parse<TypeSpec> {
        let start = self.cursor.span();
        let kind = match self.cursor.peek() {
            TokenKind::Keyword(keyword) if !keyword.is_contextual() => {
                self.keyword_type(*keyword)?
            }
            kind if name_of(kind) == Some("map")
                && self.cursor.peek_after(1) == &TokenKind::Punct(Punct::Less) =>
            {
                self.map()?
            }
            _ => TypeKind::Named(self.scoped_name("a type")?),
        };
        let span = start.to(self.cursor.last());
        Ok(TypeSpec { kind, span })
    }

    fn keyword_type(&mut self, keyword: Keyword) -> Parse<TypeKind> {
        let basic = match keyword {
            Keyword::Boolean => Basic::Boolean,
            Keyword::Char => Basic::Char,
            Keyword::WChar => Basic::WChar,
            Keyword::Octet => Basic::Octet,
            Keyword::Short => Basic::Short,
            Keyword::Float => Basic::Float,
            Keyword::Double => Basic::Double,
            Keyword::Long => {
                self.cursor.bump();
                return Ok(TypeKind::Basic(if self.eat_keyword(Keyword::Long) {
                    Basic::LongLong
                } else if self.eat_keyword(Keyword::Double) {
                    Basic::LongDouble
                } else {
                    Basic::Long
                }));
            }
            Keyword::Unsigned => {
                self.cursor.bump();
                return Ok(TypeKind::Basic(if self.eat_keyword(Keyword::Short) {
                    Basic::UShort
                } else if !self.eat_keyword(Keyword::Long) {
                    return Err(self.unexpected("`short` or `long`"));
                } else if self.eat_keyword(Keyword::Long) {
                    Basic::ULongLong
                } else {
                    Basic::ULong
                }));
            }
            Keyword::String => {
                self.cursor.bump();
                return Ok(TypeKind::String(self.bound()?.map(Box::new)));
            }
            Keyword::WString => {
                self.cursor.bump();
                return Ok(TypeKind::WString(self.bound()?.map(Box::new)));
            }
            Keyword::Sequence => return self.sequence(),
            Keyword::Object => {
                self.cursor.bump();
                return Ok(TypeKind::Object);
            }
            Keyword::Any => {
                self.cursor.bump();
                return Ok(TypeKind::Any);
            }
            Keyword::ValueBase => {
                self.cursor.bump();
                return Ok(TypeKind::ValueBase);
            }
            Keyword::Fixed => return self.fixed(),
            Keyword::Void => {
                return Err(self.report(self.cursor.span(), Syntax::VoidAsType));
            }
            Keyword::Struct | Keyword::Union | Keyword::Enum => {
                return Err(self.report(self.cursor.span(), Syntax::DefinitionAsType(keyword)));
            }
            _ => return Err(self.unexpected("a type")),
        };
        self.cursor.bump();
        Ok(TypeKind::Basic(basic))
    }

    /// Parses `<10>` if present.
    fn bound(&mut self) -> Parse<Option<Expr>> {
        if !self.eat(Punct::Less) {
            return Ok(None);
        }
        self.angles += 1;
        let bound = self.expr();
        self.angles -= 1;
        let bound = bound?;
        self.expect_greater()?;
        Ok(Some(bound))
    }

    fn sequence(&mut self) -> Parse<TypeKind> {
        self.cursor.bump();
        self.expect(Punct::Less)?;
        self.angles += 1;
        let inner = self.nested(Self::sequence_inside);
        self.angles -= 1;
        let (element, bound) = inner?;
        self.expect_greater()?;
        Ok(TypeKind::Sequence(Box::new(element), bound.map(Box::new)))
    }

    fn sequence_inside(&mut self) -> Parse<(TypeSpec, Option<Expr>)> {
        self.annotations()?;
        let element = self.type_spec()?;
        let bound = match self.eat(Punct::Comma) {
            true => Some(self.expr()?),
            false => None,
        };
        Ok((element, bound))
    }

    fn map(&mut self) -> Parse<TypeKind> {
        self.cursor.bump();
        self.expect(Punct::Less)?;
        self.angles += 1;
        let inner = self.nested(Self::map_inside);
        self.angles -= 1;
        let (key, value, bound) = inner?;
        self.expect_greater()?;
        let bound = bound.map(Box::new);
        Ok(TypeKind::Map(Box::new(key), Box::new(value), bound))
    }

    fn map_inside(&mut self) -> Parse<(TypeSpec, TypeSpec, Option<Expr>)> {
        self.annotations()?;
        let key = self.type_spec()?;
        self.expect(Punct::Comma)?;
        self.annotations()?;
        let value = self.type_spec()?;
        let bound = match self.eat(Punct::Comma) {
            true => Some(self.expr()?),
            false => None,
        };
        Ok((key, value, bound))
    }

    /// Parses `fixed<5, 2>`, or `fixed` alone.
    fn fixed(&mut self) -> Parse<TypeKind> {
        self.cursor.bump();
        if !self.eat(Punct::Less) {
            return Ok(TypeKind::Fixed(None));
        }
        self.angles += 1;
        let inner = self.fixed_inside();
        self.angles -= 1;
        let inner = inner?;
        self.expect_greater()?;
        Ok(TypeKind::Fixed(Some(Box::new(inner))))
    }

    fn fixed_inside(&mut self) -> Parse<(Expr, Expr)> {
        let digits = self.expr()?;
        self.expect(Punct::Comma)?;
        Ok((digits, self.expr()?))
    }

    pub(super) fn scoped_name(&mut self, wanted: &str) -> Parse<ScopedName> {
        let absolute = self.eat(Punct::PathSep);
        let mut parts = vec![self.ident(wanted)?];
        while self.eat(Punct::PathSep) {
            parts.push(self.ident("a name")?);
        }
        Ok(ScopedName { absolute, parts })
    }
}
