//! Building of other ORBs' programs next to this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// Returns the folder of this name next to this program, with the programs that `make` builds there from `sources`,
/// unless they were built before.
pub(super) fn build(
    name: &str,
    sources: &[(&str, &str)],
    make: impl FnOnce(&Path) -> Result,
) -> Result<PathBuf> {
    let directory = std::env::current_exe()?
        .parent()
        .expect("a program lies in a directory")
        .join("oxbench-peers")
        .join(name);
    let stamp = directory.join("built");
    let wanted: String = sources.iter().map(|(_, text)| *text).collect();
    if fs::read_to_string(&stamp).is_ok_and(|built| built == wanted) {
        return Ok(directory);
    }
    fs::create_dir_all(&directory)?;
    for (name, text) in sources {
        fs::write(directory.join(name), text)?;
    }
    make(&directory)?;
    fs::write(stamp, wanted)?;
    Ok(directory)
}

/// Runs a tool in a folder; `hint` names the requirements.
pub(super) fn run(directory: &Path, program: &str, arguments: &[&str], hint: &str) -> Result {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|error| format!("cannot run {program} ({error}); it takes {hint}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{program} failed on another ORB's side of the benchmark:\n{complaint}"
        )
        .into());
    }
    Ok(())
}
