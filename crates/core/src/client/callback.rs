//! Handlers of asynchronous calls, which the ORB's callback thread calls with the answers (AMI, callback model).

use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};

use oxorb_rt::Priority;
use oxorb_sys::thread::ThreadPurpose;

use crate::threads::lock::Mutex;
use crate::threads::sync::mpsc::{self, Receiver, Sender};
use crate::threads::{Ends, TakesJobs, ThreadJob, Threads};

/// Callback thread of calls of one priority, started by the first call that needs it. It runs at that priority.
///
/// The number of calls that may be outstanding bounds its queue.
pub(crate) struct Callbacks {
    thread: Mutex<CallbackThread>,
    threads: Arc<Threads>,
    priority: Option<Priority>,
}

#[derive(Default)]
enum CallbackThread {
    #[default]
    NotStarted,
    Runs(Sender<Arc<CallbackTask>>),
    Closed,
}

type CallbackWork = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Task that waits for an answer, then calls back.
struct CallbackTask {
    /// `None` once the work is done.
    work: Mutex<Option<CallbackWork>>,
    thread: Runs,
}

/// Threads that run a task.
enum Runs {
    /// A callback thread.
    Callbacks(Sender<Arc<CallbackTask>>),
    /// Threads of a lane.
    Lane(Weak<dyn TakesJobs>),
}

/// Runs `work` to its end on the threads of a lane. If these have ended or refuse it, the thread that wakes the task
/// runs it.
pub(crate) fn run_in_lane(
    lane: Weak<dyn TakesJobs>,
    work: impl Future<Output = ()> + Send + 'static,
) {
    let task = CallbackTask { work: Mutex::new(Some(Box::pin(work))), thread: Runs::Lane(lane) };
    Arc::new(task).wake();
}

impl Callbacks {
    pub(crate) fn new(threads: &Arc<Threads>, priority: Option<Priority>) -> Self {
        Callbacks { thread: Mutex::default(), threads: Arc::clone(threads), priority }
    }

    /// Runs `work` to its end on the callback thread or, if there is none, in the calling thread.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work: CallbackWork = Box::pin(work);
        match self.thread() {
            Some(thread) => Arc::new(CallbackTask {
                work: Mutex::new(Some(work)),
                thread: Runs::Callbacks(thread),
            })
            .wake(),
            None => super::wait_until(|context| work.as_mut().poll(context)),
        }
    }

    fn thread(&self) -> Option<Sender<Arc<CallbackTask>>> {
        let mut thread = self.thread.lock();
        match &*thread {
            CallbackThread::Runs(sender) => return Some(sender.clone()),
            CallbackThread::Closed => return None,
            CallbackThread::NotStarted => {}
        }
        let (sender, tasks) = mpsc::channel();
        let name = "oxorb-callbacks";
        self.threads
            .spawn(ThreadPurpose::Callbacks, name, self.priority, move || serve(&tasks))
            .ok()?;
        *thread = CallbackThread::Runs(sender.clone());
        Some(sender)
    }
}

impl Ends for Callbacks {
    /// Ends the thread once the last answer was taken.
    fn close(&self) {
        *self.thread.lock() = CallbackThread::Closed;
    }
}

fn serve(tasks: &Receiver<Arc<CallbackTask>>) {
    for task in tasks {
        task.poll();
    }
}

impl CallbackTask {
    fn poll(self: Arc<Self>) {
        let mut work = self.work.lock();
        let waker = Waker::from(Arc::clone(&self));
        let Some(waiting) = work.as_mut() else {
            return;
        };
        // If a handler panics, only its own answer is lost, and the thread continues.
        let polled = panic::catch_unwind(AssertUnwindSafe(|| {
            waiting.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        if polled.map_or(true, |polled| polled.is_ready()) {
            *work = None;
        }
    }
}

impl Wake for CallbackTask {
    fn wake(self: Arc<Self>) {
        match &self.thread {
            // Sending does not fail, because the thread runs until the last task that can send to it is dropped.
            Runs::Callbacks(thread) => {
                let thread = thread.clone();
                let _ = thread.send(self);
            }
            Runs::Lane(lane) => {
                let lane = lane.upgrade();
                let job: ThreadJob = Box::new(move || self.poll());
                let refused = match lane {
                    Some(lane) => lane.offer(job).err(),
                    None => Some(job),
                };
                if let Some(job) = refused {
                    job();
                }
            }
        }
    }
}
