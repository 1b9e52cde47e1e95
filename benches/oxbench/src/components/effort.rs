//! E16: lines that must be written to make the application real-time, counted in the files: in the plans, and in an
//! equivalent program without components.

use serde::Serialize;

use super::plans::{AGAINST_RATE, BY_RATE, PAIRS};
use crate::table::Table;

/// Code of the components, which is the same in all states.
const CODE: [(&str, &str); 2] = [
    ("executors.rs", include_str!("executors.rs")),
    ("components.idl", include_str!("../../idl/components.idl")),
];

/// Equivalent program without components (`oxbench lanes`), and its functions that concern lanes.
const PROGRAM: &str = include_str!("../load/corba.rs");
const FUNCTIONS: [&str; 2] = ["pub(crate) fn real_time(", "fn in_lanes("];

/// State of the experiment: names and texts of all files that a person has written.
type State = Vec<(&'static str, &'static str)>;

/// Changes from one state to another.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) code: Change,
    pub(super) documents: Change,
}

/// Numbers of files and lines that differ.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    pub(super) files_added: usize,
    pub(super) files_changed: usize,
    pub(super) lines_added: usize,
    pub(super) lines_removed: usize,
}

/// Counts the changes of all steps.
pub(super) fn count() -> Vec<Step> {
    let with = |documents: &[(&'static str, &'static str)]| -> State {
        CODE.iter().chain(documents).copied().collect()
    };
    let none = with(&[("pairs.cdp", PAIRS)]);
    let by_rate = with(&[("pairs.cdp", PAIRS), ("lanes.csr", BY_RATE)]);
    let against = with(&[("pairs.cdp", PAIRS), ("lanes.csr", AGAINST_RATE)]);
    let program = Step {
        name: "the same in a program: to lanes",
        code: Change {
            files_changed: 1,
            lines_added: FUNCTIONS.iter().map(|it| lines_of(PROGRAM, it)).sum(),
            ..Change::default()
        },
        documents: Change::default(),
    };
    vec![
        step("no priorities to lanes by rate", &none, &by_rate),
        step("by rate to against rate", &by_rate, &against),
        program,
    ]
}

fn step(name: &'static str, before: &State, after: &State) -> Step {
    let (mut code, mut documents) = (Change::default(), Change::default());
    for &(file, text) in after {
        let is_code = CODE.iter().any(|(known, _)| *known == file);
        let change = if is_code { &mut code } else { &mut documents };
        match before.iter().find(|(known, _)| *known == file) {
            None => {
                change.files_added += 1;
                change.lines_added += text.lines().count();
            }
            Some((_, old)) if *old != text => {
                let (removed, added) = difference(old, text);
                change.files_changed += 1;
                change.lines_removed += removed;
                change.lines_added += added;
            }
            Some(_) => {}
        }
    }
    Step { name, code, documents }
}

/// Returns how many lines are only in the first text, and how many only in the second, by the longest common
/// subsequence of lines. Takes quadratic time.
fn difference(before: &str, after: &str) -> (usize, usize) {
    let [before, after] = [before, after].map(|text| text.lines().collect::<Vec<_>>());
    // Length of the longest common subsequence of the lines of `before` seen so far and the first lines of `after`.
    let mut longest = vec![0; after.len() + 1];
    for line in &before {
        let mut diagonal = 0;
        for (at, other) in after.iter().enumerate() {
            let above = longest[at + 1];
            longest[at + 1] = match line == other {
                true => diagonal + 1,
                false => above.max(longest[at]),
            };
            diagonal = above;
        }
    }
    let common = longest[after.len()];
    (before.len() - common, after.len() - common)
}

/// Returns the number of lines of a function, from its first one to its closing brace. Functions of a module are not
/// indented.
fn lines_of(program: &str, function: &str) -> usize {
    let from = program.lines().skip_while(|line| !line.starts_with(function));
    let inside = from.take_while(|line| *line != "}").count();
    // The result includes the brace. It is 0 if the function is missing.
    if inside > 0 { inside + 1 } else { 0 }
}

/// Returns a table of the changed files and lines of each step.
pub(super) fn table(steps: &[Step]) -> Table<&Step> {
    let files = |it: &Change| (it.files_added + it.files_changed).to_string();
    let lines = |it: &Change| format!("+{} -{}", it.lines_added, it.lines_removed);
    Table::of(steps)
        .left([""], |step| [step.name])
        .right(["code: files", "lines"], |step| [files(&step.code), lines(&step.code)])
        .right(["documents: files", "lines"], |Step { documents, .. }| {
            [files(documents), lines(documents)]
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_moved_or_changed_are_counted() {
        assert_eq!(difference("a\nb\nc\n", "a\nb\nc\n"), (0, 0));
        assert_eq!(difference("a\nb\nc\n", "a\nx\nc\nd\n"), (1, 2));
        assert_eq!(difference("", "a\nb\n"), (0, 2));
        assert_eq!(difference("b\na\n", "a\nb\n"), (1, 1));
        assert_eq!(lines_of("fn x() {\n    1\n}\nfn y() {}\n", "fn x("), 3);
        assert_eq!(lines_of("", "fn x("), 0);
    }

    #[test]
    fn real_time_changes_no_code_and_no_plan() {
        let steps = count();
        for step in &steps[..2] {
            assert_eq!(step.code, Change::default(), "{}", step.name);
        }
        // Attached by a separate document.
        assert_eq!((steps[0].documents.files_added, steps[0].documents.files_changed), (1, 0));
        assert_eq!(steps[1].documents.files_changed, 1);
        assert!(FUNCTIONS.iter().all(|it| lines_of(PROGRAM, it) > 3));
    }
}
