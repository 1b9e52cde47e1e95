//! Measured times of requests, compared with the declared ones.

use std::collections::BTreeMap;

use oxorb_rt::{Distribution, Histogram};

use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU64, Ordering};

/// Counters of one operation.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    response: Histogram,
    cpu: Histogram,
    /// Requests that used more processor time than declared.
    overruns: AtomicU64,
    /// Number of requests completed after their deadline, or dropped because of it.
    missed: AtomicU64,
    /// Requests refused by admission, or because their queue was full.
    refused: AtomicU64,
}

/// Measured times of an operation's requests, as returned by [`Orb::measurements`](crate::Orb::measurements).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// Name of the operation in the table.
    pub operation: String,
    /// Time to the answer of a request: from its receipt if there are dispatching modules,
    /// otherwise from the lookup of its servant.
    pub response: Distribution,
    /// Processor time of the thread that ran the request.
    pub cpu: Distribution,
    /// Number of requests that used more processor time than the table declares.
    pub overruns: u64,
    /// Number of requests completed after their deadline, or dropped because of it.
    pub missed: u64,
    /// Number of requests refused because they would miss their deadline, or because their queue
    /// was full.
    pub refused: u64,
}

/// Number of calls from one operation to another, as returned by [`Orb::calls_between`](crate::Orb::calls_between).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallsBetween {
    /// Calling operation.
    pub from: String,
    /// Called operation.
    pub to: String,
    /// Whether the caller waited for the answer.
    pub two_way: bool,
    /// Number of calls.
    pub calls: u64,
}

impl Measured {
    pub(super) fn record(&self, response: u64, cpu: u64) {
        self.response.record(response);
        self.cpu.record(cpu);
    }

    pub(super) fn overrun(&self) {
        self.overruns.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn missed(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self, operation: &str) -> Measurement {
        Measurement {
            operation: operation.to_owned(),
            response: self.response.read(),
            cpu: self.cpu.read(),
            overruns: self.overruns.load(Ordering::Relaxed),
            missed: self.missed.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    pub(super) fn reset(&self) {
        self.response.reset();
        self.cpu.reset();
        for count in [&self.overruns, &self.missed, &self.refused] {
            count.store(0, Ordering::Relaxed);
        }
    }
}

/// Counts of calls between operations, by their rows and by whether they were two-way. Their number is bounded by the
/// square of the number of rows.
#[derive(Debug, Default)]
pub(super) struct Graph(Mutex<BTreeMap<(u16, u16, bool), u64>>);

impl Graph {
    pub(super) fn called(&self, from: u16, to: u16, two_way: bool) {
        let mut calls = self.0.lock();
        *calls.entry((from, to, two_way)).or_default() += 1;
    }

    pub(super) fn read(&self, name: impl Fn(u16) -> String) -> Vec<CallsBetween> {
        let calls = self.0.lock();
        let edges = calls.iter().map(|(&(from, to, two_way), &calls)| {
            let (from, to) = (name(from), name(to));
            CallsBetween { from, to, two_way, calls }
        });
        edges.collect()
    }

    pub(super) fn reset(&self) {
        self.0.lock().clear();
    }
}
