//! Cargo manifest of the program.

use std::fmt::Write as _;

use super::parts::Assembly;

/// Returns the text of `Cargo.toml`. `folders` lists crates with the folders that contain them.
pub(super) fn text(assembly: &Assembly<'_>, folders: &[(String, String)]) -> String {
    let folder = |name: &str| {
        let mut found = folders.iter().filter(|(known, _)| known == name);
        found.next_back().map(|(_, folder)| folder.as_str())
    };
    let process = assembly.process;
    let name =
        super::super::emit::slug(&format!("{}-{}-{}", assembly.label, process.node, process.name));
    let version = env!("CARGO_PKG_VERSION");
    let place = match folder("oxorb") {
        Some(folder) => format!("path = {}", quoted(folder)),
        None => format!("version = {}", quoted(version)),
    };
    let mut out = format!(
        "# Written once by `oxorb deploy static`, which never overwrites it. Edit it as needed.\n\
         [package]\n\
         name = {}\n\
         version = \"0.1.0\"\n\
         edition = \"2024\"\n\
         publish = false\n\
         \n\
         [dependencies]\n\
         oxorb = {{ {place}, features = [\"components\"] }}\n",
        quoted(&format!("assembly-{name}"))
    );
    for package in &assembly.packages {
        let at = folder(package).map_or_else(|| format!("../{package}"), str::to_owned);
        let _ = writeln!(out, "{package} = {{ path = {} }}", quoted(&at));
    }
    out
}

/// Returns a text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            other if other.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stay_strings() {
        for hostile in ["a\"b", "a\\", "a\n[dependencies]", "\u{7f}\u{1}", "plain"] {
            let text = format!("a = {}", quoted(hostile));
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(table["a"].as_str(), Some(hostile));
        }
    }
}
