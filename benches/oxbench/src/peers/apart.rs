//! iceoryx2: a program of a workspace of its own, built when somebody asks for it.

use std::path::PathBuf;

use crate::Result;

/// Path of the program, built as its workspace says.
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../peers/target/release/oxbench-iceoryx2"
);

/// Names the program where it lies elsewhere.
const VARIABLE: &str = "OXBENCH_ICEORYX2";

/// Returns the program, which is both sides.
///
/// # Errors
/// When nobody built it: how to.
pub(crate) fn program() -> Result<PathBuf> {
    let path = std::env::var_os(VARIABLE).map_or_else(|| PROGRAM.into(), PathBuf::from);
    if path.is_file() {
        return Ok(path);
    }
    let text = format!(
        "there is no {}: cargo build --release --locked --manifest-path benches/peers/Cargo.toml -p oxbench-iceoryx2 \
         (two minutes), or {VARIABLE}=PROGRAM",
        path.display()
    );
    Err(text.into())
}
