//! Parser of bitmasks and bitsets.

use super::{Parse, Parser};
use crate::ast::{BitField, BitSet, DefinitionKind};
use crate::check::syntax::Syntax;
use crate::lex::{Keyword, Punct};

impl Parser<'_, '_> {
    pub(super) fn bitmask(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the bitmask")?;
        let flags = self.enumerators(&name, Syntax::EmptyBitMask)?;
        Ok(DefinitionKind::BitMask { name, flags })
    }

    pub(super) fn bitset(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.declared("the name of the bitset")?;
        let bases = match self.eat(Punct::Colon) {
            true => self.scoped_names("the name of a base bitset")?,
            false => Vec::new(),
        };
        self.expect(Punct::BraceOpen)?;
        let mut fields = Vec::new();
        while !self.at(Punct::BraceClose) && !self.cursor.at_end() {
            match self.bitfield() {
                Ok(field) => fields.push(field),
                Err(_) => self.skip_declaration(),
            }
        }
        self.close(&name);
        Ok(DefinitionKind::BitSet(BitSet { name, bases, fields }))
    }

    /// Parses `bitfield<3, octet> a b;`.
    fn bitfield(&mut self) -> Parse<BitField> {
        let notes = self.notes()?;
        let span = self.cursor.span();
        if !self.eat_keyword(Keyword::BitField) {
            return Err(self.unexpected("`bitfield`"));
        }
        self.expect(Punct::Less)?;
        self.angles += 1;
        let bits = self.expr();
        let ty = match self.eat(Punct::Comma) {
            true => self.type_spec().map(Some),
            false => Ok(None),
        };
        self.angles -= 1;
        let (bits, ty) = (bits?, ty?);
        self.expect_greater()?;
        let mut names = Vec::new();
        while !self.at(Punct::Semicolon) {
            names.push(self.ident("the name of the field or `;`")?);
            // Commas between the names are optional.
            self.eat(Punct::Comma);
        }
        self.expect_semicolon()?;
        Ok(BitField { notes, span, bits, ty, names })
    }
}
