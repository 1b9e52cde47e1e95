//! Databases in files, for services with persistent state.
//!
//! The database library panics on some damaged files, and refuses every access after an I/O error.
//! This crate turns panics into errors, and reopens the file after an error.
//!
//! ```
//! use oxorb_store::{CACHE, Database};
//!
//! let file = std::env::temp_dir().join(format!("oxorb-store-{}.redb", std::process::id()));
//! let database = Database::open(&file, CACHE)?;
//! database.write(|open| Ok(open.begin_write()?.commit()?))?;
//! drop(database);
//! # std::fs::remove_file(file).unwrap();
//! # Ok::<(), redb::Error>(())
//! ```
#![forbid(unsafe_code)]

mod database;
mod file;
mod storage;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use database::{Access, Database};
pub use file::check_not_empty;
pub use storage::TestStorage;

/// Default size of a database's page cache, in octets.
pub const CACHE: usize = 64 << 20;

/// Runs `work` on a database and turns a panic into an error. After a panic, only the database
/// itself may be used again; at worst it reports the damage once more.
///
/// # Errors
/// Errors of `work`, and [`redb::Error::Corrupted`] for a panic.
pub fn guarded<R>(work: impl FnOnce() -> Result<R, redb::Error>) -> Result<R, redb::Error> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(redb::Error::Corrupted("the file is damaged".to_owned())))
}

/// Closes a database and ignores damage that is found while closing writes to the file. No
/// acknowledged change is lost, because each is on disk before it is acknowledged, and the next
/// opening reports the damage.
pub fn close(database: impl Sized) {
    let _ = guarded(|| {
        drop(database);
        Ok(())
    });
}

/// Hides panic messages of the database library and prints all others as before, for a program that
/// itself reports which file is damaged.
pub fn hide_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("", |location| location.file());
        if !place.contains("/redb-") {
            usual(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let caught = guarded::<()>(|| panic!("of the library"));
        assert!(matches!(caught, Err(redb::Error::Corrupted(_))), "{caught:?}");
        assert_eq!(guarded(|| Ok(1)).ok(), Some(1));
    }
}
