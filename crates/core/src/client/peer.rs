//! A server as its clients see it: an address and the connections to it.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use oxorb_giop::{CompletionStatus, SystemException};
use oxorb_transport::Link;

use super::link::ClientLink;
use super::{Multiplexed, Timing};
use crate::failure::Attempt;
use crate::lock::Mutex;
use crate::options::{ClientConnections, Options};
use crate::raise;

/// One server address. Interned by the ORB: one `Peer` per address.
pub(crate) struct Peer {
    /// Unique in this process: what thread-private connections are found by.
    id: u64,
    host: String,
    port: u16,
    options: Arc<Options>,
    /// Connections nobody uses at the moment (`ClientConnections::Cached`).
    #[expect(
        clippy::vec_box,
        reason = "moved from hand to hand in each call: a box is one word"
    )]
    idle: Mutex<Vec<Box<ClientLink>>>,
    /// The connection that asynchronous calls share.
    pub(crate) multiplexed: Mutex<Option<Arc<Multiplexed>>>,
    /// How often a connection was lost: others may be dead, too.
    losses: AtomicU32,
    /// Every open connection, so that shutdown can close those of other threads.
    open: Mutex<Vec<Weak<dyn Link>>>,
    closed: OnceLock<()>,
    /// Calls look for a connection that carries requests both ways.
    both_ways: AtomicBool,
}

thread_local! {
    /// This thread's own connections, by peer. Those of peers that are gone or
    /// were shut down (closed then, but for the descriptor) are dropped when
    /// the thread opens its next connection, and at its end.
    static PRIVATE: RefCell<Vec<(u64, Box<ClientLink>)>> = const { RefCell::new(Vec::new()) };
}

impl Peer {
    pub(crate) fn new(host: &str, port: u16, options: Arc<Options>) -> Peer {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        Peer {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            host: host.to_owned(),
            port,
            options,
            idle: Mutex::default(),
            multiplexed: Mutex::default(),
            losses: AtomicU32::new(0),
            open: Mutex::default(),
            closed: OnceLock::new(),
            both_ways: AtomicBool::new(false),
        }
    }

    /// Whether calls go over a connection that carries requests both ways, if
    /// there is one.
    #[inline]
    pub(crate) fn is_both_ways(&self) -> bool {
        self.both_ways.load(Ordering::Relaxed)
    }

    pub(crate) fn set_both_ways(&self, both_ways: bool) {
        self.both_ways.store(both_ways, Ordering::Relaxed);
    }

    /// Whether it is a client that is called back over its own connection: what
    /// nobody could find out again.
    pub(crate) fn is_called_back(&self) -> bool {
        self.is_both_ways() && Multiplexed::open_to(self).is_some()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// A connection for the caller alone, until [`give_back`](Self::give_back).
    ///
    /// With private connections this takes no lock and, once the thread has
    /// one, makes no system call unless the connection was idle for long.
    pub(crate) fn checkout(
        self: &Arc<Self>,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Box<ClientLink>, SystemException> {
        while let Some(mut link) = self.take_idle() {
            if self.still_good(&mut link, timing.start) {
                return Ok(link);
            }
        }
        let losses_seen = self.losses.load(Ordering::Relaxed);
        let link = self.connect(timing, attempts)?;
        if self.options.client_connections == ClientConnections::Private {
            drop_orphans();
        }
        Ok(Box::new(ClientLink::new(
            self,
            link,
            &self.options.limits,
            losses_seen,
            timing.start,
        )))
    }

    /// Returns a connection on which nothing is outstanding.
    pub(crate) fn give_back(&self, link: Box<ClientLink>) {
        if self.closed.get().is_some() {
            link.link.close();
            return;
        }
        match self.options.client_connections {
            // At the end of a thread its connections close with the thread-local.
            ClientConnections::Private => {
                // A thread at its very end keeps none: dropping it closes it.
                let _ = PRIVATE.try_with(|links| links.borrow_mut().push((self.id, link)));
            }
            ClientConnections::Cached => {
                let mut idle = self.idle.lock().expect("no panic while the lock is held");
                if idle.len() < self.options.max_idle_connections {
                    idle.push(link);
                }
            }
        }
    }

    /// A connection of this peer broke: all others are checked before their next use.
    pub(crate) fn lost(&self) {
        self.losses.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens a connection and registers it for shutdown.
    pub(crate) fn connect(
        &self,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Arc<dyn Link>, SystemException> {
        if self.closed.get().is_some() {
            return Err(raise::ORB_SHUT_DOWN);
        }
        let mut limit = self.options.connect_timeout;
        if let Some(left) = timing.left(CompletionStatus::No)? {
            limit = limit.min(left);
        }
        match oxorb_transport::connect(&self.host, self.port, limit) {
            Ok(link) => {
                let link: Arc<dyn Link> = Arc::from(link);
                let mut open = self.open.lock().expect("no panic while the lock is held");
                open.retain(|link| link.strong_count() > 0);
                open.push(Arc::downgrade(&link));
                drop(open);
                // `close` may have run meanwhile and not have seen it.
                if self.closed.get().is_some() {
                    link.close();
                    return Err(raise::ORB_SHUT_DOWN);
                }
                Ok(link)
            }
            Err(error) => {
                attempts.push(Attempt {
                    endpoint: self.to_string(),
                    what: error.to_string(),
                });
                Err(raise::CONNECT_FAILED)
            }
        }
    }

    /// Closes every connection; calls that are waiting fail, new ones are refused.
    pub(crate) fn close(&self) {
        let _ = self.closed.set(());
        for link in self
            .open
            .lock()
            .expect("no panic while the lock is held")
            .drain(..)
            .filter_map(|link| link.upgrade())
        {
            link.close();
        }
        self.idle
            .lock()
            .expect("no panic while the lock is held")
            .clear();
        self.multiplexed
            .lock()
            .expect("no panic while the lock is held")
            .take();
    }

    fn take_idle(&self) -> Option<Box<ClientLink>> {
        match self.options.client_connections {
            ClientConnections::Private => PRIVATE
                .try_with(|links| {
                    let mut links = links.borrow_mut();
                    let at = links.iter().rposition(|(peer, _)| *peer == self.id)?;
                    Some(links.swap_remove(at).1)
                })
                .ok()?,
            ClientConnections::Cached => self
                .idle
                .lock()
                .expect("no panic while the lock is held")
                .pop(),
        }
    }

    fn still_good(&self, link: &mut ClientLink, now: Instant) -> bool {
        let losses = self.losses.load(Ordering::Relaxed);
        let doubtful = losses != link.losses_seen
            || now.saturating_duration_since(link.last_used) > self.options.trust_idle;
        link.losses_seen = losses;
        link.last_used = now;
        !(doubtful && link.link.is_dead())
    }
}

/// Drops this thread's connections that nobody can use any more.
fn drop_orphans() {
    let _ = PRIVATE.try_with(|links| {
        links.borrow_mut().retain(|(_, link)| {
            link.owner
                .upgrade()
                .is_some_and(|peer| peer.closed.get().is_none())
        });
    });
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({self})")
    }
}
