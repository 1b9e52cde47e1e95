//! A connection to a server that carries one request at a time.

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_giop::{Aliases, Inbox, MessageType, Outgoing};
use oxorb_object::PriorityBand;
use oxorb_transport::{Link, Properties};

use super::Peer;
use super::cache::Counted;
use super::selection::{Apart, Owner};
use crate::conn::{Event, Receiver, Wait};

/// Most messages and reads among which the server's last word is looked for after a write failed.
const MAX_LAST_WORDS: usize = 16;

/// A connection and everything that belongs to it alone. Whoever holds the box
/// has the connection to himself, so nothing in here needs a lock.
pub(crate) struct ClientLink {
    /// Whose connection it is; gone when nobody can use it any more.
    pub(crate) owner: Weak<Peer>,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) inbox: Inbox,
    /// The request is written here; kept for its capacity.
    pub(crate) out: Vec<u8>,
    pub(crate) session: Outgoing,
    /// Time limits of reads and writes, once they were set.
    read_limit: Option<Option<Duration>>,
    write_limit: Option<Option<Duration>>,
    /// At least one reply came over it.
    pub(crate) reused: bool,
    /// The peer's count of lost connections when this one was last known good.
    pub(crate) losses_seen: u32,
    pub(crate) last_used: Instant,
    /// From then on it is checked before it is used.
    pub(crate) trusted_until: Instant,
    /// Which calls may use it.
    pub(crate) apart: Apart,
    /// The reference it belongs to, if it is for that alone.
    pub(crate) reference: Option<Weak<Owner>>,
    /// The band of priorities that the server is yet to be told.
    pub(crate) band: Option<PriorityBand>,
    /// How its packets are marked.
    dscp: Option<u8>,
    /// Numbers of objects and operations, where the protocol has them.
    pub(super) aliases: Option<Box<Aliases>>,
    /// Among the connections of the cache; gone with this.
    _counted: Option<Counted>,
}

impl ClientLink {
    pub(crate) fn new(
        owner: &Arc<Peer>,
        link: Arc<dyn Link>,
        losses_seen: u32,
        now: Instant,
        counted: Option<Counted>,
    ) -> Self {
        ClientLink {
            owner: Arc::downgrade(owner),
            link,
            inbox: owner.inbox(),
            out: Vec::with_capacity(512),
            session: Outgoing::OF_OPENER,
            reused: false,
            losses_seen,
            last_used: now,
            trusted_until: now,
            read_limit: None,
            write_limit: None,
            apart: Apart::default(),
            reference: None,
            band: None,
            dscp: None,
            aliases: owner.aliases(),
            _counted: counted,
        }
    }

    /// Returns the receiving half.
    #[inline(always)]
    pub(crate) fn receiver(&mut self) -> Receiver<'_> {
        Receiver {
            link: &*self.link,
            inbox: &mut self.inbox,
        }
    }

    /// Returns the message by which the server ended the connection before a write failed:
    /// CloseConnection or MessageError. Takes what has arrived; never waits.
    #[cold]
    pub(crate) fn last_word(&mut self) -> Option<MessageType> {
        for _ in 0..MAX_LAST_WORDS {
            match self.receiver().next(Wait::Now) {
                Ok(Event::Message(header)) => match header.kind {
                    MessageType::CLOSE_CONNECTION | MessageType::MESSAGE_ERROR => {
                        return Some(header.kind);
                    }
                    // The answer to a call that was given up, perhaps.
                    _ => {}
                },
                Ok(Event::Partial) => {}
                Ok(Event::Nothing) | Err(_) => return None,
            }
        }
        None
    }

    /// Has its packets marked for the network: a system call when that changes.
    #[inline]
    pub(crate) fn mark(&mut self, dscp: Option<u8>) {
        if dscp.is_some() && self.dscp != dscp {
            self.remark(dscp);
        }
    }

    #[cold]
    fn remark(&mut self, dscp: Option<u8>) {
        // A network that does not know it carries the call all the same.
        let _ = self.link.apply(&Properties {
            dscp,
            ..Properties::default()
        });
        self.dscp = dscp;
    }

    /// Makes room for messages of so many octets in each direction, before the first of them.
    pub(crate) fn preallocate(&mut self, octets: usize, inbox: Inbox) {
        self.out.reserve(octets);
        self.inbox = inbox.reading_into(Vec::with_capacity(octets));
    }

    /// Bounds how long a read takes; costs a comparison where it was bounded so before.
    #[inline]
    pub(crate) fn limit_reads(&mut self, limit: Option<Duration>) -> io::Result<()> {
        if self.read_limit == Some(limit) {
            return Ok(());
        }
        self.read_limit = None;
        self.link.set_read_timeout(limit)?;
        self.read_limit = Some(limit);
        Ok(())
    }

    /// Bounds how long a write takes, as far as the system can; costs a comparison where it was bounded so before.
    #[inline]
    pub(crate) fn limit_writes(&mut self, limit: Option<Duration>) {
        if self.write_limit != Some(limit) {
            let limited = self.link.set_write_timeout(limit);
            self.write_limit = limited.is_ok().then_some(limit);
        }
    }
}
