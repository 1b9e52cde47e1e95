//! Life of an ORB: its main loop and its end.

use std::time::{Duration, Instant};

use oxorb_cdr::Dialect;
use oxorb_object::SystemException;

use super::{Inner, Orb};
use crate::conn::CollocatedReply;
use crate::error::raise;
use crate::server;
use crate::threads::sync::atomic::Ordering;
use crate::threads::within::{self, within_request};
use crate::threads::{MainThreadQueueFull, clock};

/// Longest time that an orderly end waits for running requests.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// Longest time that an orderly end waits until buffered oneways are sent, over all servers.
const LAST_ONEWAYS: Duration = Duration::from_secs(5);

impl Orb {
    /// Blocks until the ORB was shut down and the running requests have ended. Meanwhile the calling thread is the
    /// ORB's main thread, and runs the jobs that only the main thread may run.
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

    /// Reports whether jobs wait for the main thread.
    pub fn work_pending(&self) -> bool {
        !self.inner.main.is_empty()
    }

    /// Runs the jobs that wait for the main thread, for programs whose main thread has its own loop. The calling
    /// thread is the main thread during the call.
    pub fn perform_work(&self) {
        let _main = self.inner.main.enter();
        while !self.is_closing()
            && let Some(job) = self.inner.main.pop()
        {
            job();
        }
    }

    /// Queues a job for the main thread. Jobs that still wait at the end of the ORB are dropped.
    ///
    /// # Errors
    /// [`MainThreadQueueFull`] if `most` jobs wait already, or the ORB has ended.
    pub fn run_on_main(
        &self,
        job: Box<dyn FnOnce() + Send>,
        most: usize,
    ) -> Result<(), MainThreadQueueFull> {
        let ended = self.inner.ended.lock();
        if *ended {
            return Err(MainThreadQueueFull);
        }
        self.inner.main.push(job, most)?;
        self.inner.end.notify_all();
        Ok(())
    }

    /// Reports whether the calling thread is in [`run`](Self::run) or [`perform_work`](Self::perform_work) of this ORB.
    pub fn is_main_thread(&self) -> bool {
        self.inner.main.is_here()
    }

    /// Registers a hook that runs when the ORB is shut down, while the ORB still sends and serves requests: for
    /// example, to withdraw names and to notify other servers. Hooks run once, the last registered first, in the thread
    /// that calls [`shutdown`](Self::shutdown); the time-outs of their calls limit their duration. A panic of one hook
    /// does not prevent the others.
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

    /// Ends the ORB: runs the hooks of [`before_shutdown`](Self::before_shutdown), accepts no new requests, lets
    /// running requests finish and sends their replies, sends clients CloseConnection, and closes everything. Calls
    /// that running requests make are answered until these have ended, also over connections that clients offer.
    ///
    /// With `wait_for_completion` the call blocks until that is done (at most 30 s for requests that do not end, or are
    /// not [answered](crate::ResponseHandler)), and raises `BAD_INV_ORDER` within a request, which would wait for
    /// itself. Without it, [`run`](Orb::run) completes the end of the ORB.
    pub fn shutdown(&self, wait_for_completion: bool) -> Result<(), SystemException> {
        if wait_for_completion && within_request() {
            return Err(raise::WOULD_DEADLOCK);
        }
        self.inner.exit_hooks.run(self);
        self.inner.shared.close();
        self.inner.server.close();
        if let Some(responder) = self.inner.responder.get() {
            responder.close();
        }
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

    /// Reports whether the ORB was shut down or is about to be.
    #[inline]
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
        if let Some(responder) = self.inner.responder.get() {
            responder.join();
        }
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

    /// Waits until no call from this process to an object of this ORB is running and all requests kept for later are
    /// answered, or until `until`.
    fn await_served(&self, until: Instant) {
        let inner = &self.inner;
        let mut ended = inner.ended.lock();
        let registry = &inner.server.registry;
        while registry.local_calls.load(Ordering::SeqCst) > 0
            || registry.unanswered.load(Ordering::SeqCst) > 0
        {
            let Some(left) = until.checked_duration_since(clock::now()) else {
                return;
            };
            ended = self.inner.end.wait_timeout(ended, left).0;
        }
    }

    /// Begins a call from this process to an object of this ORB; the call ends when the result is dropped. Once the ORB
    /// ends, only calls made within requests are accepted.
    pub(crate) fn begin_local(&self) -> Result<LocalCall<'_>, SystemException> {
        self.registry().local_calls.fetch_add(1, Ordering::SeqCst);
        let nested = within_request();
        within::enter_local();
        let call = LocalCall(self);
        if self.inner.shared.is_closed() && !nested {
            return Err(raise::ORB_SHUT_DOWN);
        }
        Ok(call)
    }

    /// Counts a request that is kept to be answered later; returns `None` if `max_unanswered` requests are kept
    /// already.
    pub(crate) fn keep_unanswered(&self) -> Option<Unanswered> {
        let before = self.registry().unanswered.fetch_add(1, Ordering::SeqCst);
        let kept = Unanswered(self.clone());
        (before < self.options().max_unanswered).then_some(kept)
    }
}

/// Running call to an object of the caller's own ORB.
pub(crate) struct LocalCall<'o>(&'o Orb);

impl LocalCall<'_> {
    /// Serves the call's request in this thread; the reply is written to the buffer `room`.
    pub(crate) fn serve(&self, request: &[u8], dialect: Dialect, room: Vec<u8>) -> CollocatedReply {
        server::serve_local(self.0, request, dialect, room)
    }
}

impl Drop for LocalCall<'_> {
    fn drop(&mut self) {
        within::leave_local();
        let inner = &self.0.inner;
        if inner.server.registry.local_calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.last_ended();
        }
    }
}

/// Count of a request that is to be answered later, until it is answered.
pub(crate) struct Unanswered(Orb);

impl Drop for Unanswered {
    fn drop(&mut self) {
        let inner = &self.0.inner;
        if inner.server.registry.unanswered.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.last_ended();
        }
    }
}

impl Inner {
    /// Wakes the thread that ends the ORB, which may wait for the last request.
    fn last_ended(&self) {
        if self.shared.is_closed() {
            // The lock is held, so that the notification cannot come between the check and the wait of the other
            // thread.
            let _ended = self.ended.lock();
            self.end.notify_all();
        }
    }
}
