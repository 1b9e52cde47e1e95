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
