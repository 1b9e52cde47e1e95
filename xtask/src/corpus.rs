//! `cargo xtask idl-corpus`: runs the package `oxorb-idl-corpus`, as xtask itself must not depend on the compilation of
//! other packages.

use std::process::Command;

/// Builds and runs the package.
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
