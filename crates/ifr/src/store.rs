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
        Store::with(path, database)
    }

    fn with(path: PathBuf, database: Database) -> Result<Store, Error> {
        // Creates the table, so that readers can rely on it.
        let prepared = database.write(|database| {
            let change = database.begin_write()?;
            change.open_table(UNITS)?;
            Ok(change.commit()?)
        });
        prepared.map_err(|error| failed(&path, error))?;
        Ok(Store { path, database })
    }

    /// Adds units, or replaces earlier ones with the same path: all of them, or none on an error. The units are on disk
    /// when this returns.
    ///
    /// # Errors
    /// [`Error::Store`], and [`Error::Unsure`] if all units may have been stored nevertheless.
    pub fn put(&self, units: &[Unit]) -> Result<(), Error> {
        let mut encoded = Vec::new();
        for unit in units {
            let json = serde_json::to_vec(unit).map_err(|error| failed(&self.path, error))?;
            encoded.push((key(unit.path()), json));
        }
        // Sequence number of the last unit, once all units are written and only the commit is missing.
        let mut written = None;
        let done = self.database.write(|database| {
            let change = database.begin_write()?;
            {
                let mut table = change.open_table(UNITS)?;
                let mut last = 0;
                for row in table.iter()? {
                    last = last.max(row?.1.value().0);
                }
                for ((path, json), number) in encoded.iter().zip(last + 1..) {
                    table.insert(path.as_str(), (number, json.as_slice()))?;
                    last = number;
                }
                written = Some(last);
            }
            Ok(change.commit()?)
        });
        done.map_err(|error| {
            self.unwritten(error, written.is_some(), |rows| {
                rows.iter().any(|(_, number, _)| Some(*number) == written)
            })
        })
    }

    /// Removes a unit; returns false if there was none of this path.
    ///
    /// # Errors
    /// [`Error::Store`], and [`Error::Unsure`] if the unit may have been removed nevertheless.
    pub fn remove(&self, path: &Path) -> Result<bool, Error> {
        let key = key(path);
        let mut is_removed = false;
        let done = self.database.write(|database| {
            let change = database.begin_write()?;
            let found = change.open_table(UNITS)?.remove(key.as_str())?.is_some();
            is_removed = found;
            change.commit()?;
            Ok(found)
        });
        done.map_err(|error| {
            self.unwritten(error, is_removed, |rows| rows.iter().all(|(path, ..)| *path != key))
        })
    }

    /// Returns the error of a failed change. If `is_complete`, only the commit failed, and the error may have occurred
    /// after a successful write, for example if `fsync` failed. The file is then read again, and `is_made` decides
    /// whether its rows have the change.
    fn unwritten(
        &self,
        error: redb::Error,
        is_complete: bool,
        is_made: impl FnOnce(&[Row]) -> bool,
    ) -> Error {
        let (path, why) = (self.path.clone(), error.to_string());
        // If the file cannot be read, it may have the change.
        match is_complete && self.database.read(rows).map_or(true, |rows| is_made(&rows)) {
            true => Error::Unsure { path, why },
            false => Error::Store { path, why },
        }
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
}

/// Path of a unit's IDL file, the sequence number of its load, and the unit as JSON.
type Row = (String, u64, Vec<u8>);

fn rows(database: &impl ReadableDatabase) -> Result<Vec<Row>, redb::Error> {
    let table = database.begin_read()?.open_table(UNITS)?;
    let mut rows = Vec::new();
    for row in table.iter()? {
        let (path, value) = row?;
        let (number, json) = value.value();
        rows.push((path.value().to_owned(), number, json.to_vec()));
    }
    Ok(rows)
}

fn units(path: &Path, mut rows: Vec<Row>) -> Result<Vec<Unit>, Error> {
    rows.sort_by_key(|(_, number, _)| *number);
    let units = rows.iter().map(|(_, _, json)| serde_json::from_slice(json));
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

#[cfg(test)]
mod tests {
    use oxorb_store::TestStorage;

    use super::*;

    /// A store whose `fsync` can fail, with one unit, and a further unit.
    struct Broken {
        storage: TestStorage,
        store: Store,
        first: Unit,
        second: Unit,
    }

    impl Broken {
        fn new() -> Broken {
            let storage = TestStorage::default();
            let database = Database::with_storage(&storage, 1 << 20).unwrap();
            let store = Store::with(PathBuf::from("repository.redb"), database).unwrap();
            let [first, second] = ["first", "second"].map(|name| {
                let name = format!("oxorb-ifr-{}-{name}.idl", std::process::id());
                let path = std::env::temp_dir().join(name);
                std::fs::write(&path, "struct S { long x; };\n").unwrap();
                let (unit, _) = Unit::read(&path, &oxorb_idl::Options::default()).unwrap();
                std::fs::remove_file(&path).unwrap();
                unit
            });
            store.put(std::slice::from_ref(&first)).unwrap();
            Broken { storage, store, first, second }
        }

        /// Returns the paths of the units in the storage, which is opened again.
        fn stored(self) -> Vec<PathBuf> {
            drop(self.store);
            let database = Database::with_storage(&self.storage, 1 << 20).unwrap();
            let store = Store::with(PathBuf::new(), database).unwrap();
            store.units().unwrap().iter().map(|unit| unit.path().to_owned()).collect()
        }
    }

    fn assert_unsure(changed: Result<(), Error>) {
        let error = changed.expect_err("`fsync` fails");
        assert!(matches!(error, Error::Unsure { .. }), "{error}");
        let text = error.to_string();
        for told in ["repository.redb", "may have been made", "the disk is broken", "oxorb ifr ls"]
        {
            assert!(text.contains(told), "no {told:?} in {text}");
        }
    }

    #[test]
    fn a_change_whose_fsync_fails_may_have_been_made() {
        // The file can be read again, or cannot.
        for times in [1, u32::MAX] {
            let broken = Broken::new();
            broken.storage.fail(times);
            assert_unsure(broken.store.put(std::slice::from_ref(&broken.second)));
            broken.storage.fail(0);
            let wanted = [&broken.first, &broken.second].map(|unit| unit.path().to_owned());
            assert_eq!(broken.stored(), wanted);

            let broken = Broken::new();
            broken.storage.fail(times);
            assert_unsure(broken.store.remove(broken.first.path()).map(drop));
            broken.storage.fail(0);
            assert!(broken.stored().is_empty());
        }
    }

    #[test]
    fn a_change_that_could_not_begin_was_not_made() {
        let broken = Broken::new();
        broken.storage.fail(u32::MAX);
        assert_unsure(broken.store.put(std::slice::from_ref(&broken.second)));
        let refused = broken.store.put(std::slice::from_ref(&broken.second)).unwrap_err();
        assert!(matches!(refused, Error::Store { .. }), "{refused}");
    }
}
