//! One thread makes all changes. Those that wait while the disk is busy go to it together: one `fsync` for all of them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use oxorb_store::Database;

use super::ContextId;
use super::change::{Change, Refusal, Tables};
use crate::Limits;

/// Changes that may wait for the disk. Each is that of a client which waits.
const QUEUE: usize = 1024;

/// Changes that go to disk together.
const TOGETHER: usize = 256;

type Verdict = Result<ContextId, Refusal>;

/// Why it is not known to be on disk.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// As many changes wait as may.
    QueueFull,
    /// Nothing was changed.
    Failed(Arc<redb::Error>),
    /// The disk takes long; the change may still happen.
    Late,
}

#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while it is dropped.
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    change: Change,
    limits: Arc<Limits>,
    answer: SyncSender<Result<Verdict, Arc<redb::Error>>>,
}

impl Writer {
    pub(super) fn start(database: Arc<Database>) -> Result<Writer, std::io::Error> {
        let (queue, jobs) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("oxorb-names".to_owned())
            .spawn(move || write(&database, &jobs))?;
        Ok(Writer {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    pub(super) fn change(
        &self,
        change: Change,
        limits: &Arc<Limits>,
        patience: Duration,
    ) -> Result<Verdict, Unwritten> {
        let (answer, answered) = sync_channel(1);
        let job = Job {
            change,
            limits: Arc::clone(limits),
            answer,
        };
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
    /// Lets the thread finish what waits, so that the file is closed when the store is gone.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
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
                    // Who does not wait any more does not want to know.
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

/// Makes the changes in order. They are on disk when this returns, or none of them happened.
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
        // Durability::Immediate, the default, is an fsync.
        write.commit()?;
    } else {
        write.abort()?;
    }
    Ok(verdicts)
}
