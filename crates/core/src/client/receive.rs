//! Reader thread of a connection that many calls share.

use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_giop::Inbox;
use oxorb_object::SystemException;
use oxorb_sys::thread::Places;

use super::leader;
use super::multiplexed::Multiplexed;
use crate::conn::{ConnectionEnd, Event, LinkReceiver, TICK, Wait, place};
use crate::error::raise;
use crate::threads::clock;
use crate::threads::sync::atomic::Ordering;

/// Ticks after which an idle connection is closed.
const IDLE_TICKS: u32 = 200;

/// Readers of the connection, which never wait for its writer: a server that reads nothing before its replies are read
/// would otherwise block both forever.
impl Multiplexed {
    /// Runs the reader thread: completes calls until the connection ends.
    pub(super) fn read(self: Arc<Self>, inbox: Inbox) {
        let _place = Places::own().add(place(self.link.peer()));
        let ended = self.receive(inbox);
        self.end(self.told(&ended));
        self.link.close();
    }

    /// Returns the exception for the end of the connection, with a note of the peer and the cause.
    #[cold]
    pub(super) fn told(&self, ended: &ConnectionEnd) -> SystemException {
        ended.seen_at(&*self.link).told(|| self.link.peer())
    }

    /// Ends the connection: it accepts no more calls; those outstanding end with `exception`.
    pub(crate) fn end(&self, exception: SystemException) {
        // A connection that was closed because it was unused is no reason to suspect the others.
        let retired = exception == raise::CONNECTION_CLOSED && self.replies.is_closed();
        // The loss is counted before callers are notified, because their next calls check whether a connection was lost
        // (NoReconnect).
        if !retired {
            let peers = self.peers.lock();
            peers.iter().filter_map(Weak::upgrade).for_each(|peer| peer.lost());
        }
        self.replies.fail_all(exception);
        let peers = mem::take(&mut *self.peers.lock());
        for peer in peers.iter().filter_map(Weak::upgrade) {
            for shared in peer.shared.iter() {
                shared.change().unset(self);
            }
        }
    }

    /// Receives until the connection ends, and returns the reason for the calls that are still outstanding.
    fn receive(&self, mut inbox: Inbox) -> ConnectionEnd {
        // Each read ends after one tick at most, so that the deadlines of calls are noticed.
        if let Err(error) = self.link.set_read_timeout(Some(TICK)) {
            return ConnectionEnd::Unreadable(error);
        }
        let mut idle_ticks = 0;
        let mut last_look = leader::now();
        loop {
            let mut receiver = LinkReceiver { link: &*self.link, inbox: &mut inbox };
            let event = receiver.next(|_| {
                // On a busy connection no read times out, so deadlines are also checked before each read.
                let now = leader::now();
                self.quiet_since.store(now, Ordering::Relaxed);
                if Duration::from_nanos(now.saturating_sub(last_look)) >= TICK {
                    last_look = now;
                    self.expire(clock::now(), None);
                }
                Ok(Wait::Limited)
            });
            let delivered = match event {
                Ok(Event::Message) => {
                    let header = inbox.frame().header;
                    self.replies.deliver(Some(header), &mut inbox)
                }
                Ok(Event::Octets { .. }) => {
                    idle_ticks = 0;
                    Ok(())
                }
                Ok(Event::Silence) => {
                    idle_ticks += 1;
                    if idle_ticks >= IDLE_TICKS && self.replies.retire() {
                        return ConnectionEnd::Idle;
                    }
                    Ok(())
                }
                Ok(Event::Interrupted) => Ok(()),
                Err(ended) => return ended,
            };
            if let Err(ended) = delivered {
                return ended;
            }
        }
    }

    /// Fails the calls whose time is over, and notifies the other side. `patience` is the time limit of other writes to
    /// this connection.
    pub(crate) fn expire(&self, now: Instant, patience: Option<Duration>) {
        for (id, call) in self.replies.expire(now) {
            self.tell_cancelled(id, &call, patience);
        }
    }
}
