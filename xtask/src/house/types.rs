//! Names of types, and the types that share a name.

use std::collections::BTreeMap;

use super::Source;

/// Numbers of types, and of their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) types: usize,
    /// Types whose name is one word.
    pub(super) one_word: usize,
    /// Names that several types have, and the number of these types.
    pub(super) shared: usize,
    pub(super) sharing: usize,
    pub(super) shared_in_core: usize,
    pub(super) sharing_in_core: usize,
}

/// Counts the structs, enums, unions and traits of the sources, private ones included.
pub(super) fn count(sources: &[Source]) -> Names {
    let (mut all, mut core) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    let mut names = Names::default();
    for source in sources {
        for name in types(&source.text) {
            names.types += 1;
            let capitals = name.chars().filter(|letter| letter.is_uppercase()).count();
            names.one_word += usize::from(capitals <= 1);
            *all.entry(name).or_default() += 1;
            if source.file.starts_with("crates/core/") {
                *core.entry(name).or_default() += 1;
            }
        }
    }
    let shared = |names: &BTreeMap<&str, usize>| {
        let several = names.values().filter(|types| **types > 1);
        (several.clone().count(), several.sum::<usize>())
    };
    (names.shared, names.sharing) = shared(&all);
    (names.shared_in_core, names.sharing_in_core) = shared(&core);
    names
}

/// Returns the names of the types that a text declares.
fn types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = match line.strip_prefix("pub") {
            Some(rest) => rest
                .strip_prefix('(')
                .map_or(rest, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest)),
            None => line,
        };
        let mut words = line.split_whitespace();
        let kind = words.next()?;
        if !["struct", "enum", "union", "trait"].contains(&kind) {
            return None;
        }
        let name = words.next()?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        // The name in a macro may be a parameter.
        (name.starts_with(char::is_uppercase)).then(|| &name[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_share_a_name_are_counted() {
        let source =
            |file: &str, text: &str| Source { file: file.to_owned(), text: text.to_owned() };
        let sources = [
            source(
                "crates/core/src/a.rs",
                "pub struct Link<T>(T);\nstruct Link;\nenum OneLink {}\n",
            ),
            source(
                "crates/poa/src/a.rs",
                "pub(crate) trait Link: Send {}\nstruct $name;\nfn f() {}\n",
            ),
        ];
        let expected = Names {
            types: 4,
            one_word: 3,
            shared: 1,
            sharing: 3,
            shared_in_core: 1,
            sharing_in_core: 2,
        };
        assert_eq!(count(&sources), expected);
    }
}
