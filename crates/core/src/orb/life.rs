//! Life of an ORB: how it works and ends, and what it waits for then.

use std::time::{Duration, Instant};

use oxorb_cdr::Dialect;
use oxorb_object::SystemException;

use super::{Inner, Orb};
use crate::clock;
use crate::conn::Kept;
use crate::main_thread::Busy;
use crate::sync::atomic::Ordering;
use crate::within::{self, within_request};
use crate::{raise, server};

/// Longest time that an orderly end waits for requests that are running.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// Longest time that an orderly end waits until buffered oneways are sent, over all servers.
const LAST_ONEWAYS: Duration = Duration::from_secs(5);

impl Orb {
    /// Blocks until the ORB was shut down and the requests that were running
    /// have ended. Meanwhile this is the ORB's main thread, and does what only
    /// that one may do.
    pub fn run(&self) {
        let _main = self.inner.main.enter();
        loop {
            self.perform_work();
            let mut ended = self.inner.ended.lock();
            while !*ended && !self.work_pending() {
                ended = self.inner.end.wait(ended);
            }
            if *ended {
                break;
            }
        }
        self.finish();
    }

    /// Whether something waits for the main thread.
    pub fn work_pending(&self) -> bool {
        !self.inner.main.is_empty()
    }

    /// Does what waits for the main thread, for programs whose main thread has
    /// a loop of its own: the calling thread is the main thread while this runs.
    pub fn perform_work(&self) {
        let _main = self.inner.main.enter();
        while !self.is_closing()
            && let Some(job) = self.inner.main.pop()
        {
            job();
        }
    }

    /// Runs a job in the main thread, when that comes to it; at the end of the ORB the job is
    /// dropped undone.
    ///
    /// # Errors
    /// [`Busy`] when `most` wait already, or the ORB ends.
    pub fn run_on_main(&self, job: Box<dyn FnOnce() + Send>, most: usize) -> Result<(), Busy> {
        let ended = self.inner.ended.lock();
        if *ended {
            return Err(Busy);
        }
        self.inner.main.push(job, most)?;
        self.inner.end.notify_all();
        Ok(())
    }

    /// Whether the calling thread is in [`run`](Self::run) or
    /// [`perform_work`](Self::perform_work) of this ORB.
    pub fn is_main_thread(&self) -> bool {
        self.inner.main.is_here()
    }

    /// Runs `hook` when the ORB is shut down, while it still sends and serves requests: the place to
    /// withdraw names and to tell others. Hooks run once, the last registered first, in the thread that
    /// calls [`shutdown`](Self::shutdown); what they call is bounded by the time-outs of their calls. A
    /// hook that panics does not keep the others from running.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::sync::Arc;
    ///
    /// let orb = oxorb_core::Orb::new(oxorb_core::Options::default());
    /// let withdrawn = Arc::new(AtomicBool::new(false));
    /// let seen = Arc::clone(&withdrawn);
    /// orb.before_shutdown(move |orb| seen.store(!orb.is_closing(), Ordering::Relaxed));
    /// orb.shutdown(true)?;
    /// assert!(withdrawn.load(Ordering::Relaxed));
    /// # Ok::<(), oxorb_object::SystemException>(())
    /// ```
    pub fn before_shutdown(&self, hook: impl FnOnce(&Orb) + Send + 'static) {
        self.inner.exit_hooks.add(Box::new(hook));
    }

    /// Ends the ORB: runs the hooks of [`before_shutdown`](Self::before_shutdown), takes no new
    /// request, lets those that run finish and their replies go out, tells clients CloseConnection,
    /// closes everything.
    ///
    /// `wait_for_completion` blocks until that is done (at most 30 s for
    /// requests that do not end, or are not [answered](crate::Later)); it is
    /// `BAD_INV_ORDER` from within a request, which would wait for itself. Otherwise [`run`](Orb::run) sees to the end.
    pub fn shutdown(&self, wait_for_completion: bool) -> Result<(), SystemException> {
        if wait_for_completion && within_request() {
            return Err(raise::WOULD_DEADLOCK);
        }
        self.inner.exit_hooks.run(self);
        self.inner.shared.close();
        self.inner.server.close();
        if let Some(adapter) = self.adapter() {
            adapter.closing();
        }
        *self.inner.ended.lock() = true;
        self.inner.main.clear();
        self.inner.end.notify_all();
        if wait_for_completion {
            self.finish();
        }
        Ok(())
    }

    /// Whether the ORB was shut down or is about to be.
    pub fn is_closing(&self) -> bool {
        self.inner.shared.is_closing()
    }

    fn finish(&self) {
        let until = clock::now() + LAST_REQUESTS;
        if !self.inner.server.registry.wait_empty(Some(until)) {
            self.inner.server.registry.cut();
        }
        self.await_served(until);
        if let Some(modules) = self.modules() {
            modules.stop(until);
        }
        self.inner.server.end();
        if let Some(adapter) = self.adapter() {
            adapter.close();
        }
        self.inner.client.end(clock::now() + LAST_ONEWAYS);
        if let Some(budgets) = &self.inner.shared.budgets {
            budgets.end();
        }
        if !self.inner.finished.swap(true, Ordering::SeqCst) {
            self.inner.interceptors.destroy();
        }
    }

    /// Waits until no call from this process to an object of it is running and all that is to be
    /// answered later is, or `until`.
    fn await_served(&self, until: Instant) {
        let inner = &self.inner;
        let mut ended = inner.ended.lock();
        while inner.local_calls.load(Ordering::SeqCst) > 0
            || inner.unanswered.load(Ordering::SeqCst) > 0
        {
            let Some(left) = until.checked_duration_since(clock::now()) else {
                return;
            };
            ended = self.inner.end.wait_timeout(ended, left).0;
        }
    }

    /// A call from this process to an object of it begins; it ends when the
    /// result is dropped. Once the ORB ends only calls made by calls are taken.
    pub(crate) fn begin_local(&self) -> Result<LocalCall<'_>, SystemException> {
        self.inner.local_calls.fetch_add(1, Ordering::SeqCst);
        let nested = within_request();
        within::enter_local();
        let call = LocalCall(self);
        if self.inner.shared.is_closed() && !nested {
            return Err(raise::ORB_SHUT_DOWN);
        }
        Ok(call)
    }

    /// A request is kept to be answered later; `None` when as many are as may.
    pub(crate) fn keep_unanswered(&self) -> Option<Unanswered> {
        let before = self.inner.unanswered.fetch_add(1, Ordering::SeqCst);
        let kept = Unanswered(self.clone());
        (before < self.options().max_unanswered).then_some(kept)
    }
}

/// A call to an object of the caller's own ORB while it runs.
pub(crate) struct LocalCall<'o>(&'o Orb);

impl LocalCall<'_> {
    /// Serves the call's request in this thread; a reply is written to `room`.
    pub(crate) fn serve(&self, request: &[u8], dialect: Dialect, room: Vec<u8>) -> Kept {
        server::serve_local(self.0, request, dialect, room)
    }
}

impl Drop for LocalCall<'_> {
    fn drop(&mut self) {
        within::leave_local();
        let inner = &self.0.inner;
        if inner.local_calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.last_ended();
        }
    }
}

/// A request that is to be answered later, until it is.
pub(crate) struct Unanswered(Orb);

impl Drop for Unanswered {
    fn drop(&mut self) {
        let inner = &self.0.inner;
        if inner.unanswered.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.last_ended();
        }
    }
}

impl Inner {
    /// Wakes the thread that ends the ORB, which may wait for the last request.
    fn last_ended(&self) {
        if self.shared.is_closed() {
            // With the lock, or the notice might come before the wait.
            let _ended = self.ended.lock();
            self.end.notify_all();
        }
    }
}
