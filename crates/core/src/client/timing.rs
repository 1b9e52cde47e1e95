//! How long a call may take.

use std::time::{Duration, Instant};

use oxorb_object::{
    CompletionStatus, PolicyValueWriter, Qos, ServiceContext, SystemException, context_id,
    policy_type, priority_context,
};
use oxorb_rt::Priority;

use super::selection::Worth;
use crate::policy::{Effective, time};
use crate::raise;
use crate::sync::thread;

/// The time limits of one call and when it began. All count from `start`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) start: Instant,
    /// Of the whole call.
    pub(crate) limit: Option<Duration>,
    /// Until the request is sent; no longer than `limit`.
    sending: Option<Duration>,
    /// For connecting to one server, counted from then.
    pub(crate) connect: Duration,
}

impl Timing {
    /// Of a call that begins now.
    ///
    /// # Errors
    /// TIMEOUT, COMPLETED_NO, when it is over before it began, or would have to wait for longer than it may.
    pub(crate) fn start(policies: &Effective) -> Result<Timing, SystemException> {
        let mut timing = Timing::of(policies);
        timing.check(policies)?;
        Ok(timing)
    }

    /// Returns the timing of a call that begins now. It is to be [checked](Self::check) where it is kept.
    #[inline]
    pub(crate) fn of(policies: &Effective) -> Timing {
        Timing {
            start: Instant::now(),
            limit: policies.round_trip,
            sending: policies.round_trip,
            connect: policies.connect,
        }
    }

    /// Applies the policies that say more than a length of time.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    #[inline]
    pub(crate) fn check(&mut self, policies: &Effective) -> Result<(), SystemException> {
        if !policies.plain {
            self.narrow(policies)?;
        }
        if self.sending.is_some_and(|limit| limit.is_zero()) {
            return Err(raise::timeout(CompletionStatus::No));
        }
        Ok(())
    }

    /// Of connecting alone.
    pub(crate) fn for_connecting(limit: Duration) -> Timing {
        Timing {
            start: Instant::now(),
            limit: Some(limit),
            sending: Some(limit),
            connect: limit,
        }
    }

    #[cold]
    fn narrow(&mut self, policies: &Effective) -> Result<(), SystemException> {
        let now = time::utc_now();
        let until = |end: Option<u64>| end.map(|end| time::duration(end.saturating_sub(now)));
        self.limit = earlier(self.limit, until(policies.reply_end));
        let request = earlier(policies.request, until(policies.request_end));
        self.sending = earlier(self.limit, request);
        let waits = |start: Option<u64>, limit: Option<Duration>| {
            let wait = until(start).unwrap_or_default();
            !wait.is_zero() && limit.is_some_and(|limit| wait >= limit)
        };
        if waits(policies.request_start, self.sending) || waits(policies.reply_start, self.limit) {
            return Err(raise::TOO_EARLY);
        }
        Ok(())
    }

    /// When the time is over; `None`: never, or not while this machine runs.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.start.checked_add(self.limit?)
    }

    /// What is left of the whole, never zero; `Err` when nothing is.
    pub(crate) fn left(
        &self,
        completed: CompletionStatus,
    ) -> Result<Option<Duration>, SystemException> {
        self.left_of(self.limit, completed)
    }

    /// What is left for connecting and sending.
    pub(crate) fn left_to_send(&self) -> Result<Option<Duration>, SystemException> {
        self.left_of(self.sending, CompletionStatus::No)
    }

    fn left_of(
        &self,
        limit: Option<Duration>,
        completed: CompletionStatus,
    ) -> Result<Option<Duration>, SystemException> {
        let Some(limit) = limit else {
            return Ok(None);
        };
        match limit.checked_sub(self.start.elapsed()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(raise::timeout(completed)),
        }
    }

    /// How long one write may take.
    pub(crate) fn write_limit(&self) -> Option<Duration> {
        self.sending
    }

    /// For waiting for the reply of a request that was sent just now.
    pub(crate) fn awaiting(mut self, policies: &Effective) -> Timing {
        if let Some(reply) = policies.reply {
            let since = self.start.elapsed();
            self.limit = earlier(self.limit, Some(since.saturating_add(reply)));
        }
        self
    }
}

fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// Waits until an absolute time has come (`TimeT`); nothing of the kind takes longer than the call may.
pub(crate) fn hold_until(start: u64) {
    crate::conn::step_aside();
    loop {
        let now = time::utc_now();
        if now >= start {
            return;
        }
        thread::sleep(time::duration(start - now));
    }
}

/// Contexts that a call may have.
const ROOM: usize = 3;

/// What of a call's policies travels with its request, in the service context INVOCATION_POLICIES.
///
/// Times that were given as absolute ones travel as such. Of relative ones what is left travels, as the relative policy
/// that it is: so the clocks of both sides need not agree. Where they do (option SynchronizedClocks), the end times go
/// along, which other ORBs understand. Allocates nothing.
///
/// The caller's priority travels beside them, in RTCorbaPriority, where the object wants to know it; and in RIOP what the
/// call is worth, where a policy says that.
pub(crate) struct Carried<'w> {
    policies: Option<&'w PolicyValueWriter>,
    priority: Option<[u8; 4]>,
    qos: Option<[u8; Qos::OCTETS]>,
}

impl<'w> Carried<'w> {
    /// For all contexts there may be.
    pub(crate) const ROOM: [ServiceContext<'static>; ROOM] =
        [ServiceContext { id: 0, data: &[] }; ROOM];

    /// As of now; nothing unless policies of that sort were set. Those are written into `room`: they are large, most
    /// calls have none, and nobody is to move them.
    #[inline]
    pub(crate) fn of(
        policies: &Effective,
        worth: Worth,
        timing: Timing,
        synchronized_clocks: bool,
        room: &'w mut Option<PolicyValueWriter>,
    ) -> Self {
        if policies.carries {
            write(policies, timing, synchronized_clocks, room);
        }
        Carried {
            policies: room.as_ref(),
            priority: worth
                .priority
                .map(|priority| priority_context(priority.get())),
            qos: policies
                .qos
                .or(worth.qos)
                .map(|qos| complete(qos, worth.priority).encode()),
        }
    }

    fn contexts(&self) -> impl Iterator<Item = ServiceContext<'_>> {
        let policies = self.policies.map(|written| ServiceContext {
            id: context_id::INVOCATION_POLICIES,
            data: written.octets(),
        });
        let priority = self.priority.as_ref().map(|octets| ServiceContext {
            id: context_id::RT_CORBA_PRIORITY,
            data: octets,
        });
        let qos = self.qos.as_ref().map(|octets| ServiceContext {
            id: context_id::RIOP,
            data: octets,
        });
        policies.into_iter().chain(priority).chain(qos)
    }

    /// The contexts, without an allocation.
    pub(crate) fn fill<'r, 'c>(
        &'c self,
        room: &'r mut [ServiceContext<'c>; ROOM],
    ) -> &'r [ServiceContext<'c>] {
        let mut count = 0;
        for (place, context) in room.iter_mut().zip(self.contexts()) {
            *place = context;
            count += 1;
        }
        &room[..count]
    }

    /// All contexts of the request. Allocates if there is any.
    pub(crate) fn beside<'c>(&'c self, others: &[ServiceContext<'c>]) -> Vec<ServiceContext<'c>> {
        self.contexts().chain(others.iter().copied()).collect()
    }
}

/// With the calling thread's priority, where none is named.
fn complete(mut qos: Qos, travels: Option<Priority>) -> Qos {
    let ours = || {
        travels
            .or_else(crate::rt::thread_priority)
            .map(Priority::get)
    };
    qos.priority = qos.priority.or_else(ours);
    qos
}

#[cold]
fn write(
    policies: &Effective,
    timing: Timing,
    synchronized_clocks: bool,
    room: &mut Option<PolicyValueWriter>,
) {
    let mut written = PolicyValueWriter::new();
    let since = timing.start.elapsed();
    let left = |limit: Duration| time::units(limit.saturating_sub(since));
    let end = |limit: Option<Duration>| {
        let limit = limit.filter(|_| synchronized_clocks)?;
        Some(time::utc_now().saturating_add(left(limit)))
    };
    let round_trip = policies.round_trip.filter(|_| policies.round_trip_carried);
    let first = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    };
    let times = [
        (policy_type::REQUEST_START_TIME, policies.request_start),
        (
            policy_type::REQUEST_END_TIME,
            first(policies.request_end, end(policies.request)),
        ),
        (policy_type::REPLY_START_TIME, policies.reply_start),
        (
            policy_type::REPLY_END_TIME,
            first(policies.reply_end, end(round_trip)),
        ),
    ];
    for (kind, time) in times {
        if let Some(time) = time {
            written.utc(kind, time);
        }
    }
    if let Some(limit) = policies.request {
        written.time(policy_type::RELATIVE_REQUEST_TIMEOUT, left(limit));
    }
    if let Some(limit) = round_trip {
        written.time(policy_type::RELATIVE_ROUNDTRIP_TIMEOUT, left(limit));
    }
    if let Some(range) = policies.priority {
        written.range(policy_type::REQUEST_PRIORITY, (range.min, range.max));
    }
    *room = Some(written).filter(|written| !written.is_empty());
}
