//! Whether an object is in the store.

use std::sync::Arc;

use oxorb::{Any, CompletionStatus, SystemException};
use oxorb_sys::sync::Mutex;

use super::Keeper;

/// Whether one object is in the store.
#[derive(Default)]
pub(crate) struct Saved(Mutex<Where>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Where {
    #[default]
    Memory,
    Disk,
    /// The object has ended, and must not be written again.
    Nowhere,
}

impl Saved {
    /// Writes the object if `keeps` is set, and removes it otherwise. Returns whether this has changed its place. The
    /// row is created under the lock, so that of two concurrent changes the later one is stored last.
    pub(crate) fn save(
        &self,
        keeper: Option<&Arc<Keeper>>,
        (kind, id): (u8, i32),
        keeps: bool,
        row: impl FnOnce() -> Result<Any, SystemException>,
    ) -> Result<bool, SystemException> {
        let Some(keeper) = keeper else {
            return Ok(false);
        };
        let mut place = self.0.lock();
        match (*place, keeps) {
            (Where::Nowhere, _) | (Where::Memory, false) => Ok(false),
            (before, true) => {
                keeper.put(kind, id, &row()?).inspect_err(|exception| {
                    // The row may still be written, and would bring back an object that was not created.
                    if before == Where::Memory && exception.completed == CompletionStatus::Maybe {
                        keeper.remove(kind, id);
                    }
                })?;
                *place = Where::Disk;
                Ok(before == Where::Memory)
            }
            (Where::Disk, false) => {
                keeper.remove(kind, id);
                *place = Where::Memory;
                Ok(true)
            }
        }
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        *self.0.lock() == Where::Disk
    }

    /// Removes an object that has ended from the store.
    pub(crate) fn remove(&self, keeper: Option<&Arc<Keeper>>, (kind, id): (u8, i32)) {
        let before = std::mem::replace(&mut *self.0.lock(), Where::Nowhere);
        if let (Some(keeper), Where::Disk) = (keeper, before) {
            keeper.remove(kind, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use oxorb::Orb;
    use oxorb_store::{Database, TestStorage};
    use redb::{ReadableDatabase as _, ReadableTableMetadata as _};

    use super::super::{OBJECTS, Store, prepare};
    use super::*;

    #[test]
    fn an_object_that_was_not_created_leaves_no_row() {
        let storage = TestStorage::default();
        let open = || Database::with_storage(&storage, 1 << 20).unwrap();
        let database = open();
        let (number, _) = database.write(prepare).unwrap();
        let store = Store { path: "saved".into(), database, number };
        let orb = Orb::builder().build().unwrap();
        let patience = Duration::from_secs(60);
        let keeper = Keeper::start(&orb, store, 1 << 20, patience).unwrap();
        keeper.contents(&orb).unwrap();
        keeper.restored();
        storage.fail(1);
        let row = || Ok(Any::new(7_i32));
        let failed = Saved::default().save(Some(&keeper), (1, 5), true, row).unwrap_err();
        assert_eq!(failed.completed, CompletionStatus::Maybe, "the row was written");
        // The store accepts no changes for a while after it was reopened.
        let end = Instant::now() + patience;
        while let Err(refused) = keeper.flush() {
            assert!(Instant::now() < end, "{refused}");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(keeper);
        let rows = open().read(|open| Ok(open.begin_read()?.open_table(OBJECTS)?.len()?));
        assert_eq!(rows.unwrap(), 0);
        orb.shutdown(true).unwrap();
    }
}
