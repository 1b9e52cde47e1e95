//! Changes of interfaces, operations and attributes.

use super::types::{moved, shape};
use super::{Diff, Effect, by_key};
use crate::model::{Attribute, DefId, Export, Interface, Operation};
use std::collections::HashSet;

impl<'m> Diff<'m> {
    pub(super) fn interface(&mut self, name: &str, was: &Interface, now: &Interface) {
        if was.kind != now.kind {
            let what = "it is local or abstract in one of the two only".to_owned();
            let why = "local references do not travel, abstract ones do with a mark";
            self.add(name, Effect::Wire, what, why);
        }
        self.bases(name, "base", &was.bases, &now.bases);
        let (before, after) =
            (by_key(&was.exports, export_name), by_key(&now.exports, export_name));
        for old in &was.exports {
            let export = format!("{name}::{}", export_name(old));
            let new = after.get(export_name(old)).copied();
            match (old, new) {
                (Export::Operation(old), Some(Export::Operation(new))) => {
                    self.operation(&export, old, new);
                }
                (Export::Attribute(old), Some(Export::Attribute(new))) => {
                    self.attribute(&export, old, new);
                }
                _ => {
                    let what = format!("`{}` is gone", export_name(old));
                    let why = "old clients that call it get BAD_OPERATION";
                    self.add(&export, Effect::Wire, what, why);
                }
            }
        }
        for new in &now.exports {
            if !before.contains_key(export_name(new)) {
                let what = format!("`{}` is new", export_name(new));
                let export = format!("{name}::{}", export_name(new));
                let why = "servants have to implement it; old servers answer BAD_OPERATION";
                self.add(&export, Effect::Mapping, what, why);
            }
        }
    }

    /// Compares operations of valuetypes, which are only called within the process.
    pub(super) fn local_exports(&mut self, name: &str, was: &[Export], now: &[Export]) {
        let list = |all: &[Export]| {
            let names: Vec<String> = all.iter().map(export_name).map(str::to_owned).collect();
            names.join(", ")
        };
        if list(was) != list(now) {
            let what = "its operations or attributes changed".to_owned();
            let why = "they are called in the process only";
            self.add(name, Effect::Mapping, what, why);
        }
    }

    pub(super) fn bases(&mut self, name: &str, word: &str, was: &[DefId], now: &[DefId]) {
        let (gone, came) = self.gone_and_came(was, now);
        for base in gone {
            let what = format!("the {word} `{base}` is gone");
            let why = "old peers may use it as what it was";
            self.add(name, Effect::Wire, what, why);
        }
        for base in came {
            let what = format!("the {word} `{base}` is new");
            let why = "whoever implements it has more to do";
            self.add(name, Effect::Mapping, what, why);
        }
    }

    /// Returns the scoped names that only `was` has, and those that only `now` has.
    fn gone_and_came(&self, was: &[DefId], now: &[DefId]) -> (Vec<&'m str>, Vec<&'m str>) {
        let (old, new) = (self.old, self.new);
        let was = was.iter().map(|id| old.def(*id).scoped_name.as_str());
        let now = now.iter().map(|id| new.def(*id).scoped_name.as_str());
        let (before, after): (HashSet<&str>, HashSet<&str>) =
            (was.clone().collect(), now.clone().collect());
        (
            was.filter(|name| !after.contains(name)).collect(),
            now.filter(|name| !before.contains(name)).collect(),
        )
    }

    fn operation(&mut self, name: &str, was: &Operation, now: &Operation) {
        if was.oneway != now.oneway {
            let what = "it is oneway in one of the two only".to_owned();
            self.add(name, Effect::Wire, what, "one side waits for a reply that never comes");
        }
        match (&was.returns, &now.returns) {
            (Some(was), Some(now)) => self.ty(name, "the result", was, now),
            (None, None) => {}
            _ => {
                let what = "it returns something in one of the two only".to_owned();
                self.add(name, Effect::Wire, what, "results travel first in the reply");
            }
        }
        let form = |count: usize| format!("{count} parameter{}", if count == 1 { "" } else { "s" });
        if was.params.len() != now.params.len() {
            let (before, after) = (form(was.params.len()), form(now.params.len()));
            let what = format!("it had {before} and has {after} now");
            self.add(name, Effect::Wire, what, "parameters travel in order, without names");
        }
        let moved = moved(
            was.params.iter().map(|param| &*param.name),
            now.params.iter().map(|param| &*param.name),
        );
        for (old, new) in was.params.iter().zip(&now.params) {
            if old.direction != new.direction {
                let what = format!("the parameter `{}` goes another way", old.name);
                let why = "`in` is in the request, `out` in the reply";
                self.add(name, Effect::Wire, what, why);
            }
            if old.name != new.name && moved(&old.name, &new.name) {
                let what = format!("the parameter `{}` gave its place to `{}`", old.name, new.name);
                let why = "parameters travel in order, without names";
                self.add(name, Effect::Wire, what, why);
            } else if old.name != new.name && shape(self.old, &old.ty) == shape(self.new, &new.ty) {
                let what = format!("the parameter `{}` is called `{}` now", old.name, new.name);
                let why = "parameters travel in order, without names; mind their meaning";
                self.add(name, Effect::Nothing, what, why);
            }
            let what = format!("the parameter `{}`", old.name);
            self.ty(name, &what, &old.ty, &new.ty);
        }
        self.raises(name, "it", &was.raises, &now.raises);
        if was.context != now.context {
            let what = "the context clause changed".to_owned();
            self.add(name, Effect::Wire, what, "contexts travel behind the parameters");
        }
    }

    fn attribute(&mut self, name: &str, was: &Attribute, now: &Attribute) {
        match (was.readonly, now.readonly) {
            (false, true) => {
                let what = "it is readonly now".to_owned();
                self.add(name, Effect::Wire, what, "old clients that set it get BAD_OPERATION");
            }
            (true, false) => {
                let what = "it can be set now".to_owned();
                let why = "servants have to implement that; old servers answer BAD_OPERATION";
                self.add(name, Effect::Mapping, what, why);
            }
            _ => {}
        }
        self.ty(name, "it", &was.ty, &now.ty);
        self.raises(name, "getting it", &was.get_raises, &now.get_raises);
        self.raises(name, "setting it", &was.set_raises, &now.set_raises);
    }

    fn raises(&mut self, name: &str, what: &str, was: &[DefId], now: &[DefId]) {
        let (gone, came) = self.gone_and_came(was, now);
        for exception in came {
            let text = format!("{what} may raise `{exception}` now");
            let why = "old clients take it for UNKNOWN";
            self.add(name, Effect::Wire, text, why);
        }
        for exception in gone {
            let text = format!("{what} raises `{exception}` no more");
            let why = "clients wait for it in vain; a server that still raises it sends UNKNOWN";
            self.add(name, Effect::Mapping, text, why);
        }
    }
}

fn export_name(export: &Export) -> &str {
    match export {
        Export::Operation(operation) => &operation.name,
        Export::Attribute(attribute) => &attribute.name,
    }
}
