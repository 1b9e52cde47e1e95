//! Result as a table, as INTEROP.md and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::CellResult;
use super::checks::{self, GROUPS};
use super::matrix::{Cell, Column};
use super::run::Verdict;

/// Returns the failures: failed checks, malformed messages, nothing decoded.
pub(super) fn complaints(results: &[CellResult]) -> Vec<String> {
    let mut complaints = Vec::new();
    for result in results {
        let failed = count(result, |v| matches!(v, Verdict::Fail(_)));
        if failed > 0 {
            complaints.push(format!(
                "{} {}: {failed} checks failed",
                result.cell.pair(),
                result.cell.column.name()
            ));
        }
        if let Some(decoded) = &result.decoded {
            if decoded.total() == 0 {
                complaints.push(format!(
                    "{} {}: tshark decoded nothing",
                    result.cell.pair(),
                    result.cell.column.name()
                ));
            }
            for frame in &decoded.malformed {
                complaints.push(format!(
                    "{} {}: malformed: {frame}",
                    result.cell.pair(),
                    result.cell.column.name()
                ));
            }
        }
    }
    complaints
}

/// Returns the matrix and the count of decoded messages, for a terminal.
pub(super) fn table(results: &[CellResult]) -> String {
    let mut out = format!("\n{:<21}", "client -> server");
    for column in Column::ALL {
        let _ = write!(out, "{:>16}", heading(column));
    }
    out.push('\n');
    for pair in pairs(results) {
        let _ = write!(out, "{pair:<21}");
        for column in Column::ALL {
            let text = find(results, &pair, column).map_or(String::new(), summary);
            let _ = write!(out, "{text:>16}");
        }
        out.push('\n');
    }
    let messages = decoded_messages(results);
    if !messages.is_empty() {
        let malformed: usize =
            results.iter().filter_map(|r| r.decoded.as_ref()).map(|d| d.malformed.len()).sum();
        let _ = writeln!(out, "\nSent by OxORB and decoded by tshark ({malformed} malformed):");
        for (kind, count) in messages {
            let _ = writeln!(out, "  {kind:<16}{count:>9}");
        }
    }
    out
}

/// Limitations without a rule, because there is a workaround (observed with omniORB 4.2.5 and JacORB 3.9).
const WORKED_ROUND: &str = "\
## Limitations of the peers, and workarounds in the checks

- JacORB's helper of a sequence of a recursive struct (`TreesHelper`) has a type code that only names the struct. Each
  use raises BAD_INV_ORDER. The Java programs create the type code of `Trees` from that of `Tree`.
- JacORB's DynAny returns copies of components, except of numbers and strings, so changes to these copies are lost. The
  Java programs set all members at once (`set_members_as_dyn_any`).
- omniORB encodes an Object in an any with the type of its interface (`IDL:interop.oxorb.org/Interop/Node:1.0`), not
  with that of Object. OxORB extracts every reference as an Object.
- omniORB's copy of a `fixed` member has no limits, and sending the copy fails an assertion (corbaFixed.cc). The C++
  programs assign the value.
- omniORB's code of a valuetype with an array of valuetypes as a member does not compile. In the checks, the array is in
  a struct.
- JacORB's skeletons read an inout bounded wstring as a narrow string, and an inout box as its content. No check uses
  either.
- On x86, omniORB sends the ten octets of its long double, not IEEE binary128. `LongDouble::from_x87` reads them.
- LOCATION_FORWARD was reported to end in INTERNAL in one Java ORB. The available ones do not have this defect: stubs as
  `idlj` generates them, and requests of the DII, follow it to the object, as the clients of JacORB and omniORB do. This
  was tested with GlassFish's ORB 4.2.5 and JBoss's copy (8.1.4) of the JDK's ORB, both on JDK 17.
- Both compilers report a syntax error for a union with a discriminator of type wchar or octet. No check uses one.

";

/// Returns INTEROP.md, independent of machine and time.
pub(super) fn markdown(results: &[CellResult]) -> String {
    let mut out = String::from(
        "# Interoperability

Written by `cargo xtask interop --write`; do not edit. (`tests/interop/install-peers.sh` installs the peers.)
OxORB, omniORB 4.2.5 (C++) and JacORB 3.9 (Java) each have a server and a client for the same IDL
(`tests/interop/interop.idl`). A client runs every check by name against any server. A check that cannot apply is
listed with its reason, and one that a client does not report counts as failed.

Each column is a run of all pairs over TCP, except as stated:

| column | GIOP | difference from the usual run |
|---|---|---|
| 1.0, 1.1, 1.2 | as named, at most, on both sides | |
| utf-8 | 1.2 | the native code set of the peers is UTF-8 instead of ISO 8859-1 |
| latin-1 | 1.2 | the native code set of OxORB is ISO 8859-1 (`-ORBNativeCharCodeSet`) instead of UTF-8 |
| big-endian | 1.2 | OxORB sends big-endian, as JacORB always does. Otherwise it sends little-endian, as omniORB does |
| fragments | 1.2 | OxORB splits every message above 1 KiB. omniORB splits at 8 KiB in every column except 1.0, and JacORB never splits. omniORB names objects by profile and by whole reference instead of by key |
| strategies | 1.2 | OxORB uses private connections and leader/followers instead of cached connections and a thread for each connection. It sends a priority (RTCorbaPriority) and RIOP with every request, which the peers ignore. omniORB names objects as in *fragments*, and all threads of its client use one connection, as JacORB's always do. JacORB marks the byte order of wide characters |
| lanes | 1.2 | the objects of OxORB, servants and callbacks, are in a threadpool with two lanes, with CLIENT_PROPAGATED and bands or with SERVER_DECLARED. Their references contain TAG_POLICIES and TAO_TAG_ENDPOINTS, and lead to the ports of lanes, which the peers call without a priority. All threads of omniORB's client use one connection |
| bidirectional | 1.2 | callbacks use the connection that the client opened. The references of the client name a host that does not exist, except those of JacORB, whose offer always names the address at which it listens |
| unix | 1.2 | UNIX sockets instead of TCP, which both sides refuse. JacORB has none. omniORB finds the socket by a component of the IIOP profile, and OxORB by this component or by TAO's UIOP profile |
| tls | 1.2 | TLS 1.3. Both sides show certificates of one authority, no plain port is open, and URLs are those of `ssliop:` |
| s390x | 1.2 | OxORB is built for a big-endian processor of 64 bits, and runs in qemu's emulation of a process |

## Every pair

| client → server |",
    );
    for column in Column::ALL {
        let _ = write!(out, " {} |", heading(column));
    }
    out += "\n|---|";
    out += &"---|".repeat(Column::ALL.len());
    out.push('\n');
    for pair in pairs(results) {
        let _ = write!(out, "| {} |", pair.replace("->", "→"));
        for column in Column::ALL {
            let text = find(results, &pair, column).map_or("–".to_owned(), summary);
            let _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
    out += "\n## Every check\n\nPairs and columns in which it passed, of those in which it applies; letters refer to the reasons below.\n";
    let mut reasons: Vec<&'static str> = Vec::new();
    for (group, names) in GROUPS {
        let _ =
            write!(out, "\n**{group}**\n\n| check | passed | not applicable |\n|---|---|---|\n");
        for name in *names {
            let mut absent = BTreeMap::<usize, usize>::new();
            for reason in results.iter().filter_map(|r| checks::not_applicable(name, &r.cell)) {
                let index =
                    reasons.iter().position(|known| *known == reason).unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                *absent.entry(index).or_default() += 1;
            }
            let applies = results.len() - absent.values().sum::<usize>();
            let passed =
                results.iter().filter(|r| r.outcome.get(name) == Some(&Verdict::Pass)).count();
            let absent: Vec<String> = absent
                .iter()
                .map(|(reason, times)| format!("{times} {}", letter(*reason)))
                .collect();
            let _ = writeln!(out, "| {name} | {passed} of {applies} | {} |", absent.join(", "));
        }
    }
    out += "\n## Reasons why checks do not apply\n\n";
    for (index, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "- **{}**: {reason}", letter(index));
    }
    out.push('\n');
    out += WORKED_ROUND;
    let over_tls = |r: &&CellResult| r.cell.column == Column::Tls;
    let captured = results.iter().filter(|r| r.decoded.is_some());
    let (captured, encrypted) = (captured.clone().count(), captured.filter(over_tls).count());
    if captured > 0 {
        let malformed: usize =
            results.iter().filter_map(|r| r.decoded.as_ref()).map(|d| d.malformed.len()).sum();
        let kinds: Vec<&str> = decoded_messages(results).into_keys().collect();
        let _ = write!(
            out,
            "## Messages decoded by tshark\n\nThe GIOP dissector of tshark decodes every message that OxORB sends in {} runs; \
             {malformed} malformed.\nTypes seen: {}.\n",
            captured - encrypted,
            kinds.join(", ")
        );
        if encrypted > 0 {
            let _ = writeln!(
                out,
                "In the {encrypted} runs over TLS, tshark finds well-formed TLS records, and no GIOP message outside \
                 them."
            );
        }
    }
    out
}

/// Returns the results as an array.
pub(super) fn json(results: &[CellResult]) -> serde_json::Value {
    let cells: Vec<_> = results
        .iter()
        .map(|result| {
            let checks: BTreeMap<_, _> = result
                .outcome
                .iter()
                .map(|(name, verdict)| {
                    let (verdict, why) = match verdict {
                        Verdict::Pass => ("pass", None),
                        Verdict::Fail(why) => ("fail", Some(why.as_str())),
                        Verdict::NotApplicable(why) => ("n/a", Some(*why)),
                    };
                    (name, serde_json::json!({ "verdict": verdict, "why": why }))
                })
                .collect();
            let Cell { client, server, column } = result.cell;
            let decoded = result.decoded.as_ref().map(|d| serde_json::json!({ "messages": d.messages, "malformed": d.malformed }));
            serde_json::json!({
                "client": client.name(), "server": server.name(), "column": column.name(), "checks": checks, "decoded": decoded,
            })
        })
        .collect();
    serde_json::Value::Array(cells)
}

fn heading(column: Column) -> String {
    match column {
        Column::Giop10 | Column::Giop11 | Column::Giop12 => format!("GIOP {}", column.name()),
        _ => column.name().to_owned(),
    }
}

/// Returns "101 ok, 4 n/a".
fn summary(result: &CellResult) -> String {
    let passed = count(result, |v| *v == Verdict::Pass);
    let absent = count(result, |v| matches!(v, Verdict::NotApplicable(_)));
    match count(result, |v| matches!(v, Verdict::Fail(_))) {
        0 => format!("{passed} ok, {absent} n/a"),
        failed => format!("{failed} FAIL, {passed} ok"),
    }
}

fn count(result: &CellResult, wanted: fn(&Verdict) -> bool) -> usize {
    result.outcome.values().filter(|verdict| wanted(verdict)).count()
}

fn pairs(results: &[CellResult]) -> Vec<String> {
    let mut pairs: Vec<String> = results.iter().map(|result| result.cell.pair()).collect();
    pairs.dedup();
    pairs
}

fn find<'a>(results: &'a [CellResult], pair: &str, column: Column) -> Option<&'a CellResult> {
    results.iter().find(|result| result.cell.pair() == pair && result.cell.column == column)
}

/// Returns the numbers of GIOP messages by type, without TLS records.
fn decoded_messages(results: &[CellResult]) -> BTreeMap<&'static str, u64> {
    let mut sum = BTreeMap::new();
    for (kind, count) in results
        .iter()
        .filter(|r| r.cell.column != Column::Tls)
        .filter_map(|r| r.decoded.as_ref())
        .flat_map(|d| &d.messages)
    {
        *sum.entry(*kind).or_default() += count;
    }
    sum
}

/// Returns a, b, ... z, aa, ab, ...
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        before => letter(before - 1) + &last.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_do_not_run_out() {
        assert_eq!([0, 25, 26, 53].map(letter), ["a", "z", "aa", "bb"].map(str::to_owned));
    }
}
