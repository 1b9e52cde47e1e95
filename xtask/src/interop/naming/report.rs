//! Naming part of INTEROP.md, and its printed form.

use std::fmt::Write as _;

use super::{Client, Pair, checks};
use crate::interop::orb::Orb;
use crate::interop::run::Verdict;

/// Heading of the part, which is the last one.
pub(in crate::interop) const HEADING: &str = "\n## Name servers\n";

/// Returns one line for a pair.
pub(super) fn line(pair: &Pair) -> String {
    let mut line =
        format!("{:<12} -> {:<8} {}", pair.client.name(), server(pair.server), summary(pair));
    for (name, verdict) in &pair.outcome {
        if let Verdict::Fail(why) = verdict {
            let _ = write!(line, "\n       {name}: {why}");
        }
    }
    line
}

/// Returns the failures that must be fixed.
pub(in crate::interop) fn complaints(pairs: &[Pair]) -> Vec<String> {
    let mut complaints = Vec::new();
    for pair in pairs {
        for (name, verdict) in &pair.outcome {
            if let Verdict::Fail(why) = verdict {
                let (client, server) = (pair.client.name(), server(pair.server));
                complaints.push(format!("{client} -> {server}: {name}: {why}"));
            }
        }
    }
    complaints
}

/// Returns the part of INTEROP.md, independent of machine and time.
pub(in crate::interop) fn markdown(pairs: &[Pair]) -> String {
    let mut out = format!(
        "{HEADING}
The name servers of OxORB (`oxorb name serve`), omniORB (`omniNames`) and JacORB (`ns`), each called by the client of
each ORB and by the command-line tools. *other_server* binds the root context of the next server in the row, and
resolves names through it.

| client → name server |"
    );
    let mut servers: Vec<Orb> = Vec::new();
    let mut clients: Vec<Client> = Vec::new();
    for pair in pairs {
        if !servers.contains(&pair.server) {
            servers.push(pair.server);
        }
        if !clients.contains(&pair.client) {
            clients.push(pair.client);
        }
    }
    for orb in &servers {
        let _ = write!(out, " {} |", server(*orb));
    }
    out += "\n|---|";
    out += &"---|".repeat(servers.len());
    out.push('\n');
    for client in clients {
        let _ = match client {
            Client::Orb(orb) => write!(out, "| {} |", orb.name()),
            Client::Tool(tool) => write!(out, "| `{tool}` |"),
        };
        for orb in &servers {
            let found = pairs.iter().find(|pair| pair.client == client && pair.server == *orb);
            let text = found.map_or_else(|| "–".to_owned(), summary);
            let _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
    out += "\n| check | passed | not applicable |\n|---|---|---|\n";
    let mut reasons: Vec<&'static str> = Vec::new();
    for name in checks::NAMES {
        let verdicts = pairs.iter().filter_map(|pair| pair.outcome.get(name));
        let (mut passed, mut applies, mut absent) = (0, 0, Vec::new());
        for verdict in verdicts {
            match verdict {
                Verdict::Pass => (passed, applies) = (passed + 1, applies + 1),
                Verdict::Fail(_) => applies += 1,
                Verdict::NotApplicable(why) => {
                    let index = reasons.iter().position(|known| known == why);
                    let index = index.unwrap_or_else(|| {
                        reasons.push(why);
                        reasons.len() - 1
                    });
                    match absent.iter_mut().find(|(known, _)| *known == index) {
                        Some((_, times)) => *times += 1,
                        None => absent.push((index, 1)),
                    }
                }
            }
        }
        let absent: Vec<String> = absent
            .iter()
            .map(|(index, times)| format!("{times} {}", index + 1))
            .map(|text| text.replacen(' ', " × (", 1) + ")")
            .collect();
        let _ = writeln!(out, "| {name} | {passed} of {applies} | {} |", absent.join(", "));
    }
    if !reasons.is_empty() {
        out.push('\n');
    }
    for (index, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "- ({}) {reason}", index + 1);
    }
    out
}

/// Returns the results as an array.
pub(in crate::interop) fn json(pairs: &[Pair]) -> serde_json::Value {
    let pairs = pairs.iter().map(|pair| {
        let checks: serde_json::Map<_, _> = pair
            .outcome
            .iter()
            .map(|(name, verdict)| {
                let (verdict, why) = match verdict {
                    Verdict::Pass => ("pass", None),
                    Verdict::Fail(why) => ("fail", Some(why.as_str())),
                    Verdict::NotApplicable(why) => ("n/a", Some(*why)),
                };
                let row = serde_json::json!({ "verdict": verdict, "why": why });
                ((*name).to_owned(), row)
            })
            .collect();
        serde_json::json!({
            "client": pair.client.name(),
            "name_server": server(pair.server),
            "checks": checks,
        })
    });
    pairs.collect()
}

fn server(orb: Orb) -> &'static str {
    match orb {
        Orb::Ox => "OxORB",
        Orb::Omni => "omniNames",
        Orb::Jac => "JacORB",
    }
}

fn summary(pair: &Pair) -> String {
    let count = |wanted: fn(&Verdict) -> bool| pair.outcome.values().filter(|v| wanted(v)).count();
    let passed = count(|v| *v == Verdict::Pass);
    let absent = count(|v| matches!(v, Verdict::NotApplicable(_)));
    match (count(|v| matches!(v, Verdict::Fail(_))), absent) {
        (0, _) if matches!(pair.client, Client::Tool(_)) => "ok".to_owned(),
        (0, 0) => format!("{passed} ok"),
        (0, absent) => format!("{passed} ok, {absent} n/a"),
        (failed, _) => format!("{failed} FAIL, {passed} ok"),
    }
}
