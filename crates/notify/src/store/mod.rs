//! Storage of persistent connections and events in a file.
//!
//! | table | key | value |
//! |---|---|---|
//! | meta | name | a number: that of the service, the first free ids, or the version of this format |
//! | objects | kind, id | channel, admin, proxy, filter or callback (`idl/oxorb/notify_store.idl`) |
//! | events | number | time of arrival, and the event as an any |
//! | slips | proxy, number of the event | none; the consumer of the proxy has not received the event yet |
//!
//! An event is written together with its slips before its supplier gets the reply, and is removed with its last slip.
//! Slips are removed shortly after delivery. A crash before the removal causes a second delivery, but no crash causes a
//! loss.

mod keeper;
mod record;
mod saved;
mod slip;
#[cfg(test)]
mod steps;
mod writer;

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};

use oxorb_store::{CACHE, Database};
use redb::{ReadableDatabase as _, TableDefinition};

use crate::Error;

pub(crate) use keeper::{Contents, Ids, Keeper};
pub(crate) use record::{Row, octets_of, own, reference_of};
pub(crate) use saved::Saved;
pub(crate) use slip::{Item, Slip};
pub(crate) use writer::Change;

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const OBJECTS: TableDefinition<'_, (u8, i32), &[u8]> = TableDefinition::new("objects");
const EVENTS: TableDefinition<'_, u64, (i64, &[u8])> = TableDefinition::new("events");
const SLIPS: TableDefinition<'_, (i32, u64), ()> = TableDefinition::new("slips");

const FORMAT: u64 = 1;

/// File in which an event service stores persistent connections and events, as the properties ConnectionReliability and
/// EventReliability of CosNotification require.
///
/// Only one process at a time can open the file.
///
/// ```
/// use oxorb::Orb;
/// use oxorb_notify::{NotifyService, Settings, Store};
///
/// let file = std::env::temp_dir().join(format!("oxorb-notify-{}.redb", std::process::id()));
/// let orb = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = NotifyService::start_stored(&orb, Store::open(&file)?, Settings::default())?;
/// # orb.shutdown(true)?;
/// # drop((service, orb));
/// # let _ = std::fs::remove_file(&file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    database: Database,
    /// Number that distinguishes the object ids of this service from those of other services.
    number: u64,
}

impl Store {
    /// Opens a store. If the file does not exist, creates an empty store that only its owner can read.
    ///
    /// # Errors
    /// [`Error::Store`], for example if another process has the file open, or a later version has written it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Store, Error> {
        let path = path.into();
        let database = Database::open(&path, CACHE).map_err(|error| match error {
            redb::Error::DatabaseAlreadyOpen => {
                failed(&path, "another process, or this one, already serves events from it")
            }
            other => failed(&path, other),
        })?;
        let prepared = database.write(prepare);
        let (number, format) = prepared.map_err(|error| failed(&path, error))?;
        if format != FORMAT {
            let why = format!("it has format {format}, but this version supports format {FORMAT}");
            return Err(failed(&path, why));
        }
        Ok(Store { path, database, number })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

/// Creates the tables of a new store. Returns the store's number and the version of its format.
fn prepare(open: &redb::Database) -> Result<(u64, u64), redb::Error> {
    let read = open.begin_read()?;
    if let Ok(meta) = read.open_table(META)
        && let (Some(number), Some(format)) = (meta.get("number")?, meta.get("format")?)
    {
        return Ok((number.value(), format.value()));
    }
    drop(read);
    let write = open.begin_write()?;
    let number = RandomState::new().hash_one(std::process::id());
    {
        let mut meta = write.open_table(META)?;
        meta.insert("number", number)?;
        meta.insert("format", FORMAT)?;
        write.open_table(OBJECTS)?;
        write.open_table(EVENTS)?;
        write.open_table(SLIPS)?;
    }
    write.commit()?;
    Ok((number, FORMAT))
}

fn failed(path: &Path, why: impl ToString) -> Error {
    Error::Store { path: path.to_owned(), why: why.to_string() }
}
