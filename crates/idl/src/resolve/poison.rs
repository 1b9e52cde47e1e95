//! Definitions about which nothing can be said, and why.

use super::Resolver;
use crate::ast::ScopedName;
use crate::check::not_yet::NotYet;
use crate::model::DefId;
use crate::source::Span;
use std::collections::BTreeSet;

/// Why a definition is not to be used.
#[derive(Debug, Clone)]
pub(super) enum Poison {
    /// It is wrong, and that was reported.
    Reported,
    /// It stands in an included file and needs what is not supported: an error
    /// only where a main file uses it.
    NotYet(Need),
}

/// A construct that is not supported, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Need {
    construct: String,
    at: Span,
}

impl Resolver<'_> {
    /// A construct that is not supported stands here.
    pub(super) fn needs_not_yet(&mut self, span: Span, construct: &str) {
        if self.map.is_main(span.file) {
            self.report(span, NotYet::new(construct));
        } else {
            let construct = construct.to_owned();
            self.needs.get_or_insert(Need {
                construct,
                at: span,
            });
        }
    }

    /// Whether a definition that is used by `name` is poisoned; says so if
    /// that was not said yet.
    pub(super) fn uses_poisoned(&mut self, def: DefId, name: &ScopedName) -> bool {
        let Some(poison) = self.poisoned.get(&def).cloned() else {
            return false;
        };
        let Poison::NotYet(need) = poison else {
            return true;
        };
        let span = name.span();
        if self.map.is_main(span.file) {
            let problem = NotYet::through(&need.construct, name.text(), need.at);
            self.report(span, problem);
        } else {
            self.needs.get_or_insert(need);
        }
        true
    }

    /// Poison for what is being declared.
    pub(super) fn poison_now(&self) -> Poison {
        match &self.needs {
            Some(need) => Poison::NotYet(need.clone()),
            None => Poison::Reported,
        }
    }

    /// Called when a definition is complete: poisons it if some part of it
    /// needs what is not supported.
    pub(super) fn poison_if_needed(&mut self, def: DefId) {
        if self.needs.is_none() {
            return;
        }
        self.poisoned.insert(def, self.poison_now());
        if let Some(siblings) = self.siblings() {
            siblings.retain(|sibling| *sibling != def);
        }
    }

    /// Takes poisoned definitions, and all inside them, out of the model.
    pub(super) fn leave_out_poisoned(&mut self) {
        let mut left_out: BTreeSet<DefId> = self.poisoned.keys().copied().collect();
        // Parents come before what is inside them.
        for def in self.model.defs() {
            if def.parent.is_some_and(|parent| left_out.contains(&parent)) {
                left_out.insert(def.id);
            }
        }
        self.model.leave_out(left_out);
    }
}
