//! Components: other ORBs' clients, with stubs of the equivalent IDL, against OxORB's component server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::process::Running;

/// Heading of the part of INTEROP.md.
pub(super) const HEADING: &str = "\n## Components\n";

/// All checks, in the order of the clients.
const NAMES: &[&str] = &[
    "home_create",
    "home_factory",
    "home_of_component",
    "attribute",
    "facets",
    "facets_described",
    "receptacle",
    "receptacle_multiple",
    "publisher",
    "emitter",
    "events",
    "events_untyped",
    "events_of_another_type",
    "all_ports",
    "disconnected_events",
    "keys",
    "finder",
    "keys_removed",
    "removed",
];

const START: Duration = Duration::from_secs(30);
const CHECKS: Duration = Duration::from_secs(120);

/// Client program, whose last arguments are the references of both homes.
pub(super) struct Client {
    pub(super) name: &'static str,
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
}

/// Client, and the results of its checks.
pub(super) struct Row {
    client: &'static str,
    outcome: BTreeMap<&'static str, Result<(), String>>,
}

/// Runs clients against OxORB's component server. OxORB's own client is in `tests/components`.
pub(super) fn all(work: &Path, server: OsString, clients: &[Client]) -> Result<Vec<Row>, String> {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work).map_err(|e| format!("{}: {e}", work.display()))?;
    let (_server, homes) = serve(&server, work)?;
    let rows = clients.iter().map(|client| {
        let row = Row { client: client.name, outcome: checks(client, &homes, work) };
        eprintln!("{}", line(&row));
        row
    });
    Ok(rows.collect())
}

/// Starts the server, which runs until it is dropped, and returns the references of its homes.
fn serve(program: &OsString, work: &Path) -> Result<(Running, Vec<String>), String> {
    let file = work.join("homes");
    let args = ["--ior-file".into(), file.clone().into_os_string()];
    let mut running = Running::start(program, &args, &work.join("server"))?;
    running
        .wait_until(START, |_| file.exists())
        .map_err(|why| format!("OxORB's component server: {why}"))?;
    let homes = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok((running, homes.lines().map(str::to_owned).collect()))
}

fn checks(
    client: &Client,
    homes: &[String],
    work: &Path,
) -> BTreeMap<&'static str, Result<(), String>> {
    let mut args = client.args.clone();
    args.extend(homes.iter().map(OsString::from));
    let text = match Running::start(&client.program, &args, &work.join(client.name)) {
        Err(why) => format!("FAIL client: {why}"),
        Ok(mut running) => match running.wait(CHECKS) {
            Some(status) if matches!(status.code(), Some(0 | 1)) => running.output(),
            Some(status) => format!(
                "{}\nFAIL client: ended with {status}: {}",
                running.output(),
                running.errors()
            ),
            None => format!(
                "{}\nFAIL client: still running after {} s",
                running.output(),
                CHECKS.as_secs()
            ),
        },
    };
    outcome(&text)
}

/// Returns the verdict on every check, from the client's lines.
fn outcome(text: &str) -> BTreeMap<&'static str, Result<(), String>> {
    let mut said = BTreeMap::new();
    let mut crash = "not reported by the client";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("PASS ") {
            said.insert(name.trim(), Ok(()));
        } else if let Some((name, why)) =
            line.strip_prefix("FAIL ").and_then(|rest| rest.split_once(": "))
        {
            if name == "client" {
                crash = why;
            }
            said.insert(name, Err(why.to_owned()));
        }
    }
    let verdicts = NAMES.iter().map(|name| {
        let verdict = said.remove(name);
        (*name, verdict.unwrap_or_else(|| Err(crash.to_owned())))
    });
    verdicts.collect()
}

fn summary(row: &Row) -> String {
    let passed = row.outcome.values().filter(|verdict| verdict.is_ok()).count();
    match row.outcome.len() - passed {
        0 => format!("{passed} ok"),
        failed => format!("{failed} FAIL, {passed} ok"),
    }
}

fn line(row: &Row) -> String {
    let mut line = format!("{:<12} -> OxORB's components {}", row.client, summary(row));
    for (name, verdict) in &row.outcome {
        if let Err(why) = verdict {
            let _ = write!(line, "\n       {name}: {why}");
        }
    }
    line
}

/// Returns the failures that must be fixed.
pub(super) fn complaints(rows: &[Row]) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in rows {
        for (name, verdict) in &row.outcome {
            if let Err(why) = verdict {
                let client = row.client;
                complaints.push(format!("{client} -> OxORB's components: {name}: {why}"));
            }
        }
    }
    complaints
}

/// Returns the part of INTEROP.md, independent of machine and time.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut out = format!(
        "{HEADING}
Components, homes and event ports that OxORB serves, used by clients of other ORBs with stubs of the equivalent IDL
(`oxorb idl show --equivalent tests/interop/interop_components.idl`).

| check |"
    );
    for row in rows {
        let _ = write!(out, " {} |", row.client);
    }
    out += "\n|---|";
    out += &"---|".repeat(rows.len());
    out.push('\n');
    for name in NAMES {
        let _ = write!(out, "| {name} |");
        for row in rows {
            let text = match row.outcome.get(name) {
                Some(Ok(())) => "ok",
                _ => "FAIL",
            };
            let _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
    out
}

/// Returns the results as an array.
pub(super) fn json(rows: &[Row]) -> serde_json::Value {
    let rows = rows.iter().map(|row| {
        let checks: serde_json::Map<_, _> = row
            .outcome
            .iter()
            .map(|(name, verdict)| {
                let row = match verdict {
                    Err(why) => serde_json::json!({ "verdict": "fail", "why": why }),
                    Ok(()) => serde_json::json!({ "verdict": "pass", "why": null }),
                };
                ((*name).to_owned(), row)
            })
            .collect();
        serde_json::json!({ "client": row.client, "checks": checks })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_fails_with_the_crash() {
        let outcome = outcome("PASS facets\nFAIL keys: expected one\nFAIL client: it ended");
        assert_eq!(outcome["facets"], Ok(()));
        assert_eq!(outcome["keys"], Err("expected one".to_owned()));
        assert_eq!(outcome["finder"], Err("it ended".to_owned()));
    }
}
