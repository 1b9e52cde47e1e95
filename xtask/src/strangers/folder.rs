//! Files of a run.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::workspace;

/// A folder of one condition, removed with this value.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Folder, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("oxorb-strangers-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        made(&path)?;
        Ok(Folder(path))
    }

    /// Creates a subfolder.
    pub(super) fn inner(&self, name: &str) -> Result<PathBuf, String> {
        made(&self.0.join(name))
    }

    /// Creates a subfolder whose path has a length of `octets`.
    pub(super) fn long(&self, octets: usize) -> Result<PathBuf, String> {
        let missing = octets.saturating_sub(self.0.as_os_str().len() + 1);
        self.inner(&"x".repeat(missing.max(1)))
    }

    /// Creates a subfolder with links to all programs in PATH, except some.
    pub(super) fn programs_without(&self, names: &[&str]) -> Result<PathBuf, String> {
        let links = self.inner("bin")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        for folder in std::env::split_paths(&path) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if !names.iter().any(|left_out| name == *left_out) {
                    // If two folders have a program of this name, the first in PATH counts.
                    let _ = symlink(entry.path(), links.join(name));
                }
            }
        }
        Ok(links)
    }

    /// Clones the committed state of the workspace.
    pub(super) fn clone_of_the_workspace(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--shared"]).arg(workspace::folder()).arg(&path);
        match git.status() {
            Ok(status) if status.success() => Ok(path),
            Ok(status) => Err(format!("{git:?}: {status}")),
            Err(error) => Err(format!("{git:?}: {error}")),
        }
    }

    /// Creates an empty file to which every user may append the names of skipped tests.
    pub(super) fn not_tested(&self) -> Result<PathBuf, String> {
        let path = self.0.join("not-tested");
        let written = fs::write(&path, "");
        let written =
            written.and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o666)));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn made(path: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_folder_is_as_long_as_asked() {
        let folder = Folder::new().unwrap();
        let long = folder.long(250).unwrap();
        assert_eq!(long.as_os_str().len(), 250);
        assert!(long.is_dir());
    }

    #[test]
    fn a_program_is_left_out() {
        let folder = Folder::new().unwrap();
        let links = folder.programs_without(&["true"]).unwrap();
        assert!(links.join("sh").exists());
        assert!(!links.join("true").exists());
    }

    #[test]
    fn nothing_stays() {
        let folder = Folder::new().unwrap();
        let file = folder.not_tested().unwrap();
        assert!(file.exists());
        drop(folder);
        assert!(!file.exists());
    }
}
