//! Time limits of calls.

use std::time::{Duration, Instant};

use oxorb_object::{CompletionStatus, SystemException};

use crate::conn::ConnectionEnd;
use crate::error::raise;
use crate::policy::{Effective, time};
use crate::threads::clock;
use crate::threads::sync::thread;

/// Time limits of one call, and the start of the call, from which all of them count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) start: Instant,
    /// Time limit of the whole call.
    pub(crate) limit: Option<Duration>,
    /// Time limit until the request is sent; no longer than `limit`.
    sending: Option<Duration>,
    /// Time limit of connecting to a server, counted from the start of the attempt.
    pub(crate) connect: Duration,
}

impl Timing {
    /// Returns the timing of a call that begins now.
    ///
    /// # Errors
    /// TIMEOUT, COMPLETED_NO, if the time is over before the call begins, or the call would have to wait for longer
    /// than it may.
    pub(crate) fn start(policies: &Effective) -> Result<Timing, SystemException> {
        let mut timing = Timing::of(policies);
        timing.check(policies)?;
        Ok(timing)
    }

    /// Returns the timing of a call that begins now. The caller has to [check](Self::check) it.
    #[inline]
    pub(crate) fn of(policies: &Effective) -> Timing {
        Timing {
            start: clock::now(),
            limit: policies.round_trip,
            sending: policies.round_trip,
            connect: policies.connect,
        }
    }

    /// Returns the timing of a call that began at `start`, under policies of the ORB alone.
    pub(super) fn since(start: Instant, policies: &Effective) -> Timing {
        Timing {
            start,
            limit: policies.round_trip,
            sending: policies.round_trip,
            connect: policies.connect,
        }
    }

    /// Applies the policies that are more than a duration, such as start and end times.
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

    /// Returns this timing with the limit `longest`, if it has none.
    pub(super) fn within(mut self, longest: Option<Duration>) -> Timing {
        self.limit = self.limit.or(longest);
        self
    }

    /// Returns a timing for connecting alone.
    pub(crate) fn for_connecting(limit: Duration) -> Timing {
        Timing { start: clock::now(), limit: Some(limit), sending: Some(limit), connect: limit }
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

    /// Returns the time at which the limit ends; `None` if it never ends, or later than the clock can express.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.start.checked_add(self.limit?)
    }

    /// Returns the time until which the request has to be sent; `None` as for [`deadline`](Self::deadline).
    pub(crate) fn deadline_to_send(&self) -> Option<Instant> {
        self.start.checked_add(self.sending?)
    }

    /// Returns the remaining time of the call, never zero; TIMEOUT if none remains.
    pub(crate) fn left(
        &self,
        completed: CompletionStatus,
    ) -> Result<Option<Duration>, SystemException> {
        self.left_of(self.limit, completed)
    }

    /// Returns the remaining time for the reply, never zero.
    ///
    /// # Errors
    /// [`ConnectionEnd::Late`] if none remains.
    pub(super) fn left_for_reply(&self) -> Result<Option<Duration>, ConnectionEnd> {
        self.left(CompletionStatus::Maybe).map_err(|_| ConnectionEnd::Late)
    }

    /// Returns the remaining time for connecting and sending.
    pub(crate) fn left_to_send(&self) -> Result<Option<Duration>, SystemException> {
        self.left_of(self.sending, CompletionStatus::No)
    }

    /// Returns the remaining time for sending, zero if none remains; `None` if there is no limit.
    #[cold]
    pub(crate) fn time_to_send(&self) -> Option<Duration> {
        self.left_to_send().unwrap_or(Some(Duration::ZERO))
    }

    fn left_of(
        &self,
        limit: Option<Duration>,
        completed: CompletionStatus,
    ) -> Result<Option<Duration>, SystemException> {
        let Some(limit) = limit else {
            return Ok(None);
        };
        match limit.checked_sub(clock::since(self.start)) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(raise::timeout(completed)),
        }
    }

    /// Returns the timing that remains, counted from now. A write of a call that has lasted for some time may take only
    /// the remaining time, not that of the complete call.
    ///
    /// # Errors
    /// TIMEOUT, COMPLETED_NO, if no time remains for sending.
    #[cold]
    pub(crate) fn resumed(self) -> Result<Timing, SystemException> {
        let sending = self.left_to_send()?;
        let start = clock::now();
        let gone = start.saturating_duration_since(self.start);
        let limit = self.limit.map(|limit| limit.saturating_sub(gone));
        Ok(Timing { start, limit, sending, connect: self.connect })
    }

    /// Returns the limit of a write.
    pub(crate) fn write_limit(&self) -> Option<Duration> {
        self.sending
    }

    /// Returns the timing of the wait for the reply to a request that was just sent.
    pub(crate) fn awaiting(mut self, policies: &Effective) -> Timing {
        if let Some(reply) = policies.reply {
            let since = clock::since(self.start);
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

/// Waits until an absolute time (`TimeT`), which [`Timing::check`] has found to be within the call's limit.
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
