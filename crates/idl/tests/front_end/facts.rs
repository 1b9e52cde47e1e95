//! Every established rule of the language, with probes that follow or break it: `tests/idl-ui/facts/*.idl`.
//!
//! A probe is a few lines of IDL below a heading `//# verdict case`. The verdict is `ok` (no diagnostic) or the code of
//! the only diagnostic, so that a probe which breaks a second rule by accident fails here. The full messages are in
//! `*.result` next to it.

use crate::golden::{cases, golden, options_of, root};
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Report, compile_from};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Number of kinds of illegal IDL in the list of section 5.
const ROWS: u32 = 27;

struct Probe {
    verdict: String,
    case: String,
    idl: String,
}

#[test]
fn every_probe_gets_its_verdict_and_nothing_else() {
    golden("facts", |file, _| {
        let mut said = String::new();
        let mut wrong = Vec::new();
        for probe in probes(file) {
            let report = report(&probe);
            let codes: Vec<_> =
                report.diagnostics.iter().map(|found| found.problem.code().0).collect();
            if codes.join(" ") != probe.verdict.replace("ok", "") {
                wrong.push(format!(
                    "{codes:?} instead of {}: {}\n{}",
                    probe.verdict,
                    probe.idl,
                    report.text(false)
                ));
            }
            if probe.verdict != "ok" {
                said += &format!("//# {} {}\n", probe.verdict, probe.case);
                said += report.text(false).trim_start();
            }
        }
        match wrong.is_empty() {
            true => Ok(said),
            false => Err(wrong.join("\n")),
        }
    });
}

/// Each case has one diagnostic: no two cases share a code.
#[test]
fn every_case_has_a_code_of_its_own() {
    let mut code_of = BTreeMap::new();
    let mut case_of = BTreeMap::new();
    for probe in cases("facts").iter().flat_map(|file| probes(file)) {
        if probe.verdict == "ok" {
            continue;
        }
        let (code, case) = (probe.verdict, probe.case);
        let other = code_of.entry(case.clone()).or_insert_with(|| code.clone());
        assert_eq!(*other, code, "two codes for the case {case:?}");
        let other = case_of.entry(code.clone()).or_insert_with(|| case.clone());
        assert_eq!(*other, case, "two cases with the code {code}");
    }
}

#[test]
fn every_row_of_the_list_has_probes() {
    let shown: BTreeSet<u32> = cases("facts")
        .iter()
        .filter_map(|file| file.file_name()?.to_str()?.strip_prefix("05.")?.get(..2)?.parse().ok())
        .collect();
    assert!(shown.into_iter().eq(1..=ROWS));
}

fn probes(file: &Path) -> Vec<Probe> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let mut parts = text.split("//# ");
    let before = parts.next().unwrap_or_default();
    assert!(before.is_empty(), "{file:?}: {before:?} belongs to no probe");
    parts
        .map(|part| {
            let (heading, idl) = part.split_once('\n').unwrap();
            let (verdict, case) = heading.split_once(' ').unwrap();
            Probe { verdict: verdict.into(), case: case.into(), idl: idl.into() }
        })
        .collect()
}

fn report(probe: &Probe) -> Report {
    let files = Memory([("a.idl".into(), probe.idl.as_bytes().to_vec())].into());
    match compile_from(SourceMap::new(files), &["a.idl"], &options_of(&probe.idl)) {
        Ok(compiled) => compiled.report,
        Err(failed) => failed.report,
    }
}
