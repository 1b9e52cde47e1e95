//! The thread that reads a connection which many calls share.

use std::io;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_giop::{Inbox, SystemException};

use super::multiplexed::Multiplexed;
use crate::raise;

/// An idle connection is closed after so many ticks.
const IDLE_TICKS: u32 = 200;

/// Whoever reads it never waits for the writer: a server that reads nothing before its replies are taken would otherwise
/// stop both for good.
impl Multiplexed {
    /// The reader thread: completes calls until the connection ends.
    pub(super) fn read(self: Arc<Self>, inbox: Inbox) {
        let end = self.receive(inbox);
        self.end(end);
        self.link.close();
    }

    /// The connection has ended: it takes no more calls; those outstanding end
    /// with `exception`.
    pub(crate) fn end(self: &Arc<Self>, exception: SystemException) {
        // Given up because nobody used it: no reason to doubt the others.
        let retired = exception == raise::CONNECTION_CLOSED && self.replies.is_closed();
        self.replies.fail_all(exception);
        let peers = mem::take(&mut *self.peers.lock().expect(UNPOISONED));
        for peer in peers.iter().filter_map(Weak::upgrade) {
            if !retired {
                peer.lost();
            }
            for shared in peer.shared.iter() {
                shared.change().unset(self);
            }
        }
    }

    /// Receives until the connection ends, and says what that means for the
    /// calls that are still outstanding.
    fn receive(&self, mut inbox: Inbox) -> SystemException {
        // Without it deadlines would go unnoticed.
        if self.link.set_read_timeout(Some(Self::TICK)).is_err() {
            return raise::CONNECTION_LOST;
        }
        let mut idle_ticks = 0;
        let mut last_look = Instant::now();
        loop {
            let (buffer, room) = inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => return raise::CONNECTION_LOST,
                Ok(_) => idle_ticks = 0,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        idle_ticks += 1;
                        if idle_ticks >= IDLE_TICKS && self.replies.retire() {
                            return raise::CONNECTION_CLOSED;
                        }
                    }
                    _ => return raise::CONNECTION_LOST,
                },
            }
            if let Err(end) = self.replies.deliver(&mut inbox) {
                return end;
            }
            // On a busy connection, too, time passes.
            let now = Instant::now();
            if now.saturating_duration_since(last_look) >= Self::TICK {
                last_look = now;
                self.expire(now, None);
            }
        }
    }

    /// Gives the reply just received to its call, if that is still known;
    /// false when it is not readable as a reply.
    pub(crate) fn complete(&self, inbox: &mut Inbox) -> bool {
        self.replies.deliver_one(inbox).is_ok()
    }

    /// Fails the calls whose time is over, and tells the other side. `patience`:
    /// how long other writes to this connection may take.
    pub(crate) fn expire(&self, now: Instant, patience: Option<Duration>) {
        for (id, call) in self.replies.expire(now) {
            self.tell_cancelled(id, &call, patience);
        }
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
