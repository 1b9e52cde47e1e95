//! Files that are replaced atomically, so that readers never see an incomplete file.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// Writes a file under a temporary, unpredictable name, and then renames it.
pub(crate) fn write(path: impl AsRef<Path>, text: &str) -> io::Result<()> {
    let path = path.as_ref();
    let octets = oxorb_sys::random::octets::<8>()?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}.new", u64::from_ne_bytes(octets)));
    // `create_new` follows no symbolic link and fails if the file exists, so no other user can choose the target.
    let mut file = fs::File::create_new(&name)?;
    let written = file.write_all(text.as_bytes());
    written.and_then(|()| fs::rename(&name, path)).inspect_err(|_| {
        // Remove the temporary file if it could not be written or renamed.
        let _ = fs::remove_file(&name);
    })
}

/// Removes a file if it still contains this text.
pub(crate) fn remove(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    if read(path, text.len() as u64 + 1).is_some_and(|found| found == text) {
        // Ignore the error: another process may have removed the file already.
        let _ = fs::remove_file(path);
    }
}

/// Reads a text file up to a limit of octets; `None` if it cannot be read or is not a regular file.
pub(crate) fn read(path: &Path, limit: u64) -> Option<String> {
    let mut text = String::new();
    let file = oxorb_sys::descriptor::open_regular(path).ok()?;
    file.take(limit).read_to_string(&mut text).ok()?;
    // Editors may put a byte order mark at the start of the file.
    Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_removed_by_whoever_wrote_it_last() {
        let name = format!("oxorb-whole-file-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a.ior");
        write(&file, "IOR:01").unwrap();
        write(&file, "IOR:02").unwrap();
        remove(&file, "IOR:01");
        assert_eq!(read(&file, 100).as_deref(), Some("IOR:02"));
        remove(&file, "IOR:0");
        assert!(file.exists(), "it has another text");
        remove(&file, "IOR:02");
        assert!(!file.exists());
        fs::create_dir(&file).unwrap();
        write(&file, "IOR:03").unwrap_err();
        assert_eq!(read(&file, 100), None, "a folder is no file");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}
