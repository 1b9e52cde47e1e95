//! Changes of interfaces, operations and attributes.

use super::types::{moved, shape};
use super::{Diff, Effect, by_key};
use crate::model::{Attribute, DefId, Export, Interface, Operation};
use std::collections::HashSet;

impl<'m> Diff<'m> {
    pub(super) fn interface(&mut self, name: &str, was: &Interface, now: &Interface) {
        if was.kind != now.kind {
            let what = "it is local or abstract in only one of the two versions".to_owned();
            let why = "local references are not sent, abstract ones are sent with a mark";
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
                    let what = format!("`{}` was removed", export_name(old));
                    let why = "old clients that call it get BAD_OPERATION";
                    self.add(&export, Effect::Wire, what, why);
                }
            }
        }
        for new in &now.exports {
            if !before.contains_key(export_name(new)) {
                let what = format!("`{}` is new", export_name(new));
                let export = format!("{name}::{}", export_name(new));
                let why = "servants must implement it; old servers answer BAD_OPERATION";
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
            let why = "they are called only in the process";
            self.add(name, Effect::Mapping, what, why);
        }
    }

    pub(super) fn bases(&mut self, name: &str, word: &str, was: &[DefId], now: &[DefId]) {
        let (gone, came) = self.gone_and_came(was, now);
        for base in gone {
            let what = format!("the {word} `{base}` was removed");
            let why = "old peers may still use it as the base";
            self.add(name, Effect::Wire, what, why);
        }
        for base in came {
            let what = format!("the {word} `{base}` is new");
            let why = "implementations must implement more operations";
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
            let what = "it is oneway in only one of the two versions".to_owned();
            self.add(name, Effect::Wire, what, "one side waits for a reply that never arrives");
        }
        match (&was.returns, &now.returns) {
            (Some(was), Some(now)) => self.ty(name, "the result", was, now),
            (None, None) => {}
            _ => {
                let what = "it returns a value in only one of the two versions".to_owned();
                self.add(name, Effect::Wire, what, "results are first in the reply");
            }
        }
        let form = |count: usize| format!("{count} parameter{}", if count == 1 { "" } else { "s" });
        if was.params.len() != now.params.len() {
            let (before, after) = (form(was.params.len()), form(now.params.len()));
            let what = format!("it had {before}, and now has {after}");
            self.add(name, Effect::Wire, what, "parameters are sent in order, without names");
        }
        let moved = moved(
            was.params.iter().map(|param| &*param.name),
            now.params.iter().map(|param| &*param.name),
        );
        for (old, new) in was.params.iter().zip(&now.params) {
            if old.direction != new.direction {
                let what = format!("the direction of the parameter `{}` changed", old.name);
                let why = "`in` is in the request, `out` in the reply";
                self.add(name, Effect::Wire, what, why);
            }
            if old.name != new.name && moved(&old.name, &new.name) {
                let what = format!("the parameter `{}` was replaced by `{}`", old.name, new.name);
                let why = "parameters are sent in order, without names";
                self.add(name, Effect::Wire, what, why);
            } else if old.name != new.name && shape(self.old, &old.ty) == shape(self.new, &new.ty) {
                let what = format!("the parameter `{}` was renamed to `{}`", old.name, new.name);
                let why = "parameters are sent in order, without names; check their meaning";
                self.add(name, Effect::Nothing, what, why);
            }
            let what = format!("the parameter `{}`", old.name);
            self.ty(name, &what, &old.ty, &new.ty);
        }
        self.raises(name, "it", &was.raises, &now.raises);
        if was.context != now.context {
            let what = "the context clause changed".to_owned();
            self.add(name, Effect::Wire, what, "contexts are sent after the parameters");
        }
    }

    fn attribute(&mut self, name: &str, was: &Attribute, now: &Attribute) {
        match (was.readonly, now.readonly) {
            (false, true) => {
                let what = "it is now readonly".to_owned();
                self.add(name, Effect::Wire, what, "old clients that set it get BAD_OPERATION");
            }
            (true, false) => {
                let what = "it can now be set".to_owned();
                let why = "servants must implement setting it; old servers answer BAD_OPERATION";
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
            let text = format!("{what} may now raise `{exception}`");
            let why = "old clients receive it as UNKNOWN";
            self.add(name, Effect::Wire, text, why);
        }
        for exception in gone {
            let text = format!("{what} no longer raises `{exception}`");
            let why = "clients no longer receive it; a server that still raises it sends UNKNOWN";
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
