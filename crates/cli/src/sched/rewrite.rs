//! Task sets updated with measured times, otherwise as their author wrote them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use oxorb_sched::time::Show;
use serde::Deserialize;
use toml::Spanned;

use super::calibrate::Found;
use super::measured::CallCount;
use oxorb_terminal::output::{Done, Failed, at_file, because};

#[derive(Deserialize)]
struct Set {
    #[serde(default)]
    operation: Vec<Operation>,
    #[serde(default)]
    call: Vec<Edge>,
    #[serde(default)]
    event: Vec<Edge>,
}

#[derive(Deserialize)]
struct Operation {
    name: Spanned<String>,
    wcet: Option<Spanned<String>>,
    typical: Option<Spanned<String>>,
}

#[derive(Deserialize)]
struct Edge {
    from: String,
    to: String,
}

/// Writes the only TOML file among the input files, with new times and the missing calls.
pub(super) fn write(files: &[PathBuf], found: &[Found], calls: &[CallCount], out: &Path) -> Done {
    let mut sets =
        files.iter().filter(|file| file.extension().is_none_or(|ending| ending != "idl"));
    let (Some(file), None) = (sets.next(), sets.next()) else {
        return Err(because(
            "--out needs exactly one task set in TOML among the files, of which it writes a new version",
        ));
    };
    let text = crate::input::file(file, "a task set").map_err(because)?;
    std::fs::write(out, rewritten(&text, found, calls)?).map_err(|error| at_file(out, error))
}

fn rewritten(text: &str, found: &[Found], calls: &[CallCount]) -> Result<String, Failed> {
    let set: Set = toml::from_str(text)?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for operation in &set.operation {
        let name = operation.name.get_ref();
        let Some(one) = found.iter().find(|one| one.operation == *name) else {
            continue;
        };
        let mut missing = String::new();
        for (key, value, time) in [
            ("wcet", &operation.wcet, one.worst_case),
            ("typical", &operation.typical, one.typical),
        ] {
            let written = format!("\"{}\"", Show(time));
            match value {
                Some(value) => edits.push((value.span(), written)),
                None => missing.push_str(&format!("\n{key} = {written}")),
            }
        }
        if !missing.is_empty() {
            // Insert the missing keys after the line of the name, so that the rest of that line, such as a comment, is
            // kept.
            let line = text[operation.name.span().end..].find('\n');
            let end = line.map_or(text.len(), |at| operation.name.span().end + at);
            edits.push((end..end, missing));
        }
    }
    edits.sort_by_key(|(place, _)| place.start);
    let mut written = text.to_owned();
    for (place, with) in edits.into_iter().rev() {
        written.replace_range(place, &with);
    }
    for call in calls {
        let (kind, known) = match call.two_way {
            true => ("call", &set.call),
            false => ("event", &set.event),
        };
        let is_known = |edge: &Edge| edge.from == call.from && edge.to == call.to;
        if known.iter().any(is_known) {
            continue;
        }
        let runs = found.iter().find(|one| one.operation == call.from);
        written.push_str(&format!(
            "\n[[{kind}]] # found by calibration\nfrom = {:?}\nto = {:?}\n",
            call.from, call.to
        ));
        if let Some(times) = runs.map(|one| one.times_of(call.calls)).filter(|&n| n > 1) {
            written.push_str(&format!("times = {times}\n"));
        }
    }
    Ok(written)
}
