//! Native threads that begin as distributable threads.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use oxorb::SystemException;
use oxorb::rt::Priority;

use crate::refusal::{NO_THREAD, TOO_MANY};
use crate::scheduling::Inner;
use crate::stack::{self, Kind};
use crate::{Current, DistributableThread, DtState, Id, Scheduler};

/// Attributes of a [spawned](Current::spawn) thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpawnOptions {
    /// Stack size in octets; 0 for the system's default.
    pub stack_size: usize,
    /// CORBA priority of its native thread until its scheduler grants one; `None` to leave it unchanged.
    pub base_priority: Option<Priority>,
}

impl<S: Scheduler> Current<S> {
    /// Starts a native thread that is a new distributable thread while `action` runs (`spawn`). May
    /// be called in any thread.
    ///
    /// `action` receives a [`Current`] and runs within a segment of this name and these parameters. It does not run if
    /// the scheduler refuses the segment, or if the thread was cancelled before. When the ORB ends, all of its spawned
    /// threads are cancelled and waited for.
    ///
    /// ```
    /// use oxorb_rtscheduling::{Enforcement, Fp, FpParameter, Kokyu, RtScheduling, SpawnOptions};
    /// use oxorb::rt::Priority;
    /// use std::time::Duration;
    ///
    /// let scheduling = RtScheduling::new(Kokyu::<Fp>::new(Enforcement::default()));
    /// let orb = oxorb::Orb::builder().scheduling_interceptor(scheduling.interceptor()).build()?;
    /// let parameter = FpParameter { priority: Priority::new(100)? };
    /// let thread = scheduling.current(&orb).spawn("worker", parameter, None, SpawnOptions::default(), |current| {
    ///     while current.sleep(Duration::from_millis(5)).is_ok() {}
    /// })?;
    /// thread.cancel()?;
    /// assert!(thread.wait_ended(Duration::from_secs(30)));
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// NO_RESOURCES if [`Limits::spawned`](crate::Limits::spawned) threads run, or the system
    /// provides no thread.
    pub fn spawn(
        &self,
        name: &str,
        parameter: S::Parameter,
        implicit: Option<S::Parameter>,
        options: SpawnOptions,
        action: impl FnOnce(&Current<S>) + Send + 'static,
    ) -> Result<DistributableThread, SystemException> {
        let inner = &self.scheduling.inner;
        let counted = Counted::begin(inner).ok_or(TOO_MANY)?;
        let id = Id::new();
        let slot = inner.registry.attach();
        slot.enter(id);
        let spawned = self.scheduling.thread(id, Some(Arc::clone(&slot)));
        let (current, name) = (self.clone(), name.to_owned());
        let mut builder =
            thread::Builder::new().name(name.chars().filter(|c| *c != '\0').collect());
        if options.stack_size > 0 {
            builder = builder.stack_size(options.stack_size);
        }
        let own = Arc::clone(&slot);
        let started = builder.spawn(move || {
            let _counted = counted;
            let inner = &current.scheduling.inner;
            let _running = Running(Arc::clone(inner), id);
            let stack = stack::adopt(inner.number, &inner.registry, own);
            if let Some(priority) = options.base_priority {
                // Ignore errors: the ORB logs a missing native priority, and the thread keeps its own priority.
                let _ = current.orb.set_thread_priority(priority);
            }
            if stack.slot.check().is_err() {
                let _ = stack.slot.leave();
                return;
            }
            let kind = Kind::Thread;
            match current.begin(&stack, kind, id, &name, parameter, implicit, true) {
                Err(_) => {
                    let _ = stack.slot.leave();
                }
                Ok(serial) => {
                    let ended = panic::catch_unwind(AssertUnwindSafe(|| action(&current)));
                    let _ = current.end_segment(serial);
                    if let Err(panic) = ended {
                        panic::resume_unwind(panic);
                    }
                }
            }
        });
        if started.is_err() {
            inner.registry.detach(&slot);
            return Err(NO_THREAD);
        }
        self.end_with_orb(&spawned);
        Ok(spawned)
    }

    /// Registers a spawned thread to be cancelled when the ORB ends.
    fn end_with_orb(&self, spawned: &DistributableThread) {
        let inner = &self.scheduling.inner;
        // The interceptors of an ORB exist as long as the ORB, so their address identifies it.
        let orb = Arc::as_ptr(self.orb.interceptors()).addr();
        let mut spawns = inner.spawns.lock();
        if spawned.state() == DtState::Ended {
            return;
        }
        spawns.running.push((orb, spawned.clone()));
        if spawns.watched.contains(&orb) {
            return;
        }
        spawns.watched.push(orb);
        let ended = Arc::downgrade(inner);
        self.orb.before_shutdown(move |_| {
            if let Some(inner) = ended.upgrade() {
                inner.end_spawned(orb);
            }
        });
    }
}

/// Running spawned threads, and the ORBs whose ends are hooked.
#[derive(Default)]
pub(crate) struct Spawns {
    running: Vec<(usize, DistributableThread)>,
    watched: Vec<usize>,
}

impl<S> Inner<S> {
    /// Cancels the spawned threads of an ending ORB, and waits for them.
    fn end_spawned(&self, orb: usize) {
        let of_orb = {
            let mut spawns = self.spawns.lock();
            spawns.watched.retain(|known| *known != orb);
            let running = mem::take(&mut spawns.running);
            let (of_orb, others) = running.into_iter().partition(|(its, _)| *its == orb);
            spawns.running = others;
            let of_orb: Vec<(usize, DistributableThread)> = of_orb;
            of_orb
        };
        let begun = Instant::now();
        for (_, spawned) in &of_orb {
            let _ = spawned.cancel();
        }
        for (_, spawned) in &of_orb {
            spawned.wait_ended(self.limits.end.saturating_sub(begun.elapsed()));
        }
    }
}

/// Running spawned thread, deregistered when dropped.
struct Running<S: Scheduler>(Arc<Inner<S>>, Id);

impl<S: Scheduler> Drop for Running<S> {
    fn drop(&mut self) {
        let mut spawns = self.0.spawns.lock();
        spawns.running.retain(|(_, spawned)| spawned.id() != self.1);
    }
}

/// Permit of a spawned thread, returned when dropped.
struct Counted<S: Scheduler>(Arc<Inner<S>>);

impl<S: Scheduler> Counted<S> {
    fn begin(inner: &Arc<Inner<S>>) -> Option<Counted<S>> {
        let limit = inner.limits.spawned;
        let one_more = |now: usize| (now < limit).then_some(now + 1);
        let begun = inner.spawned.try_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        begun.is_ok().then(|| Counted(Arc::clone(inner)))
    }
}

impl<S: Scheduler> Drop for Counted<S> {
    fn drop(&mut self) {
        self.0.spawned.fetch_sub(1, Ordering::AcqRel);
    }
}
