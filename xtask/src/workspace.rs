//! The workspace on disk.

use std::path::{Path, PathBuf};

/// Returns its folder.
pub(crate) fn folder() -> PathBuf {
    // Cargo says where this package lies when it runs it; nothing of that is compiled in.
    let package = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| "xtask".to_owned());
    Path::new(&package).parent().map(Path::to_owned).unwrap_or_default()
}
