//! Costs of dispatching, as measured on the host by `oxorb doctor --measure`.

use std::path::Path;

use oxorb_sched::time::Nanos;
use serde::Deserialize;

use oxorb_terminal::output::{Failed, because};

/// Contents of a file of overheads.
#[derive(Default, Clone, Copy)]
pub(super) struct Measured {
    pub(super) dispatch: Option<Nanos>,
    pub(super) switch: Option<Nanos>,
}

#[derive(Deserialize)]
struct Row {
    dispatch_ns: Option<Nanos>,
    switch_ns: Option<Nanos>,
}

/// Reads `{"overheads": {"dispatch_ns": 5000, "switch_ns": 3000}}`, at the top level of the document or in one of its
/// members, as in a report of several measurements. Ignores all other members.
pub(super) fn read(file: &Path) -> Result<Measured, Failed> {
    let text = crate::input::file(file, "measured overheads").map_err(because)?;
    let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
    let document = read.map_err(|error| {
        let place = format!("{}:{}:{}", file.display(), error.line(), error.column());
        because(format!("{place}: {error}"))
    })?;
    let within = document.as_object().into_iter().flat_map(|members| members.values());
    let found =
        document.get("overheads").or_else(|| within.filter_map(|one| one.get("overheads")).next());
    let wrong = |why: String| because(format!("{}: {why}", file.display()));
    let Some(found) = found else {
        let why =
            "there is no member \"overheads\"; `oxorb doctor --measure --format json` writes it";
        return Err(wrong(why.into()));
    };
    let row = Row::deserialize(found).map_err(|error| wrong(format!("overheads: {error}")))?;
    let measured = Measured { dispatch: row.dispatch_ns, switch: row.switch_ns };
    let longest = oxorb_sched::time::LONGEST;
    let all = [measured.dispatch, measured.switch];
    if all.iter().all(Option::is_none) || all.iter().flatten().any(|&time| time > longest) {
        let why = "overheads has dispatch_ns, switch_ns or both, each below 36 years";
        return Err(because(format!("{}: {why}", file.display())));
    }
    Ok(measured)
}
