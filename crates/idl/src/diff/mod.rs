//! Differences between two models, and their effects on peers and source code.

mod interface;
mod types;

use crate::model::{Def, DefKind, Model};
use crate::print;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;

/// Change between two models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Scoped name of the changed definition; for a member, operation or attribute, followed by `::` and its name.
    pub name: String,
    /// Reach of the change.
    pub effect: Effect,
    /// Description of the change, one sentence without a full stop.
    pub what: String,
    /// Reason for the effect.
    pub why: &'static str,
}

/// Reach of a change; a wider effect is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Change that affects neither old peers nor source code.
    Nothing,
    /// Change that may break source code written for the old IDL; old peers are not affected.
    Mapping,
    /// Change that may break peers built with the old IDL.
    Wire,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Nothing => "nothing",
            Effect::Mapping => "mapping",
            Effect::Wire => "wire",
        })
    }
}

/// Returns the changes from `old` to `new`, sorted by name, including those of included files.
///
/// ```
/// use oxorb_idl::diff::{Effect, diff};
/// use oxorb_idl::source::{Memory, SourceMap};
/// let compile = |text: &str| {
///     let files = Memory([("a.idl".into(), text.as_bytes().to_vec())].into());
///     oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())
/// };
/// let old = compile("struct s { long a; };")?;
/// let new = compile("struct s { short a; };")?;
/// let changes = diff(&old.model, &new.model);
/// assert_eq!(changes[0].effect, Effect::Wire);
/// assert_eq!(changes[0].what, "`a` was `long`, and is now `short`");
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn diff(old: &Model, new: &Model) -> Vec<Change> {
    let mut diff = Diff { old, new, changes: Vec::new() };
    let (before, after) = (by_name(old), by_name(new));
    for (name, was) in &before {
        match after.get(name) {
            Some(now) => diff.def(was, now),
            None => diff.gone(was),
        }
    }
    for (name, now) in &after {
        if !before.contains_key(name) {
            diff.came(now);
        }
    }
    diff.changes.sort_by(|a, b| a.name.cmp(&b.name));
    diff.changes
}

fn by_name(model: &Model) -> BTreeMap<&str, &Def> {
    let defs = model.defs();
    defs.map(|def| (def.scoped_name.as_str(), def)).collect()
}

/// Returns a map by name or number; of several items with one key, it has the first.
fn by_key<'a, T, K: Eq + Hash>(all: &'a [T], key: impl Fn(&'a T) -> K) -> HashMap<K, &'a T> {
    let mut found = HashMap::with_capacity(all.len());
    for one in all {
        found.entry(key(one)).or_insert(one);
    }
    found
}

struct Diff<'m> {
    old: &'m Model,
    new: &'m Model,
    changes: Vec<Change>,
}

impl Diff<'_> {
    fn add(&mut self, name: &str, effect: Effect, what: String, why: &'static str) {
        self.changes.push(Change { name: name.to_owned(), effect, what, why });
    }

    fn gone(&mut self, def: &Def) {
        let what = format!("the {} `{}` was removed", crate::show::kind(&def.kind), def.name);
        let (effect, why) = match def.kind {
            DefKind::Const(_) | DefKind::Native | DefKind::Module(_) => {
                (Effect::Mapping, "nothing of it is sent")
            }
            DefKind::Typedef(_) => {
                (Effect::Mapping, "only values of the types that it names are sent")
            }
            _ => (Effect::Wire, "old peers may still send or request it"),
        };
        self.add(&def.scoped_name, effect, what, why);
    }

    fn came(&mut self, def: &Def) {
        let what = format!("the {} `{}` is new", crate::show::kind(&def.kind), def.name);
        self.add(&def.scoped_name, Effect::Nothing, what, "no old peer uses it");
    }

    fn def(&mut self, was: &Def, now: &Def) {
        let name = &was.scoped_name;
        let (kind_was, kind_now) = (crate::show::kind(&was.kind), crate::show::kind(&now.kind));
        if kind_was != kind_now {
            let what = format!("`{}` was of kind {kind_was}, and is now {kind_now}", was.name);
            self.add(name, Effect::Wire, what, "the two are encoded differently");
            return;
        }
        if was.repository_id != now.repository_id && !matches!(was.kind, DefKind::Module(_)) {
            let (effect, why) = match was.kind {
                DefKind::Const(_) | DefKind::Native => (Effect::Nothing, "it is never sent"),
                _ => (
                    Effect::Wire,
                    "references, exceptions, values and type codes contain the repository id",
                ),
            };
            let what = format!(
                "the repository id was `{}`, and is now `{}`",
                was.repository_id, now.repository_id
            );
            self.add(name, effect, what, why);
        }
        if was.doc != now.doc {
            let what = "the comment changed".to_owned();
            self.add(name, Effect::Nothing, what, "comments are not sent");
        }
        match (&was.kind, &now.kind) {
            (DefKind::Struct(was), DefKind::Struct(now))
            | (DefKind::Exception(was), DefKind::Exception(now)) => {
                let was = self.old.all_fields(was);
                let now = self.new.all_fields(now);
                self.fields(name, &was, &now);
            }
            (DefKind::Union(was), DefKind::Union(now)) => self.union(name, was, now),
            (DefKind::Enum(was), DefKind::Enum(now)) => self.enumeration(name, was, now),
            (DefKind::Typedef(was), DefKind::Typedef(now)) => {
                self.ty(name, "it", &was.ty, &now.ty);
            }
            (DefKind::Const(was), DefKind::Const(now)) => self.constant(name, was, now),
            (DefKind::Interface(was), DefKind::Interface(now)) => self.interface(name, was, now),
            (DefKind::ValueType(was), DefKind::ValueType(now)) => self.value_type(name, was, now),
            (DefKind::ValueBox(was), DefKind::ValueBox(now)) => self.ty(name, "it", was, now),
            (DefKind::Module(_), _) | (DefKind::TemplateModule(_), _) => {}
            _ => {
                if print::one(self.old, was.id) != print::one(self.new, now.id) {
                    let what = format!("the {kind_was} `{}` changed", was.name);
                    let why = "its interface to old peers differs";
                    self.add(name, Effect::Wire, what, why);
                }
            }
        }
    }
}
