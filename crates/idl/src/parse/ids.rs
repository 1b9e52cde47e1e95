//! `typeid`, `typeprefix` and `import`.

use super::{Parse, Parser};
use crate::ast::DefinitionKind;
use crate::lex::TokenKind;
use crate::source::Span;

impl Parser<'_, '_> {
    pub(super) fn type_id(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.scoped_name("the name that gets a repository id")?;
        let (id, id_span) = self.text("the repository id in quotes")?;
        Ok(DefinitionKind::TypeId { name, id, id_span })
    }

    pub(super) fn type_prefix(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        let name = self.scoped_name("the name that gets a prefix")?;
        let (prefix, prefix_span) = self.text("the prefix in quotes")?;
        Ok(DefinitionKind::TypePrefix { name, prefix, prefix_span })
    }

    pub(super) fn import(&mut self) -> Parse<DefinitionKind> {
        self.cursor.bump();
        if let TokenKind::Str(_) = self.cursor.peek() {
            self.cursor.bump();
            return Ok(DefinitionKind::Import(None));
        }
        let name = self.scoped_name("a name or a string")?;
        Ok(DefinitionKind::Import(Some(name)))
    }

    fn text(&mut self, wanted: &str) -> Parse<(Box<str>, Span)> {
        let TokenKind::Str(text) = self.cursor.peek() else {
            return Err(self.unexpected(wanted));
        };
        let text = text.clone();
        Ok((text, self.cursor.bump()))
    }
}
