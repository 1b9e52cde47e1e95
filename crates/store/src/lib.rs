//! Databases in files, for the services that keep something.
//!
//! The database library panics on some of what a damaged file can say, and refuses every access after an I/O error. Here
//! a panic becomes an error, and the file is opened again after an error.
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

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use database::{Access, Database};
pub use file::check_not_empty;

/// Default octets of pages that a database keeps in memory.
pub const CACHE: usize = 64 << 20;

/// Does something with a database. Nothing of what it was doing in a panic is used afterwards but the database, which
/// then says that it is damaged again, at worst.
///
/// # Errors
/// Those of `work`, and [`redb::Error::Corrupted`] for a panic.
pub fn guarded<R>(work: impl FnOnce() -> Result<R, redb::Error>) -> Result<R, redb::Error> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(redb::Error::Corrupted("the file is damaged".to_owned())))
}

/// Closes a database, which writes. What was acknowledged is written already; who opens it next is told of the damage.
pub fn close(database: impl Sized) {
    let _ = guarded(|| {
        drop(database);
        Ok(())
    });
}

/// Panics of the database library are printed no more, those of everybody else are: for a program whose messages people
/// read, and which says itself what file is damaged.
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
