//! The thread that writes all changes. Changes that arrive while the disk is busy are written together, with one
//! `fsync`.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use oxorb_store::Database;
use oxorb_sys::sync::{Condvar, Mutex};
use redb::{ReadTransaction, ReadableDatabase as _};

use super::keeper::Reserved;
use super::{EVENTS, META, OBJECTS, SLIPS};

/// Time for which changes are collected if no caller waits for them.
const LINGER: Duration = Duration::from_millis(20);

/// Time after a failed write before the changes that no caller waits for are retried.
const PAUSE: Duration = Duration::from_millis(200);

/// A change of the store.
pub(crate) enum Change {
    Object(u8, i32, Vec<u8>),
    /// Removes an object. If it is a proxy, its slips are removed as well.
    NoObject(u8, i32),
    /// Adds an event, with the proxies whose consumers must get it.
    Event {
        number: u64,
        arrival: i64,
        octets: Vec<u8>,
        proxies: Vec<i32>,
    },
    NoSlip(i32, u64),
    NoEvent(u64),
    Meta(&'static str, u64),
    /// Releases octets when all previous changes have been made.
    Release {
        _reserved: Reserved,
    },
}

/// Result of a change.
pub(crate) type Written = Result<(), Unwritten>;

/// Reason why a change may not be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwritten {
    /// The database failed, and nothing was changed.
    Failed,
    /// The database failed while it committed the change, which may be in the file.
    Unsure,
}

struct Job {
    changes: Vec<Change>,
    /// Sender for the result. `None` if no caller waits; the change is then retried until it succeeds.
    answer: Option<SyncSender<Written>>,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    ended: bool,
}

/// Changes that are waiting to be written.
#[derive(Default)]
pub(super) struct Writer {
    queue: Mutex<Queue>,
    work: Condvar,
}

impl Writer {
    /// Makes a change without waiting for it. The contents of the store limit the number of such changes.
    pub(super) fn later(&self, change: Change) {
        self.send(Job { changes: vec![change], answer: None });
    }

    /// Makes all of these changes or none of them. Returns when they are on disk, or `None` when `patience` has
    /// expired; in this case the changes may still be made.
    pub(super) fn now(&self, changes: Vec<Change>, patience: Duration) -> Option<Written> {
        let (answer, answered) = sync_channel(1);
        self.send(Job { changes, answer: Some(answer) });
        answered.recv_timeout(patience).ok()
    }

    /// Ends the thread after one attempt to write the waiting changes.
    pub(super) fn end(&self) {
        self.queue.lock().ended = true;
        self.work.notify_all();
    }

    fn send(&self, job: Job) {
        let mut queue = self.queue.lock();
        queue.jobs.push(job);
        drop(queue);
        self.work.notify_one();
    }

    /// Loop of the writing thread.
    pub(super) fn run(&self, database: &Database, note: impl Fn(&Arc<redb::Error>)) {
        let mut left: Vec<Job> = Vec::new();
        loop {
            let ended = self.gather(&mut left);
            if !left.is_empty() {
                let mut is_committing = false;
                match database.write(|open| commit(open, &left, &mut is_committing)) {
                    Ok(()) => left.drain(..).for_each(|job| job.answer(Ok(()))),
                    Err(error) => {
                        note(&Arc::new(error));
                        let unwritten = match is_committing && may_be_made(database, &left) {
                            true => Unwritten::Unsure,
                            false => Unwritten::Failed,
                        };
                        let (awaited, rest) =
                            left.drain(..).partition(|job: &Job| job.answer.is_some());
                        left = rest;
                        let awaited: Vec<Job> = awaited;
                        awaited.into_iter().for_each(|job| job.answer(Err(unwritten)));
                    }
                }
            }
            if ended {
                return;
            }
        }
    }

    /// Waits for changes and moves them to `left`. Returns `true` if no further changes can follow.
    fn gather(&self, left: &mut Vec<Job>) -> bool {
        let failed = !left.is_empty();
        let queue = self.queue.lock();
        let idle = |queue: &mut Queue| queue.jobs.is_empty() && !queue.ended;
        let queue = match failed {
            true => self.work.wait_timeout_while(queue, PAUSE, idle).0,
            false => self.work.wait_while(queue, idle),
        };
        let unhurried =
            |queue: &mut Queue| !queue.ended && queue.jobs.iter().all(|job| job.answer.is_none());
        let (mut queue, _) = self.work.wait_timeout_while(queue, LINGER, unhurried);
        left.append(&mut queue.jobs);
        queue.ended
    }
}

impl Job {
    fn answer(self, written: Written) {
        if let Some(answer) = self.answer {
            // Ignore the error: the caller has stopped waiting.
            let _ = answer.try_send(written);
        }
    }
}

/// Makes the changes in order. If the result is `Ok`, they are on disk. Otherwise all or none of them were made, and
/// none if `is_committing` is not set: an error of the commit itself may come after the file was written, for example
/// if `fsync` fails.
fn commit(
    database: &redb::Database,
    jobs: &[Job],
    is_committing: &mut bool,
) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    {
        let mut objects = write.open_table(OBJECTS)?;
        let mut events = write.open_table(EVENTS)?;
        let mut slips = write.open_table(SLIPS)?;
        for change in jobs.iter().flat_map(|job| &job.changes) {
            match change {
                Change::Object(kind, id, octets) => {
                    objects.insert((*kind, *id), octets.as_slice())?;
                }
                Change::NoObject(kind, id) => {
                    objects.remove((*kind, *id))?;
                    if *kind == crate::kind::Kind::Proxy as u8 {
                        slips.retain_in((*id, 0)..=(*id, u64::MAX), |_, ()| false)?;
                    }
                }
                Change::Event { number, arrival, octets, proxies } => {
                    events.insert(number, (*arrival, octets.as_slice()))?;
                    for proxy in proxies {
                        slips.insert((*proxy, *number), ())?;
                    }
                }
                Change::NoSlip(proxy, number) => {
                    slips.remove((*proxy, *number))?;
                }
                Change::NoEvent(number) => {
                    events.remove(number)?;
                }
                Change::Meta(what, number) => {
                    write.open_table(META)?.insert(*what, number)?;
                }
                // Dropping the job, after the commit, releases the octets.
                Change::Release { .. } => {}
            }
        }
    }
    // With the default, `Durability::Immediate`, `commit` calls `fsync`.
    *is_committing = true;
    Ok(write.commit()?)
}

/// Reports whether changes may have been made although their commit failed. Reads the file, which is reopened. Changes
/// were not made if one of them is not in the file: an event, whose number is used once and which none of the changes
/// removes, or else the last one.
fn may_be_made(database: &Database, jobs: &[Job]) -> bool {
    let changes = || jobs.iter().rev().flat_map(|job| job.changes.iter().rev());
    let mut removed = HashSet::new();
    let event = changes().find(|change| match change {
        Change::Event { number, .. } => !removed.contains(number),
        Change::NoEvent(number) => {
            removed.insert(*number);
            false
        }
        _ => false,
    });
    let last = || changes().find(|change| !matches!(change, Change::Release { .. }));
    let Some(change) = event.or_else(last) else {
        return false;
    };
    database.read(|open| change.is_visible(&open.begin_read()?)).unwrap_or(true)
}

impl Change {
    /// Reports whether a file looks as if this change had been the last one.
    fn is_visible(&self, read: &ReadTransaction) -> Result<bool, redb::Error> {
        Ok(match self {
            Change::Object(kind, id, octets) => {
                let found = read.open_table(OBJECTS)?.get((*kind, *id))?;
                found.is_some_and(|found| found.value() == octets.as_slice())
            }
            Change::NoObject(kind, id) => read.open_table(OBJECTS)?.get((*kind, *id))?.is_none(),
            Change::Event { number, .. } => read.open_table(EVENTS)?.get(number)?.is_some(),
            Change::NoSlip(proxy, number) => {
                read.open_table(SLIPS)?.get((*proxy, *number))?.is_none()
            }
            Change::NoEvent(number) => read.open_table(EVENTS)?.get(number)?.is_none(),
            Change::Meta(what, number) => {
                let found = read.open_table(META)?.get(*what)?;
                found.is_some_and(|found| found.value() == *number)
            }
            Change::Release { .. } => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use oxorb_store::TestStorage;

    use super::*;

    /// Makes two changes, each after the changes `before`, while `fsync` fails: `times` calls for the first one, and all
    /// for the second one. Returns the answers.
    fn changed_while_fsync_fails(times: u32, before: fn() -> Vec<Change>) -> [Option<Written>; 2] {
        let storage = TestStorage::default();
        let open = || Database::with_storage(&storage, 1 << 20).unwrap();
        let number = |database: &Database| {
            let found = database.read(|open| {
                let found = open.begin_read()?.open_table(META)?.get("last")?;
                Ok(found.map(|found| found.value()))
            });
            found.unwrap()
        };
        let database = open();
        database.write(super::super::prepare).unwrap();
        assert_eq!(number(&database), None);
        let writer = Writer::default();
        let answers = std::thread::scope(|scope| {
            scope.spawn(|| writer.run(&database, |_| ()));
            let answers = [times, u32::MAX].map(|times| {
                storage.fail(times);
                let mut changes = before();
                changes.push(Change::Meta("last", 77));
                writer.now(changes, Duration::from_secs(60))
            });
            writer.end();
            answers
        });
        storage.fail(0);
        drop(database);
        assert_eq!(number(&open()), Some(77), "the storage has the change");
        answers
    }

    #[test]
    fn a_change_whose_fsync_fails_may_have_happened() {
        let unsure = Some(Err(Unwritten::Unsure));
        // The file can be read again, and has the change.
        assert_eq!(changed_while_fsync_fails(1, Vec::new)[0], unsure);
        // The file cannot be opened again, so that it is not known whether it has the change. The next change fails
        // before it begins.
        let answers = changed_while_fsync_fails(u32::MAX, Vec::new);
        assert_eq!(answers, [unsure, Some(Err(Unwritten::Failed))]);
    }

    #[test]
    fn an_event_that_is_removed_with_the_change_does_not_tell_whether_it_happened() {
        let before = || {
            let event = Change::Event { number: 5, arrival: 0, octets: vec![1], proxies: vec![] };
            vec![event, Change::NoEvent(5)]
        };
        assert_eq!(changed_while_fsync_fails(1, before)[0], Some(Err(Unwritten::Unsure)));
    }
}
