//! Leader/followers: callers that share a connection read it in turn, one for all.
//!
//! A waiting caller that finds no reader leads: it reads messages and delivers each to the call it answers. Once its
//! own answer has arrived, it puts the inbox back and wakes one of the callers that still wait, which leads next. A
//! caller that stops waiting does the same, so that there is always a leader while callers wait. Until the woken caller
//! runs, any other that finds no reader may lead, too; afterwards it also wakes the next one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_giop::Inbox;
use oxorb_object::SystemException;

use super::level::Level;
use super::link::{MAX_LAST_WORDS, request_ids};
use super::multiplexed::{Multiplexed, sleep};
use super::replies::{AnswerResult, CallerTurn, Replies};
use super::selection::{self, Selection};
use super::{Peer, Timing};
use crate::Options;
use crate::conn::{ConnectionEnd, Event, LinkReceiver, Wait};
use crate::error::{Attempt, raise};
use crate::monitoring::Incident;
use crate::reference::RouteProfile;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering;

/// Reason why a oneway fails while requests on the earlier connection may be unread.
const UNREAD: &str = "the server has not read the previous connection to its end, where a request was cut off \
                      (-ORBOrderedReconnect): oneways over a new connection could overtake those on the previous one";

/// Longest single read of a leader, after which it checks whether the connection was closed.
const TICK: Duration = Duration::from_secs(1);

impl Multiplexed {
    /// Returns the connection to the server of a profile that its callers read in turn, and whether it had to be
    /// opened.
    pub(super) fn led(
        orb: &crate::shared::Shared,
        profile: &RouteProfile,
        selection: Option<&Selection>,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(Arc<Multiplexed>, bool), SystemException> {
        let peer = profile.remote();
        let shared = peer.shared.of(Level::of(selection));
        let place = &shared.led;
        if let Some(open) = place.usable()
            && !open.died_idle(peer.options())
        {
            return Ok((open, false));
        }
        let ordered = peer.options().ordered_reconnect;
        if ordered {
            let before = shared.given_up.look(peer.options().stall_timeout);
            for late in before.overdue {
                orb.note(Incident::OrderLost, || late, String::new);
            }
            if before.unread {
                return Err(unread(peer, attempts));
            }
        }
        // Connecting may take long, so no lock is held for which another caller would wait.
        let link = peer.connect(timing, attempts)?;
        selection::shape_shared(selection, profile, &*link);
        let current = place.change();
        if let Some(open) = current.usable() {
            link.close();
            return Ok((open, true));
        }
        // Another thread may have opened a connection meanwhile, on which a request was then cut off. `Duration::MAX`
        // leaves the check of its time limit to the next call.
        if ordered && shared.given_up.look(Duration::MAX).unread {
            link.close();
            return Err(unread(peer, attempts));
        }
        let inbox = Box::new(peer.inbox());
        let ids = request_ids(&*link);
        let mut opened = Multiplexed::new(Arc::downgrade(peer), link, ids);
        opened.replies = Replies::new(ids, Some(inbox));
        opened.led = true;
        opened.given_up = ordered.then(|| Arc::clone(&shared.given_up));
        let opened = Arc::new(opened);
        current.set(Some(Arc::clone(&opened)));
        drop(current);
        peer.watch();
        Ok((opened, true))
    }

    /// Ends the connection, and returns true, if the server has closed it unnoticed, because no thread read it
    /// or the reader thread has not run yet. Makes a system call if the connection was idle for long.
    pub(super) fn died_idle(self: &Arc<Self>, options: &Options) -> bool {
        let idle = now().saturating_sub(self.quiet_since.load(Ordering::Relaxed));
        let died = Duration::from_nanos(idle) > options.trust_idle
            && !self.is_both_ways()
            && !self.replies.is_awaited()
            && self.link.is_dead()
            && self.replies.retire();
        if died {
            self.end(raise::CONNECTION_LOST);
        }
        died
    }

    /// Ends the connection if the server has closed it and no thread calls or reads. Makes a system call; a caller that
    /// comes meanwhile waits for a few at most.
    pub(super) fn drop_dead(&self) {
        if !self.link.has_input().unwrap_or(true) {
            return;
        }
        let Some(mut inbox) = self.replies.look() else {
            return;
        };
        match self.take_arrived(&mut inbox) {
            Ok(()) => self.replies.end_look(inbox),
            Err(ended) => {
                self.end(self.told(&ended));
                self.link.close();
            }
        }
    }

    /// Delivers what has arrived, such as answers that no caller awaits any more. Never waits.
    ///
    /// # Errors
    /// The reason why the connection ends.
    fn take_arrived(&self, inbox: &mut Inbox) -> Result<(), ConnectionEnd> {
        for _ in 0..MAX_LAST_WORDS {
            let mut receiver = LinkReceiver { link: &*self.link, inbox };
            match receiver.next(|_| Ok(Wait::Now))? {
                Event::Message => {
                    let header = inbox.frame().header;
                    self.replies.deliver(Some(header), inbox)?;
                }
                Event::Octets { .. } => {}
                Event::Silence | Event::Interrupted => return Ok(()),
            }
        }
        Ok(())
    }

    /// Blocks until the answer has arrived; returns `None` if its time is over first.
    pub(super) fn follow_or_lead(
        self: &Arc<Self>,
        id: u32,
        deadline: Option<Instant>,
    ) -> Option<AnswerResult> {
        let _waits = self.given_up.as_ref().map(|given_up| given_up.waits());
        loop {
            match self.replies.turn(id) {
                CallerTurn::Answered(outcome) => return Some(outcome),
                CallerTurn::Follow => sleep(deadline)?,
                CallerTurn::Lead(inbox) => {
                    let mut inbox = Some(inbox);
                    let outcome = self.lead(&mut inbox, id, deadline);
                    self.quiet_since.store(now(), Ordering::Relaxed);
                    match outcome {
                        Ok(Some(outcome)) => return Some(outcome),
                        Ok(None) => {
                            self.replies.put_back(inbox);
                            return None;
                        }
                        // The inbox is not put back. Otherwise other callers would read the ended connection again and
                        // again, instead of waiting until this thread notifies them.
                        Err(ended) => {
                            self.end(self.told(&ended));
                            self.link.close();
                        }
                    }
                }
            }
        }
    }

    /// Reads for all callers until the call `id` is answered. If the time of that call is over first, returns `None`
    /// and leaves the inbox in place.
    ///
    /// # Errors
    /// The reason why the connection ends.
    fn lead(
        &self,
        inbox: &mut Option<Box<Inbox>>,
        id: u32,
        deadline: Option<Instant>,
    ) -> Result<Option<AnswerResult>, ConnectionEnd> {
        while let Some(reading) = inbox {
            let mut receiver = LinkReceiver { link: &*self.link, inbox: reading };
            let mut is_late = false;
            let event = receiver.next(|_| {
                let left = match deadline {
                    None => TICK,
                    Some(deadline) => deadline.saturating_duration_since(clock::now()),
                };
                is_late = left.is_zero();
                if is_late {
                    return Ok(Wait::Not);
                }
                let timed = self.link.set_read_timeout(Some(left.min(TICK)));
                timed.map_err(ConnectionEnd::Unreadable)?;
                Ok(Wait::Limited)
            })?;
            match event {
                Event::Message => {
                    let header = reading.frame().header;
                    let own = self.replies.deliver_as_leader(Some(header), inbox, id)?;
                    if own.is_some() {
                        return Ok(own);
                    }
                }
                Event::Silence if is_late => break,
                Event::Silence => {
                    // A writing thread may have ended the connection, and with it this call. Or another thread has
                    // cancelled this call.
                    let own = self.replies.deliver_as_leader(None, inbox, id)?;
                    if own.is_some() {
                        return Ok(own);
                    }
                }
                Event::Octets { .. } | Event::Interrupted => {}
            }
        }
        Ok(None)
    }
}

/// Records that requests on an earlier connection may be unread, and returns the exception for that.
fn unread(peer: &Peer, attempts: &mut Vec<Attempt>) -> SystemException {
    attempts.push(Attempt { endpoint: peer.to_string(), what: UNREAD.to_owned() });
    raise::EARLIER_UNREAD
}

/// Returns the time of the monotonic clock, in nanoseconds.
pub(super) fn now() -> u64 {
    clock::monotonic_nanoseconds()
}
