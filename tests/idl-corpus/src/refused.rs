//! Files that are invalid IDL, however widespread: exactly those of `refused.tsv`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::generate::Outcome;
use crate::report::Report;
use crate::sources::Source;

/// Line of the list.
struct Known<'t> {
    source: &'t str,
    file: &'t str,
    codes: Vec<&'t str>,
    omniidl: &'t str,
}

/// Compares the list with the rejected files, and its verdicts of omniidl with omniidl.
pub(crate) fn verify(
    root: &Path,
    sources: &[Source],
    outcomes: &[Vec<Outcome>],
    report: &mut Report,
) -> Result<(), String> {
    let path = root.join("tests/idl-corpus/refused.tsv");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let known = parse(&text)?;
    for (source, outcomes) in sources.iter().zip(outcomes) {
        for (file, outcome) in source.files.iter().zip(outcomes) {
            let name = source.name_of(file);
            let listed =
                known.iter().find(|known| known.source == source.name && known.file == name);
            match (outcome, listed) {
                (Outcome::Rust { .. }, None) => {}
                (Outcome::Rust { .. }, Some(_)) => report.complain(format!(
                    "{name} compiles now: take it out of tests/idl-corpus/refused.tsv"
                )),
                (Outcome::Refused { message, .. }, None) => {
                    let theirs = omniidl(source, file)?;
                    report.complain(format!("{name} is refused (omniidl: {theirs})\n{message}"));
                }
                (Outcome::Refused { codes, message }, Some(listed)) => {
                    if !codes.iter().eq(&listed.codes) {
                        report.complain(format!(
                            "{name} is refused for other reasons than refused.tsv says\n{message}"
                        ));
                    }
                    let theirs = omniidl(source, file)?;
                    if theirs != listed.omniidl {
                        report.complain(format!(
                            "{name}: refused.tsv says omniidl {}, but it {theirs}",
                            listed.omniidl
                        ));
                    }
                }
            }
        }
        for listed in known.iter().filter(|known| known.source == source.name) {
            if !source.files.iter().any(|file| source.name_of(file) == listed.file) {
                report.complain(format!("refused.tsv lists {}, which does not exist", listed.file));
            }
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<Known<'_>>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [source, file, codes, omniidl, _why] => {
                Ok(Known { source, file, codes: codes.split(' ').collect(), omniidl })
            }
            _ => Err(format!("refused.tsv: five columns are needed: {line}")),
        })
        .collect()
}

/// Returns omniidl's verdict on a file: `refuses` or `accepts`.
fn omniidl(source: &Source, file: &Path) -> Result<&'static str, String> {
    let includes = source.include.iter().map(|folder| format!("-I{}", folder.display()));
    let status = Command::new("omniidl")
        .arg("-bdump")
        .args(includes)
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| {
            format!("omniidl: {error} (tests/interop/install-peers.sh installs the peers)")
        })?;
    Ok(match status.success() {
        true => "accepts",
        false => "refuses",
    })
}
