//! Scopes and their names.

use crate::model::DefId;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// All scopes of one translation unit; the first one is the file scope.
#[derive(Debug)]
pub(super) struct Scopes {
    all: Vec<Scope>,
    by_def: BTreeMap<DefId, ScopeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScopeId(usize);

#[derive(Debug)]
pub(super) struct Scope {
    pub(super) parent: Option<ScopeId>,
    pub(super) kind: ScopeKind,
    /// Definition that the scope belongs to; none for the file and for operations.
    pub(super) def: Option<DefId>,
    /// Names declared here, in lower case: names that differ only in case are equal.
    names: BTreeMap<String, Entry>,
    /// Names of outer scopes used here, likewise.
    uses: BTreeMap<String, Use>,
    /// Names whose declaration here was reported as an error, with exact spelling.
    refused: BTreeSet<Box<str>>,
    /// Scopes of base interfaces.
    pub(super) bases: Vec<ScopeId>,
    /// Whether a base is unknown, so that any name may be inherited from it.
    pub(super) open_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    /// File or module.
    Module,
    /// Interface, valuetype, component, port type or home.
    Interface,
    /// Struct, union, bitset, bitmask or exception.
    Constructed,
    Operation,
}

/// Declared name.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    pub(super) span: Span,
    pub(super) entity: Entity,
}

/// Meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    Def(DefId),
    /// Enumerator of this enum, with this ordinal.
    Enumerator(DefId, u32),
    Operation,
    Attribute,
    /// State member of a valuetype.
    State,
    /// Factory of a valuetype or home.
    Factory,
    Port,
    Member,
    Param,
}

impl Entity {
    /// Reports whether the name is inherited, and can be neither hidden nor inherited twice.
    pub(super) fn is_feature(self) -> bool {
        matches!(self, Entity::Operation | Entity::Attribute | Entity::State | Entity::Port)
    }
}

/// Place where a name of an outer scope was used in this scope.
#[derive(Debug, Clone)]
pub(super) struct Use {
    pub(super) name: Box<str>,
    pub(super) span: Span,
}

impl Scopes {
    pub(super) const FILE: ScopeId = ScopeId(0);

    pub(super) fn new() -> Self {
        Scopes { all: vec![Scope::new(None, ScopeKind::Module, None)], by_def: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, parent: ScopeId, kind: ScopeKind, def: Option<DefId>) -> ScopeId {
        let id = ScopeId(self.all.len());
        self.all.push(Scope::new(Some(parent), kind, def));
        if let Some(def) = def {
            self.by_def.insert(def, id);
        }
        id
    }

    pub(super) fn of_def(&self, def: DefId) -> Option<ScopeId> {
        self.by_def.get(&def).copied()
    }

    pub(super) fn scope(&self, id: ScopeId) -> &Scope {
        &self.all[id.0]
    }

    pub(super) fn scope_mut(&mut self, id: ScopeId) -> &mut Scope {
        &mut self.all[id.0]
    }

    /// Returns the scope and its enclosing ones, innermost first.
    pub(super) fn outwards(&self, from: ScopeId) -> impl Iterator<Item = ScopeId> + '_ {
        std::iter::successors(Some(from), |id| self.scope(*id).parent)
    }

    /// Returns the different meanings of a name in all bases of an interface, each once. A base's own name hides those
    /// of its bases.
    pub(super) fn inherited(&self, id: ScopeId, name: &str) -> Vec<(ScopeId, &Entry)> {
        let mut found: Vec<(ScopeId, &Entry)> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut todo: Vec<ScopeId> = self.scope(id).bases.clone();
        todo.reverse();
        while let Some(base) = todo.pop() {
            if !seen.insert(base) {
                continue;
            }
            match self.scope(base).own(name) {
                Some(entry) => found.push((base, entry)),
                None => todo.extend(self.scope(base).bases.iter().rev()),
            }
        }
        found
    }

    /// Returns the scope and all interfaces it inherits from, nearest first.
    pub(super) fn with_bases(&self, id: ScopeId) -> Vec<ScopeId> {
        let mut all = vec![id];
        let mut seen = BTreeSet::from([id]);
        let mut next = 0;
        while let Some(scope) = all.get(next) {
            let bases = &self.scope(*scope).bases;
            all.extend(bases.iter().filter(|base| seen.insert(**base)));
            next += 1;
        }
        all
    }

    /// Reports whether a name that is not found may be inherited from an unknown base.
    pub(super) fn is_open_ended(&self, id: ScopeId) -> bool {
        let all = self.with_bases(id);
        all.iter().any(|scope| self.scope(*scope).open_ended)
    }

    /// Records that `name`, declared in `found`, was used in `here`. The meaning then applies to `here` and its
    /// enclosing scopes, up to but excluding the module.
    pub(super) fn introduce(&mut self, here: ScopeId, found: ScopeId, name: &str, span: Span) {
        let mut scope = Some(here);
        while let Some(id) = scope {
            if id == found {
                return;
            }
            let Scope { parent, kind, .. } = *self.scope(id);
            if kind == ScopeKind::Module && id != here {
                return;
            }
            self.scope_mut(id)
                .uses
                .entry(name.to_lowercase())
                .or_insert_with(|| Use { name: name.into(), span });
            // A name that an interface inherits has its meaning only there, not in the scopes around the interface.
            let bases = self.with_bases(id);
            if bases.contains(&found) || kind == ScopeKind::Module {
                return;
            }
            scope = parent;
        }
    }
}

impl Scope {
    fn new(parent: Option<ScopeId>, kind: ScopeKind, def: Option<DefId>) -> Self {
        Scope {
            parent,
            kind,
            def,
            names: BTreeMap::new(),
            uses: BTreeMap::new(),
            refused: BTreeSet::new(),
            bases: Vec::new(),
            open_ended: false,
        }
    }

    /// Returns the declaration of a name in this scope, ignoring case.
    pub(super) fn own(&self, name: &str) -> Option<&Entry> {
        self.names.get(&name.to_lowercase())
    }

    pub(super) fn own_mut(&mut self, name: &str) -> Option<&mut Entry> {
        self.names.get_mut(&name.to_lowercase())
    }

    pub(super) fn used(&self, name: &str) -> Option<&Use> {
        self.uses.get(&name.to_lowercase())
    }

    pub(super) fn refuse(&mut self, name: &str) {
        self.refused.insert(name.into());
    }

    pub(super) fn has_refused(&self, name: &str) -> bool {
        self.refused.contains(name)
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        self.names.insert(entry.name.to_lowercase(), entry);
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.names.values()
    }
}
