//! Repository ids and the pragmas that change them (CORBA 3.3 part 1, 14.7.5).

use super::Resolver;
use super::scope::Entity;
use crate::ast::{Ident, ScopedName};
use crate::check::pragma::PragmaProblem;
use crate::lex::{Pragma, PragmaName};
use crate::model::DefId;
use crate::source::Span;
use std::collections::BTreeMap;

/// Prefixes in force, and what pragmas said about single definitions.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Innermost last.
    frames: Vec<(Border, String)>,
    /// Ids that a pragma gave.
    given: BTreeMap<DefId, Span>,
    versions: BTreeMap<DefId, (String, Span)>,
    /// Under which prefix a module was opened first.
    modules: BTreeMap<DefId, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    File,
    Scope,
}

impl Ids {
    /// The prefix in force.
    pub(super) fn prefix(&self) -> &str {
        self.frames.last().map_or("", |(_, prefix)| prefix)
    }

    /// What a definition's id is unless a pragma says otherwise.
    pub(super) fn default_id(&self, scoped_name: &str) -> String {
        let path = scoped_name.replace("::", "/");
        match self.prefix() {
            "" => format!("IDL:{path}:1.0"),
            prefix => format!("IDL:{prefix}/{path}:1.0"),
        }
    }

    /// An included file starts without a prefix.
    pub(super) fn enter_file(&mut self) {
        self.frames.push((Border::File, String::new()));
    }

    pub(super) fn leave_file(&mut self) {
        self.leave(Border::File);
    }

    pub(super) fn enter_scope(&mut self) {
        let prefix = self.prefix().to_owned();
        self.frames.push((Border::Scope, prefix));
    }

    pub(super) fn leave_scope(&mut self) {
        self.leave(Border::Scope);
    }

    /// Scopes may begin in one file and end in another, so the innermost frame
    /// need not be the right one.
    fn leave(&mut self, border: Border) {
        if let Some(at) = self.frames.iter().rposition(|(b, _)| *b == border) {
            self.frames.remove(at);
        }
    }

    fn set_prefix(&mut self, prefix: &str) {
        match self.frames.last_mut() {
            Some((_, current)) => prefix.clone_into(current),
            None => self.frames.push((Border::File, prefix.to_owned())),
        }
    }
}

impl Resolver<'_> {
    /// A module has one repository id, whatever prefixes it is opened under
    /// (CORBA 3.3 part 1, 14.7.7).
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
                self.ids.set_prefix(prefix);
            }
            Pragma::Id { name, id } => self.pragma_id(name, id, span),
            Pragma::Version { name, major, minor } => {
                self.pragma_version(name, &format!("{major}.{minor}"), span);
            }
        }
    }

    fn pragma_id(&mut self, name: &PragmaName, id: &str, span: Span) {
        let Some(def) = self.pragma_target(name) else {
            return;
        };
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
        match id.split_once(':') {
            Some(("IDL", rest)) => self.check_start(rest, span),
            Some(("RMI" | "DCE" | "LOCAL", _)) => {}
            _ => self.report(span, PragmaProblem::Format { id: id.to_owned() }),
        }
        self.ids.given.insert(def, span);
        self.model.def_mut(def).repository_id = id.to_owned();
    }

    fn pragma_version(&mut self, name: &PragmaName, version: &str, span: Span) {
        let Some(def) = self.pragma_target(name) else {
            return;
        };
        let known = &self.model.def(def).repository_id;
        let name = self.model.def(def).name.clone();
        if let Some(at) = self.ids.given.get(&def) {
            if known
                .rsplit_once(':')
                .is_none_or(|(_, known)| known != version)
            {
                let problem = PragmaProblem::VersionAfterId { name, at: *at };
                self.report(span, problem);
            }
            return;
        }
        if let Some((known, at)) = self.ids.versions.get(&def) {
            if known != version {
                let problem = PragmaProblem::SecondVersion {
                    name,
                    version: known.clone(),
                    at: *at,
                };
                self.report(span, problem);
            }
            return;
        }
        let unversioned = known.rsplit_once(':').map_or(&**known, |(id, _)| id);
        let id = format!("{unversioned}:{version}");
        self.model.def_mut(def).repository_id = id;
        self.ids.versions.insert(def, (version.to_owned(), span));
    }

    /// The definition a pragma speaks of, if it has a repository id.
    fn pragma_target(&mut self, name: &PragmaName) -> Option<DefId> {
        let scoped = ScopedName {
            absolute: name.absolute,
            parts: name
                .parts
                .iter()
                .map(|part| Ident {
                    name: part.clone(),
                    span: name.span,
                })
                .collect(),
        };
        let found = self.look_up_quietly(&scoped)?;
        if matches!(found.entity, Entity::Operation | Entity::Attribute) {
            // They have ids in an interface repository only.
            return None;
        }
        let Entity::Def(def) = found.entity else {
            let problem = PragmaProblem::NoId {
                name: scoped.text(),
                found: self.what(found.entity),
                at: found.declared,
            };
            self.report(name.span, problem);
            return None;
        };
        if self.poisoned.contains_key(&def) {
            return None;
        }
        Some(def)
    }

    fn check_start(&mut self, text: &str, span: Span) {
        if text.starts_with(['-', '_', '.']) {
            let text = text.to_owned();
            self.report(span, PragmaProblem::Start { text });
        }
    }
}
