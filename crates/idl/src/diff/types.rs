//! Changes of types, members, enumerators and constants.

use super::{Diff, Effect, by_key};
use crate::model::{Case, Const, Enum, Field, Model, Type, Union, ValueType};
use crate::print::{type_text, value_text};
use std::collections::BTreeSet;

impl Diff<'_> {
    /// Compares the types of the item that `name` and `what` describe.
    pub(super) fn ty(&mut self, name: &str, what: &str, was: &Type, now: &Type) {
        let (was_shape, now_shape) = (shape(self.old, was), shape(self.new, now));
        let (was, now) = (text(self.old, was), text(self.new, now));
        if was_shape != now_shape {
            let what = match was == now {
                true => format!("{what} is of `{was}`, which is now a different type"),
                false => format!("{what} was `{was}`, and is now `{now}`"),
            };
            let why = "its encoding or its bounds differ";
            self.add(name, Effect::Wire, what, why);
        } else if was != now {
            let what = format!("{what} was written `{was}`, and is now written `{now}`");
            let why = "another name for the same type; only type codes differ";
            self.add(name, Effect::Mapping, what, why);
        }
    }

    pub(super) fn fields(&mut self, name: &str, was: &[&Field], now: &[&Field]) {
        let moved =
            moved(was.iter().map(|field| &*field.name), now.iter().map(|field| &*field.name));
        for (was, now) in was.iter().zip(now) {
            let member = format!("{name}::{}", was.name);
            if was.name != now.name {
                let other = shape(self.old, &was.ty) != shape(self.new, &now.ty);
                let what = format!("the member `{}` was replaced by `{}`", was.name, now.name);
                match other || moved(&was.name, &now.name) {
                    true => {
                        let why = "members are sent in order, without names";
                        self.add(&member, Effect::Wire, what, why);
                    }
                    false => {
                        let why = "both have one type; only source code and type codes name them";
                        self.add(&member, Effect::Mapping, what, why);
                    }
                }
                continue;
            }
            self.ty(&member, &format!("`{}`", was.name), &was.ty, &now.ty);
            if was.optional != now.optional {
                let what = format!("`{}` is optional in only one of the two versions", was.name);
                let why = "a boolean before it states whether it is present";
                self.add(&member, Effect::Wire, what, why);
            }
        }
        let common = was.len().min(now.len());
        for gone in &was[common..] {
            let what = format!("the member `{}` was removed", gone.name);
            let member = format!("{name}::{}", gone.name);
            self.add(&member, Effect::Wire, what, "old peers expect it");
        }
        for came in &now[common..] {
            let what = format!("the member `{}` is new", came.name);
            let member = format!("{name}::{}", came.name);
            self.add(&member, Effect::Wire, what, "old peers do not expect it");
        }
    }

    pub(super) fn union(&mut self, name: &str, was: &Union, now: &Union) {
        let what = "the discriminator";
        self.ty(name, what, &was.discriminator, &now.discriminator);
        let (before, after) = (
            by_key(&was.cases, |case| case.field.name.as_str()),
            by_key(&now.cases, |case| case.field.name.as_str()),
        );
        for old in &was.cases {
            let member = format!("{name}::{}", old.field.name);
            let Some(new) = after.get(old.field.name.as_str()).copied() else {
                let what = format!("the member `{}` was removed", old.field.name);
                self.add(&member, Effect::Wire, what, "old peers may still send it");
                continue;
            };
            let what = format!("`{}`", old.field.name);
            self.ty(&member, &what, &old.field.ty, &new.field.ty);
            let (before, after) = (labels(self.old, old), labels(self.new, new));
            if before != after {
                let what = format!("the labels were {before}, and are now {after}");
                self.add(&member, Effect::Wire, what, "labels select the member that is sent");
            }
        }
        for new in &now.cases {
            if !before.contains_key(new.field.name.as_str()) {
                let what = format!("the member `{}` is new", new.field.name);
                let member = format!("{name}::{}", new.field.name);
                self.add(&member, Effect::Wire, what, "old peers cannot read it");
            }
        }
    }

    pub(super) fn enumeration(&mut self, name: &str, was: &Enum, now: &Enum) {
        if was.bit_bound != now.bit_bound {
            let what = "the bit bound changed".to_owned();
            self.add(name, Effect::Wire, what, "it determines how many octets are sent");
        }
        let (names_before, names) = (
            by_key(&was.enumerators, |one| &*one.name),
            by_key(&now.enumerators, |one| &*one.name),
        );
        let (values_before, values) =
            (by_key(&was.enumerators, |one| one.value), by_key(&now.enumerators, |one| one.value));
        for old in &was.enumerators {
            let one = format!("{name}::{}", old.name);
            if let Some(new) = names.get(&*old.name) {
                if new.value != old.value {
                    let (before, after) = (old.value, new.value);
                    let what = format!("`{}` was {before}, and is now {after}", old.name);
                    self.add(&one, Effect::Wire, what, "the number is sent, not the name");
                }
                continue;
            }
            match values.get(&old.value) {
                Some(new) if !names_before.contains_key(&*new.name) => {
                    let what = format!("`{}` was renamed to `{}`", old.name, new.name);
                    self.add(&one, Effect::Mapping, what, "the number is sent, not the name");
                }
                _ => {
                    let what = format!("`{}` was removed", old.name);
                    self.add(&one, Effect::Wire, what, "old peers may still send it");
                }
            }
        }
        for new in &now.enumerators {
            if !names_before.contains_key(&*new.name) && !values_before.contains_key(&new.value) {
                let what = format!("`{}` is new", new.name);
                let one = format!("{name}::{}", new.name);
                self.add(&one, Effect::Wire, what, "old peers reject the number");
            }
        }
    }

    pub(super) fn constant(&mut self, name: &str, was: &Const, now: &Const) {
        let before = value_text(self.old, &was.value, Some(&was.ty));
        let after = value_text(self.new, &now.value, Some(&now.ty));
        if before != after {
            let what = format!("it was {before}, and is now {after}");
            let why = "constants are not sent; check where they are used";
            self.add(name, Effect::Mapping, what, why);
        }
        let (before, after) = (text(self.old, &was.ty), text(self.new, &now.ty));
        if before != after {
            let what = format!("it was a `{before}`, and is now a `{after}`");
            self.add(name, Effect::Mapping, what, "constants are not sent");
        }
    }

    pub(super) fn value_type(&mut self, name: &str, was: &ValueType, now: &ValueType) {
        if was.kind != now.kind {
            let what = "it is custom or abstract in only one of the two versions".to_owned();
            self.add(name, Effect::Wire, what, "its state is encoded differently");
        }
        if was.truncatable != now.truncatable {
            let what = "it is truncatable in only one of the two versions".to_owned();
            let why = "receivers that do not know the type may or may not accept it as its base";
            self.add(name, Effect::Wire, what, why);
        }
        self.bases(name, "base", &was.bases, &now.bases);
        self.bases(name, "supported interface", &was.supports, &now.supports);
        let was_state = self.old.all_state(was);
        let now_state = self.new.all_state(now);
        let was_fields: Vec<&Field> = was_state.iter().map(|member| &member.field).collect();
        let now_fields: Vec<&Field> = now_state.iter().map(|member| &member.field).collect();
        self.fields(name, &was_fields, &now_fields);
        for (old, new) in was_state.iter().zip(&now_state) {
            if old.field.name == new.field.name && old.public != new.public {
                let what =
                    format!("`{}` is public in only one of the two versions", old.field.name);
                let member = format!("{name}::{}", old.field.name);
                let why = "both are sent; source code may no longer have access to it";
                self.add(&member, Effect::Mapping, what, why);
            }
        }
        self.local_exports(name, &was.exports, &now.exports);
    }
}

/// Returns a predicate on the old and new name at one place: whether either is, or was, the name at another place. If
/// so, the change is not only a renaming, and peers mistake one item for another.
pub(super) fn moved<'n>(
    was: impl Iterator<Item = &'n str>,
    now: impl Iterator<Item = &'n str>,
) -> impl Fn(&str, &str) -> bool {
    let (was, now): (BTreeSet<&str>, BTreeSet<&str>) = (was.collect(), now.collect());
    move |old, new| now.contains(old) || was.contains(new)
}

fn labels(model: &Model, case: &Case) -> String {
    let mut labels: Vec<String> =
        case.labels.iter().map(|label| value_text(model, label, None)).collect();
    labels.sort();
    if case.is_default {
        labels.push("default".into());
    }
    labels.join(", ")
}

/// Returns a type as written, including dimensions.
pub(super) fn text(model: &Model, ty: &Type) -> String {
    let sizes = match ty {
        Type::Array(_, sizes) => &sizes[..],
        _ => &[],
    };
    let sizes: String = sizes.iter().map(|size| format!("[{size}]")).collect();
    type_text(model, ty, false) + &sizes
}

/// Returns a type without typedefs: equal texts mean equal octets on the wire, provided that the named definitions are
/// unchanged.
pub(super) fn shape(model: &Model, ty: &Type) -> String {
    let ty = model.resolve(ty);
    match ty {
        Type::Sequence(element, bound) => format!("{bound:?}<{}>", shape(model, element)),
        Type::Array(element, sizes) => format!("{sizes:?}{}", shape(model, element)),
        Type::Map(key, value, bound) => {
            format!("{bound:?}<{}, {}>", shape(model, key), shape(model, value))
        }
        ty => type_text(model, ty, false),
    }
}
