//! Leader/followers: callers that share a connection read it in turn, one for all.
//!
//! Whoever waits and finds nobody reading leads: reads messages, gives each to the call it answers, and when its own
//! answer is there puts the inbox back and wakes one of those that still wait, who leads on. A caller that gives up
//! does the same, so that there is always a leader while somebody waits.

use std::io;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use oxorb_giop::{Inbox, MessageType, SystemException};

use super::asynchronous::Unpark;
use super::multiplexed::{Answer, Multiplexed, Slot, usable};
use super::{Peer, Timing};
use crate::failure::Attempt;
use crate::lock::Mutex;
use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use crate::{Options, raise};

/// What the leader has.
pub(super) struct Lead {
    /// `None` while there is a leader, and when the connection has ended.
    inbox: Mutex<Option<Inbox>>,
    /// When the last leader stopped, in nanoseconds of the monotonic clock.
    stopped: AtomicU64,
}

/// How long a leader without a deadline reads before it looks around.
const TICK: Duration = Duration::from_secs(1);

impl Multiplexed {
    /// The connection to `peer` that its callers read in turn, opened if need be.
    pub(super) fn led(
        peer: &Arc<Peer>,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Arc<Multiplexed>, SystemException> {
        let current = || peer.led.lock().expect(UNPOISONED);
        let open = usable(&current());
        if let Some(open) = open {
            if !open.died_idle(peer.options()) {
                return Ok(open);
            }
            open.end(raise::CONNECTION_LOST);
        }
        // Connecting may take long: nobody else shall wait for it.
        let link = peer.connect(timing, attempts)?;
        let mut current = current();
        if let Some(open) = usable(&current) {
            link.close();
            return Ok(open);
        }
        let mut opened = Multiplexed::new(Arc::downgrade(peer), link);
        opened.lead = Some(Lead::new(Inbox::new(&peer.options().limits)));
        let opened = Arc::new(opened);
        *current = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Whether the server has closed the connection while nobody read it. A system call, if it was idle for long.
    fn died_idle(&self, options: &Options) -> bool {
        let Some(lead) = &self.lead else { return false };
        let idle = oxorb_sys::clock::monotonic_nanoseconds()
            .saturating_sub(lead.stopped.load(Ordering::Relaxed));
        Duration::from_nanos(idle) > options.trust_idle && lead.is_free() && self.link.is_dead()
    }

    /// Blocks until the answer is there, or its time is over: then `None`.
    pub(super) fn wait(self: &Arc<Self>, slot: &Slot) -> Option<Result<Answer, SystemException>> {
        let Some(lead) = &self.lead else {
            return slot.wait();
        };
        let answer = self.follow_or_lead(lead, slot);
        if answer.is_none() {
            slot.unwatch();
        }
        // This caller may have been woken to lead, and has no need to any more.
        self.promote(lead);
        answer
    }

    fn follow_or_lead(
        self: &Arc<Self>,
        lead: &Lead,
        slot: &Slot,
    ) -> Option<Result<Answer, SystemException>> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            // From here on whoever stops leading can wake this thread.
            if let Poll::Ready(answer) = slot.poll(&waker) {
                return Some(answer);
            }
            let left = match slot.deadline {
                None => None,
                Some(deadline) => Some(deadline.checked_duration_since(Instant::now())?),
            };
            match (lead.take(), left) {
                (Some(mut inbox), _) => match self.read_until_done(&mut inbox, slot, left) {
                    Ok(()) => lead.put(inbox),
                    // Nobody leads any more, or the others would look at a connection that has ended, again and again,
                    // instead of letting this thread tell them so.
                    Err(end) => {
                        self.end(end);
                        self.link.close();
                    }
                },
                (None, None) => thread::park(),
                (None, Some(left)) => thread::park_timeout(left),
            }
        }
    }

    /// Reads for all until the call of `slot` is answered or its time is over.
    ///
    /// # Errors
    /// What the end of the connection means for the calls outstanding.
    fn read_until_done(
        &self,
        inbox: &mut Inbox,
        slot: &Slot,
        left: Option<Duration>,
    ) -> Result<(), SystemException> {
        let until = left.map(|left| Instant::now() + left);
        while slot.is_waiting() {
            match inbox.poll() {
                Ok(Some(header)) => match header.kind {
                    MessageType::REPLY if self.complete(inbox) => continue,
                    MessageType::REPLY => return Err(raise::BAD_REPLY),
                    MessageType::CLOSE_CONNECTION => return Err(raise::CONNECTION_CLOSED),
                    MessageType::MESSAGE_ERROR => return Err(raise::MESSAGE_ERROR),
                    _ => return Err(raise::CONNECTION_LOST),
                },
                Ok(None) => {}
                Err(_) => return Err(raise::BAD_REPLY),
            }
            let left = match until {
                None => TICK,
                Some(until) => match until.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => left.min(TICK),
                    _ => return Ok(()),
                },
            };
            let timed = self.link.set_read_timeout(Some(left));
            let (buffer, room) = inbox.room();
            match timed.and_then(|()| self.link.read(buffer, room)) {
                Ok(0) => return Err(raise::CONNECTION_LOST),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted
                    | io::ErrorKind::WouldBlock
                    | io::ErrorKind::TimedOut => {}
                    _ => return Err(raise::CONNECTION_LOST),
                },
            }
        }
        Ok(())
    }

    /// Wakes one of those that wait, if nobody leads.
    fn promote(&self, lead: &Lead) {
        if lead.is_free() {
            self.nudge_one();
        }
    }
}

impl Lead {
    fn new(inbox: Inbox) -> Lead {
        let lead = Lead {
            inbox: Mutex::new(None),
            stopped: AtomicU64::new(0),
        };
        lead.put(inbox);
        lead
    }

    /// Makes the caller the leader, if there is none.
    fn take(&self) -> Option<Inbox> {
        self.lock().take()
    }

    fn put(&self, inbox: Inbox) {
        let now = oxorb_sys::clock::monotonic_nanoseconds();
        self.stopped.store(now, Ordering::Relaxed);
        *self.lock() = Some(inbox);
    }

    fn is_free(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Inbox>> {
        self.inbox.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
