//! Changes by a redeployment, as text and as JSON.

use std::fmt::{self, Write as _};

use oxorb::deployment::{Changes, PropertyChange};
use oxorb::values::Printable;
use serde_json::{Value, json};

/// Maximum number of characters to show of a value.
const MOST: usize = 60;

/// Returns a line for the plan and one for each change: `+` added, `-` removed, `~` recreated.
pub(super) fn text(plan: &str, changes: &Changes, word: &str) -> String {
    let plan = Printable(plan);
    if changes.is_empty() {
        return format!("{word} {plan}: no changes\n");
    }
    let mut out = format!("{word} {plan}:\n");
    let mut line = |sign: char, kind: &str, name: &str, more: fmt::Arguments<'_>| {
        let _ =
            writeln!(out, "  {sign} {kind} {}{}", Printable(name), Printable(&more.to_string()));
    };
    let nothing = format_args!("");
    changes.added.iter().for_each(|name| line('+', "instance", name, nothing));
    changes.removed.iter().for_each(|name| line('-', "instance", name, nothing));
    for (name, why) in &changes.restarted {
        line('~', "instance", name, format_args!(": {}", why.join(", ")));
        let properties = changes.properties.iter().filter(|one| one.instance == *name);
        for one in properties {
            let value = |value: &Option<String>| match value {
                Some(value) => clipped(value),
                None => "none".to_owned(),
            };
            let (before, after) = (value(&one.before), value(&one.after));
            let more = format_args!(".{}: {before} becomes {after}", one.property);
            line(' ', "property", name, more);
        }
    }
    for name in &changes.connected {
        let sign = if changes.disconnected.contains(name) { '~' } else { '+' };
        line(sign, "connection", name, nothing);
    }
    let gone = changes.disconnected.difference(&changes.connected);
    gone.for_each(|name| line('-', "connection", name, nothing));
    out
}

/// Returns the changes as JSON; values are complete.
pub(super) fn json(changes: &Changes) -> Value {
    let restarted = changes.restarted.iter();
    let restarted = restarted.map(|(name, why)| json!({"instance": name, "because": why}));
    let property = |one: &PropertyChange| {
        json!({
            "instance": one.instance,
            "property": one.property,
            "before": one.before,
            "after": one.after,
        })
    };
    json!({
        "added": changes.added,
        "removed": changes.removed,
        "restarted": restarted.collect::<Vec<_>>(),
        "connected": changes.connected,
        "disconnected": changes.disconnected,
        "properties": changes.properties.iter().map(property).collect::<Vec<_>>(),
    })
}

fn clipped(value: &str) -> String {
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}
