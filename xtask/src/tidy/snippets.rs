//! Checks that the Rust of pages is compiled: each block is a documentation test, or is quoted from a file of the work
//! tree, or is preceded by a comment with the reason why it is not compiled.

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use crate::pages::beside;

/// Beginning of the comment before a block whose lines are those of a file. The path of the file follows.
const QUOTED: &str = "<!-- quoted from ";

/// Beginning of the comment before a block that is not compiled. The reason follows.
const NOT_COMPILED: &str = "<!-- not compiled: ";

/// Pages whose blocks a test of their own compares with its code, and the test.
const COMPARED: &[(&str, &str)] = &[("docs/mapping.md", "tests/codegen/tests/it/mapping.rs")];

/// Checks the blocks of all pages.
pub(super) fn check(workspace: &Path, files: &[String]) -> Vec<Finding> {
    let read = |file: &Path| std::fs::read_to_string(workspace.join(file)).ok();
    let of_kind = |kind: &'static str| files.iter().filter(move |file| file.ends_with(kind));
    let mut tested = BTreeSet::new();
    for file in of_kind(".rs") {
        let text = read(Path::new(file)).unwrap_or_default();
        tested.extend(included(&text).map(|page| beside(file, page)));
    }
    let mut findings = Vec::new();
    for page in of_kind(".md") {
        let text = read(Path::new(page)).unwrap_or_default();
        if let Some((_, test)) = COMPARED.iter().find(|(compared, _)| compared == page) {
            let test_text = read(Path::new(test)).unwrap_or_default();
            if !test_text.contains(&format!("{page}\")")) {
                findings.push(Finding::error(page, None, format!("{test} does not read it")));
            }
            continue;
        }
        let is_tested = tested.contains(Path::new(page));
        for block in blocks(&text) {
            if let Some(what) = fault(&block, is_tested, read) {
                findings.push(Finding::error(page, block.line, what));
            }
        }
    }
    findings
}

/// Returns the pages whose blocks are documentation tests of a file, relative to it.
fn included(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim_start);
    lines.filter_map(|line| line.strip_prefix("#[doc = include_str!(\"")?.split('"').next())
}

/// Block of code in a page.
struct Block<'t> {
    /// Line of the opening fence, counted from 1.
    line: usize,
    /// Text after the opening fence.
    info: &'t str,
    /// Line before the fence.
    before: &'t str,
    code: Vec<&'t str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    let mut before = "";
    for (at, line) in text.lines().map(str::trim).enumerate() {
        let fence = line.strip_prefix("```");
        open = match (open.take(), fence) {
            (None, Some(info)) => Some(Block { line: at + 1, info, before, code: Vec::new() }),
            (None, None) => None,
            (Some(block), Some(_)) => {
                blocks.push(block);
                None
            }
            (Some(mut block), None) => {
                block.code.push(line);
                Some(block)
            }
        };
        before = line;
    }
    blocks
}

/// Returns the reason if a block of Rust is neither compiled nor quoted nor marked.
fn fault(
    block: &Block<'_>,
    is_tested: bool,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<String> {
    let mut words = block.info.split([',', ' ']);
    if words.next() != Some("rust") || is_tested && words.all(|word| word != "ignore") {
        return None;
    }
    if let Some(path) = marked(block.before, QUOTED) {
        return match read(Path::new(path)) {
            Some(source) => (!has(&source, &block.code)).then(|| format!("{path} has other lines")),
            None => Some(format!("quotes {path}, which is not there")),
        };
    }
    marked(block.before, NOT_COMPILED).is_none().then(|| {
        format!(
            "no test compiles this block: include the page in a crate by `#[cfg(doctest)] #[doc = include_str!(..)]`, \
             or write before the block `{QUOTED}PATH -->` or `{NOT_COMPILED}REASON -->`"
        )
    })
}

/// Returns what a comment of this kind contains.
fn marked<'t>(line: &'t str, begin: &str) -> Option<&'t str> {
    line.strip_prefix(begin)?.strip_suffix(" -->").filter(|rest| !rest.is_empty())
}

/// Reports whether a file contains lines of code in this order and without others between them. Indentation, empty
/// lines and comments behind code may differ.
fn has(source: &str, code: &[&str]) -> bool {
    fn compared<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        lines.map(|line| line.split(" //").next().unwrap_or(line).trim_end()).collect()
    }
    let (source, code) = (compared(source.lines()), compared(code.iter().copied()));
    !code.is_empty() && source.windows(code.len()).any(|lines| lines == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str, is_tested: bool) -> Vec<(usize, String)> {
        let read = |file: &Path| {
            (file == Path::new("a.rs"))
                .then(|| "fn f() {\n    one(); // 1\n\n    two();\n}\n".to_owned())
        };
        let blocks = blocks(page).into_iter();
        blocks.filter_map(|block| Some((block.line, fault(&block, is_tested, read)?))).collect()
    }

    #[test]
    fn blocks_that_are_compiled_quoted_or_marked_pass() {
        let other = "```sh\nrust\n```\n\n```\ntext\n```\n";
        assert!(found(other, false).is_empty());
        assert!(found("```rust\none();\n```\n```rust,no_run\ntwo();\n```\n", true).is_empty());
        let quoted = "<!-- quoted from a.rs -->\n```rust,ignore\none();\ntwo();   // both\n```\n";
        let marked = "- item\n  <!-- not compiled: a sketch -->\n  ```rust,ignore\n  ..\n  ```\n";
        for is_tested in [false, true] {
            assert!(found(quoted, is_tested).is_empty());
            assert!(found(marked, is_tested).is_empty());
        }
    }

    #[test]
    fn blocks_that_nothing_compiles_are_found() {
        let at = |page: &str, is_tested| {
            found(page, is_tested).into_iter().map(|(line, _)| line).collect::<Vec<_>>()
        };
        assert_eq!(at("```rust\none();\n```\n\n```rust\ntwo();\n```\n", false), [1, 5]);
        assert_eq!(at("```rust,ignore\none();\n```\n", true), [1]);
        assert_eq!(at("<!-- not compiled:  -->\n```rust,ignore\none();\n```\n", true), [2]);
        let quoted =
            |path, code| format!("<!-- quoted from {path} -->\n```rust,ignore\n{code}\n```\n");
        assert_eq!(found(&quoted("b.rs", "one();"), true)[0].1, "quotes b.rs, which is not there");
        assert_eq!(found(&quoted("a.rs", "two();\none();"), true)[0].1, "a.rs has other lines");
        assert_eq!(found(&quoted("a.rs", ""), true)[0].1, "a.rs has other lines");
    }

    #[test]
    fn pages_of_documentation_tests_are_recognized() {
        let text = "/// Page.\n#[cfg(doctest)]\n#[doc = include_str!(\"../../docs/a.md\")]\nstruct Page;\n\
                    const TEXT: &str = include_str!(\"b.md\");\n";
        assert_eq!(included(text).collect::<Vec<_>>(), ["../../docs/a.md"]);
    }
}
