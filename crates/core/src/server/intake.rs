//! Messages that arrive in pieces: their part of the client's share of memory, and their pace.

use std::sync::Arc;
use std::time::Instant;

use oxorb_giop::Inbox;
use oxorb_transport::{LARGE, Link};

use super::client::Client;
use super::reply_memory;
use super::share::{Claim, ClientLimits, KeptBuffer, SMALL};
use super::side::ServerSide;
use super::status::Status;
use crate::conn::ConnectionEnd;
use crate::policy::LargePayloads;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering;
use crate::{Incident, Options};

/// Minimum number of octets of a message that must arrive in each `stall_timeout`, so that a message that arrives octet
/// by octet stalls.
const PACE: usize = 1024;

/// Account of a connection's incoming messages.
pub(super) struct Intake {
    /// Pace of an incomplete message.
    pace: Option<Pace>,
    /// Part of the client's share that its messages take.
    pub(super) claim: Claim,
    /// Part of the client's share that the inbox's memory takes between messages.
    kept: KeptBuffer,
    /// Whether the connection is not read until other messages of the client free memory, or a budget has refilled.
    pub(super) throttled: bool,
    /// Time until which the connection is not read because a budget is exhausted, as of the last attempt to read it, in
    /// nanoseconds of the monotonic clock; 0 if it is not paused.
    pub(super) paused_until: u64,
}

/// Pace of a message that arrives in pieces.
struct Pace {
    since: Instant,
    /// Number of octets received since then.
    octets: usize,
}

impl Intake {
    pub(super) fn of(client: Option<&Arc<Client>>) -> Intake {
        Intake {
            pace: None,
            claim: Claim::of(client),
            kept: KeptBuffer::of(client),
            throttled: false,
            paused_until: 0,
        }
    }

    /// Counts the memory of the inbox as planned, with `octets`.
    pub(super) fn planned(&mut self, octets: usize) {
        self.kept.planned(octets);
    }

    /// Records received octets.
    #[inline]
    pub(super) fn came(&mut self, octets: usize) {
        if let Some(pace) = &mut self.pace {
            pace.octets += octets;
        }
    }

    /// Records that a pause has ended, and that the connection is watched again.
    pub(super) fn resume(&mut self) {
        self.paused_until = 0;
        self.throttled = false;
    }

    /// Reports whether the link may be read; if not, a budget of its requests is exhausted, or other messages of this
    /// client take all the memory it may use. Costs some comparisons while messages are small and arrive complete.
    ///
    /// # Errors
    /// [`ConnectionEnd::Stalled`].
    #[inline(always)]
    pub(super) fn may_read(
        &mut self,
        side: &ServerSide,
        link: &dyn Link,
        status: &Status,
        inbox: &mut Inbox,
    ) -> Result<bool, ConnectionEnd> {
        let small = self.claim.is_empty() && self.kept.covers(inbox.spare());
        let free = !self.throttled && !status.may_be_paused();
        if small && free && self.pace.is_none() && !inbox.mid_message() {
            return Ok(true);
        }
        self.may_read_any(side, link, status, inbox)
    }

    #[inline(never)]
    fn may_read_any(
        &mut self,
        side: &ServerSide,
        link: &dyn Link,
        status: &Status,
        inbox: &mut Inbox,
    ) -> Result<bool, ConnectionEnd> {
        self.paused_until = status.paused_until().unwrap_or_default();
        if self.paused_until != 0 {
            self.gets_on(status);
            self.throttled = true;
            return Ok(false);
        }
        if !inbox.mid_message() {
            self.gets_on(status);
            self.throttled = false;
            if !self.claim.is_empty() || !self.kept.covers(inbox.spare()) {
                self.between_large(side.options(), inbox);
            }
            return Ok(true);
        }
        if inbox.awaited() >= LARGE
            && (side.shared.has_in_place_only()
                || status.payloads(side.options()) == LargePayloads::InPlaceOnly)
        {
            inbox.always_borrow();
        }
        self.may_read_on(side, link, status, inbox)
    }

    fn may_read_on(
        &mut self,
        side: &ServerSide,
        link: &dyn Link,
        status: &Status,
        inbox: &Inbox,
    ) -> Result<bool, ConnectionEnd> {
        if self.has_stalled(side, link, status, inbox) {
            return Err(ConnectionEnd::Stalled);
        }
        let wanted = inbox.memory().max(inbox.awaited());
        // The memory that the inbox keeps between messages is already counted, so only the rest is claimed.
        let wanted = wanted.saturating_sub(self.kept.octets());
        if wanted <= SMALL || self.claim.grow(wanted, ClientLimits::of(side.options())) {
            self.throttled = false;
            return Ok(true);
        }
        if !self.throttled {
            self.throttled = true;
            let detail = || format!("a message of {wanted} octets is waiting");
            side.shared.note(Incident::TooManyOctets, || link.peer(), detail);
        }
        Ok(false)
    }

    /// Accounts for memory after a large message: it is kept if it fits the limit of the client's
    /// connections.
    #[cold]
    fn between_large(&mut self, options: &Options, inbox: &mut Inbox) {
        let octets = self.claim.release();
        let spare = inbox.spare();
        let same = self.kept.covers(spare) && self.kept.octets() <= spare;
        if !same && !self.kept.keep(spare, options) {
            inbox.shrink_to(SMALL);
            reply_memory::freed(octets.max(spare));
        } else if octets > spare {
            reply_memory::freed(octets - spare);
        }
    }

    /// Reports whether an incomplete message has made no progress for `stall_timeout`.
    pub(super) fn has_stalled(
        &mut self,
        side: &ServerSide,
        link: &dyn Link,
        status: &Status,
        inbox: &Inbox,
    ) -> bool {
        // The client cannot send on while the connection is paused.
        if !inbox.mid_message() || status.paused_until().is_some() {
            self.gets_on(status);
            return false;
        }
        match &mut self.pace {
            Some(pace) if pace.octets < PACE => {
                let limit = side.options().stall_timeout;
                // A throttled connection is not read. Its limit is doubled, so that the messages that block it stall
                // first.
                let limit = if self.throttled { 2 * limit } else { limit };
                let stalled = clock::since(pace.since) >= limit;
                if stalled {
                    side.shared.note(Incident::Stalled, || link.peer(), String::new);
                }
                stalled
            }
            pace => {
                *pace = Some(Pace { since: clock::now(), octets: 0 });
                side.registry.stalls(status);
                false
            }
        }
    }

    /// Records that no message is incomplete, or that an incomplete one is not read on.
    #[inline]
    pub(super) fn gets_on(&mut self, status: &Status) {
        if self.pace.take().is_some() {
            status.stalls_since.store(0, Ordering::Relaxed);
        }
    }
}
