//! Storage in memory for tests.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Storage in memory whose `fsync` can fail, for tests of services; see
/// [`Database::with_storage`](crate::Database::with_storage). Its clones share their octets.
///
/// If `fsync` fails, the storage nevertheless keeps what was written to it, as a disk may do.
#[derive(Debug, Default, Clone)]
pub struct TestStorage {
    octets: Arc<Mutex<Vec<u8>>>,
    fails: Arc<AtomicU32>,
}

impl TestStorage {
    /// Lets the next `times` calls of `fsync` fail.
    pub fn fail(&self, times: u32) {
        self.fails.store(times, Ordering::SeqCst);
    }

    fn octets(&self) -> MutexGuard<'_, Vec<u8>> {
        self.octets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl redb::StorageBackend for TestStorage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.octets().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let from = offset as usize;
        match self.octets().get(from..from + out.len()) {
            Some(octets) => out.copy_from_slice(octets),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.octets().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let less = |times: u32| times.checked_sub(1);
        match self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => Err(io::Error::other("the disk is broken")),
            Err(_) => Ok(()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let from = offset as usize;
        match self.octets().get_mut(from..from + data.len()) {
            Some(octets) => octets.copy_from_slice(data),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redb::{ReadableDatabase as _, TableDefinition};

    use super::*;
    use crate::Database;

    const NUMBERS: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");

    fn add(open: &redb::Database, number: u64) -> Result<(), redb::Error> {
        let change = open.begin_write()?;
        change.open_table(NUMBERS)?.insert(number, number)?;
        Ok(change.commit()?)
    }

    #[test]
    fn a_change_whose_fsync_failed_is_found_after_the_reopening() {
        let storage = TestStorage::default();
        let database = Database::with_storage(&storage, 1 << 20).unwrap();
        database.write(|open| add(open, 1)).unwrap();
        storage.fail(1);
        let failed = database.write(|open| add(open, 2)).unwrap_err().to_string();
        assert!(failed.contains("the disk is broken"), "{failed}");
        let found =
            database.read(|open| Ok(open.begin_read()?.open_table(NUMBERS)?.get(2)?.is_some()));
        assert!(found.unwrap());
    }
}
