//! Repository ids and the pragmas that change them (CORBA 3.3 part 1, 14.7.5).

use super::Resolver;
use super::scope::Entity;
use crate::ast::{Ident, ScopedName};
use crate::check::pragma::PragmaProblem;
use crate::lex::{MAX_NAME, Pragma, PragmaName};
use crate::model::DefId;
use crate::source::Span;
use std::collections::BTreeMap;

/// Prefixes in force, and ids set by pragmas.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Prefixes, innermost last.
    frames: Vec<Frame>,
    /// Number of open scopes.
    depth: usize,
    /// Depth of the scope whose pragma gave a definition its prefix.
    set_at: BTreeMap<DefId, usize>,
    /// Declarations `typeprefix`: scope, prefix, place.
    type_prefixes: BTreeMap<DefId, (String, Span)>,
    /// Ids set by a pragma.
    given: BTreeMap<DefId, Span>,
    versions: BTreeMap<DefId, (String, Span)>,
    /// Prefix under which a module was first opened.
    modules: BTreeMap<DefId, String>,
}

#[derive(Debug, Clone)]
struct Frame {
    border: Border,
    prefix: String,
    /// Number of scopes around the pragma that set it.
    set_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    File,
    Scope,
}

impl Ids {
    /// Returns the prefix in force.
    pub(super) fn prefix(&self) -> &str {
        self.frames.last().map_or("", |frame| &frame.prefix)
    }

    /// Returns a definition's id unless a pragma sets another.
    pub(super) fn default_id(&self, scoped_name: &str) -> String {
        let path = scoped_name.replace("::", "/");
        match self.prefix() {
            "" => format!("IDL:{path}:1.0"),
            prefix => format!("IDL:{prefix}/{path}:1.0"),
        }
    }

    /// Records the origin of a new definition's prefix.
    pub(super) fn declared(&mut self, def: DefId) {
        let set_at = self.frames.last().map_or(0, |frame| frame.set_at);
        if set_at > 0 {
            self.set_at.insert(def, set_at);
        }
    }

    /// Begins an included file, without a prefix.
    pub(super) fn enter_file(&mut self) {
        self.frames.push(Frame { border: Border::File, prefix: String::new(), set_at: 0 });
    }

    pub(super) fn leave_file(&mut self) {
        self.leave(Border::File);
    }

    pub(super) fn enter_scope(&mut self) {
        self.depth += 1;
        let set_at = self.frames.last().map_or(0, |frame| frame.set_at);
        self.frames.push(Frame { border: Border::Scope, prefix: self.prefix().to_owned(), set_at });
    }

    pub(super) fn leave_scope(&mut self) {
        self.depth -= 1;
        self.leave(Border::Scope);
    }

    /// Leaves a file or scope. Scopes may begin in one file and end in another, so the innermost frame need not be the
    /// right one.
    fn leave(&mut self, border: Border) {
        if let Some(at) = self.frames.iter().rposition(|frame| frame.border == border) {
            self.frames.remove(at);
        }
    }

    fn set_prefix(&mut self, prefix: &str) {
        if self.frames.is_empty() {
            self.enter_file();
        }
        if let Some(frame) = self.frames.last_mut() {
            prefix.clone_into(&mut frame.prefix);
            frame.set_at = self.depth;
        }
    }
}

impl Resolver<'_> {
    /// Records the opening of a module, which has one repository id under all prefixes (CORBA 3.3 part 1, 14.7.7).
    pub(super) fn opens_module(&mut self, def: DefId, span: Span) {
        let now = self.ids.prefix().to_owned();
        match self.ids.modules.get(&def) {
            None => {
                self.ids.modules.insert(def, now);
            }
            Some(before) if *before != now => {
                let problem = PragmaProblem::ModulePrefix {
                    name: self.model.def(def).name.clone(),
                    before: before.clone(),
                    now,
                    at: self.model.def(def).span,
                };
                self.report(span, problem);
            }
            Some(_) => {}
        }
    }

    pub(super) fn pragma(&mut self, pragma: &Pragma, span: Span) {
        match pragma {
            Pragma::Prefix(prefix) => {
                self.check_start(prefix, span);
                if !self.is_too_long(prefix, span) {
                    self.ids.set_prefix(prefix);
                }
            }
            Pragma::Id { name, id } => self.set_id(&scoped(name), id, span),
            Pragma::Version { name, major, minor } => {
                self.pragma_version(&scoped(name), &format!("{major}.{minor}"), span);
            }
        }
    }

    /// Handles `typeid`, which is equivalent to `#pragma ID`.
    pub(super) fn type_id(&mut self, name: &ScopedName, id: &str, span: Span) {
        self.set_id(name, id, span);
    }

    /// Handles `typeprefix`, which applies to everything in a scope, wherever it is opened.
    pub(super) fn type_prefix(&mut self, name: &ScopedName, prefix: &str, span: Span) {
        self.check_start(prefix, span);
        let Some(def) = self.id_target(name) else {
            return;
        };
        if self.is_too_long(prefix, span) {
            return;
        }
        if self.scopes.of_def(def).is_none() {
            let problem = PragmaProblem::NoScope {
                name: name.text(),
                found: super::lookup::what(&self.model.def(def).kind),
                at: self.model.def(def).span,
            };
            self.report(name.span(), problem);
            return;
        }
        match self.ids.type_prefixes.get(&def) {
            Some((known, at)) if known != prefix => {
                let problem = PragmaProblem::SecondPrefix {
                    name: name.text(),
                    prefix: known.clone(),
                    at: *at,
                };
                self.report(span, problem);
            }
            _ => {
                let prefix = prefix.to_owned();
                self.ids.type_prefixes.insert(def, (prefix, span));
            }
        }
    }

    /// Handles `import ::X`: checks that the name is declared.
    pub(super) fn import(&mut self, name: Option<&ScopedName>) {
        let Some(name) = name else { return };
        let Some(found) = self.find_parts(name) else {
            if &*name.parts[0].name != "CORBA" {
                let name_text = name.text();
                self.report(name.span(), PragmaProblem::Import { name: name_text });
            }
            return;
        };
        for (part, entity) in name.parts.iter().zip(found) {
            if let Entity::Def(def) = entity
                && self.model.def(def).name == *part.name
            {
                let declared = self.model.def(def).span;
                self.note_use(part, entity, declared);
            }
        }
    }

    /// Applies all `typeprefix`es, once all definitions and prefixes are known. The innermost scope decides; a `#pragma
    /// prefix` deeper inside still applies.
    pub(super) fn apply_type_prefixes(&mut self) {
        if self.ids.type_prefixes.is_empty() {
            return;
        }
        let all: Vec<DefId> = self.model.defs().map(|def| def.id).collect();
        for id in all {
            if self.ids.given.contains_key(&id) {
                continue;
            }
            let own = Some(id);
            let mut outwards = std::iter::successors(own, |id| self.model.def(*id).parent);
            let Some(scope) = outwards.find(|id| self.ids.type_prefixes.contains_key(id)) else {
                continue;
            };
            let depth = std::iter::successors(Some(scope), |id| self.model.def(*id).parent).count();
            if self.ids.set_at.get(&id).is_some_and(|at| *at > depth) {
                continue;
            }
            let def = self.model.def(id);
            let version = def.repository_id.rsplit_once(':').map_or("1.0", |(_, v)| v);
            let path = def.scoped_name.replace("::", "/");
            let id_text = match &*self.ids.type_prefixes[&scope].0 {
                "" => format!("IDL:{path}:{version}"),
                prefix => format!("IDL:{prefix}/{path}:{version}"),
            };
            self.model.def_mut(id).repository_id = id_text;
        }
    }

    fn set_id(&mut self, name: &ScopedName, id: &str, span: Span) {
        let Some(def) = self.id_target(name) else {
            return;
        };
        if self.is_too_long(id, span) {
            return;
        }
        let known = &self.model.def(def).repository_id;
        if let Some(at) = self.ids.given.get(&def) {
            if known != id {
                let problem = PragmaProblem::SecondId {
                    name: self.model.def(def).name.clone(),
                    id: known.clone(),
                    at: *at,
                };
                self.report(span, problem);
            }
            return;
        }
        if let Some((version, at)) = self.ids.versions.get(&def)
            && id.rsplit_once(':').is_none_or(|(_, given)| given != version)
        {
            let problem = PragmaProblem::SecondVersion {
                name: self.model.def(def).name.clone(),
                version: version.clone(),
                at: *at,
            };
            self.report(span, problem);
            return;
        }
        match id.split_once(':') {
            Some(("IDL", rest)) => self.check_start(rest, span),
            Some(("RMI" | "DCE" | "LOCAL", _)) => {}
            _ => self.report(span, PragmaProblem::Format { id: id.to_owned() }),
        }
        self.ids.given.insert(def, span);
        self.model.def_mut(def).repository_id = id.to_owned();
    }

    fn pragma_version(&mut self, name: &ScopedName, version: &str, span: Span) {
        let Some(def) = self.id_target(name) else {
            return;
        };
        let known = &self.model.def(def).repository_id;
        let name = self.model.def(def).name.clone();
        if let Some(at) = self.ids.given.get(&def) {
            if known.rsplit_once(':').is_none_or(|(_, known)| known != version) {
                let problem = PragmaProblem::VersionAfterId { name, at: *at };
                self.report(span, problem);
            }
            return;
        }
        if let Some((known, at)) = self.ids.versions.get(&def) {
            if known != version {
                let problem =
                    PragmaProblem::SecondVersion { name, version: known.clone(), at: *at };
                self.report(span, problem);
            }
            return;
        }
        let unversioned = known.rsplit_once(':').map_or(&**known, |(id, _)| id);
        let id = format!("{unversioned}:{version}");
        self.model.def_mut(def).repository_id = id;
        self.ids.versions.insert(def, (version.to_owned(), span));
    }

    /// Returns the named definition, if it has a repository id.
    fn id_target(&mut self, name: &ScopedName) -> Option<DefId> {
        let found = self.look_up_quietly(name)?;
        if found.entity.is_feature() || found.entity == Entity::Factory {
            // Operations, attributes and the like have ids only in an Interface Repository, so there is nothing to set.
            return None;
        }
        let Entity::Def(def) = found.entity else {
            let problem = PragmaProblem::NoId {
                name: name.text(),
                found: self.what(found.entity),
                at: found.declared,
            };
            self.report(name.span(), problem);
            return None;
        };
        if self.poisoned.contains(&def) {
            return None;
        }
        Some(def)
    }

    /// Reports whether an id or a prefix is too long, which is an error.
    fn is_too_long(&mut self, text: &str, span: Span) -> bool {
        let is_too_long = text.len() > MAX_NAME;
        if is_too_long {
            self.report(span, PragmaProblem::Long { octets: text.len() });
        }
        is_too_long
    }

    fn check_start(&mut self, text: &str, span: Span) {
        if text.starts_with(['-', '_', '.']) {
            let text = text.to_owned();
            self.report(span, PragmaProblem::Start { text });
        }
    }
}

fn scoped(name: &PragmaName) -> ScopedName {
    let ident = |part: &str| Ident { name: part.into(), span: name.span };
    ScopedName {
        absolute: name.absolute,
        parts: name.parts.iter().map(|part| ident(part)).collect(),
    }
}
