//! What the services that keep something in a file share: the database library panics on some of what a damaged file can
//! say, and here that becomes an error.
//!
//! ```
//! let file = std::env::temp_dir().join(format!("oxorb-store-{}.redb", std::process::id()));
//! let database = oxorb_store::guarded(|| Ok(redb::Database::create(&file)?))?;
//! oxorb_store::close(database);
//! # std::fs::remove_file(file).unwrap();
//! # Ok::<(), redb::Error>(())
//! ```
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

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
        assert!(
            matches!(caught, Err(redb::Error::Corrupted(_))),
            "{caught:?}"
        );
        assert_eq!(guarded(|| Ok(1)).ok(), Some(1));
    }
}
