//! Run of one pair: starts the server, runs the client's checks, stops the server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::build::Programs;
use super::capture::{Capture, Decoded};
use super::matrix::{Cell, Column};
use super::orb::{Orb, PORTS, Side};
use super::process::Running;
use super::reference::corbaloc;
use super::{CellResult, Places, checks, ports};

const START: Duration = Duration::from_secs(30);
const CHECKS: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(10);

/// Reason of failure for a check that the client did not report.
const UNREPORTED: &str = "not reported by the client";

/// Result of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Pass,
    /// Failure, with the reason.
    Fail(String),
    /// Check that does not apply, with the reason.
    NotApplicable(&'static str),
}

/// Result of every check of a cell, by name.
pub(super) type Outcome = BTreeMap<&'static str, Verdict>;

/// Runs all cells, `jobs` at a time, and returns them in their order.
pub(super) fn all(
    places: &Places,
    programs: &Programs,
    cells: Vec<Cell>,
    jobs: usize,
    capture: bool,
) -> Result<Vec<CellResult>, String> {
    let count = u16::try_from(cells.len()).map_err(|e| e.to_string())?;
    let ports = ports::reserve(2 * PORTS * count)?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, 16) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&cell) = cells.get(index) else { break };
                    let server =
                        ports + 2 * PORTS * u16::try_from(index).expect("fewer cells than ports");
                    let start = Instant::now();
                    let result = run(places, programs, cell, (server, server + PORTS), capture);
                    eprintln!("{}", progress(&result, start.elapsed()));
                    done.lock().expect("no panic while it is held").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic while it is held");
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

fn progress(result: &CellResult, time: Duration) -> String {
    let count = |wanted: fn(&Verdict) -> bool| {
        result.outcome.values().filter(|verdict| wanted(verdict)).count()
    };
    let failed = count(|v| matches!(v, Verdict::Fail(_)));
    let mut line = format!(
        "{:<5}{:<21}{:<11}{:>4} passed {:>3} n/a {:>3} failed  {:>4.1} s",
        if failed == 0 { "ok" } else { "FAIL" },
        result.cell.pair(),
        result.cell.column.name(),
        count(|v| *v == Verdict::Pass),
        count(|v| matches!(v, Verdict::NotApplicable(_))),
        failed,
        time.as_secs_f64(),
    );
    let mut unreported = 0;
    for (name, verdict) in &result.outcome {
        match verdict {
            Verdict::Fail(why) if why == UNREPORTED => unreported += 1,
            Verdict::Fail(why) => line += &format!("\n       {name}: {why}"),
            _ => {}
        }
    }
    if unreported > 0 {
        line += &format!("\n       {unreported} more: {UNREPORTED}");
    }
    line
}

fn run(
    places: &Places,
    programs: &Programs,
    cell: Cell,
    ports: (u16, u16),
    capture: bool,
) -> CellResult {
    let log = places.work.join(format!(
        "logs/{}-{}-{}",
        cell.client.name(),
        cell.server.name(),
        cell.column.name().replace('.', "_")
    ));
    let capture = capture && cell.has(Orb::Ox) && cell.column != Column::Unix;
    let (outcome, decoded) = match pair(programs, &cell, ports, &log, capture) {
        Ok((text, decoded)) => (outcome(&cell, &text), decoded),
        // The pair did not run: every check failed, and one of them has the reason.
        Err(why) => {
            let mut outcome = outcome(&cell, "");
            let first = outcome.values_mut().find(|verdict| matches!(verdict, Verdict::Fail(_)));
            if let Some(first) = first {
                *first = Verdict::Fail(why);
            }
            (outcome, None)
        }
    };
    CellResult { cell, outcome, decoded }
}

/// Runs the two programs; returns the output of the client.
fn pair(
    programs: &Programs,
    cell: &Cell,
    ports: (u16, u16),
    log: &Path,
    capture: bool,
) -> Result<(String, Option<Decoded>), String> {
    if let Some(directory) = log.parent() {
        std::fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    }
    let capture = capture.then(|| Capture::start(log, ports.0, ports.1)).transpose()?;
    let ior_file = log.with_extension("ior");
    let _ = std::fs::remove_file(&ior_file);

    let (program, mut args) = cell.server.command(programs, Side::Server, cell, ports.0);
    args.extend(["--ior-file".into(), ior_file.clone().into()]);
    let mut server = Running::start(&program, &args, &log.with_extension("server"))?;
    server.wait_until(START, |_| ior_file.exists()).map_err(|e| format!("the server {e}"))?;
    let ior =
        std::fs::read_to_string(&ior_file).map_err(|e| format!("{}: {e}", ior_file.display()))?;

    if (cell.server, cell.column) == (Orb::Ox, Column::Lanes) && !leads_to(&ior, ports.0 + 1) {
        return Err(format!("the reference leads to no lane: {ior}"));
    }

    let (program, mut args) = cell.client.command(programs, Side::Client, cell, ports.1);
    args.extend(client_args(cell, ior.trim())?);
    let mut client = Running::start(&program, &args, &log.with_extension("client"))?;
    let ended = client.wait(CHECKS);
    let mut text = client.output();
    match ended {
        Some(status) if matches!(status.code(), Some(0 | 1)) => {
            if server.wait(END).is_none() {
                text += "\nFAIL shutdown: the server is still running";
            }
        }
        Some(status) => text += &format!("\nFAIL client: ended with {status}: {}", client.errors()),
        None => {
            text += &format!(
                "\nFAIL client: still running after {} s: {}",
                CHECKS.as_secs(),
                client.errors()
            )
        }
    }
    drop(client);
    drop(server);
    let decoded = capture.map(|capture| capture.finish(cell, ports.0, ports.1)).transpose()?;
    Ok((text, decoded))
}

/// Reports whether a client without support for lanes connects to this port.
fn leads_to(ior: &str, port: u16) -> bool {
    corbaloc(ior, false).is_some_and(|url| url.contains(&format!(":{port}/")))
}

fn client_args(cell: &Cell, ior: &str) -> Result<Vec<OsString>, String> {
    let skipped: Vec<&str> =
        checks::names().filter(|name| checks::not_applicable(name, cell).is_some()).collect();
    let corbaloc = corbaloc(ior, cell.column == Column::Tls)
        .ok_or_else(|| format!("the server's reference has no address for a URL: {ior}"))?;
    let mut args: Vec<OsString> =
        vec!["--ior".into(), ior.into(), "--corbaloc".into(), corbaloc.into(), "--shutdown".into()];
    if !skipped.is_empty() {
        args.extend(["--skip".into(), skipped.join(",").into()]);
    }
    Ok(args)
}

/// Returns the verdict on every check, from the client's lines.
fn outcome(cell: &Cell, text: &str) -> Outcome {
    let mut said = BTreeMap::new();
    let mut beside = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("PASS ") {
            said.insert(name.trim(), Verdict::Pass);
        } else if let Some((name, why)) =
            line.strip_prefix("FAIL ").and_then(|rest| rest.split_once(": "))
        {
            if !checks::names().any(|known| known == name) {
                beside.push(format!("{name}: {why}"));
            }
            said.insert(name, Verdict::Fail(why.to_owned()));
        }
    }
    // Other failures (a crash, a server that does not end) are reported with the first missing check.
    let mut beside = beside.join("; ");
    let mut outcome: Outcome = checks::names()
        .map(|name| {
            let verdict = match checks::not_applicable(name, cell) {
                Some(reason) => Verdict::NotApplicable(reason),
                None => said.remove(name).unwrap_or_else(|| {
                    let why = std::mem::take(&mut beside);
                    Verdict::Fail(if why.is_empty() { UNREPORTED.to_owned() } else { why })
                }),
            };
            (name, verdict)
        })
        .collect();
    if !beside.is_empty() {
        outcome.insert("parallel", Verdict::Fail(beside));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_fails() {
        let cell = Cell { client: Orb::Omni, server: Orb::Jac, column: Column::Giop10 };
        let outcome = outcome(
            &cell,
            "PASS long\nFAIL short: expected 1, got 2\nFAIL shutdown: the server is still running\n",
        );
        assert_eq!(outcome["long"], Verdict::Pass);
        assert_eq!(outcome["short"], Verdict::Fail("expected 1, got 2".to_owned()));
        assert_eq!(
            outcome["boolean"],
            Verdict::Fail("shutdown: the server is still running".to_owned())
        );
        assert_eq!(outcome["octet"], Verdict::Fail(UNREPORTED.to_owned()));
        assert!(matches!(outcome["wchar"], Verdict::NotApplicable(_)));
    }

    #[test]
    fn a_failure_beside_the_checks_is_not_lost() {
        let cell = Cell { client: Orb::Omni, server: Orb::Omni, column: Column::Giop12 };
        let mut text: String = checks::names().map(|name| format!("PASS {name}\n")).collect();
        assert!(outcome(&cell, &text).values().all(|v| !matches!(v, Verdict::Fail(_))));
        text += "FAIL shutdown: the server is still running";
        assert!(outcome(&cell, &text).values().any(|v| matches!(v, Verdict::Fail(_))));
    }
}
