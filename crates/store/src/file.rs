//! Files of databases: created atomically and for their owner only, and refused when empty.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::close;

/// Maximum number of pauses in which another process may replace a file of 0 octets.
const PAUSES: u32 = 50;

/// Duration of each of these pauses.
const PAUSE: Duration = Duration::from_millis(2);

/// Opens the database in a file, or creates one if there is no file. Waits up to 100 ms while the file has 0 octets:
/// on a file system without hard links, another process that creates the database is about to replace such a file.
pub(crate) fn open_or_create(path: &Path, cache: usize) -> Result<redb::Database, redb::Error> {
    open_or_create_with(path, cache, || thread::sleep(PAUSE))
}

/// Opens the database as [`open_or_create`] does, with `pause` between two checks of a file of 0 octets.
fn open_or_create_with(
    path: &Path,
    cache: usize,
    mut pause: impl FnMut(),
) -> Result<redb::Database, redb::Error> {
    for _ in 0..PAUSES {
        match fs::metadata(path) {
            // The file may also be absent because the other process could not replace its file of 0 octets, and has
            // removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => create(path, cache)?,
            _ => {}
        }
        if check_not_empty(path).is_ok() {
            break;
        }
        pause();
    }
    open(path, cache)
}

/// Opens the database in an existing file.
pub(crate) fn open(path: &Path, cache: usize) -> Result<redb::Database, redb::Error> {
    check_not_empty(path)?;
    Ok(redb::Database::builder().set_cache_size(cache).open(path)?)
}

/// Refuses a file of 0 octets. The library would treat it as a new database, and the loss of its
/// contents would not be noticed.
///
/// # Errors
/// [`redb::Error::Corrupted`], whose text names the remedy.
pub fn check_not_empty(path: &Path) -> Result<(), redb::Error> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() && facts.len() == 0 => Err(redb::Error::Corrupted(
            "the file has 0 octets, which no store has: replace it by a backup, or remove it to begin with an empty \
             store"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Creates an empty database under a temporary name, and gives it the name `path` when it is
/// complete. A crash therefore leaves no file of 0 octets at `path`, if the file system has hard
/// links. If another process has created `path` in the meantime, its file is kept.
fn create(path: &Path, cache: usize) -> Result<(), redb::Error> {
    let fresh = beside(path);
    let made = fill(&fresh, cache).and_then(|()| Ok(publish(&fresh, path)?));
    // If `publish` has renamed the file, there is nothing to remove.
    let _ = fs::remove_file(&fresh);
    made
}

fn fill(fresh: &Path, cache: usize) -> Result<(), redb::Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(fresh)?;
    let database = redb::Database::builder().set_cache_size(cache).create_file(file)?;
    close(database);
    Ok(())
}

fn publish(fresh: &Path, path: &Path) -> io::Result<()> {
    let published = fs::hard_link(fresh, path).or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no hard links.
        _ => rename_to_new(fresh, path),
    });
    match published {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        published => published?,
    }
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Renames a file, unless there is a file at `path`. A rename alone would replace that file. This
/// function therefore creates an empty file at `path` first, and replaces only this file. A crash
/// between the two steps leaves the empty file, which [`check_not_empty`] refuses. Between the two steps, other
/// processes see the empty file, and [`open_or_create`] waits for its replacement.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if there is a file at `path`, and errors of the file system.
fn rename_to_new(fresh: &Path, path: &Path) -> io::Result<()> {
    drop(OpenOptions::new().write(true).create_new(true).open(path)?);
    fs::rename(fresh, path).inspect_err(|_| {
        // Ignore the error: the caller reports that of the rename.
        let _ = fs::remove_file(path);
    })
}

/// Returns an unused name in the same folder.
fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".new-{}-{number}", std::process::id()));
    let fresh = path.with_file_name(name);
    // A killed process that had the same id may have left a file of this name.
    let _ = fs::remove_file(&fresh);
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for one test, removed after it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let name = format!("oxorb-store-{test}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Folder(path)
        }

        /// Returns the contents of a file; `None` without a file.
        fn contents(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.0.join(name)).ok()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_rename_to_a_new_name_replaces_no_file() {
        let folder = Folder::new("rename");
        let (fresh, path) = (folder.0.join("fresh"), folder.0.join("path"));
        fs::write(&fresh, "mine").unwrap();
        fs::write(&path, "of another process").unwrap();
        let refused = rename_to_new(&fresh, &path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(folder.contents("path").as_deref(), Some("of another process"));
        fs::remove_file(&path).unwrap();
        rename_to_new(&fresh, &path).unwrap();
        assert_eq!(folder.contents("path").as_deref(), Some("mine"));
        assert_eq!(folder.contents("fresh"), None);
    }

    #[test]
    fn a_failed_rename_leaves_no_empty_file() {
        let folder = Folder::new("failed");
        let path = folder.0.join("path");
        let failed = rename_to_new(&folder.0.join("missing"), &path).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::NotFound);
        assert_eq!(folder.contents("path"), None);
    }

    /// The other process replaces the file while this one waits.
    #[test]
    fn a_file_that_another_process_replaces_is_opened() {
        let folder = Folder::new("replaced");
        let (fresh, path) = (folder.0.join("fresh"), folder.0.join("path"));
        fill(&fresh, 1 << 20).unwrap();
        fs::write(&path, "").unwrap();
        let mut pauses = 0;
        let opened = open_or_create_with(&path, 1 << 20, || {
            pauses += 1;
            if pauses == 3 {
                fs::rename(&fresh, &path).unwrap();
            }
        });
        close(opened.unwrap());
        assert_eq!(pauses, 3);
    }

    /// The other process removes its file, because the rename failed.
    #[test]
    fn a_file_that_another_process_removes_is_created() {
        let folder = Folder::new("removed");
        let path = folder.0.join("path");
        fs::write(&path, "").unwrap();
        let opened = open_or_create_with(&path, 1 << 20, || fs::remove_file(&path).unwrap());
        close(opened.unwrap());
    }

    #[test]
    fn a_file_that_stays_empty_is_refused() {
        let folder = Folder::new("empty");
        let path = folder.0.join("path");
        fs::write(&path, "").unwrap();
        let mut pauses = 0;
        let refused = open_or_create_with(&path, 1 << 20, || pauses += 1);
        assert!(matches!(refused, Err(redb::Error::Corrupted(_))));
        assert_eq!(pauses, PAUSES);
        assert_eq!(folder.contents("path").as_deref(), Some(""));
    }

    #[test]
    fn a_file_that_is_published_keeps_one_that_is_there() {
        let folder = Folder::new("publish");
        let (fresh, path) = (folder.0.join("fresh"), folder.0.join("path"));
        fs::write(&fresh, "mine").unwrap();
        fs::write(&path, "of another process").unwrap();
        publish(&fresh, &path).unwrap();
        assert_eq!(folder.contents("path").as_deref(), Some("of another process"));
    }
}
