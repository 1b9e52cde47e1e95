//! `cargo xtask idl-corpus`: the work is that of the package `oxorb-idl-corpus`, for a chore must run when nothing else
//! compiles.

use std::process::Command;

/// Builds and runs it.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--locked", "--package", "oxorb-idl-corpus", "--"])
        .args(args)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("the IDL corpus is not in order".to_owned()),
    }
}
