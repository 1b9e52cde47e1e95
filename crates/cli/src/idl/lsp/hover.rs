//! Description of a name: its declaration, its repository id and its comment.

use oxorb_idl::index::Symbol;
use oxorb_idl::source::SourceMap;
use serde_json::{Value, json};

/// Maximum number of lines of a declaration to show.
const MAX_LINES: usize = 30;

/// Maximum number of octets of a declaration to show.
const MAX_OCTETS: usize = 4096;

/// Returns the description, as Markdown or as plain text.
pub(super) fn contents(sources: &SourceMap, symbol: &Symbol, markdown: bool) -> Value {
    let declaration = declaration(sources, symbol);
    let (fence, mark) = match markdown {
        true => (fence(&declaration), "`"),
        false => (String::new(), ""),
    };
    let mut text = match markdown {
        true => format!("{fence}idl\n{declaration}\n{fence}\n\n"),
        false => format!("{declaration}\n\n"),
    };
    text += &format!("{mark}{}{mark}, {}", symbol.scoped_name, symbol.what);
    if sources.is_builtin(symbol.span.file) {
        text += ", built into OxORB";
    }
    if let Some(id) = &symbol.repository_id {
        text += &format!("\n\nRepository id: {mark}{id}{mark}");
    }
    if !symbol.doc.is_empty() {
        text += &format!("\n\n{}", symbol.doc);
    }
    let kind = if markdown { "markdown" } else { "plaintext" };
    json!({ "kind": kind, "value": text })
}

/// Returns the text of a declaration without the indentation of its first line; of a module, its first line.
fn declaration(sources: &SourceMap, symbol: &Symbol) -> String {
    let whole = sources.snippet(symbol.whole);
    let text = match symbol.what {
        "a module" | "a template module" => whole.split('{').next().unwrap_or(whole).trim_end(),
        _ => whole,
    };
    let before = sources.text(symbol.whole.file).get(..symbol.whole.start as usize);
    let indentation = before.and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
    let shown = &text[..text.floor_char_boundary(MAX_OCTETS)];
    let lines = shown.lines().map(|line| line.strip_prefix(indentation).unwrap_or(line));
    let mut lines: Vec<&str> = lines.take(MAX_LINES).collect();
    if shown.len() < text.len() || shown.lines().nth(MAX_LINES).is_some() {
        lines.push("...");
    }
    lines.join("\n")
}

/// Returns a fence for a block of code: longer than any that the code contains.
fn fence(code: &str) -> String {
    let longest = code.split(|c: char| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_idl::source::Memory;

    fn described(text: &str, scoped_name: &str, markdown: bool) -> String {
        let files = Memory([("a.idl".into(), text.into())].into());
        let sources = SourceMap::new(files);
        let (result, index) =
            oxorb_idl::compile_indexed(sources, &["a.idl"], &oxorb_idl::Options::default());
        let sources = result.expect("good IDL").report.sources;
        let mut all = index.symbols().iter();
        let symbol = all.find(|symbol| symbol.scoped_name == scoped_name).expect("a symbol");
        contents(&sources, symbol, markdown)["value"].as_str().expect("a text").to_owned()
    }

    #[test]
    fn a_declaration_is_shown_without_its_indentation() {
        let text = "module m {\n    // Holds `a`.\n    struct S {\n        long a; /* ``` */\n    };\n};\n";
        assert_eq!(
            described(text, "m::S", true),
            "````idl\nstruct S {\n    long a; /* ``` */\n};\n````\n\n`m::S`, a struct\n\n\
             Repository id: `IDL:m/S:1.0`\n\nHolds `a`."
        );
        assert_eq!(described(text, "m::S::a", false), "long a;\n\nm::S::a, a member");
        assert_eq!(
            described(text, "m", false),
            "module m\n\nm, a module\n\nRepository id: IDL:m:1.0"
        );
    }

    #[test]
    fn a_long_declaration_is_cut() {
        let members: String = (0..100).map(|n| format!("  long m{n};\n")).collect();
        let shown = described(&format!("struct S {{\n{members}}};\n"), "S", false);
        assert!(shown.contains("long m28;\n...\n"), "{shown}");
        let long = "x".repeat(9000);
        let wide = described(&format!("struct S {{ long /* {long} */ a; }};\n"), "S", false);
        assert!(wide.contains("xxx\n...\n") && wide.len() < 5000, "{}", wide.len());
    }
}
