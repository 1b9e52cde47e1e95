//! Name lookup (CORBA 3.3 part 1, 7.20).

use super::Resolver;
use super::scope::{Entity, Entry, ScopeId, ScopeKind, Scopes};
use crate::ast::{Ident, ScopedName};
use crate::check::ambiguous::Ambiguous;
use crate::check::exception_as_type::ExceptionAsType;
use crate::check::similar::closest;
use crate::check::template::TemplateProblem;
use crate::check::undeclared::{Inside, Undeclared};
use crate::check::wrong_case::WrongCase;
use crate::check::wrong_kind::{Wanted, WrongKind};
use crate::model::{DefId, DefKind, Type};
use crate::source::Span;
use std::collections::BTreeSet;

/// Number of errors after which suggestions are no longer searched for.
const MAX_SUGGESTIONS: usize = 100;

/// Result of a lookup.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) entity: Entity,
    /// Place of the declaration.
    pub(super) declared: Span,
    /// Scope that gave the first part of an unqualified name its meaning.
    first_in: Option<ScopeId>,
}

impl Resolver<'_> {
    /// Returns the meaning of a name here; `None` after an error was reported.
    pub(super) fn look_up(&mut self, name: &ScopedName) -> Option<Found> {
        let found = self.look_up_quietly(name)?;
        if let Some(scope) = found.first_in {
            let first = &name.parts[0];
            self.scopes.introduce(self.here, scope, &first.name, first.span);
        }
        Some(found)
    }

    /// Looks up like [`Self::look_up`], but does not record the use.
    pub(super) fn look_up_quietly(&mut self, name: &ScopedName) -> Option<Found> {
        let first = &name.parts[0];
        let (first_in, mut entry) = match name.absolute {
            true => (Scopes::FILE, self.member_of(Scopes::FILE, first)?),
            false => self.innermost(first)?,
        };
        self.note_use(first, entry.entity, entry.span);
        for part in &name.parts[1..] {
            let Entity::Def(def) = entry.entity else {
                let problem = self.wrong_kind(&entry, Wanted::Scope);
                self.report(part.span, problem);
                return None;
            };
            if self.poisoned.contains(&def) {
                break;
            }
            if matches!(self.model.def(def).kind, DefKind::TemplateModule(_)) {
                let problem = TemplateProblem::Direct {
                    template: self.model.def(def).name.clone(),
                    at: entry.span,
                };
                self.report(part.span, problem);
                return None;
            }
            let Some(inner) = self.scopes.of_def(def) else {
                if !self.report_forward_scope(def, &entry, part) {
                    let problem = self.wrong_kind(&entry, Wanted::Scope);
                    self.report(part.span, problem);
                }
                return None;
            };
            entry = self.member_of(inner, part)?;
            self.note_use(part, entry.entity, entry.span);
        }
        Some(Found {
            entity: entry.entity,
            declared: entry.span,
            first_in: (!name.absolute).then_some(first_in),
        })
    }

    /// Returns the meaning of a name, if it can be found without a report.
    pub(super) fn find(&self, name: &ScopedName) -> Option<Entity> {
        self.find_parts(name)?.pop()
    }

    /// Returns the meanings of all parts of a name, if they can be found without a report.
    pub(super) fn find_parts(&self, name: &ScopedName) -> Option<Vec<Entity>> {
        let in_scope = |scope: ScopeId, ident: &Ident| {
            let own = self.scopes.scope(scope).own(&ident.name);
            let inherited = || {
                let all = self.scopes.inherited(scope, &ident.name);
                all.first().map(|(_, entry)| entry.entity)
            };
            own.map(|entry| entry.entity).or_else(inherited)
        };
        let (first, rest) = name.parts.split_first()?;
        let mut entity = match name.absolute {
            true => in_scope(Scopes::FILE, first)?,
            false => self.scopes.outwards(self.here).find_map(|scope| in_scope(scope, first))?,
        };
        let mut found = vec![entity];
        for part in rest {
            let Entity::Def(def) = entity else {
                return None;
            };
            entity = in_scope(self.scopes.of_def(def)?, part)?;
            found.push(entity);
        }
        Some(found)
    }

    /// Reports whether a name is declared in this or an outer scope with exactly this spelling.
    pub(super) fn finds_spelled(&self, name: &Ident) -> bool {
        self.scopes.outwards(self.here).any(|scope| {
            let own = self.scopes.scope(scope).own(&name.name);
            let inherited = || self.scopes.inherited(scope, &name.name);
            match own {
                Some(entry) => entry.name == name.name,
                None => inherited().iter().any(|(_, entry)| entry.name == name.name),
            }
        })
    }

    /// Looks up a name that must stand for a definition of the wanted kind.
    pub(super) fn look_up_def(&mut self, name: &ScopedName, wanted: Wanted) -> Option<DefId> {
        let found = self.look_up(name)?;
        let entry = Entry { name: name.text().into(), span: found.declared, entity: found.entity };
        let Entity::Def(named) = found.entity else {
            let problem = self.wrong_kind(&entry, wanted);
            self.report(name.span(), problem);
            return None;
        };
        let def = match wanted.aliases() {
            true => self.behind_aliases(named),
            false => named,
        };
        if self.poisoned.contains(&def) {
            return None;
        }
        let kind = &self.model.def(def).kind;
        if wanted.accepts(kind) {
            return Some(def);
        }
        if wanted == Wanted::Type && matches!(kind, DefKind::Exception(_)) {
            let problem = ExceptionAsType { name: name.text(), at: found.declared };
            self.report(name.span(), problem);
        } else {
            let problem = self.wrong_kind(&entry, wanted);
            self.report(name.span(), problem);
        }
        None
    }

    /// Returns the definition at the end of a chain of typedefs; any other definition is returned itself.
    fn behind_aliases(&self, def: DefId) -> DefId {
        match self.plain(&Type::Named(def)) {
            Type::Named(plain) => *plain,
            _ => def,
        }
    }

    /// Looks up the first part of a name without leading `::`: the innermost scope that declares it decides.
    fn innermost(&mut self, ident: &Ident) -> Option<(ScopeId, Entry)> {
        let outwards: Vec<ScopeId> = self.scopes.outwards(self.here).collect();
        for scope in outwards.iter().copied() {
            if let Some(entry) = self.scopes.scope(scope).own(&ident.name).cloned() {
                return Some((scope, self.spelled_right(scope, ident, entry)?));
            }
            let inherited = self.scopes.inherited(scope, &ident.name);
            if !inherited.is_empty() {
                let (base, entry) = self.unambiguous(ident, &own(inherited))?;
                return Some((base, self.spelled_right(base, ident, entry)?));
            }
            if self.scopes.scope(scope).has_refused(&ident.name) {
                return None;
            }
        }
        let mut outwards = outwards.into_iter();
        if outwards.any(|scope| self.scopes.is_open_ended(scope)) {
            return None;
        }
        let meant = self.closest_name(&ident.name, self.scopes.outwards(self.here));
        let problem = Undeclared { name: ident.name.to_string(), inside: None, meant };
        self.report(ident.span, problem);
        None
    }

    /// Looks up a name that must be declared in, or inherited by, one scope.
    fn member_of(&mut self, scope: ScopeId, ident: &Ident) -> Option<Entry> {
        if let Some(entry) = self.scopes.scope(scope).own(&ident.name).cloned() {
            return self.spelled_right(scope, ident, entry);
        }
        let inherited = self.scopes.inherited(scope, &ident.name);
        if !inherited.is_empty() {
            let (base, entry) = self.unambiguous(ident, &own(inherited))?;
            return self.spelled_right(base, ident, entry);
        }
        let unsure = self.scopes.is_open_ended(scope);
        if unsure || self.scopes.scope(scope).has_refused(&ident.name) {
            return None;
        }
        let meant = self.closest_name(&ident.name, std::iter::once(scope));
        let inside = self.scopes.scope(scope).def.map(|def| Inside {
            scope: self.model.def(def).scoped_name.clone(),
            declared: self.model.def(def).span,
            hidden: self.hidden_by(def, &ident.name),
            forward: false,
        });
        let problem = Undeclared { name: ident.name.to_string(), inside, meant };
        self.report(ident.span, problem);
        None
    }

    /// Returns the most similar name in these scopes and their bases.
    fn closest_name(&self, name: &str, scopes: impl Iterator<Item = ScopeId>) -> Option<String> {
        if self.out.error_count() > MAX_SUGGESTIONS {
            return None;
        }
        let all: BTreeSet<ScopeId> =
            scopes.flat_map(|scope| self.scopes.with_bases(scope)).collect();
        let names = all
            .iter()
            .flat_map(|scope| self.scopes.scope(*scope).entries())
            .map(|entry| &*entry.name);
        closest(name, names).map(str::to_owned)
    }

    /// Returns `entry` of `scope`, if its spelling equals that of the use.
    fn spelled_right(&mut self, scope: ScopeId, ident: &Ident, entry: Entry) -> Option<Entry> {
        if entry.name == ident.name {
            return Some(entry);
        }
        if self.scopes.scope(scope).has_refused(&ident.name) {
            return None;
        }
        let problem = WrongCase {
            used: ident.name.to_string(),
            declared: entry.name.to_string(),
            at: entry.span,
        };
        self.report(ident.span, problem);
        None
    }

    fn unambiguous(
        &mut self,
        ident: &Ident,
        inherited: &[(ScopeId, Entry)],
    ) -> Option<(ScopeId, Entry)> {
        if let [one] = inherited {
            return Some(one.clone());
        }
        let candidates = inherited.iter().map(|(scope, entry)| {
            let scope = self.scope_name(*scope);
            (format!("{scope}::{}", entry.name), entry.span)
        });
        let problem = Ambiguous { name: ident.name.to_string(), candidates: candidates.collect() };
        self.report(ident.span, problem);
        None
    }

    /// Returns an outer scope with the name of `def` that does declare `name`.
    fn hidden_by(&self, def: DefId, name: &str) -> Option<String> {
        let own = self.scopes.of_def(def)?;
        let scope_name = &self.model.def(def).name;
        self.scopes
            .outwards(own)
            .filter_map(|scope| self.scopes.scope(scope).own(scope_name))
            .filter_map(|entry| match entry.entity {
                Entity::Def(other) if other != def => Some(other),
                _ => None,
            })
            .find(|other| {
                let scope = self.scopes.of_def(*other);
                scope.is_some_and(|scope| self.scopes.scope(scope).own(name).is_some())
            })
            .map(|other| format!("{}::{name}", self.model.def(other).scoped_name))
    }

    fn report_forward_scope(&mut self, def: DefId, entry: &Entry, part: &Ident) -> bool {
        let forward = matches!(self.model.def(def).kind, DefKind::ForwardInterface(_))
            || self.incomplete.contains_key(&def);
        if forward {
            let problem = Undeclared {
                name: part.name.to_string(),
                inside: Some(Inside {
                    scope: self.model.def(def).scoped_name.clone(),
                    declared: entry.span,
                    hidden: None,
                    forward: true,
                }),
                meant: None,
            };
            self.report(part.span, problem);
        }
        forward
    }

    fn wrong_kind(&self, entry: &Entry, wanted: Wanted) -> WrongKind {
        WrongKind {
            name: entry.name.to_string(),
            wanted,
            found: self.what(entry.entity),
            at: entry.span,
        }
    }

    /// Describes a kind: "an enumerator", "a module" ...
    pub(super) fn what(&self, entity: Entity) -> &'static str {
        match entity {
            Entity::Def(def) => what(&self.model.def(def).kind),
            Entity::Enumerator(..) => "an enumerator",
            Entity::Operation => "an operation",
            Entity::Attribute => "an attribute",
            Entity::State => "a state member",
            Entity::Factory => "a factory",
            Entity::Port => "a port",
            Entity::Member => "a member",
            Entity::Param => "a parameter",
        }
    }

    /// Returns the name of a scope for messages.
    pub(super) fn scope_name(&self, scope: ScopeId) -> String {
        match self.scopes.scope(scope).def {
            Some(def) => self.model.def(def).scoped_name.clone(),
            None => String::new(),
        }
    }

    /// Reports whether the name is `CORBA::TypeCode`, which needs no declaration.
    pub(super) fn is_type_code(&self, name: &ScopedName) -> bool {
        let parts: Vec<&str> = name.parts.iter().map(|part| &*part.name).collect();
        match parts[..] {
            ["CORBA", "TypeCode"] => true,
            ["TypeCode"] => !name.absolute && self.inside_corba(),
            _ => false,
        }
    }

    fn inside_corba(&self) -> bool {
        self.scopes.outwards(self.here).any(|scope| {
            let scope = self.scopes.scope(scope);
            scope.kind == ScopeKind::Module
                && scope.def.is_some_and(|def| self.model.def(def).scoped_name == "CORBA")
        })
    }
}

/// Describes a kind: "a struct", "an interface" ...
pub(super) fn what(kind: &DefKind) -> &'static str {
    match kind {
        DefKind::Module(_) => "a module",
        DefKind::Interface(_) => "an interface",
        DefKind::ForwardInterface(_) => "a forward interface",
        DefKind::Struct(_) => "a struct",
        DefKind::Union(_) => "a union",
        DefKind::Enum(_) => "an enum",
        DefKind::Typedef(_) => "a typedef",
        DefKind::Const(_) => "a constant",
        DefKind::Exception(_) => "an exception",
        DefKind::Native => "a native type",
        DefKind::ValueType(body) if body.event => "an event type",
        DefKind::ValueType(_) => "a valuetype",
        DefKind::ValueBox(_) => "a boxed valuetype",
        DefKind::BitMask(_) => "a bitmask",
        DefKind::BitSet(_) => "a bitset",
        DefKind::Component(_) => "a component",
        DefKind::Connector(_) => "a connector",
        DefKind::PortType(_) => "a port type",
        DefKind::Home(_) => "a home",
        DefKind::TemplateModule(_) => "a template module",
    }
}

fn own(found: Vec<(ScopeId, &Entry)>) -> Vec<(ScopeId, Entry)> {
    found.into_iter().map(|(scope, entry)| (scope, entry.clone())).collect()
}
