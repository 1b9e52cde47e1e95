//! Storage of units in a file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oxorb_store::{CACHE, Database, check_not_empty, close, guarded};
use redb::{ReadOnlyDatabase, ReadableDatabase, ReadableTable as _, TableDefinition};

use crate::{Error, Unit};

/// Units as JSON, by the path of their IDL file; with the sequence number of the load, which determines the later of
/// two units with the same declaration.
const UNITS: TableDefinition<'_, &str, (u64, &[u8])> = TableDefinition::new("units");

/// Storage of IDL in a file. Each change is atomic, even if the process or the machine crashes.
///
/// Only one process at a time can have it open for changes; [`Store::open`] waits for a while.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    database: Database,
}

/// Longest time to wait for another process to close the store, and time between attempts.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(20));

impl Store {
    /// Opens a store, or creates an empty one.
    ///
    /// # Errors
    /// [`Error::Store`] if the file is no store, or another process has it open for more than five seconds.
    pub fn open(path: impl Into<PathBuf>) -> Result<Store, Error> {
        let path = path.into();
        let made = in_turn(|| Database::open(&path, CACHE));
        let database = made.map_err(|error| failed(&path, error))?;
        let store = Store { path, database };
        store.change(|database| {
            // Creates the table, so that readers can rely on it.
            let change = database.begin_write()?;
            change.open_table(UNITS)?;
            Ok(change.commit()?)
        })?;
        Ok(store)
    }

    /// Adds units, or replaces earlier ones with the same path: all of them, or none on an error. The units are on disk
    /// when this returns.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn put(&self, units: &[Unit]) -> Result<(), Error> {
        let mut encoded = Vec::new();
        for unit in units {
            let json = serde_json::to_vec(unit).map_err(|error| failed(&self.path, error))?;
            encoded.push((key(unit.path()), json));
        }
        self.change(|database| {
            let change = database.begin_write()?;
            {
                let mut table = change.open_table(UNITS)?;
                let mut last = 0;
                for row in table.iter()? {
                    last = last.max(row?.1.value().0);
                }
                for ((path, json), number) in encoded.iter().zip(last + 1..) {
                    table.insert(path.as_str(), (number, json.as_slice()))?;
                }
            }
            Ok(change.commit()?)
        })
    }

    /// Removes a unit; returns false if there was none of this path.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn remove(&self, path: &Path) -> Result<bool, Error> {
        self.change(|database| {
            let change = database.begin_write()?;
            let found = change.open_table(UNITS)?.remove(key(path).as_str())?.is_some();
            change.commit()?;
            Ok(found)
        })
    }

    /// Returns all units, in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Store`], including if a unit was written by a later version of OxORB.
    pub fn units(&self) -> Result<Vec<Unit>, Error> {
        let rows = self.database.read(rows);
        units(&self.path, rows.map_err(|error| failed(&self.path, error))?)
    }

    /// Returns all units of a store that other processes may read at the same time, without changing its file.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`units`](Self::units); an error if the file does not exist.
    pub fn read(path: impl Into<PathBuf>) -> Result<Vec<Unit>, Error> {
        let path = path.into();
        check_not_empty(&path).map_err(|error| failed(&path, error))?;
        match in_turn(|| guarded(|| Ok(ReadOnlyDatabase::open(&path)?))) {
            Ok(database) => {
                let rows = guarded(|| rows(&database));
                close(database);
                units(&path, rows.map_err(|error| failed(&path, error))?)
            }
            // A process that was killed left the file unrepaired. Opening it for changes repairs it.
            Err(redb::Error::RepairAborted) => Store::open(path)?.units(),
            Err(error) => Err(failed(&path, error)),
        }
    }

    fn change<R>(
        &self,
        work: impl FnOnce(&redb::Database) -> Result<R, redb::Error>,
    ) -> Result<R, Error> {
        let done = self.database.write(work);
        done.map_err(|error| failed(&self.path, error))
    }
}

/// Unit as JSON, and the sequence number of its load.
type Row = (u64, Vec<u8>);

fn rows(database: &impl ReadableDatabase) -> Result<Vec<Row>, redb::Error> {
    let table = database.begin_read()?.open_table(UNITS)?;
    let mut rows = Vec::new();
    for row in table.iter()? {
        let value = row?.1;
        let (number, json) = value.value();
        rows.push((number, json.to_vec()));
    }
    Ok(rows)
}

fn units(path: &Path, mut rows: Vec<Row>) -> Result<Vec<Unit>, Error> {
    rows.sort();
    let units = rows.iter().map(|(_, json)| serde_json::from_slice(json));
    let units: Result<_, _> = units.collect();
    units.map_err(|error| failed(path, error))
}

/// Opens the database as soon as no other process has it open.
fn in_turn<D>(open: impl Fn() -> Result<D, redb::Error>) -> Result<D, redb::Error> {
    let end = Instant::now() + PATIENCE.0;
    loop {
        match open() {
            Err(redb::Error::DatabaseAlreadyOpen) if Instant::now() < end => {
                std::thread::sleep(PATIENCE.1);
            }
            other => return other,
        }
    }
}

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn failed(path: &Path, why: impl ToString) -> Error {
    Error::Store { path: path.to_owned(), why: why.to_string() }
}
