//! Objects for `interop_async.idl`: a servant that replies later, from other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use oxorb::poa::PoaError;
use oxorb::servant::Amh;
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException};
use oxorb_interop::handler::Handler;
use oxorb_interop::interop_async::worker::*;
use oxorb_interop::interop_async::{
    self, AmhWorker, AmiWorkerHandlerRef, Parcel, Refused, WorkerRef,
};
use oxorb_interop::lanes;

use crate::data::Result;

/// Object through which clients obtain all others.
pub(crate) struct Office {
    worker: WorkerRef,
    handler: AmiWorkerHandlerRef,
    told: Arc<Handler>,
}

impl Office {
    pub(crate) fn new(orb: &Orb) -> core::result::Result<Self, PoaError> {
        let told = Arc::new(Handler::default());
        Ok(Self {
            worker: lanes::propagated(orb).activate(Amh(Worker::default()))?,
            handler: lanes::propagated(orb).activate(Arc::clone(&told))?,
            told,
        })
    }
}

impl interop_async::Office for Office {
    fn find_worker(&self) -> Result<Option<WorkerRef>> {
        Ok(Some(self.worker.clone()))
    }

    fn make_handler(&self) -> Result<Option<ObjectRef>> {
        Ok(Some(self.handler.unchecked_narrow()))
    }

    fn told(&self) -> Result<String> {
        Ok(self.told.taken())
    }
}

#[derive(Default)]
struct Worker {
    level: Arc<AtomicI32>,
}

/// Runs `answer` in another thread, after a delay.
fn later(milliseconds: u32, answer: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        answer();
    });
}

impl AmhWorker for Worker {
    fn level(&self, answer: LevelAnswer) {
        let level = Arc::clone(&self.level);
        later(1, move || answer.reply(level.load(Ordering::SeqCst)));
    }

    fn set_level(&self, value: i32, answer: SetLevelAnswer) {
        let level = Arc::clone(&self.level);
        later(1, move || {
            level.store(value, Ordering::SeqCst);
            answer.reply();
        });
    }

    fn broken(&self, answer: BrokenAnswer) {
        let broken = SystemException::no_resources(5, CompletionStatus::Yes);
        later(1, move || answer.raise(broken));
    }

    fn work(&self, milliseconds: u32, value: i32, what: &Parcel, answer: WorkAnswer) {
        let mut what = what.clone();
        later(milliseconds, move || match value {
            ..0 => answer.raise(Refused { why: "negative".to_owned(), limit: value }),
            0 => answer.raise(SystemException::no_permission(7, CompletionStatus::No)),
            1.. => {
                what.label.push('!');
                what.weight += 1.0;
                answer.reply(2 * value, what, f64::from(value) / 2.0);
            }
        });
    }
}
