//! Module `CORBA`, parts of which other ORBs define in their own files: TAO in its `tao/*.pidl`.

use super::Resolver;
use super::scope::Entity;
use crate::ast::{Constructed, Definition, DefinitionKind, Ident};
use crate::model::DefKind;

impl Resolver<'_> {
    /// Reports whether a definition in module `CORBA` already exists, and one of the two is built in: the first one is
    /// used, as both are defined by the specification.
    pub(super) fn every_orb_has(&self, definition: &Definition) -> bool {
        let names = names(&definition.kind);
        self.in_corba() && !names.is_empty() && names.iter().all(|name| self.has_either(name))
    }

    fn in_corba(&self) -> bool {
        let here = self.scopes.scope(self.here).def;
        here.is_some_and(|def| self.model.def(def).scoped_name == "CORBA")
    }

    fn has_either(&self, name: &Ident) -> bool {
        let Some(earlier) = self.scopes.scope(self.here).own(&name.name) else {
            return false;
        };
        let defined = match earlier.entity {
            Entity::Def(def) => {
                !self.announced.contains_key(&def)
                    || matches!(self.model.def(def).kind, DefKind::Interface(_))
            }
            _ => false,
        };
        let is_builtin = |file| self.map.is_builtin(file);
        defined && is_builtin(earlier.span.file) != is_builtin(name.span.file)
    }
}

/// Returns the names that a definition declares in its scope, without enumerators; empty for kinds that never occur in
/// two files.
fn names(kind: &DefinitionKind) -> Vec<&Ident> {
    match kind {
        DefinitionKind::Interface(interface) => vec![&interface.name],
        DefinitionKind::Constructed(Constructed::Struct(body)) => vec![&body.name],
        DefinitionKind::Constructed(Constructed::Union(body)) => vec![&body.name],
        DefinitionKind::Constructed(Constructed::Enum(body)) => vec![&body.name],
        DefinitionKind::Exception(exception) => vec![&exception.name],
        DefinitionKind::ValueType(body) => vec![&body.name],
        DefinitionKind::Typedef { declarators, .. } => {
            declarators.iter().map(|one| &one.name).collect()
        }
        DefinitionKind::ForwardInterface { name, .. }
        | DefinitionKind::ForwardValue { name, .. }
        | DefinitionKind::ForwardStruct(name)
        | DefinitionKind::ForwardUnion(name)
        | DefinitionKind::Native(name)
        | DefinitionKind::Const { name, .. }
        | DefinitionKind::ValueBox { name, .. } => vec![name],
        _ => Vec::new(),
    }
}
