//! Connections to a server that carry one request at a time.

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_cdr::Dialect;
use oxorb_giop::{Aliases, Head, Inbox, MessageType, Outgoing, RequestIds};
use oxorb_object::{CompletionStatus, PriorityBand, SystemException};
use oxorb_transport::{Link, Properties};

use super::Peer;
use super::cache::ConnectionCount;
use super::selection::{Owner, SharingKey};
use super::waiting::WaitingOneways;
use crate::conn::{ConnectionEnd, Event, LinkReceiver, Wait};
use crate::error::raise;
use crate::reference::{Op, RouteProfile};
use crate::threads::clock;

/// Maximum number of messages and reads that are searched for the server's last message after a failed write.
pub(super) const MAX_LAST_WORDS: usize = 16;

/// Connection and everything that belongs to it alone. The holder of the box has the connection to itself, so nothing
/// in it needs a lock.
pub(crate) struct ClientLink {
    /// Peer of the connection; dropped when no call can use the connection any more.
    pub(crate) owner: Weak<Peer>,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) inbox: Inbox,
    /// Buffer in which requests are written; kept so that its allocation is reused.
    pub(crate) out: Vec<u8>,
    pub(crate) session: Outgoing,
    pub(super) limits: LinkTimeouts,
    /// Whether at least one reply came over the connection.
    pub(crate) reused: bool,
    /// Whether the connection was given back before anything was sent over it: the server may have closed it as idle.
    pub(super) idled: bool,
    /// Peer's count of lost connections when this one was last known to work.
    pub(crate) losses_seen: u32,
    pub(crate) last_used: Instant,
    /// Time from which on the connection is checked before its use.
    pub(crate) trusted_until: Instant,
    /// Calls that may use the connection.
    pub(crate) sharing_key: SharingKey,
    /// Reference to which the connection belongs exclusively, if any.
    pub(crate) reference: Option<Weak<Owner>>,
    /// Band of priorities that is yet to be announced to the server.
    pub(crate) band: Option<PriorityBand>,
    /// DSCP of the connection's packets.
    dscp: Option<u8>,
    /// Numbers of objects and operations, if the protocol has them.
    pub(super) aliases: Option<Box<Aliases>>,
    /// State of fast calls, created for the first of them.
    pub(super) fast_state: Option<Box<FastCallState>>,
    /// Queue of the oneways of a batch, created for the first batch. While it contains oneways, the thread of the batch
    /// holds the connection.
    pub(super) waiting: Option<Box<WaitingOneways>>,
    /// Guard that counts the connection in the cache until the connection is dropped.
    _counted: Option<ConnectionCount>,
}

/// Returns the ids of requests over a link that this side opened.
pub(super) fn request_ids(link: &dyn Link) -> RequestIds {
    match link.facts().reliable {
        true => RequestIds::OF_OPENER,
        false => RequestIds::of_lossy_opener(clock::monotonic_nanoseconds() / 1000),
    }
}

/// Time limits of reads and writes, if they have been set.
#[derive(Default)]
pub(super) struct LinkTimeouts {
    read: Option<Option<Duration>>,
    write: Option<Option<Duration>>,
    /// Whether these are the limits of fast calls, which then need not set them.
    pub(super) are_of_fast_calls: bool,
}

impl ClientLink {
    pub(crate) fn new(
        owner: &Arc<Peer>,
        link: Arc<dyn Link>,
        losses_seen: u32,
        now: Instant,
        counted: Option<ConnectionCount>,
    ) -> Self {
        ClientLink {
            owner: Arc::downgrade(owner),
            session: Outgoing { ids: request_ids(&*link), ..Outgoing::OF_OPENER },
            link,
            inbox: owner.inbox(),
            out: Vec::with_capacity(512),
            reused: false,
            idled: false,
            losses_seen,
            last_used: now,
            trusted_until: now,
            limits: LinkTimeouts::default(),
            sharing_key: SharingKey::default(),
            reference: None,
            band: None,
            dscp: None,
            aliases: owner.aliases(),
            fast_state: None,
            waiting: None,
            _counted: counted,
        }
    }

    /// Returns the receiving half, and the time limits of its reads.
    #[inline(always)]
    pub(super) fn receiving(&mut self) -> (LinkReceiver<'_>, &mut LinkTimeouts) {
        let receiver = LinkReceiver { link: &*self.link, inbox: &mut self.inbox };
        (receiver, &mut self.limits)
    }

    /// Returns the message by which the server ended the connection before a write failed: CloseConnection or
    /// MessageError. Reads what has arrived; never waits.
    #[cold]
    pub(crate) fn last_word(&mut self) -> Option<MessageType> {
        for _ in 0..MAX_LAST_WORDS {
            match self.receiving().0.next(|_| Ok(Wait::Now)) {
                Ok(Event::Message) => {
                    let kind = self.inbox.frame().header.kind;
                    if let MessageType::CLOSE_CONNECTION | MessageType::MESSAGE_ERROR = kind {
                        return Some(kind);
                    }
                    // This may be the answer to an abandoned call, so it is skipped.
                }
                Ok(Event::Octets { .. }) => {}
                Ok(Event::Silence | Event::Interrupted) | Err(_) => return None,
            }
        }
        None
    }

    /// Reports whether the server has ended the connection, over which nothing is outstanding: closed it, announced
    /// that, or sent unreadable octets. Reads what has arrived, such as answers that no caller awaits any more; never
    /// waits. Makes a few system calls.
    #[cold]
    pub(super) fn has_ended(&mut self) -> bool {
        for _ in 0..MAX_LAST_WORDS {
            match self.receiving().0.next(|_| Ok(Wait::Now)) {
                Ok(Event::Message) => match self.inbox.frame().header.kind {
                    MessageType::REPLY | MessageType::LOCATE_REPLY => {}
                    _ => return true,
                },
                Ok(Event::Octets { .. }) => {}
                Ok(Event::Silence | Event::Interrupted) => return false,
                Err(_) => return true,
            }
        }
        false
    }

    /// Reports whether calls without policies of RT-CORBA may use the connection.
    pub(super) fn is_common(&self) -> bool {
        self.sharing_key == SharingKey::default() && self.dscp.is_none()
    }

    /// Sets the DSCP of the connection's packets, with a system call if it changes.
    #[inline]
    pub(crate) fn mark(&mut self, dscp: Option<u8>) {
        if dscp.is_some() && self.dscp != dscp {
            self.remark(dscp);
        }
    }

    #[cold]
    fn remark(&mut self, dscp: Option<u8>) {
        // A network without DSCPs carries the call nevertheless, so a failure is ignored.
        let _ = self.link.apply(&Properties { dscp, ..Properties::default() });
        self.dscp = dscp;
    }

    /// Reserves memory for messages of `octets` octets in each direction, before the first of them.
    pub(crate) fn preallocate(&mut self, octets: usize, inbox: Inbox) {
        self.out.reserve(octets);
        self.inbox = inbox.reading_into(Vec::with_capacity(octets + Inbox::MARGIN));
    }

    /// Frees memory beyond `octets` octets that would be kept between messages. Otherwise costs a comparison.
    pub(super) fn limit_memory(&mut self, octets: usize) {
        if self.inbox.spare() > octets {
            self.inbox.shrink_to(octets);
        }
        if self.out.capacity() > octets {
            self.out.shrink_to(octets);
        }
    }

    /// Limits the time of a write, as far as the system can.
    #[inline]
    pub(super) fn limit_writes(&mut self, limit: Option<Duration>) {
        self.limits.writes(&*self.link, limit);
    }

    /// Forgets the time limit of writes, which fragments of a message have changed.
    #[cold]
    pub(super) fn forget_write_limit(&mut self) {
        self.limits.write = None;
        self.limits.are_of_fast_calls = false;
    }
}

impl LinkTimeouts {
    /// Limits the time of a read; costs a comparison if the limit is the same as before.
    ///
    /// # Errors
    /// [`ConnectionEnd::Unreadable`] if the system refuses.
    #[inline]
    pub(super) fn reads(
        &mut self,
        link: &dyn Link,
        limit: Option<Duration>,
    ) -> Result<(), ConnectionEnd> {
        if self.read == Some(limit) {
            return Ok(());
        }
        self.read = None;
        self.are_of_fast_calls = false;
        link.set_read_timeout(limit).map_err(ConnectionEnd::Unreadable)?;
        self.read = Some(limit);
        Ok(())
    }

    /// Limits the time of a further read of a reply, with an error of at most a 64th. Setting the exact remainder for
    /// each read of a large reply, and the full limit for the next call, would double the system calls.
    ///
    /// # Errors
    /// [`ConnectionEnd::Unreadable`] if the system refuses.
    pub(super) fn shorten_reads(
        &mut self,
        link: &dyn Link,
        left: Option<Duration>,
    ) -> Result<(), ConnectionEnd> {
        let Some(left) = left else {
            return self.reads(link, None);
        };
        let longest = left.saturating_add(left / 64);
        match self.read {
            Some(Some(limit)) if (left..=longest).contains(&limit) => Ok(()),
            _ => self.reads(link, Some(left.saturating_add(left / 128))),
        }
    }

    /// Reports whether writes have this time limit.
    #[inline(always)]
    pub(super) fn bounds_writes(&self, limit: Option<Duration>) -> bool {
        self.write == Some(limit)
    }

    /// Limits the time of a write; costs a comparison if the limit is the same as before.
    #[inline]
    fn writes(&mut self, link: &dyn Link, limit: Option<Duration>) {
        if self.write != Some(limit) {
            self.are_of_fast_calls = false;
            let limited = link.set_write_timeout(limit);
            self.write = limited.is_ok().then_some(limit);
        }
    }
}

/// Returns TIMEOUT for a time-out, otherwise COMM_FAILURE with the given minor code.
pub(crate) fn exception_of(
    error: &io::Error,
    minor: u32,
    completed: CompletionStatus,
) -> SystemException {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => raise::timeout(completed),
        _ => SystemException::comm_failure(minor, completed),
    }
}

/// Number of request heads that a connection keeps.
const HEADS: usize = 8;

/// State of a connection for fast calls.
pub(super) struct FastCallState {
    /// Encoding of text, as both sides agreed.
    pub(super) dialect: Dialect,
    /// Tick of the coarse clock at which the connection was known to work; 0 if the connection is checked each time.
    pub(super) tick: u64,
    /// Whether ticks of the coarse clock are precise enough.
    pub(super) by_ticks: bool,
    heads: [KeptHead; HEADS],
}

/// Head of requests for one operation of one profile.
struct KeptHead {
    /// Number of the profile ([`RouteProfile::number`]).
    profile: u64,
    /// Address of the operation; 0 for none.
    operation: usize,
    head: Head,
}

impl FastCallState {
    pub(super) fn new(dialect: Dialect) -> FastCallState {
        FastCallState {
            dialect,
            tick: 0,
            by_ticks: false,
            heads: [const { KeptHead { profile: 0, operation: 0, head: Head::NONE } }; HEADS],
        }
    }

    /// Returns the head of requests for an operation, if one was kept.
    #[inline(always)]
    pub(super) fn head(&self, profile: &RouteProfile, op: &'static Op) -> Option<&Head> {
        let kept = &self.heads[place(profile, op)];
        (kept.profile == profile.number && kept.operation == address(op)).then_some(&kept.head)
    }

    pub(super) fn keep(&mut self, profile: &RouteProfile, op: &'static Op, head: Head) {
        self.heads[place(profile, op)] =
            KeptHead { profile: profile.number, operation: address(op), head };
    }
}

/// Returns the address of an operation, which identifies it because operations live as long as the process.
#[inline(always)]
fn address(op: &'static Op) -> usize {
    std::ptr::from_ref(op).addr()
}

/// Returns the index of the head of requests for an operation.
#[inline(always)]
fn place(profile: &RouteProfile, op: &'static Op) -> usize {
    (address(op) / size_of::<Op>()).wrapping_add(profile.number as usize) % HEADS
}
