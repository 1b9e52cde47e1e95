//! Thread that makes all changes. Changes that wait while the disk is busy are written together,
//! with one `fsync`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::rt::ThreadPurpose;
use oxorb::{CompletionStatus, Orb, SystemException, minor};
use oxorb_store::Database;
use redb::ReadableDatabase as _;

use super::ContextId;
use super::change::{Change, Refusal, Tables};
use crate::Limits;

/// Maximum number of changes that wait for the disk, each with a waiting client.
const QUEUE: usize = 1024;

/// Maximum number of changes that are written together.
const TOGETHER: usize = 256;

type Verdict = Result<ContextId, Refusal>;

/// Reason why a change may not be on disk.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The queue of changes is full.
    QueueFull,
    /// The thread that writes changes has ended, or was not started. The status states whether the change happened.
    Ended(CompletionStatus),
    /// The database failed, and nothing was changed.
    Failed(Arc<redb::Error>),
    /// The database failed while it committed the change, which may be in the file.
    Unsure(Arc<redb::Error>),
    /// The time limit has passed; the change may still happen.
    Late,
}

impl Unwritten {
    /// Returns the exception for the client.
    pub(crate) fn exception(&self) -> SystemException {
        match self {
            Unwritten::QueueFull => {
                SystemException::transient(minor::transient::WRITES_QUEUED, CompletionStatus::No)
            }
            Unwritten::Ended(completed) => {
                SystemException::persist_store(minor::persist_store::WRITER_ENDED, *completed)
            }
            Unwritten::Failed(_) => SystemException::persist_store(
                minor::persist_store::NOT_WRITTEN,
                CompletionStatus::No,
            ),
            Unwritten::Unsure(_) => SystemException::persist_store(
                minor::persist_store::NOT_SYNCED,
                CompletionStatus::Maybe,
            ),
            Unwritten::Late => {
                SystemException::timeout(minor::timeout::WRITING, CompletionStatus::Maybe)
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while the writer is dropped.
    queue: Option<SyncSender<Job>>,
    /// Disconnected when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

struct Job {
    change: Change,
    limits: Arc<Limits>,
    answer: SyncSender<Result<Verdict, Failure>>,
}

/// Failure of the database.
#[derive(Clone)]
struct Failure {
    error: Arc<redb::Error>,
    /// Whether the changes may be in the file nevertheless.
    is_unsure: bool,
}

impl Writer {
    /// Starts the writer, with a thread of the ORB.
    pub(super) fn start(orb: &Orb, database: Arc<Database>) -> Result<Writer, std::io::Error> {
        let (queue, jobs) = sync_channel(QUEUE);
        let (running, ended) = sync_channel(0);
        orb.start_thread(ThreadPurpose::Storage, "oxorb-names", move || {
            let _running: SyncSender<()> = running;
            write(&database, &jobs);
            // Close the file before `_running` is dropped, which signals the end to `Writer::drop`.
            drop(database);
        })?;
        Ok(Writer { queue: Some(queue), ended: Mutex::new(ended) })
    }

    pub(super) fn change(
        &self,
        change: Change,
        limits: &Arc<Limits>,
        patience: Duration,
    ) -> Result<Verdict, Unwritten> {
        let (answer, answered) = sync_channel(1);
        let job = Job { change, limits: Arc::clone(limits), answer };
        let queue = self.queue.as_ref().ok_or(Unwritten::Ended(CompletionStatus::No))?;
        match queue.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(Unwritten::QueueFull),
            Err(TrySendError::Disconnected(_)) => {
                return Err(Unwritten::Ended(CompletionStatus::No));
            }
        }
        match answered.recv_timeout(patience) {
            Ok(Ok(verdict)) => Ok(verdict),
            Ok(Err(Failure { error, is_unsure: false })) => Err(Unwritten::Failed(error)),
            Ok(Err(Failure { error, is_unsure: true })) => Err(Unwritten::Unsure(error)),
            Err(RecvTimeoutError::Timeout) => Err(Unwritten::Late),
            // The thread has ended, before or after it wrote the change.
            Err(RecvTimeoutError::Disconnected) => Err(Unwritten::Ended(CompletionStatus::Maybe)),
        }
    }
}

impl Drop for Writer {
    /// Waits until the thread has finished its changes, so that the file is closed after the store was dropped.
    fn drop(&mut self) {
        drop(self.queue.take());
        // `recv` returns when the thread has dropped its end of the channel; nothing is ever sent on it.
        if let Ok(ended) = self.ended.get_mut() {
            let _ = ended.recv();
        }
    }
}

fn write(database: &Database, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(TOGETHER - 1));
        let mut verdicts = Vec::with_capacity(batch.len());
        match database.write(|open| commit(open, &batch, &mut verdicts)) {
            Ok(()) => {
                for (job, verdict) in batch.iter().zip(verdicts) {
                    // Sending fails if the caller's time limit has passed, and nothing is left to be done then.
                    let _ = job.answer.try_send(Ok(verdict));
                }
            }
            Err(error) => {
                let is_unsure = may_be_made(database, &batch, &verdicts);
                let failure = Failure { error: Arc::new(error), is_unsure };
                for job in &batch {
                    let _ = job.answer.try_send(Err(failure.clone()));
                }
            }
        }
    }
}

/// Makes the changes in order, and appends their verdicts. The changes are on disk when this returns `Ok`. Otherwise
/// all or none of them were made, and none if verdicts are missing: an error of the commit itself may come after the
/// file was written, for example if `fsync` fails.
fn commit(
    database: &redb::Database,
    batch: &[Job],
    verdicts: &mut Vec<Verdict>,
) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    {
        let mut tables = Tables::open(&write)?;
        for job in batch {
            verdicts.push(tables.apply(&job.change, &job.limits)?);
        }
    }
    if verdicts.iter().any(Result::is_ok) {
        // With the default, `Durability::Immediate`, a commit calls `fsync`.
        write.commit()?;
    } else {
        write.abort()?;
    }
    Ok(())
}

/// Reports whether changes may have been made although their commit failed. Reads the file, which is reopened. Changes
/// whose last one is not in the file were not made.
fn may_be_made(database: &Database, batch: &[Job], verdicts: &[Verdict]) -> bool {
    if verdicts.len() < batch.len() {
        return false;
    }
    let made = batch.iter().zip(verdicts).rev();
    let mut made = made.filter_map(|(job, verdict)| Some((&job.change, verdict.ok()?)));
    let Some((last, context)) = made.next() else {
        return false;
    };
    database.read(|open| last.is_visible(&open.begin_read()?, context)).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use oxorb::SystemExceptionKind;
    use oxorb_store::TestStorage;
    use redb::ReadableTableMetadata as _;

    use super::super::CONTEXTS;
    use super::*;

    /// Returns a writer without a thread, and the queue from which a thread would take the changes.
    fn writer() -> (Writer, Receiver<Job>) {
        let (queue, jobs) = sync_channel(1);
        let (_, ended) = sync_channel(0);
        (Writer { queue: Some(queue), ended: Mutex::new(ended) }, jobs)
    }

    fn change(writer: &Writer) -> SystemException {
        let done = writer.change(Change::NewContext, &Arc::default(), Duration::from_secs(60));
        done.expect_err("no thread writes").exception()
    }

    fn facts(exception: SystemException) -> (SystemExceptionKind, u32, CompletionStatus) {
        (exception.kind, exception.minor, exception.completed)
    }

    #[test]
    fn a_change_without_a_thread_says_that_the_thread_has_ended() {
        let (writer, jobs) = writer();
        drop(jobs);
        let kind = SystemExceptionKind::PersistStore;
        let expected = (kind, minor::persist_store::WRITER_ENDED, CompletionStatus::No);
        assert_eq!(facts(change(&writer)), expected);
    }

    #[test]
    fn a_change_that_a_thread_took_before_it_ended_may_have_happened() {
        let (writer, jobs) = writer();
        std::thread::scope(|scope| {
            scope.spawn(move || drop(jobs.recv()));
            let kind = SystemExceptionKind::PersistStore;
            let expected = (kind, minor::persist_store::WRITER_ENDED, CompletionStatus::Maybe);
            assert_eq!(facts(change(&writer)), expected);
        });
    }

    /// Makes two changes while `fsync` fails: `times` calls for the first one, and all for the second one. Returns the
    /// exceptions.
    fn changed_while_fsync_fails(times: u32) -> [SystemException; 2] {
        let storage = TestStorage::default();
        let open = || Database::with_storage(&storage, 1 << 20).unwrap();
        let contexts = |database: &Database| {
            let count = database.read(|open| Ok(open.begin_read()?.open_table(CONTEXTS)?.len()?));
            count.unwrap()
        };
        let database = Arc::new(open());
        database.write(super::super::prepare).unwrap();
        let before = contexts(&database);
        let orb = Orb::builder().build().unwrap();
        let writer = Writer::start(&orb, database).unwrap();
        storage.fail(times);
        let first = change(&writer);
        storage.fail(u32::MAX);
        let second = change(&writer);
        storage.fail(0);
        drop(writer);
        assert!(contexts(&open()) > before, "the storage has the first change");
        orb.shutdown(true).unwrap();
        [first, second]
    }

    #[test]
    fn a_change_whose_fsync_fails_may_have_happened() {
        let kind = SystemExceptionKind::PersistStore;
        let unsure = (kind, minor::persist_store::NOT_SYNCED, CompletionStatus::Maybe);
        // The file can be read again, and has the change.
        let [first, _] = changed_while_fsync_fails(1);
        assert_eq!(facts(first), unsure);
        // The file cannot be opened again, so that it is not known whether it has the change. The next change fails
        // before it begins.
        let [first, second] = changed_while_fsync_fails(u32::MAX);
        assert_eq!(facts(first), unsure);
        let refused = (kind, minor::persist_store::NOT_WRITTEN, CompletionStatus::No);
        assert_eq!(facts(second), refused);
    }

    #[test]
    fn a_full_queue_is_no_end_of_the_thread() {
        let (writer, _jobs) = writer();
        let late = writer.change(Change::NewContext, &Arc::default(), Duration::ZERO);
        assert!(matches!(late, Err(Unwritten::Late)), "{late:?}");
        assert_eq!(change(&writer).minor, minor::transient::WRITES_QUEUED);
    }
}
