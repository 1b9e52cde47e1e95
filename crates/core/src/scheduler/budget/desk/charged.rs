//! End of a request that a desk has begun: its processor time is charged, and its thread is restored.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use oxorb_sys::clock::thread_cpu_nanoseconds;

use super::Desk;
use crate::scheduler::budget::account::Account;
use crate::scheduler::budget::ledger::{Bundle, Ledger};
use crate::scheduler::budget::lowest;
use crate::scheduler::budget::slot::{BudgetSlot, Finished};
use crate::scheduler::budget::taking::each;
use crate::scheduler::budget::watcher::overruns;
use crate::threads::clock;
use crate::threads::rt;

/// Guard of a request that runs within its budgets or demoted. When dropped, it charges the request, and restores the
/// class and priority of a thread that is demoted for this request. Not `Send`.
#[must_use = "it is charged when this is dropped"]
pub(crate) struct Charged<'c> {
    pub(super) ledger: &'c Arc<Ledger>,
    pub(super) desk: &'c Desk,
    pub(super) client: &'c Arc<Account>,
    pub(super) bundle: Option<Rc<Bundle>>,
    /// Time at which the request is charged, in nanoseconds of the monotonic clock: its start, or at most one quantum
    /// before.
    pub(super) now: u64,
    /// Whether the request's processor time is counted.
    pub(super) timed: bool,
    /// Whether the thread is demoted for this request.
    pub(super) demoted: bool,
    /// Whether the connection is not read if the request exhausts a budget.
    pub(super) pauses: bool,
}

impl Charged<'_> {
    /// Ends the request. A second call does nothing, so a panic in the first one does not charge the request twice.
    #[inline(always)]
    pub(crate) fn finish(&mut self) {
        let bundle = self.bundle.take();
        if mem::take(&mut self.timed) {
            self.settle(bundle.as_deref());
        }
        if mem::take(&mut self.demoted) {
            drop(self.desk.demoted.take());
        }
        if mem::take(&mut self.pauses) {
            self.desk.pause(self.client, bundle.as_deref());
        }
    }

    /// Charges the processor time used.
    #[inline(always)]
    fn settle(&self, bundle: Option<&Bundle>) {
        let Some(slot) = self.desk.slot.get() else {
            return;
        };
        let Finished { cpu, left, run, longest, demoted } = slot.finish(thread_cpu_nanoseconds);
        self.desk.charged.set(cpu);
        each(self.client, bundle, |_, account| account.charge(self.now, left));
        if run > longest || demoted {
            self.overran(bundle, slot, run, demoted);
        }
    }

    // The values are passed one by one, because a reference would keep them in memory for each request.
    #[cold]
    fn overran(&self, bundle: Option<&Bundle>, slot: &BudgetSlot, run: u64, demoted: bool) {
        let told = slot.take_told();
        if demoted && !rt::restore_demoted() {
            lowest::tell(&self.ledger.watch, || {
                format!("the kernel does not restore the urgency of thread {}", slot.thread)
            });
        }
        if told {
            return;
        }
        // The request ended before the watcher noticed the overrun, so this thread reports it.
        each(self.client, bundle, |_, account| {
            if let Some(overrun) = overruns(account, run, slot.thread, false, false) {
                let log = account.is_to_tell(clock::monotonic_nanoseconds());
                self.ledger.tell(&overrun, log);
            }
        });
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}
