//! Folders of a manager that only its user and root can change.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::trusted;

/// Returns the path of a folder, without links, that only this user and root can change. Other users must not be able
/// to add files either, so the folder is refused even if it has the sticky bit.
pub(super) fn owned_folder(folder: &Path, what: &str) -> Result<PathBuf, String> {
    let found = trusted::resolve(folder).map_err(|reason| format!("{what}: {reason}"))?;
    let there = fs::metadata(&found).map_err(|error| format!("{what}: {error}"))?;
    let shown = found.display();
    match (there.is_dir(), there.mode() & 0o022) {
        (true, 0) => Ok(found),
        (true, _) => Err(format!(
            "{what}: other users may write to {shown}; specify another folder, or correct its permissions (chmod go-w \
             {shown})"
        )),
        (false, _) => Err(format!("{what}: {} is not a folder", folder.display())),
    }
}

/// Opens and locks a folder that only this user and root can change, and that is created if it is missing. Returns its
/// path, without links, and the open folder. The lock ends when the folder is closed.
///
/// # Errors
/// A folder that cannot be read or that other users may change, or another process that has locked it. The error names
/// the folder, which is `what`.
pub(super) fn claim(folder: &Path, what: &str) -> Result<(PathBuf, File), String> {
    let shown = folder.display();
    let wrong = |error: io::Error| format!("{what} {shown}: {error}");
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {
            let parent = folder.parent().filter(|it| !it.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))
                .and_then(|it| it.sync_all())
                .map_err(wrong)?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(wrong(error)),
    }
    let found = owned_folder(folder, what)?;
    let handle = File::open(&found).map_err(wrong)?;
    match handle.try_lock() {
        Ok(()) => Ok((found, handle)),
        Err(TryLockError::WouldBlock) => Err(format!(
            "{what} {shown} is in use by another process; end that process, or specify another folder"
        )),
        Err(TryLockError::Error(error)) => Err(wrong(error)),
    }
}
