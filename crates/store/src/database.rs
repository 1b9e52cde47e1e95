//! Database in a file that is reopened after an I/O error.
//!
//! After a failed access, for example on a full disk, the redb library refuses every access until
//! the file is reopened. This module reopens the file at the next access. It then refuses changes
//! for a while, because a change that fails again makes the file unusable for readers as well.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use redb::backends::InMemoryBackend;

use crate::storage::TestStorage;
use crate::{close, file, guarded};

/// Length of the pause after each reopening, as a multiple of the time that the reopening took.
/// Only readers have access during the pause.
const PAUSE_FACTOR: u32 = 4;

/// Database that remains usable after I/O errors. Threads can share it.
pub struct Database {
    /// Path; `None` for a database that is not in a file.
    path: Option<PathBuf>,
    /// Function that opens the database again; `None` for a database in memory, which has no I/O errors, and for a
    /// caller's storage.
    again: Option<Box<Again>>,
    /// Whether the file must be reopened before the next access.
    broken: AtomicBool,
    /// Text of the last error.
    why: Mutex<String>,
    state: RwLock<State>,
}

type Again = dyn Fn() -> Result<redb::Database, redb::Error> + Send + Sync;

struct State {
    /// Open database; `None` after a failed reopening.
    open: Option<redb::Database>,
    /// End of the pause after an error. Until then, changes are refused, and a failed reopening is
    /// not repeated.
    pause_ends: Option<Instant>,
}

/// Error reported during a pause; contains the text of the error that caused the pause.
#[derive(thiserror::Error)]
#[error("{0}")]
struct Pausing(String);

impl fmt::Debug for Pausing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Access to the open database. A thread must not hold two: the second may wait for a reopening by
/// another thread, which waits for the first to end.
pub struct Access<'a>(RwLockReadGuard<'a, State>);

impl Deref for Access<'_> {
    type Target = redb::Database;

    fn deref(&self) -> &redb::Database {
        self.0.open.as_ref().expect("checked before it was given")
    }
}

impl Database {
    /// Opens a database in a file. If the file does not exist, creates it with access for its owner
    /// only.
    ///
    /// # Errors
    /// Errors of the library, and [`redb::Error::Corrupted`] for a file of 0 octets, whose contents
    /// must have been lost, because only a crash on a file system without hard links leaves such a file behind. This
    /// error is reported only after 100 ms, in case another process is replacing the file with a new database.
    pub fn open(path: &Path, cache: usize) -> Result<Database, redb::Error> {
        let open = guarded(|| file::open_or_create(path, cache))?;
        let path = path.to_owned();
        let again = {
            let path = path.clone();
            move || file::open(&path, cache)
        };
        Ok(Database::of(Some(path), Some(Box::new(again)), open))
    }

    /// Creates a database in memory, which is lost when it is dropped.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn in_memory(cache: usize) -> Result<Database, redb::Error> {
        let made = redb::Database::builder()
            .set_cache_size(cache)
            .create_with_backend(InMemoryBackend::new())?;
        Ok(Database::of(None, None, made))
    }

    /// Opens a database on the caller's storage, for tests that simulate a crash between two steps
    /// of a write. The storage is not reopened after an error.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn with_backend(
        backend: impl redb::StorageBackend,
        cache: usize,
    ) -> Result<Database, redb::Error> {
        let open = guarded(|| on(backend, cache))?;
        Ok(Database::of(None, None, open))
    }

    /// Opens a database on a storage for tests, which is reopened after an error.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn with_storage(storage: &TestStorage, cache: usize) -> Result<Database, redb::Error> {
        let storage = storage.clone();
        let again = move || on(storage.clone(), cache);
        let open = guarded(&again)?;
        Ok(Database::of(None, Some(Box::new(again)), open))
    }

    fn of(path: Option<PathBuf>, again: Option<Box<Again>>, open: redb::Database) -> Database {
        Database {
            path,
            again,
            broken: AtomicBool::new(false),
            why: Mutex::default(),
            state: RwLock::new(State { open: Some(open), pause_ends: None }),
        }
    }

    /// Returns access to the database, after reopening the file if an error made that necessary.
    ///
    /// # Errors
    /// The reason why the file cannot be reopened. Later accesses try again.
    pub fn access(&self) -> Result<Access<'_>, redb::Error> {
        if self.broken.load(Ordering::Acquire) {
            self.reopen()?;
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match state.open {
            Some(_) => Ok(Access(state)),
            None => Err(self.pausing(&state)),
        }
    }

    /// Reads from the database.
    ///
    /// # Errors
    /// Errors of `work` and of [`access`](Self::access).
    pub fn read<R>(
        &self,
        work: impl FnOnce(&redb::Database) -> Result<R, redb::Error>,
    ) -> Result<R, redb::Error> {
        let access = self.access()?;
        let done = guarded(|| work(&access));
        drop(access);
        done.inspect_err(|error| self.note(error))
    }

    /// Changes the database.
    ///
    /// # Errors
    /// Errors of `work` and of [`access`](Self::access); during the pause after an error, that
    /// error again.
    pub fn write<R>(
        &self,
        work: impl FnOnce(&redb::Database) -> Result<R, redb::Error>,
    ) -> Result<R, redb::Error> {
        let access = self.access()?;
        if access.0.pauses() {
            return Err(self.pausing(&access.0));
        }
        let done = guarded(|| work(&access));
        drop(access);
        done.inspect_err(|error| self.note(error))
    }

    /// Records an error that a user of [`access`](Self::access) received, so that the file is
    /// reopened if the error requires it. Errors reported during a pause are ignored: otherwise
    /// each would cause another reopening and another pause, endlessly.
    pub fn note(&self, error: &redb::Error) {
        use redb::Error::{Corrupted, DatabaseClosed, Io, LockPoisoned, PreviousIo};
        if matches!(error, Io(error) if error.get_ref().is_some_and(|inner| inner.is::<Pausing>()))
        {
            return;
        }
        if matches!(error, Corrupted(_) | Io(_)) {
            self.remember(error);
        }
        if self.again.is_some()
            && matches!(error, Corrupted(_) | DatabaseClosed | Io(_) | LockPoisoned(_) | PreviousIo)
        {
            self.broken.store(true, Ordering::Release);
        }
    }

    fn remember(&self, error: &redb::Error) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
    }

    /// Returns the error for an access during the pause that follows an earlier error.
    fn pausing(&self, state: &State) -> redb::Error {
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = state
            .pause_ends
            .map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()));
        redb::Error::Io(std::io::Error::other(Pausing(format!("{why}; tried again in {rest:?}"))))
    }

    fn reopen(&self) -> Result<(), redb::Error> {
        let mut state = self.lock();
        let Some(again) = self.again.as_deref() else {
            return Ok(());
        };
        if !self.broken.load(Ordering::Acquire) {
            return Ok(());
        }
        if state.open.is_none() && state.pauses() {
            return Err(self.pausing(&state));
        }
        let start = Instant::now();
        if let Some(open) = state.open.take() {
            close(open);
        }
        let opened = guarded(again);
        state.pause_ends = Instant::now().checked_add(PAUSE_FACTOR * start.elapsed());
        match opened {
            Ok(open) => {
                state.open = Some(open);
                self.broken.store(false, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                self.remember(&error);
                Err(error)
            }
        }
    }

    fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens or creates a database on a storage.
fn on(backend: impl redb::StorageBackend, cache: usize) -> Result<redb::Database, redb::Error> {
    let mut builder = redb::Database::builder();
    Ok(builder.set_cache_size(cache).create_with_backend(backend)?)
}

impl State {
    fn pauses(&self) -> bool {
        self.pause_ends.is_some_and(|end| Instant::now() < end)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        close(self.lock().open.take());
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service records every error that it receives, including those reported during the pause,
    /// which must not prolong the pause.
    #[test]
    fn a_pause_ends_though_its_errors_are_noted() {
        let file = std::env::temp_dir().join(format!("oxorb-pause-{}.redb", std::process::id()));
        let database = Database::open(&file, crate::CACHE).unwrap();
        let mut refused = Vec::new();
        // A pause is short, so that on a loaded machine it may be over before it is noticed.
        for _ in 0..100 {
            database.note(&redb::Error::Io(std::io::Error::other("the disk is full")));
            let begun = Instant::now();
            while let Err(error) = database.write(|open| Ok(open.begin_write()?.commit()?)) {
                database.note(&error);
                refused.push(error.to_string());
                assert!(begun.elapsed() < Duration::from_secs(60), "{refused:?}");
                std::thread::sleep(Duration::from_millis(20));
            }
            if !refused.is_empty() {
                break;
            }
        }
        let first = refused.first().expect("a pause after the reopening");
        assert!(first.contains("the disk is full"), "{first}");
        std::fs::remove_file(file).unwrap();
    }
}
