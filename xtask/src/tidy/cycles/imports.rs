//! References between the files of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::super::code;

/// Files of one crate, and the names that each file uses of the other files.
pub(super) struct Imports {
    files: Vec<File>,
    /// Names that each file imports, by the file that defines them.
    uses: Vec<BTreeMap<usize, BTreeSet<String>>>,
}

struct File {
    name: String,
    /// Path of the file's module.
    module: Path,
    /// Code without comments and tests.
    text: String,
    declared: Vec<Use>,
}

type Path = Vec<String>;

/// Name introduced by a `use`, and its path from the crate's root.
struct Use {
    name: String,
    path: Path,
    /// Whether the name is re-exported by a file that only assembles a module.
    shown: bool,
}

impl Imports {
    /// Reads files, each given as its name within `src/` and its text.
    pub(super) fn of(files: Vec<(String, String)>) -> Imports {
        let modules: BTreeSet<Path> = files.iter().map(|(name, _)| module(name)).collect();
        let files: Vec<File> = files
            .into_iter()
            .map(|(name, text)| {
                let (module, text) = (module(&name), stripped(&text));
                let puts_together =
                    ["lib.rs", "main.rs", "mod.rs"].iter().any(|end| name.ends_with(end));
                let declared = declarations(&text).flat_map(|(public, tree)| {
                    let mut paths = Vec::new();
                    expand(tree, &[], &mut paths);
                    let within = paths.into_iter().filter_map(|(path, name)| {
                        let path = absolute(path, &module, &modules)?;
                        let shown = public && puts_together;
                        Some(Use { name, path, shown })
                    });
                    within.collect::<Vec<_>>()
                });
                let declared = declared.collect();
                File { name, module, text, declared }
            })
            .collect();
        let mut imports = Imports { uses: vec![BTreeMap::new(); files.len()], files };
        for at in 0..imports.files.len() {
            imports.read(at, &modules);
        }
        imports.follow_traits(&modules);
        imports
    }

    fn read(&mut self, at: usize, modules: &BTreeSet<Path>) {
        let file = &self.files[at];
        let declared = file.declared.iter().filter(|one| !one.shown);
        let mut paths: Vec<Path> = declared.map(|one| one.path.clone()).collect();
        let rest: String = without_declarations(&file.text);
        paths.extend(
            inline(&rest).into_iter().filter_map(|path| {
                (path.len() > 1).then(|| absolute(path, &file.module, modules))?
            }),
        );
        for path in paths {
            if let Some(to) = self.defines(&path, &mut Vec::new()).filter(|&to| to != at) {
                let name = path.last().cloned().unwrap_or_default();
                self.uses[at].entry(to).or_default().insert(name);
            }
        }
    }

    /// Makes the files that use a private trait lead to the files that implement it. Otherwise a trait with a single
    /// implementation would hide a cycle: a reader still has to follow the call to the implementation.
    fn follow_traits(&mut self, modules: &BTreeSet<Path>) {
        let mut implementors: BTreeMap<(usize, String), BTreeSet<usize>> = BTreeMap::new();
        for at in 0..self.files.len() {
            for path in implemented(&self.files[at].text) {
                let found = self.implemented_trait(at, path, modules);
                if let Some(of) = found {
                    implementors.entry(of).or_default().insert(at);
                }
            }
        }
        for ((defined, name), by) in implementors {
            for at in 0..self.files.len() {
                let uses = match at == defined {
                    true => uses_own_trait(&self.files[at].text, &name),
                    false => self.uses[at].get(&defined).is_some_and(|names| names.contains(&name)),
                };
                for &to in by.iter().filter(|&&to| uses && to != at) {
                    self.uses[at].entry(to).or_default().insert(name.clone());
                }
            }
        }
    }

    /// Returns the file and the name of a private trait that a file implements, by the path in the `impl`; `None` if
    /// the trait is public or of another crate.
    fn implemented_trait(
        &self,
        at: usize,
        path: Path,
        modules: &BTreeSet<Path>,
    ) -> Option<(usize, String)> {
        let file = &self.files[at];
        let name = path.last()?.clone();
        let imported = file.declared.iter().find(|one| one.name == name && path.len() == 1);
        let (defined, name) = match imported {
            Some(one) => (self.defines(&one.path, &mut Vec::new())?, one.path.last().cloned()?),
            None if path.len() == 1 => (at, name),
            None => (self.defines(&absolute(path, &file.module, modules)?, &mut Vec::new())?, name),
        };
        let is_private = private_traits(&self.files[defined].text).any(|one| one == name);
        is_private.then_some((defined, name))
    }

    /// Returns the file that defines the target of a path, through re-exports of modules.
    fn defines(&self, path: &[String], seen: &mut Vec<Path>) -> Option<usize> {
        if seen.iter().any(|before| before == path) {
            return None;
        }
        seen.push(path.to_vec());
        let lengths = (0..=path.len()).rev();
        let (length, at) =
            lengths.filter_map(|length| Some((length, self.module(&path[..length])?))).next()?;
        let Some((name, rest)) = path[length..].split_first() else {
            return Some(at);
        };
        let declared = self.files[at].declared.iter();
        if let Some(found) = declared.clone().find(|one| one.name == *name) {
            let further: Path = found.path.iter().chain(rest).cloned().collect();
            return self.defines(&further, seen);
        }
        let mut all = declared.filter(|one| one.name == "*");
        let through = all.find_map(|one| {
            let of = self.module(&one.path)?;
            defined(&self.files[of].text, name).then_some(of)
        });
        through.or(Some(at))
    }

    fn module(&self, path: &[String]) -> Option<usize> {
        self.files.iter().position(|file| file.module == path)
    }

    pub(super) fn all(&self) -> BTreeSet<usize> {
        (0..self.files.len()).collect()
    }

    pub(super) fn name(&self, file: usize) -> &str {
        &self.files[file].name
    }

    pub(super) fn leads(&self, from: usize, to: usize) -> bool {
        self.uses[from].contains_key(&to)
    }

    pub(super) fn names(&self, from: usize, to: usize) -> Vec<String> {
        let names = self.uses[from].get(&to).into_iter().flatten();
        names.cloned().collect()
    }
}

/// Returns the module path of a file.
fn module(name: &str) -> Path {
    let path = name.strip_suffix(".rs").unwrap_or(name).split('/');
    let mut path: Path = path.map(str::to_owned).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

/// Returns the code of a file without comments and the tests at its end.
fn stripped(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(code).collect();
    let tests = |at: &usize| {
        lines[*at].starts_with("#[cfg(")
            && lines[*at].contains("test")
            && lines.get(at + 1).is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
    };
    let end = (0..lines.len()).find(tests).unwrap_or(lines.len());
    lines[..end].join("\n")
}

/// Returns the trees of all `use` declarations, and whether each is public.
fn declarations(text: &str) -> impl Iterator<Item = (bool, &str)> {
    starts(text).filter_map(|(at, public)| {
        let tree = &text[at..];
        Some((public, &tree[..tree.find(';')?]))
    })
}

/// Returns the beginning of the tree of each `use` declaration.
fn starts(text: &str) -> impl Iterator<Item = (usize, bool)> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = at;
        at += line.len();
        let trimmed = line.trim_start();
        let public = trimmed.starts_with("pub");
        let after = match trimmed.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
            Some(rest) => rest.trim_start(),
            None => trimmed,
        };
        let tree = after.strip_prefix("use ")?;
        Some((begin + line.len() - tree.len(), public))
    })
}

fn without_declarations(text: &str) -> String {
    let mut rest = String::new();
    let mut from = 0;
    for (at, _) in starts(text) {
        rest.push_str(text.get(from..at).unwrap_or_default());
        from = at + text[at..].find(';').unwrap_or(0);
    }
    rest.push_str(text.get(from..).unwrap_or_default());
    rest
}

/// Adds the paths of a tree, each with the name that it introduces.
fn expand(tree: &str, before: &[String], found: &mut Vec<(Path, String)>) {
    let tree = tree.trim();
    if let (Some(open), true) = (tree.find('{'), tree.ends_with('}')) {
        let prefix = tree[..open].split("::").map(str::trim).filter(|part| !part.is_empty());
        let prefix: Path = before.iter().cloned().chain(prefix.map(str::to_owned)).collect();
        let (mut depth, mut start) = (0, open + 1);
        for (at, c) in tree.char_indices().skip(open + 1) {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    expand(&tree[start..at], &prefix, found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let parts = path.split("::").map(|part| part.trim().to_owned());
    let mut path: Path = before.iter().cloned().chain(parts).collect();
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
    if name == "*" {
        path.pop();
    }
    found.push((path, name));
}

/// Returns a path from the crate's root; `None` if the path is in another crate.
fn absolute(path: Path, module: &[String], modules: &BTreeSet<Path>) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some(module.iter().chain(rest).cloned().collect()),
        "super" => {
            let above = module.split_last()?.1;
            let again = rest.first().is_some_and(|next| next == "super");
            match again {
                true => absolute(rest.to_vec(), above, modules),
                false => Some(above.iter().chain(rest).cloned().collect()),
            }
        }
        _ => {
            let child: Path = module.iter().chain([first]).cloned().collect();
            let within = module.iter().chain(&path).cloned().collect();
            modules.contains(&child).then_some(within)
        }
    }
}

/// Returns all qualified paths in code.
fn inline(text: &str) -> Vec<Path> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_word) {
        rest = &rest[at..];
        let end = rest.find(|c| !is_word(c) && c != ':').unwrap_or(rest.len());
        let path = rest[..end].trim_end_matches(':');
        if path.contains("::") {
            found.push(path.split("::").map(str::to_owned).collect());
        }
        rest = &rest[end..];
    }
    found
}

/// Returns the names of the private traits that code defines.
fn private_traits(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(')')?.1.trim_start(),
            None => line,
        };
        let name = line.strip_prefix("trait ")?;
        Some(name.split(|c: char| !is_word(c)).next().unwrap_or(name))
    })
}

/// Returns the paths of the traits that code implements, as they are written there.
fn implemented(text: &str) -> Vec<Path> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        let Some(head) = text[begin..].strip_prefix("impl") else {
            continue;
        };
        let head = head.split('{').next().unwrap_or(head);
        let Some((of, _)) = without_parameters(head).and_then(|head| head.split_once(" for "))
        else {
            continue;
        };
        let of = of.trim().split('<').next().unwrap_or(of);
        if of.chars().all(|c| is_word(c) || c == ':') {
            found.push(of.split("::").map(str::to_owned).collect());
        }
    }
    found
}

/// Returns what follows the type parameters of an `impl`; `None` if it is another word.
fn without_parameters(head: &str) -> Option<&str> {
    if head.starts_with(char::is_whitespace) {
        return Some(head);
    }
    let (mut depth, mut before) = (0, ' ');
    for (at, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then(|| &head[at + 1..]);
        }
        before = c;
    }
    None
}

/// Reports whether code uses a trait that it defines, other than by implementing it.
fn uses_own_trait(text: &str, name: &str) -> bool {
    let words = text.split(|c: char| !is_word(c)).filter(|word| *word == name).count();
    let implemented =
        implemented(text).iter().filter(|path| path.last().is_some_and(|of| of == name)).count();
    words > implemented + 1
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reports whether code defines a name.
fn defined(text: &str, name: &str) -> bool {
    let kinds = ["struct", "enum", "fn", "const", "type", "trait", "static", "mod"];
    kinds.iter().any(|kind| {
        let head = format!("{kind} {name}");
        let ends = |at: usize| {
            let after = text[at + head.len()..].chars().next();
            after.is_none_or(|c| !is_word(c))
        };
        text.match_indices(&head).any(|(at, _)| ends(at))
    })
}
