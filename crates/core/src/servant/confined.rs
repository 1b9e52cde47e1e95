//! Servants and tasks that are confined to one thread, which is the only thread of a lane.
//!
//! Each such thread has a table of the servants and tasks confined to it. Other threads hold a key: an index into the
//! table, and a number that no other entry of any thread ever had. A key that is used in the wrong thread, or too late,
//! thus finds nothing. There is no lock and no unsafe code: other threads cannot reach the entries of a thread's table.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};

use crate::error::raise;
use crate::reference::LaneOf;
use crate::server::{Lane, NotQueued};
use crate::threads::sync::mpsc;
use crate::threads::sync::uncontrolled::atomic::{AtomicU64, Ordering};
use crate::threads::{ThreadJob, at_end, clock, lane_of_this_thread};
use crate::{ConfinedServant, CurrentLane, ObjectRef, Orb, Outcome, Servant, ThreadpoolId, Upcall};

/// Reason why a servant was not confined to a lane.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotConfined {
    /// Several threads serve the objects, for this reason.
    #[error("a confined servant needs a lane of one thread: {0}")]
    Threads(&'static str),
    /// The factory panicked.
    #[error("the factory of the confined servant panicked")]
    Panicked,
    /// The lane's thread was busy for longer than the option HoldTime allows, or its queue of jobs is full.
    #[error("the thread of the lane did not create the confined servant in time (-ORBHoldTime)")]
    Busy,
    /// The lane has ended.
    #[error("the lane has ended")]
    Ended,
}

impl fmt::Debug for NotConfined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The calling thread is not the only thread of a lane of the ORB.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the calling thread is not the only thread of a lane of this ORB")]
pub struct NotOneThread;

impl fmt::Debug for NotOneThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Key of an entry in a thread's table.
#[derive(Debug, Clone, Copy)]
struct EntryKey {
    place: usize,
    number: u64,
}

/// Entries of one thread.
struct Table<T> {
    entries: Vec<Option<(u64, T)>>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static SERVANTS: RefCell<Table<Rc<dyn ConfinedServant>>> = const { RefCell::new(Table::new()) };
    static TASKS: RefCell<Table<Rc<ConfinedTask>>> = const { RefCell::new(Table::new()) };
}

impl<T: Clone> Table<T> {
    const fn new() -> Self {
        Table { entries: Vec::new() }
    }

    fn insert(&mut self, entry: T) -> EntryKey {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let free = self.entries.iter().position(Option::is_none);
        let place = free.unwrap_or(self.entries.len());
        match free {
            Some(place) => self.entries[place] = Some((number, entry)),
            None => self.entries.push(Some((number, entry))),
        }
        EntryKey { place, number }
    }

    #[inline]
    fn find(&self, key: EntryKey) -> Option<T> {
        match self.entries.get(key.place)? {
            Some((number, entry)) if *number == key.number => Some(entry.clone()),
            _ => None,
        }
    }

    fn remove(&mut self, key: EntryKey) -> Option<T> {
        let entry = self.entries.get_mut(key.place)?;
        match entry {
            Some((number, _)) if *number == key.number => entry.take().map(|(_, entry)| entry),
            _ => None,
        }
    }
}

/// Drops the tasks, then the servants, that are confined to the calling thread.
fn end_all() {
    // The table is not borrowed while an entry is dropped, because the destructor of a servant may remove other
    // entries.
    while let Some(entry) = TASKS.with_borrow_mut(|table| table.entries.pop()) {
        end(entry);
    }
    while let Some(entry) = SERVANTS.with_borrow_mut(|table| table.entries.pop()) {
        end(entry);
    }
}

/// Drops a value, and catches a panic of its destructor.
fn end<T>(entry: T) {
    let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(entry)));
}

/// Confined servant, as any thread sees it.
struct Confined {
    key: EntryKey,
    /// Number of the ORB.
    orb: u32,
    lane: Weak<Lane>,
    name: LaneOf,
    interfaces: Vec<String>,
}

impl Confined {
    fn is_here(&self) -> bool {
        lane_of_this_thread() == Some((self.orb, self.name))
    }

    /// Serves a request that another thread than the lane's received. The lane's thread serves it while this one waits.
    #[cold]
    fn elsewhere(&self, upcall: Upcall<'_>) -> Outcome {
        let orb = upcall.orb();
        let Some(lane) = self.lane.upgrade() else {
            return upcall.fail(raise::SERVANT_ENDED);
        };
        if self.is_here() {
            // This is the lane's thread, but the servant is no longer in its table: it ended with an earlier run of the
            // lane.
            return upcall.fail(raise::SERVANT_ENDED);
        }
        let until = clock::now() + orb.options().hold_time;
        let most = orb.options().max_held;
        upcall.serve_elsewhere(
            until,
            raise::NO_SERVING_THREAD,
            |job| lane.run(job, most).map_err(|_| crate::MainThreadQueueFull),
            |upcall| match upcall.orb().adapter() {
                Some(adapter) => adapter.dispatch(upcall),
                None => upcall.fail(raise::NO_ADAPTER),
            },
        )
    }
}

impl Servant for Confined {
    fn repository_id(&self) -> &str {
        self.interfaces.first().map_or(ObjectRef::ID, String::as_str)
    }

    fn is_a(&self, id: &str) -> bool {
        self.interfaces.iter().any(|one| one == id) || id == ObjectRef::ID
    }

    fn identity(&self) -> usize {
        // Numbers are never reused. The result is odd, so it differs from the addresses of other servants, which are
        // even.
        (self.key.number as usize) << 1 | 1
    }

    fn confinement(&self) -> Option<CurrentLane> {
        Some(self.name.into())
    }

    #[inline]
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match SERVANTS.with_borrow(|table| table.find(self.key)) {
            Some(servant) => servant.dispatch(upcall),
            None => self.elsewhere(upcall),
        }
    }
}

impl Drop for Confined {
    /// Ends the servant in its own thread when the last reference is dropped, regardless of the thread that drops it.
    fn drop(&mut self) {
        let key = self.key;
        let remove = move || {
            let servant = SERVANTS.try_with(|table| table.borrow_mut().remove(key));
            drop(servant);
        };
        if self.is_here() {
            return remove();
        }
        // If the lane has ended, it has already dropped its servants.
        if let Some(lane) = self.lane.upgrade() {
            let _ = lane.run(Box::new(remove), usize::MAX);
        }
    }
}

impl From<LaneOf> for CurrentLane {
    fn from(lane: LaneOf) -> Self {
        CurrentLane { threadpool: ThreadpoolId(lane.pool), lane: lane.lane }
    }
}

impl Orb {
    /// Creates a servant in the only thread of a lane; returns a servant that forwards to it from any thread. For the
    /// object adapter.
    ///
    /// Waits for the lane's thread at most for the option HoldTime, unless the caller is that thread. Allocates.
    ///
    /// # Errors
    /// Those of [`NotConfined`]; a servant that was made in spite of an error is dropped by the lane's thread.
    #[doc(hidden)]
    pub fn confine(
        &self,
        pool: ThreadpoolId,
        priority: Option<oxorb_rt::Priority>,
        make: impl FnOnce() -> Rc<dyn ConfinedServant> + Send + 'static,
    ) -> Result<Arc<dyn Servant>, NotConfined> {
        let found = self.pools().of_one_thread(pool, priority);
        let (name, lane) = found.map_err(NotConfined::Threads)?;
        let orb = self.scheduling().number();
        let (key, interfaces) = match lane_of_this_thread() == Some((orb, name)) {
            true => made(make).ok_or(NotConfined::Panicked)?,
            false => self.make_there(&lane, make)?,
        };
        Ok(Arc::new(Confined { key, orb, lane: Arc::downgrade(&lane), name, interfaces }))
    }

    /// Returns the lane whose only thread serves the objects at `priority` of a threadpool. For the object adapter.
    ///
    /// # Errors
    /// [`NotConfined::Threads`].
    #[doc(hidden)]
    pub fn confining_lane(
        &self,
        pool: ThreadpoolId,
        priority: Option<oxorb_rt::Priority>,
    ) -> Result<CurrentLane, NotConfined> {
        let found = self.pools().of_one_thread(pool, priority);
        found.map(|(name, _)| name.into()).map_err(NotConfined::Threads)
    }

    fn make_there(
        &self,
        lane: &Lane,
        make: impl FnOnce() -> Rc<dyn ConfinedServant> + Send + 'static,
    ) -> Result<(EntryKey, Vec<String>), NotConfined> {
        let (sender, answer) = mpsc::sync_channel(1);
        let job = move || {
            let made = made(make);
            if let Err(mpsc::SendError(Some((key, _)))) = sender.send(made) {
                // The caller no longer waits for the servant, so the servant is dropped.
                let late = SERVANTS.with_borrow_mut(|table| table.remove(key));
                drop(late);
            }
        };
        let queued = lane.run(Box::new(job), self.options().max_held);
        queued.map_err(|(refused, _)| match refused {
            NotQueued::Full => NotConfined::Busy,
            NotQueued::Closed => NotConfined::Ended,
        })?;
        match answer.recv_timeout(self.options().hold_time) {
            Ok(made) => made.ok_or(NotConfined::Panicked),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(NotConfined::Busy),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(NotConfined::Ended),
        }
    }
}

/// Creates a servant and enters it into the table of the calling thread. Returns `None` if the factory panicked.
fn made(make: impl FnOnce() -> Rc<dyn ConfinedServant>) -> Option<(EntryKey, Vec<String>)> {
    let made = panic::catch_unwind(AssertUnwindSafe(|| {
        let servant = make();
        let interfaces = servant.interfaces();
        (servant, interfaces)
    }));
    let (servant, interfaces) = made.map_err(drop::<Box<dyn Any + Send>>).ok()?;
    at_end(end_all);
    let key = SERVANTS.with_borrow_mut(|table| table.insert(servant));
    Some((key, interfaces))
}

/// Future that one thread polls.
struct ConfinedTask {
    /// Future; `None` while it is polled, and once it is done.
    future: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    waker: RefCell<Option<Waker>>,
}

/// Wakes a [`ConfinedTask`], from any thread.
struct TaskWaker {
    key: EntryKey,
    lane: Weak<Lane>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let key = self.key;
        if let Some(lane) = self.lane.upgrade() {
            let job: ThreadJob = Box::new(move || poll(key));
            // If the lane has ended, it has already dropped the task, so a failure is ignored.
            let _ = lane.run(job, usize::MAX);
        }
    }
}

impl Orb {
    /// Runs a future to its end in the calling thread, which is the only one of its lane: work that a servant confined
    /// to the lane starts and does not wait for. Neither the future nor its captures need be `Send`.
    ///
    /// The future is first polled within this call, and then by the lane's thread whenever it is woken and the thread
    /// is free: between requests, at the lane's priority. It is dropped with the lane at the latest. A panic ends only
    /// the future itself. Allocates.
    ///
    /// # Errors
    /// [`NotOneThread`]: the caller is another thread, and the future was dropped.
    pub fn spawn_here(
        &self,
        future: impl Future<Output = ()> + 'static,
    ) -> Result<(), NotOneThread> {
        let here = lane_of_this_thread().filter(|(orb, _)| *orb == self.scheduling().number());
        let (_, name) = here.ok_or(NotOneThread)?;
        at_end(end_all);
        let found = self.pools().of_lane(name).ok_or(NotOneThread)?;
        let task = Rc::new(ConfinedTask {
            future: RefCell::new(Some(Box::pin(future))),
            waker: RefCell::default(),
        });
        let key = TASKS.with_borrow_mut(|table| table.insert(Rc::clone(&task)));
        let wakes = TaskWaker { key, lane: Arc::downgrade(&found) };
        task.waker.replace(Some(Waker::from(Arc::new(wakes))));
        poll(key);
        Ok(())
    }
}

/// Polls the task of a key in the calling thread, if the task still exists.
fn poll(key: EntryKey) {
    let Some(task) = TASKS.with_borrow(|table| table.find(key)) else {
        return;
    };
    let Some(mut future) = task.future.take() else {
        return;
    };
    let waker = task.waker.borrow().clone();
    let mut context = Context::from_waker(waker.as_ref().unwrap_or(Waker::noop()));
    let polled = panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
    if polled.map_or(true, |polled| polled.is_ready()) {
        let ended = TASKS.with_borrow_mut(|table| table.remove(key));
        end((ended, future));
    } else {
        task.future.replace(Some(future));
    }
}
