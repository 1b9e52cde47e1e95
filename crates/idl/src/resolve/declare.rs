//! Declaration of names, and its restrictions.

use super::annotation::{SharedAnnotations, Target};
use super::scope::{Entity, Scope, ScopeKind};
use super::{Announced, Completeness, Resolver, entry};
use crate::ast::{Ident, Notes};
use crate::check::forward::Forward;
use crate::check::like_scope::LikeScope;
use crate::check::long_name::LongName;
use crate::check::redefined::Redefined;
use crate::check::used_before::UsedBefore;
use crate::lex::MAX_NAME;
use crate::model::{Annotation, Def, DefId, DefKind};
use std::sync::Arc;

impl Resolver<'_> {
    /// Adds a definition to the model and its name to the scope. `None` if the name cannot be declared here, after an
    /// error was reported.
    pub(super) fn define(&mut self, notes: &Notes, name: &Ident, kind: DefKind) -> Option<DefId> {
        self.define_one(notes, name, kind, &mut None)
    }

    /// Adds a definition as [`define`](Self::define) does, for one of the names of a declaration.
    pub(super) fn define_one(
        &mut self,
        notes: &Notes,
        name: &Ident,
        kind: DefKind,
        shared: &mut SharedAnnotations,
    ) -> Option<DefId> {
        let annotations = self.annotations_once(&notes.annotations, target(&kind), shared);
        let def = self.add_def(notes, name, kind, annotations);
        if self.declare(name, Entity::Def(def)) {
            self.add_to_scope(def);
            Some(def)
        } else {
            self.poisoned.insert(def);
            None
        }
    }

    /// Declares a name whose uses cause no further errors.
    pub(super) fn poison(&mut self, name: &Ident) {
        if self.scopes.scope(self.here).own(&name.name).is_some() {
            return;
        }
        let def = self.new_def(name, DefKind::Native);
        self.poisoned.insert(def);
        self.scopes.scope_mut(self.here).insert(entry(name, Entity::Def(def)));
        self.note_declaration(name, Entity::Def(def));
    }

    /// Adds a name to the open scope, unless a rule forbids it.
    pub(super) fn declare(&mut self, name: &Ident, entity: Entity) -> bool {
        if self.is_taken(name, entity) || self.is_like_scope(name) {
            self.scopes.scope_mut(self.here).refuse(&name.name);
            return false;
        }
        self.scopes.scope_mut(self.here).insert(entry(name, entity));
        self.note_declaration(name, entity);
        true
    }

    fn is_taken(&mut self, name: &Ident, entity: Entity) -> bool {
        let what = self.what(entity);
        let scope = self.scopes.scope(self.here);
        if let Some(earlier) = scope.own(&name.name).cloned() {
            if !self.is_poisoned(earlier.entity) {
                let problem = Redefined {
                    name: name.name.to_string(),
                    what,
                    earlier: earlier.name.to_string(),
                    earlier_what: self.what(earlier.entity),
                    at: earlier.span,
                    base: None,
                };
                self.report(name.span, problem);
            }
            return true;
        }
        if let Some(used) = scope.used(&name.name).cloned() {
            let (option, lenient) = match entity {
                Entity::Param => {
                    (Some("parameter_named_like_type"), self.lenient.parameter_named_like_type)
                }
                Entity::Member | Entity::State => {
                    (Some("member_named_like_type"), self.lenient.member_named_like_type)
                }
                _ => (None, false),
            };
            let problem = UsedBefore {
                name: name.name.to_string(),
                used: used.name.to_string(),
                at: used.span,
                lenient,
                option,
            };
            self.report(name.span, problem);
            return !lenient;
        }
        self.is_inherited(name, what)
    }

    /// Checks redefinition of inherited names: operations and attributes of bases cannot be redefined, types can.
    fn is_inherited(&mut self, name: &Ident, what: &'static str) -> bool {
        let inherited = self.scopes.inherited(self.here, &name.name);
        let feature = inherited.into_iter().find(|(_, entry)| entry.entity.is_feature());
        let Some((base, earlier)) = feature else {
            return false;
        };
        let problem = Redefined {
            name: name.name.to_string(),
            what,
            earlier: earlier.name.to_string(),
            earlier_what: self.what(earlier.entity),
            at: earlier.span,
            base: Some(self.scope_name(base)),
        };
        self.report(name.span, problem);
        true
    }

    fn is_like_scope(&mut self, name: &Ident) -> bool {
        let Scope { kind, def: Some(def), .. } = *self.scopes.scope(self.here) else {
            return false;
        };
        let around = self.model.def(def);
        if kind == ScopeKind::Operation || !around.name.eq_ignore_ascii_case(&name.name) {
            return false;
        }
        let problem = LikeScope {
            name: name.name.to_string(),
            scope: around.name.clone(),
            scope_what: self.what(Entity::Def(def)),
            at: around.span,
            lenient: self.lenient.named_like_scope,
        };
        self.report(name.span, problem);
        !self.lenient.named_like_scope
    }

    pub(super) fn is_poisoned(&self, entity: Entity) -> bool {
        matches!(entity, Entity::Def(def) if self.poisoned.contains(&def))
    }

    /// Returns the declaration that a forward declaration or a definition of this name and kind continues. `Err` if the
    /// name has another meaning.
    pub(super) fn announced_as(
        &mut self,
        name: &Ident,
        what: &'static str,
    ) -> Result<Option<DefId>, ()> {
        let Some(earlier) = self.scopes.scope(self.here).own(&name.name).cloned() else {
            return Ok(None);
        };
        let Entity::Def(def) = earlier.entity else {
            return Ok(None);
        };
        if self.poisoned.contains(&def) {
            return Err(());
        }
        let Some(announced) = self.announced.get(&def) else {
            return Ok(None);
        };
        if earlier.name != name.name {
            return Ok(None);
        }
        if announced.what != what {
            let problem = Forward::Mismatch {
                name: name.name.to_string(),
                announced: announced.what,
                now: what,
                at: announced.span,
            };
            self.report(name.span, problem);
            // Forgets the forward declaration, so that the mismatch is reported only once.
            self.poisoned.insert(def);
            self.incomplete.remove(&def);
            self.announced.remove(&def);
            return Err(());
        }
        if announced.prefix != self.ids.prefix() {
            let problem = Forward::Prefix {
                name: name.name.to_string(),
                before: announced.prefix.clone(),
                now: self.ids.prefix().to_owned(),
                at: announced.span,
            };
            self.report(name.span, problem);
        }
        Ok(Some(def))
    }

    /// Handles a forward declaration: a new or a repeated one.
    pub(super) fn announce(
        &mut self,
        notes: &Notes,
        name: &Ident,
        what: &'static str,
        kind: DefKind,
    ) -> Option<DefId> {
        match self.announced_as(name, what) {
            Ok(None) => {}
            Ok(Some(def)) => {
                self.note_declaration(name, Entity::Def(def));
                return None;
            }
            Err(()) => return None,
        }
        if let Some(def) = self.defined_as(name, what) {
            self.note_declaration(name, Entity::Def(def));
            return None;
        }
        let by_value = !matches!(kind, DefKind::ForwardInterface(_));
        let def = self.define(notes, name, kind)?;
        if by_value {
            self.incomplete.insert(def, Completeness::Announced);
        }
        let announced = Announced { what, span: name.span, prefix: self.ids.prefix().to_owned() };
        self.announced.insert(def, announced);
        Some(def)
    }

    /// Returns the definition of this name and kind that there already is. A forward declaration after the definition
    /// is harmless.
    fn defined_as(&self, name: &Ident, what: &'static str) -> Option<DefId> {
        let entry = self.scopes.scope(self.here).own(&name.name)?;
        let Entity::Def(def) = entry.entity else { return None };
        let same = self.kind_text(&self.model.def(def).kind) == Some(what);
        (entry.name == name.name && same).then_some(def)
    }

    fn kind_text(&self, kind: &DefKind) -> Option<&'static str> {
        match kind {
            DefKind::Interface(interface) => Some(super::interface::kind_text(interface.kind)),
            DefKind::Struct(_) => Some("a struct"),
            DefKind::Union(_) => Some("a union"),
            DefKind::ValueType(body) => Some(super::value::kind_text(body.kind, body.event)),
            DefKind::Component(_) => Some("a component"),
            DefKind::PortType(_) => Some("a port type"),
            _ => None,
        }
    }

    /// Returns the definition of `name`, new or declared forward before, with its members still to come.
    pub(super) fn begin(
        &mut self,
        notes: &Notes,
        name: &Ident,
        what: &'static str,
        kind: DefKind,
    ) -> Option<DefId> {
        let def = match self.announced_as(name, what) {
            Ok(Some(def)) => {
                let defined = match &self.model.def(def).kind {
                    DefKind::Interface(_) => true,
                    DefKind::ForwardInterface(_) => false,
                    _ => !self.incomplete.contains_key(&def),
                };
                if defined {
                    // `define` reports that the name is redefined.
                    return self.define(notes, name, kind);
                }
                self.model.defined_now(def);
                let annotations = self.annotations(&notes.annotations, target(&kind));
                let in_main_file = self.is_main(name.span);
                let slot = self.model.def_mut(def);
                slot.kind = kind;
                slot.span = name.span;
                slot.in_main_file = in_main_file;
                if notes.doc.is_some() {
                    slot.doc = notes.doc();
                }
                slot.annotations = annotations;
                if let Some(entry) = self.scopes.scope_mut(self.here).own_mut(&name.name) {
                    entry.span = name.span;
                }
                self.note_declaration(name, Entity::Def(def));
                def
            }
            Ok(None) => self.define(notes, name, kind)?,
            Err(()) => return None,
        };
        Some(def)
    }

    /// Adds a definition without annotations to the model.
    pub(super) fn new_def(&mut self, name: &Ident, kind: DefKind) -> DefId {
        self.add_def(Notes::NONE, name, kind, Arc::default())
    }

    fn add_def(
        &mut self,
        notes: &Notes,
        name: &Ident,
        kind: DefKind,
        annotations: Arc<[Annotation]>,
    ) -> DefId {
        let parent = self.scopes.scope(self.here).def;
        let scoped_name = match parent {
            Some(parent) => self.name_within(parent, name),
            None => name.name.to_string(),
        };
        let repository_id = self.ids.default_id(&scoped_name);
        let in_main_file = self.is_main(name.span);
        let def = self.model.add(Def {
            id: DefId(0),
            name: name.name.to_string(),
            parent,
            scoped_name,
            repository_id,
            span: name.span,
            in_main_file,
            doc: notes.doc(),
            annotations,
            kind,
        });
        self.ids.declared(def);
        def
    }

    /// Returns the scoped name of a definition in a scope; the name alone if the scoped name is too long. The first one
    /// that is too long is reported.
    fn name_within(&mut self, scope: DefId, name: &Ident) -> String {
        let scope = &self.model.def(scope).scoped_name;
        let octets = scope.len() + "::".len() + name.name.len();
        if octets <= MAX_NAME {
            return format!("{scope}::{}", name.name);
        }
        if !std::mem::replace(&mut self.has_long_name, true) {
            self.report(name.span, LongName { octets });
        }
        name.name.to_string()
    }

    fn add_to_scope(&mut self, def: DefId) {
        if let Some(members) = self.siblings() {
            members.push(def);
        }
    }

    /// Returns the definitions in the open scope.
    pub(super) fn siblings(&mut self) -> Option<&mut Vec<DefId>> {
        let Some(parent) = self.scopes.scope(self.here).def else {
            return Some(self.model.roots_mut());
        };
        self.model.def_mut(parent).kind.members_mut()
    }
}

fn target(kind: &DefKind) -> Target {
    match kind {
        DefKind::Enum(_) => Target::Enum,
        DefKind::BitMask(_) => Target::BitMask,
        _ => Target::Other,
    }
}
