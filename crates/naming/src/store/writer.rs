//! Thread that makes all changes. Changes that wait while the disk is busy are written together,
//! with one `fsync`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::rt::ThreadPurpose;
use oxorb::{CompletionStatus, Orb, SystemException, minor};
use oxorb_store::Database;

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
    answer: SyncSender<Result<Verdict, Arc<redb::Error>>>,
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
            Ok(Err(error)) => Err(Unwritten::Failed(error)),
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
        match database.write(|open| commit(open, &batch)) {
            Ok(verdicts) => {
                for (job, verdict) in batch.iter().zip(verdicts) {
                    // Sending fails if the caller's time limit has passed, and nothing is left to be done then.
                    let _ = job.answer.try_send(Ok(verdict));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for job in &batch {
                    let _ = job.answer.try_send(Err(Arc::clone(&error)));
                }
            }
        }
    }
}

/// Makes the changes in order. They are on disk when this returns `Ok`, otherwise none of them was
/// made.
fn commit(database: &redb::Database, batch: &[Job]) -> Result<Vec<Verdict>, redb::Error> {
    let write = database.begin_write()?;
    let mut verdicts = Vec::with_capacity(batch.len());
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
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use oxorb::SystemExceptionKind;

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

    #[test]
    fn a_full_queue_is_no_end_of_the_thread() {
        let (writer, _jobs) = writer();
        let late = writer.change(Change::NewContext, &Arc::default(), Duration::ZERO);
        assert!(matches!(late, Err(Unwritten::Late)), "{late:?}");
        assert_eq!(change(&writer).minor, minor::transient::WRITES_QUEUED);
    }
}
