//! Cures applied temporarily, and reverted afterwards.
//!
//! The state before the changes is written to a record first, so that another run of the doctor can undo the changes of
//! a run that was killed.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Report;
use super::change::Change;
use super::finding::Verdict;
use super::host::Host;
use oxorb_terminal::output::{Failed, because};

/// Number of passes over the host, because one change may make another one necessary.
const ROUNDS: usize = 3;

/// Maximum number of octets to read from a record.
const MOST: u64 = 16 << 20;

/// Step that was made or is about to be made.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Made {
    change: Change,
    before: String,
}

/// Record file of the previous state.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Record {
    made: Vec<Made>,
}

/// Change that was not made or reverted, or finding that was not remedied.
#[derive(Debug, serde::Serialize)]
pub(super) struct Left {
    /// Finding or step.
    pub(super) what: String,
    pub(super) why: String,
}

/// Applied changes.
#[derive(Debug, serde::Serialize)]
pub(super) struct Applied {
    pub(super) made: Vec<String>,
    pub(super) left: Vec<Left>,
    pub(super) record: PathBuf,
}

/// Reverted changes.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct Undone {
    pub(super) undone: Vec<String>,
    pub(super) left: Vec<Left>,
}

/// Applies the permitted changes of all findings.
///
/// # Errors
/// The record of another doctor exists, or the record cannot be written; nothing is changed then.
pub(super) fn apply(host: &Host, record: &Path) -> Result<Applied, Failed> {
    begin(record)?;
    let mut kept = Record::default();
    let mut applied = Applied { made: Vec::new(), left: Vec::new(), record: record.to_owned() };
    let mut tried = BTreeSet::new();
    for _ in 0..ROUNDS {
        let report = Report::of(host);
        let changes = report.findings.iter().flat_map(|it| &it.changes);
        let fresh: Vec<Change> =
            changes.filter(|change| tried.insert(change.to_string())).cloned().collect();
        if fresh.is_empty() {
            break;
        }
        for change in fresh {
            let what = change.to_string();
            match step(host, record, &mut kept, change) {
                Ok(true) => applied.made.push(what),
                Ok(false) => {}
                Err(error) => applied.left.push(Left { what, why: error.to_string() }),
            }
        }
    }
    for finding in Report::of(host).findings {
        if finding.verdict != Verdict::Good && finding.changes.is_empty() {
            applied.left.push(Left { what: finding.name.to_owned(), why: finding.left.to_owned() });
        }
    }
    Ok(applied)
}

/// Records one step, then makes it. Returns false if the host is already as wanted.
fn step(host: &Host, record: &Path, kept: &mut Record, change: Change) -> io::Result<bool> {
    let before = change.now(host)?;
    if change.is_made(&before) {
        return Ok(false);
    }
    kept.made.push(Made { change: change.clone(), before: before.clone() });
    save(record, kept)?;
    let made = change.make(host).and_then(|()| change.now(host));
    match made {
        Ok(now) if change.is_made(&now) => Ok(true),
        Ok(now) => {
            if now != before {
                let _ = change.take_back(host, &before);
            }
            kept.made.pop();
            save(record, kept)?;
            Err(io::Error::other(format!("the kernel did not change the value {now}")))
        }
        Err(error) => {
            kept.made.pop();
            save(record, kept)?;
            Err(error)
        }
    }
}

/// Reverts the recorded changes, the last one first. Settings that something else has changed in the meantime are not
/// touched.
///
/// # Errors
/// The record does not exist or cannot be read.
pub(super) fn undo(host: &Host, record: &Path) -> Result<Undone, Failed> {
    let mut kept = load(record)?;
    let mut undone = Undone::default();
    let mut remain = Vec::new();
    while let Some(made) = kept.made.pop() {
        let Made { change, before } = &made;
        let what = change.to_string();
        match change.now(host) {
            Ok(now) if now == *before => {}
            Ok(now) if !change.is_made(&now) => undone.left.push(Left {
                what,
                why: format!("the value was changed to {now} in the meantime"),
            }),
            Ok(_) => match change.take_back(host, before) {
                Ok(()) => undone.undone.push(what),
                Err(error) => {
                    undone.left.push(Left { what, why: error.to_string() });
                    remain.push(made);
                }
            },
            // Threads and devices may no longer exist, and then there is nothing to revert.
            Err(error) if is_gone(&error) => {}
            Err(error) => {
                undone.left.push(Left { what, why: error.to_string() });
                remain.push(made);
            }
        }
    }
    let ended = if remain.is_empty() {
        fs::remove_file(record)
    } else {
        remain.reverse();
        save(record, &Record { made: remain })
    };
    ended.map_err(|error| because(format!("{}: {error}", record.display())))?;
    Ok(undone)
}

fn is_gone(error: &io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

/// Creates an empty record, unless one exists.
fn begin(record: &Path) -> Result<(), Failed> {
    if let Some(folder) = record.parent() {
        // If the folder cannot be created, opening the record fails and reports the reason.
        let _ = fs::create_dir_all(folder);
    }
    let made = OpenOptions::new().write(true).create_new(true).open(record);
    let mut file = made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => because(format!(
            "{} records changes of another doctor on this host: wait until that command ends, or undo its changes with \
             `oxorb doctor --undo`",
            record.display()
        )),
        _ => because(format!(
            "{}: {error}; nothing is changed without a record (--record FILE names another file)",
            record.display()
        )),
    })?;
    file.write_all(b"{\"made\":[]}")
        .map_err(|error| because(format!("{}: {error}", record.display())))
}

/// Replaces the record atomically: a complete one exists at any time.
fn save(record: &Path, kept: &Record) -> io::Result<()> {
    let beside = record.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec_pretty(kept)?)?;
    file.sync_all()?;
    fs::rename(&beside, record)
}

fn load(record: &Path) -> Result<Record, Failed> {
    use io::Read as _;
    let named = |error: &dyn std::fmt::Display| because(format!("{}: {error}", record.display()));
    let file = File::open(record).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => because(format!(
            "{} does not exist: there are no changes to undo (--record FILE names another file)",
            record.display()
        )),
        _ => named(&error),
    })?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(|error| named(&error))?;
    serde_json::from_str(&text).map_err(|error| named(&error))
}
