//! Files of databases: created atomically and for their owner only, and refused when empty.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::close;

/// Opens the database in a file, or creates one if there is no file.
pub(crate) fn open_or_create(path: &Path, cache: usize) -> Result<redb::Database, redb::Error> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => create(path, cache)?,
        _ => {}
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
            "the file has 0 octets, and no store is that short: put a backup in its place, or remove it to begin with an \
             empty store"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Creates an empty database under a temporary name, and gives it the name `path` when it is
/// complete, so that a crash leaves no file of 0 octets at `path`. If another process has created
/// `path` in the meantime, its file is kept if the file system has hard links.
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
    match fs::hard_link(fresh, path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems have no hard links. Unlike a link, a rename would replace a file that another process has
        // created.
        Err(_) => fs::rename(fresh, path)?,
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
