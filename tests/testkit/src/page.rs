//! Pages of the documentation that are written from tables in the code.

use std::path::Path;

/// Compares a page with its expected text; rewrites it if `BLESS` is set.
///
/// `page` is relative to the root of the repository, `test` is the command that checks it.
///
/// # Panics
/// If the page differs, or cannot be written.
#[track_caller]
pub fn assert_up_to_date(page: &str, wanted: &str, test: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, wanted).unwrap_or_else(|error| panic!("{page}: {error}"));
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == wanted, "{page} is stale: BLESS=1 {test}");
}
