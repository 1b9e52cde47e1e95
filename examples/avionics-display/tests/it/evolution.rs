//! Changes by the addition of the collision subsystem, counted from the files and compared with the README.
//!
//! The feature `collision` makes the difference between the two states of the code. `.ci/full demo` builds the first
//! state without it and runs its plan, so nothing of it depends on the subsystem.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Numbers of lines removed from a file in another version, and added in it.
#[derive(Default, PartialEq, Eq, Debug)]
struct Difference {
    removed: usize,
    added: usize,
}

impl Difference {
    /// Counts lines by their longest common subsequence.
    fn between(before: &str, after: &str) -> Difference {
        let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
        let mut common = vec![0; after.len() + 1];
        for line in &before {
            let mut diagonal = 0;
            for (at, other) in after.iter().enumerate() {
                let above = common[at + 1];
                common[at + 1] = match line == other {
                    true => diagonal + 1,
                    false => above.max(common[at]),
                };
                diagonal = above;
            }
        }
        let kept = common[after.len()];
        Difference { removed: before.len() - kept, added: after.len() - kept }
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

/// Returns every file below a folder, by its path in the example.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(Path::new(ROOT).join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false => found.push(path.to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// Returns the paths of the sources that both states have.
fn existing() -> Vec<String> {
    let all = files("idl").into_iter().chain(files("src"));
    all.filter(|file| !file.starts_with("src/collision/")).collect()
}

#[test]
fn lines_are_counted_as_a_person_would() {
    let difference = Difference::between("a\nb\nc\nd", "a\nx\nc\nd\ne");
    assert_eq!(difference, Difference { removed: 1, added: 2 });
    assert_eq!(Difference::between("a\n", "a\n"), Difference::default());
}

#[test]
fn plans_and_resources_only_grow_and_the_readme_says_by_how_much() {
    let readme = read("README.md");
    for (what, before, after) in [
        ("plan", "navigation.toml", "with-warning.toml"),
        ("real-time resources", "navigation.rt.toml", "with-warning.rt.toml"),
    ] {
        let before = read(&format!("plans/{before}"));
        let after = read(&format!("plans/{after}"));
        let Difference { removed, added } = Difference::between(&before, &after);
        assert_eq!(removed, 0, "lines of the {what} that were changed or removed");
        assert!(added > 0);
        let row = format!("| {what} | 1 | 0 | {added} |");
        assert!(readme.contains(&row), "the README lacks {row}");
    }
}

/// Line before a line that only the second state has.
const ADDED: &str = "#[cfg(feature = \"collision\")]";

/// Returns the code of the first and of the second state.
fn states(code: &str) -> [String; 2] {
    let (mut first, mut second) = (String::new(), String::new());
    let mut is_added = false;
    for line in code.lines() {
        if line.trim() == ADDED {
            is_added = true;
            continue;
        }
        for state in [&mut first, &mut second].into_iter().skip(usize::from(is_added)) {
            state.push_str(line);
            state.push('\n');
        }
        assert!(!is_added || line.ends_with(';'), "more than a line is added: {line}");
        is_added = false;
    }
    [first, second]
}

#[test]
fn the_states_of_a_file_differ_by_the_lines_of_the_feature() {
    let code = format!("mod a;\n{ADDED}\nmod b;\nfn f() {{\n    {ADDED}\n    b::g();\n}}\n");
    let [first, second] = states(&code);
    assert_eq!(first, "mod a;\nfn f() {\n}\n");
    assert_eq!(second, "mod a;\nmod b;\nfn f() {\n    b::g();\n}\n");
}

#[test]
fn no_line_of_a_component_or_of_the_server_changes() {
    const LINKED: &str = "src/lib.rs";
    let mut differing = Vec::new();
    for file in existing() {
        let code = read(&file);
        assert_eq!(code.matches("collision\"").count(), code.matches(ADDED).count(), "{file}");
        let [first, second] = states(&code);
        let difference = Difference::between(&first, &second);
        if difference != Difference::default() {
            differing.push((file, difference));
        }
    }
    // The list of linked implementations.
    assert_eq!(differing, [(LINKED.to_owned(), Difference { removed: 0, added: 2 })]);

    let (code, new) = (existing().len() - 1, files("src/collision").len());
    let readme = read("README.md");
    for row in [
        format!("| {code} files of components and server | 0 | 0 | 0 |"),
        format!("| list of linked implementations, `{LINKED}` | 1 | 0 | 2 |"),
    ] {
        assert!(readme.contains(&row), "the README lacks {row}");
    }
    let files = files("src/collision").into_iter();
    let lines = files.map(|file| read(&file).lines().count());
    let row = format!("| {new} new files of components | | | {} |", lines.sum::<usize>());
    assert!(readme.contains(&row), "the README lacks {row}");
}

#[test]
fn both_plans_name_one_executable() {
    let artifacts = |plan: &str| -> Vec<String> {
        let text = read(plan);
        let lines = text.lines().filter(|line| line.starts_with("location = "));
        lines.map(str::to_owned).collect()
    };
    let before = artifacts("plans/navigation.toml");
    assert_eq!(before, ["location = \"avionics-display\""]);
    assert_eq!(artifacts("plans/with-warning.toml"), before);
}
