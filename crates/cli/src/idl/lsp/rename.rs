//! Renaming of a declaration and all its uses in the open documents and the files that they include.
//!
//! The edits are tried first: every unit that they change is compiled with them. It must have no errors, every name
//! must mean the same declaration as before, and no other declaration may change its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use oxorb_idl::Options;
use oxorb_idl::diagnostic::Severity;
use oxorb_idl::index::Occurrence;
use oxorb_idl::lex::Keyword;
use oxorb_idl::source::FileId;
use rustix::fs::{Access, access};
use serde_json::{Map, Value, json};

use super::documents::Documents;
use super::message::Refusal;
use super::position::{Encoding, Lines};
use super::unit::Unit;

/// Open documents, each with its unit.
pub(super) struct Renaming<'s> {
    pub(super) documents: &'s Documents,
    pub(super) units: &'s BTreeMap<String, Unit>,
    pub(super) options: &'s Options,
    pub(super) encoding: Encoding,
}

/// Files and offsets at which a name is declared.
type Declarations = BTreeSet<(PathBuf, u32)>;

/// Places of a name in one file.
struct Edited {
    text: String,
    /// Starts and ends, in octets.
    places: BTreeSet<(usize, usize)>,
}

impl Renaming<'_> {
    /// Returns the edits that rename what `of` names in `unit`.
    pub(super) fn edits(&self, unit: &Unit, of: &Occurrence, new: &str) -> Result<Value, Refusal> {
        check_name(new)?;
        let name = &unit.index.symbols()[of.symbol].name;
        let mut changes = Map::new();
        if name == new {
            return Ok(json!({ "changes": changes }));
        }
        let declared = self.declarations(unit, of.symbol);
        if declared.is_empty() {
            let why = format!("`{name}` is built into OxORB and read-only");
            return Err(Refusal::failed(why));
        }
        let mut edited: BTreeMap<PathBuf, Edited> = BTreeMap::new();
        for unit in self.units.values() {
            self.collect(unit, &symbols_at(unit, name, &declared), &mut edited)?;
        }
        self.check(&edited, name, &declared, new)?;
        for (file, Edited { text, places }) in &edited {
            let lines = Lines::new(text, self.encoding);
            let edits = places.iter().map(|(start, end)| {
                let (start, end) = (lines.position(*start).json(), lines.position(*end).json());
                json!({ "range": { "start": start, "end": end }, "newText": new })
            });
            changes.insert(self.documents.uri_of(file), edits.collect());
        }
        Ok(json!({ "changes": changes }))
    }

    /// Returns the places that declare a symbol in any unit. Units may know different declarations: one only a forward
    /// declaration, another one the definition, too.
    fn declarations(&self, unit: &Unit, symbol: usize) -> Declarations {
        let name = &unit.index.symbols()[symbol].name;
        let mut declared = Declarations::new();
        add_declarations(unit, &BTreeSet::from([symbol]), &mut declared);
        loop {
            let known = declared.len();
            for unit in self.units.values() {
                let numbers = symbols_at(unit, name, &declared);
                add_declarations(unit, &numbers, &mut declared);
            }
            if declared.len() == known {
                return declared;
            }
        }
    }

    /// Adds all places of these symbols in a unit, unless one of them cannot be changed.
    fn collect(
        &self,
        unit: &Unit,
        symbols: &BTreeSet<usize>,
        edited: &mut BTreeMap<PathBuf, Edited>,
    ) -> Result<(), Refusal> {
        let sources = unit.sources();
        let mut found: BTreeMap<FileId, BTreeSet<(usize, usize)>> = BTreeMap::new();
        let all = unit.index.occurrences().iter();
        for Occurrence { span, is_literal, .. } in all.filter(|one| symbols.contains(&one.symbol)) {
            if !is_literal {
                let place = sources.location(*span);
                let why = format!(
                    "the name at {place} cannot be changed: a macro produces it, or its exact position is unknown"
                );
                return Err(Refusal::failed(why));
            }
            found.entry(span.file).or_default().insert((span.start as usize, span.end as usize));
        }
        for (file, mut places) in found {
            let (path, text) = (sources.path(file).display(), sources.text(file));
            let Some(file) = unit.identity(file).filter(|file| self.is_writable(file)) else {
                let why = format!("`{path}` contains the name and is read-only");
                return Err(Refusal::failed(why));
            };
            let unchanged = || Edited { text: text.to_owned(), places: BTreeSet::new() };
            let edited = edited.entry(file.to_owned()).or_insert_with(unchanged);
            if edited.text != text {
                return Err(Refusal::failed(format!("`{path}` is being changed: try again")));
            }
            edited.places.append(&mut places);
        }
        Ok(())
    }

    fn is_writable(&self, file: &Path) -> bool {
        let may_write = || {
            let is_read_only = fs::metadata(file).map(|found| found.permissions().readonly());
            is_read_only.is_ok_and(|it| !it) && access(file, Access::WRITE_OK).is_ok()
        };
        self.documents.of_file(file).is_some() || may_write()
    }

    /// Compiles all units that contain an edited file with the edits. Only the name that is declared at these places
    /// may change.
    fn check(
        &self,
        edited: &BTreeMap<PathBuf, Edited>,
        name: &str,
        declared: &Declarations,
        new: &str,
    ) -> Result<(), Refusal> {
        let mut overlay = self.documents.overlay();
        for (file, edited) in edited {
            self.documents.replace(&mut overlay, file, &edited.with(new));
        }
        for document in self.documents.iter() {
            let Some(before) = self.units.get(&document.uri) else { continue };
            if !edited.keys().any(|file| before.contains(file)) {
                continue;
            }
            if !before.is_good {
                let path = document.path.display();
                return Err(Refusal::failed(format!("`{path}` has errors: correct them first")));
            }
            let after = Unit::analyse(document, overlay.clone(), self.options);
            let mut all = after.report.diagnostics.iter();
            if let Some(error) = all.find(|found| found.problem.severity() == Severity::Error) {
                let place = after.sources().location(error.span);
                let why = error.problem.message();
                return Err(Refusal::failed(format!("`{new}` is rejected at {place}: {why}")));
            }
            if !meanings(before).eq(meanings(&after)) {
                let why =
                    format!("if the name is changed to `{new}`, other names change their meaning");
                return Err(Refusal::failed(why));
            }
            let renamed = symbols_at(before, name, declared);
            let pairs = before.index.symbols().iter().zip(after.index.symbols());
            let wrong = pairs.enumerate().find(|(number, (was, now))| {
                let right = if renamed.contains(number) { new } else { was.name.as_str() };
                now.name != right
            });
            if let Some((_, (was, now))) = wrong {
                let (was, now) = (&was.name, &now.name);
                let why =
                    format!("if the name is changed to `{new}`, the name `{was}` becomes `{now}`");
                return Err(Refusal::failed(why));
            }
        }
        Ok(())
    }
}

impl Edited {
    /// Returns the text with another name at all places.
    fn with(&self, new: &str) -> String {
        let mut text = String::new();
        let mut rest = 0;
        for (start, end) in &self.places {
            text += self.text.get(rest..*start).unwrap_or_default();
            text += new;
            rest = *end;
        }
        text + self.text.get(rest..).unwrap_or_default()
    }
}

/// Returns the symbols of that name which a unit declares at one of these places.
fn symbols_at(unit: &Unit, name: &str, declared: &Declarations) -> BTreeSet<usize> {
    let symbols = unit.index.symbols();
    let all = unit.index.occurrences().iter();
    all.filter(|found| found.declares.is_some() && symbols[found.symbol].name == name)
        .filter(|found| place(unit, found).is_some_and(|place| declared.contains(&place)))
        .map(|found| found.symbol)
        .collect()
}

/// Adds all places at which a unit declares these symbols.
fn add_declarations(unit: &Unit, symbols: &BTreeSet<usize>, declared: &mut Declarations) {
    let all = unit.index.occurrences().iter();
    let of = all.filter(|found| found.declares.is_some() && symbols.contains(&found.symbol));
    declared.extend(of.filter_map(|found| place(unit, found)));
}

/// Returns the file and the offset of a name; `None` in files built into OxORB.
fn place(unit: &Unit, found: &Occurrence) -> Option<(PathBuf, u32)> {
    Some((unit.identity(found.span.file)?.to_owned(), found.span.start))
}

/// Returns all names of a unit, each with its file and its declaration. Numbers of declarations do not depend on names.
fn meanings(unit: &Unit) -> impl Iterator<Item = (FileId, usize, bool, bool)> {
    let all = unit.index.occurrences().iter();
    all.map(|found| (found.span.file, found.symbol, found.declares.is_some(), found.is_literal))
}

/// Checks that a name is an identifier, and no keyword in any spelling.
fn check_name(name: &str) -> Result<(), Refusal> {
    let is_plain = name.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_');
    if !is_plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let why =
            "a name must be an ASCII letter followed by ASCII letters, digits and underscores";
        return Err(Refusal::failed(why));
    }
    let mut keywords = Keyword::ALL.iter().map(|keyword| keyword.as_str());
    match keywords.find(|keyword| keyword.eq_ignore_ascii_case(name)) {
        Some(keyword) => Err(Refusal::failed(format!("`{keyword}` is a keyword"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_no_keywords() {
        for name in ["", "1a", "_a", "a b", "a::b", "a-", "\u{e9}", "module", "Module", "port"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        for name in ["a", "A1_", "modules"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_are_replaced_at_all_places() {
        let places = BTreeSet::from([(0, 1), (4, 6)]);
        let edited = Edited { text: "a + _a;".to_owned(), places };
        assert_eq!(edited.with("long"), "long + long;");
    }
}
