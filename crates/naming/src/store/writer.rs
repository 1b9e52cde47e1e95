//! Thread that makes all changes. Changes that wait while the disk is busy are written together,
//! with one `fsync`.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::Orb;
use oxorb::rt::ThreadPurpose;
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
    /// The queue of changes is full, or no thread writes them.
    QueueFull,
    /// The database failed, and nothing was changed.
    Failed(Arc<redb::Error>),
    /// The time limit has passed; the change may still happen.
    Late,
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
    /// Starts the thread, as a thread of the ORB.
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
        let queue = self.queue.as_ref().ok_or(Unwritten::QueueFull)?;
        match queue.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                return Err(Unwritten::QueueFull);
            }
        }
        match answered.recv_timeout(patience) {
            Ok(Ok(verdict)) => Ok(verdict),
            Ok(Err(error)) => Err(Unwritten::Failed(error)),
            Err(_) => Err(Unwritten::Late),
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
