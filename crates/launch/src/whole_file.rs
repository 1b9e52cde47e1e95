//! Files that readers see whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

/// Writes a file under another name first, and then moves it into place.
pub(crate) fn write(path: impl AsRef<Path>, text: &str) -> io::Result<()> {
    let path = path.as_ref();
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    fs::write(&name, text)?;
    fs::rename(&name, path).inspect_err(|_| {
        // What could not be moved must not stay.
        let _ = fs::remove_file(&name);
    })
}
