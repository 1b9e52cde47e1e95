//! Functions of the source text, by file and line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Function of the workspace. Closures belong to the function that contains them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Function {
    /// Path of the file, relative to the workspace.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Source files of a workspace that were looked at.
pub(super) struct Sources {
    workspace: PathBuf,
    files: HashMap<String, Vec<Function>>,
}

impl Sources {
    pub(super) fn of(workspace: &Path) -> Sources {
        Sources { workspace: workspace.to_owned(), files: HashMap::new() }
    }

    /// Returns the innermost function at a line of a file in `crates/`, or of generated code. A line of no function,
    /// as in the text of a macro, belongs to a function that is named after its symbol. `None` for other files.
    pub(super) fn function(
        &mut self,
        file: &str,
        line: u32,
        symbol: &str,
    ) -> Result<Option<Function>, String> {
        let Some(short) = short(file) else {
            return Ok(None);
        };
        if line == 0 {
            return Ok(None);
        }
        let functions = match self.files.get(&short) {
            Some(functions) => functions,
            None => {
                let functions = read(&self.workspace.join(file), &short)?;
                &*self.files.entry(short.clone()).or_insert(functions)
            }
        };
        let at = |function: &&Function| (function.first..=function.last).contains(&line);
        let here = functions.iter().filter(at).max_by_key(|function| function.first);
        Ok(Some(here.cloned().unwrap_or_else(|| Function {
            file: short,
            name: symbol.to_owned(),
            first: line,
            last: line,
        })))
    }
}

/// Returns the path of a counted file within the workspace: a file of `crates/`, or one that the IDL compiler has
/// generated.
fn short(file: &str) -> Option<String> {
    if ["/.cargo/", "/rustc/", "/rustlib/"].iter().any(|library| file.contains(library)) {
        return None;
    }
    if let Some((_, generated)) = file.rsplit_once("/out/") {
        return Some(format!("generated {generated}"));
    }
    let start = match file.starts_with("crates/") {
        true => 0,
        false => file.find("/crates/")? + 1,
    };
    Some(file[start..].to_owned())
}

/// Reads the functions of a file.
fn read(path: &Path, short: &str) -> Result<Vec<Function>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    functions(short, &text).map_err(|error| format!("{short}: {error}"))
}

/// Returns all functions of a file.
fn functions(file: &str, text: &str) -> Result<Vec<Function>, syn::Error> {
    let mut found = Found { file, functions: Vec::new() };
    found.visit_file(&syn::parse_file(text)?);
    Ok(found.functions)
}

struct Found<'f> {
    file: &'f str,
    functions: Vec<Function>,
}

impl Found<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        self.functions.push(Function {
            file: self.file.to_owned(),
            name: signature.ident.to_string(),
            first: line(signature.span().start().line),
            last: line(block.span().end().line),
        });
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_functions_are_found() {
        let text = "fn one() {\n    fn inner() {\n    }\n}\nimpl A {\n    fn two(\n        &self,\n    ) {\n    }\n}\n\
                    trait B {\n    fn none(&self);\n    fn three(&self) {}\n}\n";
        let found = functions("a.rs", text).unwrap();
        let found: Vec<_> = found.iter().map(|it| (&*it.name, it.first, it.last)).collect();
        assert_eq!(found, [("one", 1, 4), ("inner", 2, 3), ("two", 6, 9), ("three", 13, 13)]);
    }

    #[test]
    fn files_of_the_workspace_are_told_from_libraries() {
        assert_eq!(short("/w/crates/core/src/a.rs").as_deref(), Some("crates/core/src/a.rs"));
        assert_eq!(short("crates/core/src/a.rs").as_deref(), Some("crates/core/src/a.rs"));
        let generated = "/w/target/debug/build/oxbench-1/out/probe.rs";
        assert_eq!(short(generated).as_deref(), Some("generated probe.rs"));
        assert_eq!(short("/rustc/59807616/library/core/src/ops/function.rs"), None);
        assert_eq!(short("/u/.cargo/registry/src/i/arc-swap-1.7.1/src/lib.rs"), None);
        assert_eq!(short("/w/benches/oxbench/src/main.rs"), None);
    }
}
