//! `cargo xtask nameable`: each type in a public signature of `oxorb` has a public name there.
//!
//! Reads rustdoc's JSON. Its format is unstable, and that of the pinned compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::workspace;

const FACADE: &str = "oxorb";

/// Crates whose items the facade exports.
const PARTS: [&str; 14] = [
    "oxorb-cdr",
    "oxorb-component",
    "oxorb-core",
    "oxorb-dynamic",
    "oxorb-giop",
    "oxorb-launch",
    "oxorb-lite",
    "oxorb-object",
    "oxorb-poa",
    "oxorb-protocols",
    "oxorb-rt",
    "oxorb-sched",
    "oxorb-sys",
    "oxorb-transport",
];

/// Trait that only OxORB implements. Applications select an implementation, and need no names for its parameter types.
const NOT_IMPLEMENTED_BY_USERS: &str = "Messaging";

/// Crate and name of an item. The modules between are private in most crates.
type Name = (String, String);

/// Documents the crates, and reports the types that have no public name.
pub(crate) fn main(_: &[String]) -> Result<(), String> {
    let mut crates = BTreeMap::new();
    for package in PARTS.into_iter().chain([FACADE]) {
        crates.insert(package.replace('-', "_"), Crate::document(package)?);
    }
    let exported = exported(&crates);
    let mut missing: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
    for one in crates.values() {
        one.uses(&exported, &mut missing);
    }
    for ((of, name), users) in &missing {
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        println!("{of}::{name} has no name in {FACADE}, and is used by {}", users.join(", "));
    }
    match missing.len() {
        0 => Ok(()),
        count => Err(format!("types without a public name: {count}")),
    }
}

/// Rustdoc's JSON of a crate.
struct Crate(Value);

impl Crate {
    fn document(package: &str) -> Result<Crate, String> {
        let target =
            std::env::var("CARGO_TARGET_DIR").map_or_else(|_| "target".into(), String::from);
        let features = ["--features", "components,deployment,bridge,gateway,tls"];
        let mut command = Command::new("cargo");
        command
            .args(["rustdoc", "--quiet", "--locked", "--lib", "--package", package])
            .args(if package == FACADE { &features[..] } else { &[] })
            .args(["--", "-Z", "unstable-options", "--output-format", "json"])
            .current_dir(workspace::folder())
            .env("RUSTC_BOOTSTRAP", "1");
        let done = command.status().map_err(|error| format!("cargo rustdoc: {error}"))?;
        if !done.success() {
            return Err(format!("{package} cannot be documented"));
        }
        let file = workspace::folder().join(target).join("doc");
        let file = file.join(package.replace('-', "_")).with_extension("json");
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let json = serde_json::from_str(&text);
        json.map(Crate).map_err(|error| format!("{}: {error}", file.display()))
    }

    fn item(&self, id: &Value) -> Option<&Value> {
        self.0["index"].get(id.to_string())
    }

    /// Returns crate and name of an item, of this crate or another one.
    fn name(&self, id: &Value) -> Option<Name> {
        let path = self.0["paths"].get(id.to_string())?["path"].as_array()?;
        let text = |part: &Value| part.as_str().map(str::to_owned);
        Some((text(path.first()?)?, text(path.last()?)?))
    }

    /// Adds the types without a public name in the signatures of exported items.
    fn uses(&self, exported: &BTreeSet<Name>, missing: &mut BTreeMap<Name, BTreeSet<String>>) {
        for (id, item) in self.0["index"].as_object().into_iter().flatten() {
            let is_own = self.0["paths"].get(id).is_some_and(|path| path["crate_id"] == 0);
            let name = id.parse::<u64>().ok().and_then(|id| self.name(&id.into()));
            let Some(name) = name.filter(|name| is_own && exported.contains(name)) else {
                continue;
            };
            if name.1 == NOT_IMPLEMENTED_BY_USERS {
                continue;
            }
            let mut types = Vec::new();
            self.signature(item, true, &mut types);
            for used in types.iter().filter_map(|id| self.name(id)) {
                if used.0.starts_with("oxorb") && !exported.contains(&used) {
                    missing.entry(used).or_default().insert(format!("{}::{}", name.0, name.1));
                }
            }
        }
    }

    /// Collects the ids of the types in the public signature of an item and its members.
    fn signature(&self, item: &Value, is_public: bool, types: &mut Vec<Value>) {
        let hidden = item["attrs"].to_string().contains("hidden");
        let inner = item["inner"].as_object().and_then(|inner| inner.iter().next());
        let Some((kind, inner)) = inner.filter(|_| !hidden && is_public) else {
            return;
        };
        let members: Vec<&Value> = match kind.as_str() {
            "struct" => {
                let kind = &inner["kind"];
                list(&kind["plain"]["fields"]).chain(list(&kind["tuple"])).collect()
            }
            "enum" => list(&inner["variants"]).collect(),
            "variant" => {
                let kind = &inner["kind"];
                list(&kind["struct"]["fields"]).chain(list(&kind["tuple"])).collect()
            }
            "trait" | "impl" => list(&inner["items"]).collect(),
            _ => {
                referenced(inner, types);
                Vec::new()
            }
        };
        // Members of traits and variants have the visibility `default`.
        for member in members.into_iter().filter_map(|id| self.item(id)) {
            self.signature(member, member["visibility"] != "crate", types);
        }
        for block in list(&inner["impls"]).filter_map(|id| self.item(id)) {
            if block["inner"]["impl"]["trait"].is_null() {
                self.signature(block, true, types);
            }
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten().filter(|id| !id.is_null())
}

/// Collects the ids of types and traits anywhere in a signature.
fn referenced(value: &Value, types: &mut Vec<Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| referenced(value, types)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if matches!(key.as_str(), "resolved_path" | "trait") && value["id"].is_number() {
                    types.push(value["id"].clone());
                }
                referenced(value, types);
            }
        }
        _ => {}
    }
}

/// Returns the names that the facade exports, directly or as part of a module of another crate.
fn exported(crates: &BTreeMap<String, Crate>) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut modules: Vec<(String, Value)> = crates
        .get(FACADE)
        .map(|facade| (FACADE.to_owned(), facade.0["root"].clone()))
        .into_iter()
        .collect();
    while let Some((of, module)) = modules.pop() {
        let Some(one) = crates.get(&of) else {
            continue;
        };
        if !seen.insert((of.clone(), module.to_string())) {
            continue;
        }
        let items = one.item(&module).map(|module| &module["inner"]["module"]["items"]);
        for id in items.into_iter().flat_map(list) {
            let Some(item) = one.item(id).filter(|item| item["visibility"] == "public") else {
                continue;
            };
            let target = match &item["inner"]["use"]["id"] {
                Value::Null => id,
                target => target,
            };
            let path = &one.0["paths"][target.to_string()];
            if one.item(target).is_some_and(|item| item["inner"]["module"].is_object()) {
                modules.push((of.clone(), target.clone()));
            } else if path["kind"] == "module" {
                modules.extend(found(crates, &path["path"]));
            } else {
                names.extend(one.name(target));
            }
        }
    }
    names
}

/// Returns the crate and the id of a module.
fn found(crates: &BTreeMap<String, Crate>, path: &Value) -> Option<(String, Value)> {
    let of = path[0].as_str()?;
    let paths = crates.get(of)?.0["paths"].as_object()?;
    let is_it = |entry: &&Value| {
        entry["crate_id"] == 0 && entry["kind"] == "module" && entry["path"] == *path
    };
    let (id, _) = paths.iter().find(|(_, entry)| is_it(entry))?;
    Some((of.to_owned(), id.parse::<u64>().ok()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A facade that exports `A`, whose method takes a `B`.
    fn crates(with_b: bool) -> BTreeMap<String, Crate> {
        let uses = |id: u64, name: &str, of: u64| serde_json::json!({"visibility": "public", "inner": {"use": {"id": of, "name": name, "is_glob": false}}, "id": id});
        let path = |name: &str, of: u64| serde_json::json!({"crate_id": of, "path": ["oxorb_core", name], "kind": "struct"});
        let mut items = vec![1];
        items.extend(with_b.then_some(2));
        let facade = serde_json::json!({
            "root": 0,
            "index": {
                "0": {"visibility": "public", "inner": {"module": {"items": items}}},
                "1": uses(1, "A", 10), "2": uses(2, "B", 11),
            },
            "paths": {
                "0": {"crate_id": 0, "path": ["oxorb"], "kind": "module"},
                "10": path("A", 7), "11": path("B", 7),
            },
        });
        let part = serde_json::json!({
            "index": {
                "3": {"visibility": "public", "attrs": [], "inner": {"struct": {"kind": "unit", "impls": [4]}}},
                "4": {"visibility": "default", "attrs": [], "inner": {"impl": {"trait": null, "items": [5]}}},
                "5": {"visibility": "public", "attrs": [], "inner": {"function": {"sig": {"inputs": [["b", {"resolved_path": {"id": 6}}]]}}}},
            },
            "paths": {"3": path("A", 0), "6": path("B", 0)},
        });
        let part = ("oxorb_core".to_owned(), Crate(part));
        BTreeMap::from([("oxorb".to_owned(), Crate(facade)), part])
    }

    #[test]
    fn a_type_of_a_signature_without_a_public_name_is_found() {
        for (with_b, expected) in [(true, 0), (false, 1)] {
            let crates = crates(with_b);
            let exported = exported(&crates);
            let mut missing = BTreeMap::new();
            crates.values().for_each(|one| one.uses(&exported, &mut missing));
            assert_eq!(missing.len(), expected, "{missing:?}");
        }
    }
}
