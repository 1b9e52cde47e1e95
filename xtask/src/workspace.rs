//! The workspace on disk.

use std::path::{Path, PathBuf};

/// Returns the folder of the workspace.
pub(crate) fn folder() -> PathBuf {
    // Cargo passes this package's folder at run time; it is not compiled in.
    let package = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| "./xtask".to_owned());
    Path::new(&package).parent().map(Path::to_owned).unwrap_or_default()
}
