//! Thread that watches requests with budgets while they run.

use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb_sys::clock::cpu_of;
use oxorb_sys::schedule::{SchedulingClass, ThreadPriority};
use oxorb_sys::thread::ThreadPurpose;

use super::account::Account;
use super::ledger::Ledger;
use super::lowest;
use super::overrun::Overrun;
use super::slot::BudgetSlot;
use crate::Incident;
use crate::threads::sync::atomic::Ordering;
use crate::threads::sync::thread;
use crate::threads::{Threads, clock};

/// Starts the watcher. It ends with the ledger.
pub(super) fn start(ledger: &Arc<Ledger>, threads: &Threads) {
    // A watcher with a real-time priority must be more urgent than every thread that it watches.
    let most = *SchedulingClass::Fifo.priorities().end();
    let schedule = match threads.are_real_time() {
        true => ThreadPriority { class: SchedulingClass::Fifo, priority: most },
        false => ThreadPriority::default(),
    };
    let builder = threads.builder_at(ThreadPurpose::Watcher, "oxorb-budgets", schedule);
    let quantum = ledger.quantum;
    let watched = Arc::downgrade(ledger);
    let started = builder.spawn(move || {
        let mut slots = Vec::new();
        while let Some(ledger) = watched.upgrade() {
            if ledger.ended.load(Ordering::Relaxed) {
                ledger.checked.store(0, Ordering::Relaxed);
                return;
            }
            ledger.check(&mut slots);
            drop(ledger);
            thread::sleep(quantum);
        }
    });
    if let Err(error) = started {
        lowest::tell(&ledger.watch, || {
            format!("the thread that watches running requests cannot be started: {error}")
        });
    }
}

impl Ledger {
    /// Inspects the requests of all threads, and records the time.
    pub(super) fn check(&self, slots: &mut Vec<Weak<BudgetSlot>>) {
        slots.clear();
        slots.extend(self.slots.lock().iter().cloned());
        let now = clock::monotonic_nanoseconds();
        self.checked.store(now, Ordering::Relaxed);
        for slot in slots.iter().filter_map(Weak::upgrade) {
            self.look_at(&slot, now, |thread| cpu_of(thread).ok());
        }
    }

    /// Charges the request of a thread, and demotes the thread if it overruns. `cpu` returns the processor time of a
    /// thread.
    pub(super) fn look_at(
        &self,
        slot: &BudgetSlot,
        now: u64,
        cpu: impl FnOnce(i32) -> Option<u64>,
    ) {
        let Some(mut looked) = slot.look() else {
            return;
        };
        let Some(cpu) = cpu(looked.thread()) else {
            return;
        };
        let (left, run) = looked.used(cpu);
        looked.accounts(|account| account.charge(now, left));
        if run <= looked.longest() {
            return;
        }
        // Demote the thread at each check, because the servant may have changed its priority since the last one.
        looked.demoted = self.lowest.demote(looked.thread()) || looked.demoted;
        if !looked.tell() {
            return;
        }
        let mut overrun = None;
        looked.accounts(|account| {
            let told = overruns(account, run, slot.thread, true, looked.demoted);
            overrun = overrun.take().or(told.map(|told| (told, account.is_to_tell(now))));
        });
        drop(looked);
        if let Some((overrun, log)) = overrun {
            self.tell(&overrun, log);
        }
    }

    /// Reports an overrun to the application and, if `log`, to the log.
    pub(super) fn tell(&self, overrun: &Overrun, log: bool) {
        if log {
            let detail = || {
                let Overrun { used, allowed, .. } = overrun;
                let demoted = match (overrun.runs, overrun.demoted) {
                    (true, true) => "; its thread is demoted until it ends",
                    (true, false) => "; its thread cannot be demoted",
                    (false, _) => "",
                };
                format!("{used:?} of processor time, {allowed:?} in its budget{demoted}")
            };
            self.watch.note(Incident::Overrun, || overrun.subject.clone(), detail);
        }
        self.hooks.call(overrun);
    }
}

/// Counts a request that exceeds an account's longest time; `None` if it does not.
pub(super) fn overruns(
    account: &Account,
    run: u64,
    thread: i32,
    runs: bool,
    demoted: bool,
) -> Option<Overrun> {
    let longest = account.longest();
    if run <= longest {
        return None;
    }
    account.counts.overruns.fetch_add(1, Ordering::Relaxed);
    Some(Overrun {
        subject: account.subject(),
        thread,
        used: Duration::from_nanos(run),
        allowed: Duration::from_nanos(longest),
        runs,
        demoted,
    })
}
