//! Rates that a container enforces at ports.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxorb_core::{Bucket, CurrentLane, Outcome, Servant, Upcall};
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_sys::clock::monotonic_nanoseconds;

/// Maximum rate of calls or events at a port: at most `(t + tolerance) / period + 1` in any interval of length `t`.
///
/// ```
/// use oxorb_component::PortRate;
/// use std::time::Duration;
///
/// // 20 Hz, each up to 5 ms too early.
/// let rate = PortRate::new(Duration::from_millis(50)).tolerance(Duration::from_millis(5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRate {
    period: Duration,
    tolerance: Duration,
    /// Kind of ports to which the rate applies; `None` for both kinds.
    kind: Option<LimitedPort>,
}

/// Kind of ports whose rates a container can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedPort {
    /// Facet or sink: the rate limits received calls or events.
    FacetOrSink,
    /// Source: the rate limits sent events.
    Source,
}

impl fmt::Display for LimitedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitedPort::FacetOrSink => "facet or sink",
            LimitedPort::Source => "source",
        })
    }
}

impl PortRate {
    /// Returns a rate of one call or event in each period. A period of 0 counts as 1 ns.
    pub const fn new(period: Duration) -> Self {
        PortRate { period, tolerance: Duration::ZERO, kind: None }
    }

    /// Restricts the rate to ports of one kind. If the port is of the other kind, its component is not installed.
    #[must_use]
    pub const fn only_at(mut self, kind: LimitedPort) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Returns the kind of ports to which the rate is restricted, if this kind differs from `kind`.
    pub(crate) fn other_kind(&self, kind: LimitedPort) -> Option<LimitedPort> {
        self.kind.filter(|only| *only != kind)
    }

    /// Sets the time by which a call or event may come too early: 0 by default.
    #[must_use]
    pub const fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }
}

/// Enforcement of the rate of one port.
pub(crate) struct Gate {
    bucket: Bucket,
    period: u64,
    refused: AtomicU64,
}

impl Gate {
    pub(crate) fn new(rate: PortRate) -> Arc<Self> {
        let nanoseconds = |time: Duration| {
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
        };
        let period = nanoseconds(rate.period).max(1);
        let bucket = Bucket::default();
        bucket.set_depth(period + nanoseconds(rate.tolerance));
        Arc::new(Gate { bucket, period, refused: AtomicU64::new(0) })
    }

    /// Lets a call or an event through, or refuses it and counts it. Takes no lock and allocates nothing; reads the
    /// clock.
    #[inline]
    pub(crate) fn admits(&self) -> bool {
        let is_admitted = self.bucket.take(monotonic_nanoseconds(), self.period);
        if !is_admitted {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        is_admitted
    }

    /// Returns the number of calls and events that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Exception for a call beyond the rate of its port.
pub(crate) const BEYOND_RATE: SystemException =
    SystemException::transient(minor::transient::PORT_RATE, CompletionStatus::No);

/// Servant of a facet whose rate is enforced.
///
/// It has no typed handles, so that collocated calls are marshalled too and cannot bypass the check.
pub(crate) struct Paced {
    pub(crate) servant: Arc<dyn Servant>,
    pub(crate) gate: Arc<Gate>,
}

impl Servant for Paced {
    fn repository_id(&self) -> &str {
        self.servant.repository_id()
    }

    fn is_a(&self, id: &str) -> bool {
        self.servant.is_a(id)
    }

    fn identity(&self) -> usize {
        self.servant.identity()
    }

    fn confinement(&self) -> Option<CurrentLane> {
        self.servant.confinement()
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match self.gate.admits() {
            true => self.servant.dispatch(upcall),
            false => upcall.fail(BEYOND_RATE),
        }
    }
}
