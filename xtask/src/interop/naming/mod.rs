//! Name servers: each ORB's client, and the tools delivered with it, against each ORB's server.
//!
//! The three servers run simultaneously, so that names of one server can refer to contexts of another.

mod checks;
mod report;
mod server;
mod tools;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::Places;
use super::build::Programs;
use super::orb::Orb;
use super::process::Running;
use super::run::Verdict;
use server::Server;

pub(super) use report::{HEADING, complaints, json, markdown};

/// Program that calls name servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Client {
    /// Client program of an ORB, which runs every check.
    Orb(Orb),
    /// Tool delivered with an ORB, which counts as a single check.
    Tool(&'static str),
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Self::Orb(orb) => orb.name(),
            Self::Tool(name) => name,
        }
    }
}

/// Client with its server.
pub(super) struct Pair {
    client: Client,
    server: Orb,
    outcome: BTreeMap<&'static str, Verdict>,
}

const CHECKS: Duration = Duration::from_secs(120);

/// Runs every client against every server.
pub(super) fn all(places: &Places, programs: &Programs, orbs: &[Orb]) -> Result<Vec<Pair>, String> {
    let work = places.work.join("naming");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let servers: Vec<Server> =
        orbs.iter().map(|orb| Server::start(*orb, programs, &work)).collect::<Result<_, _>>()?;
    let mut pairs = Vec::new();
    let mut add = |pair: Pair| {
        eprintln!("{}", report::line(&pair));
        pairs.push(pair);
    };
    for &client in orbs {
        for (index, server) in servers.iter().enumerate() {
            let other = &servers[(index + 1) % servers.len()];
            add(Pair {
                client: Client::Orb(client),
                server: server.orb,
                outcome: client_checks(client, server, other, programs, &work),
            });
        }
    }
    for (orb, tool) in tools::TOOLS {
        if orbs.contains(&orb) {
            for server in &servers {
                let verdict = tools::run(tool, programs, &server.url);
                let verdict = verdict.map_or_else(Verdict::Fail, |()| Verdict::Pass);
                add(Pair {
                    client: Client::Tool(tool),
                    server: server.orb,
                    outcome: BTreeMap::from([(tool, verdict)]),
                });
            }
        }
    }
    Ok(pairs)
}

/// Runs the checks of one ORB's client.
fn client_checks(
    client: Orb,
    server: &Server,
    other: &Server,
    programs: &Programs,
    work: &Path,
) -> BTreeMap<&'static str, Verdict> {
    let skipped: Vec<&str> = checks::NAMES
        .iter()
        .copied()
        .filter(|name| checks::not_applicable(name, server.orb).is_some())
        .collect();
    let mut args: Vec<OsString> = Vec::new();
    let command: OsString = match client {
        Orb::Ox => {
            args.extend(["-ORBInitRef".into(), format!("NameService={}", server.url).into()]);
            programs.oxorb.join("interop-naming").into()
        }
        Orb::Omni => {
            args.extend(["-ORBInitRef".into(), format!("NameService={}", server.url).into()]);
            programs.omniorb.join("interop-naming").into()
        }
        Orb::Jac => {
            args.extend(["-cp".into(), programs.java_class_path.clone()]);
            args.extend([
                "-XX:TieredStopAtLevel=1".into(),
                "-Dfile.encoding=UTF-8".into(),
                "peers.Naming".into(),
            ]);
            "java".into()
        }
    };
    args.extend(["--url".into(), server.url.clone().into()]);
    args.extend(["--other".into(), other.url.clone().into()]);
    if !skipped.is_empty() {
        args.extend(["--skip".into(), skipped.join(",").into()]);
    }
    let log = work.join(format!("{}-{}", client.name(), server.orb.name()));
    let text = match Running::start(&command, &args, &log) {
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
    outcome(server.orb, &text)
}

/// Returns the verdict on every check, from the client's lines.
fn outcome(server: Orb, text: &str) -> BTreeMap<&'static str, Verdict> {
    let mut said = BTreeMap::new();
    let mut crash = "not reported by the client".to_owned();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("PASS ") {
            said.insert(name.trim(), Verdict::Pass);
        } else if let Some((name, why)) =
            line.strip_prefix("FAIL ").and_then(|rest| rest.split_once(": "))
        {
            if name == "client" {
                crash = why.to_owned();
            }
            said.insert(name, Verdict::Fail(why.to_owned()));
        }
    }
    let verdicts = checks::NAMES.iter().map(|name| {
        let verdict = match checks::not_applicable(name, server) {
            Some(reason) => Verdict::NotApplicable(reason),
            None => said.remove(name).unwrap_or_else(|| Verdict::Fail(crash.clone())),
        };
        (*name, verdict)
    });
    verdicts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_fails_with_the_crash() {
        let text = "PASS list\nFAIL iterator: expected two\nFAIL client: it ended";
        let outcome = outcome(Orb::Ox, text);
        assert_eq!(outcome["list"], Verdict::Pass);
        assert_eq!(outcome["iterator"], Verdict::Fail("expected two".to_owned()));
        assert_eq!(outcome["rebind"], Verdict::Fail("it ended".to_owned()));
    }
}
