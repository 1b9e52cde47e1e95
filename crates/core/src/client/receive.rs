//! The thread that reads a connection which many calls share.

use std::io;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_giop::Inbox;
use oxorb_object::SystemException;

use super::leader;
use super::multiplexed::Multiplexed;
use super::replies::End;
use crate::conn::TICK;
use crate::sync::atomic::Ordering;
use crate::{failure, raise};

/// An idle connection is closed after so many ticks.
const IDLE_TICKS: u32 = 200;

/// Whoever reads it never waits for the writer: a server that reads nothing before its replies are taken would otherwise
/// stop both for good.
impl Multiplexed {
    /// The reader thread: completes calls until the connection ends.
    pub(super) fn read(self: Arc<Self>, inbox: Inbox) {
        let end = self.receive(inbox);
        self.end(self.told(end));
        self.link.close();
    }

    /// Exception for the end of the connection, with the peer and the cause noted beside it.
    #[cold]
    pub(super) fn told(&self, end: End) -> SystemException {
        match end.cause.is_empty() {
            true => end.exception,
            false => failure::noted(end.exception, self.link.peer(), end.cause),
        }
    }

    /// The connection has ended: it takes no more calls; those outstanding end
    /// with `exception`.
    pub(crate) fn end(&self, exception: SystemException) {
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
    fn receive(&self, mut inbox: Inbox) -> End {
        // Without it deadlines would go unnoticed.
        if let Err(error) = self.link.set_read_timeout(Some(TICK)) {
            return unreadable(&error);
        }
        let mut idle_ticks = 0;
        let mut last_look = leader::now();
        loop {
            let (buffer, room) = inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => return closed(),
                Ok(_) => idle_ticks = 0,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        idle_ticks += 1;
                        if idle_ticks >= IDLE_TICKS && self.replies.retire() {
                            return raise::CONNECTION_CLOSED.into();
                        }
                    }
                    _ => return unreadable(&error),
                },
            }
            if let Err(end) = self.replies.deliver(&mut inbox) {
                return end;
            }
            // On a busy connection, too, time passes.
            let now = leader::now();
            self.quiet_since.store(now, Ordering::Relaxed);
            if Duration::from_nanos(now.saturating_sub(last_look)) >= TICK {
                last_look = now;
                self.expire(Instant::now(), None);
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

/// End of a connection that the server closed without a word.
#[cold]
pub(super) fn closed() -> End {
    let cause = "the server closed the connection while calls were running";
    End::new(raise::CONNECTION_LOST, cause)
}

/// End of a connection that cannot be read.
#[cold]
pub(super) fn unreadable(error: &io::Error) -> End {
    End::new(
        raise::CONNECTION_LOST,
        format!("reading replies failed: {error}"),
    )
}

const UNPOISONED: &str = "no panic while the lock is held";
