//! Measured times of requests, held against the declared ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use oxorb_rt::{Distribution, Histogram};

use crate::lock::Mutex;

/// The counters of one operation.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    response: Histogram,
    cpu: Histogram,
    /// Used more processor time than declared.
    overruns: AtomicU64,
    /// Done after their deadline, or dropped because they would be.
    missed: AtomicU64,
    /// Refused by admission, or for want of room.
    refused: AtomicU64,
}

/// Times that the requests of an operation took so far: from
/// [`Orb::measurements`](crate::Orb::measurements).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// The operation, as the table calls it.
    pub operation: String,
    /// Time from when a request was read (where there are dispatching modules; else from when its
    /// servant was found) until it was answered.
    pub response: Distribution,
    /// Processor time of the thread that ran it.
    pub cpu: Distribution,
    /// Requests that used more processor time than the table allows them.
    pub overruns: u64,
    /// Requests that were done after their deadline, or dropped late.
    pub missed: u64,
    /// Requests that were refused because they could not be in time, or because their queue was full.
    pub refused: u64,
}

/// Number of calls from an operation to another: from
/// [`Orb::calls_between`](crate::Orb::calls_between).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallsBetween {
    /// The operation that was running.
    pub from: String,
    /// The one it called.
    pub to: String,
    /// Whether it waited for the answer.
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

/// Calls between operations, by their rows, and whether two-way. Bounded by the square of the
/// table.
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
