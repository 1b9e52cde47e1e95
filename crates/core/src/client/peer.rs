//! A server as its clients see it: an address and the connections to it.

use std::cell::RefCell;
use std::fmt;
use std::io;
#[cfg(all(test, feature = "simulation"))]
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock, Weak};
#[cfg(all(test, feature = "simulation"))]
use std::time::Duration;
use std::time::Instant;

use oxorb_giop::{Aliases, Inbox, Wire};
use oxorb_object::{SystemException, Version};
use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::{Address, ConnectTarget, Link, Properties, Surroundings, connect_first_with};

use super::Timing;
use super::cache::{Cache, LOOK};
use super::idle_connections::{ConnectionKey, IdleConnections};
use super::level::Levels;
use super::link::ClientLink;
use super::selection::{Owner, Selection, SharingKey};
use crate::error::{Attempt, failure, raise};
use crate::options::{ClientConnections, Options};
use crate::protocol::ProtocolStack;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use crate::threads::sync::uncontrolled;
use crate::threads::{Threads, clock, rt};

/// Server at an address. The ORB has one `Peer` for each combination of address, protocol spoken there, and agreement
/// on code sets.
pub(crate) struct Peer {
    /// Number that is unique in this process, by which thread-private connections are found.
    id: u64,
    protocol: Arc<ProtocolStack>,
    address: Address,
    options: Arc<Options>,
    cache: Arc<Cache>,
    /// Connections that are not in use (`ClientConnections::Cached`).
    idle: Mutex<IdleConnections>,
    /// Connections that many calls share, and buffers of oneways.
    pub(crate) shared: Levels,
    threads: Arc<Threads>,
    /// Number of lost connections. After a loss, other connections may be dead, too.
    losses: AtomicU32,
    /// Every open connection, so that shutdown can close those of other threads.
    open: Mutex<Vec<Weak<dyn Link>>>,
    closed: OnceLock<()>,
    /// Whether calls share a connection.
    sharing: AtomicU8,
}

/// Value of `sharing`: each call has a connection for itself.
const NOT: u8 = 0;
/// Value of `sharing`: calls share a connection that carries requests both ways, if there is one.
const BOTH_WAYS: u8 = 1;
/// Value of `sharing`: all calls share connections, because the ORB is configured so.
const ALWAYS: u8 = 2;

crate::threads::sync::thread_local! {
    /// Private connections of this thread, by peer. All are dropped when the thread ends. When it opens its next
    /// connection, it drops connections of peers that no longer exist or were shut down (which closed the connections,
    /// but did not free their descriptors), and idle connections that their servers have closed.
    static PRIVATE: RefCell<IdleConnections> = const { RefCell::new(IdleConnections::new()) };
}

impl Peer {
    pub(crate) fn new(
        protocol: &Arc<ProtocolStack>,
        address: &Address,
        options: &Arc<Options>,
        cache: &Arc<Cache>,
        threads: &Arc<Threads>,
    ) -> Peer {
        static NEXT_ID: uncontrolled::atomic::AtomicU64 = uncontrolled::atomic::AtomicU64::new(0);
        let sharing = match options.client_connections {
            ClientConnections::Private | ClientConnections::Cached => NOT,
            ClientConnections::Multiplexed | ClientConnections::LeaderFollowers => ALWAYS,
        };
        Peer {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            protocol: Arc::clone(protocol),
            address: address.clone(),
            options: Arc::clone(options),
            cache: Arc::clone(cache),
            idle: Mutex::default(),
            shared: Levels::default(),
            threads: Arc::clone(threads),
            losses: AtomicU32::new(0),
            open: Mutex::default(),
            closed: OnceLock::new(),
            sharing: AtomicU8::new(sharing),
        }
    }

    /// Reports whether calls go over a connection that they share, if there is one.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.sharing.load(Ordering::Relaxed) != NOT
    }

    /// Sets whether calls go over a connection that carries requests both ways, if there is one.
    pub(crate) fn set_both_ways(&self, both_ways: bool) {
        let (from, to) =
            if both_ways && self.may_call_back() { (NOT, BOTH_WAYS) } else { (BOTH_WAYS, NOT) };
        let _ = self.sharing.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Reports whether a connection to the peer can carry requests both ways. This requires GIOP over a transport with
    /// connections, as offers can name only such addresses.
    pub(crate) fn may_call_back(&self) -> bool {
        self.protocol.messaging().is_none() && !self.may_lose()
    }

    /// Reports whether requests and answers may be lost on the way, so that connecting proves nothing about the server.
    pub(crate) fn may_lose(&self) -> bool {
        !self.protocol.transport().facts().reliable
    }

    /// Reports whether one write may carry several messages, which is impossible if each message is a packet.
    pub(super) fn takes_batches(&self) -> bool {
        let facts = self.protocol.transport().facts();
        facts.stream && facts.reliable
    }

    /// Reports whether the peer is a client that is called back over a connection that it opened. No other connection
    /// to it can be found.
    pub(crate) fn is_called_back(&self) -> bool {
        self.shared.both_ways.usable().is_some()
    }

    /// Returns the peer's number, which is unique in this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the protocol that the peer speaks.
    pub(crate) fn protocol(&self) -> &Arc<ProtocolStack> {
        &self.protocol
    }

    /// Returns the aliases of a new connection, if its protocol has such numbers.
    pub(super) fn aliases(&self) -> Option<Box<Aliases>> {
        let needs = self.protocol.messaging()?.needs();
        (needs.aliases > 0).then(|| Box::new(Aliases::new(needs.aliases, needs.alias_octets)))
    }

    /// Returns an empty inbox for replies of the peer.
    pub(super) fn inbox(&self) -> Inbox {
        let wire = Wire::of(self.protocol.messaging(), Version::V1_2);
        Inbox::new(&self.options.limits).speaking(wire)
    }

    /// Returns the factory of threads for the peer's connections.
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get().is_some()
    }

    /// Returns a connection for the caller alone, until [`give_back`](Self::give_back); `None` if one must be opened.
    ///
    /// With private connections this takes no lock, and makes no system call unless the connection was idle for long.
    #[inline]
    pub(crate) fn at_hand(&self, now: Instant, sharing_key: SharingKey) -> Option<Box<ClientLink>> {
        while let Some(mut link) = self.take_idle(sharing_key) {
            if self.still_good(&mut link, now) {
                return Some(link);
            }
            // Other connections to the server may have died with this one, so they must be checked before their next
            // use.
            self.lost();
        }
        None
    }

    /// Prepares a connection that was just opened for the caller alone.
    pub(crate) fn new_link(
        self: &Arc<Self>,
        link: Arc<dyn Link>,
        losses_seen: u32,
        now: Instant,
        selection: Option<&Selection>,
        owner: Option<Weak<Owner>>,
    ) -> Box<ClientLink> {
        let sharing_key =
            selection.map_or(SharingKey::default(), |selection| selection.sharing_key);
        let by_thread = self.keeps_by_thread(sharing_key);
        if by_thread {
            drop_orphans(now);
        }
        let counted = (!by_thread).then(|| self.cache.count(self, &self.options));
        let mut link = ClientLink::new(self, link, losses_seen, now, counted);
        if let Some(selection) = selection
            && selection.preallocated != 0
        {
            link.preallocate(selection.preallocated as usize, self.inbox());
        }
        link.trusted_until = self.trusted_until(now);
        link.sharing_key = sharing_key;
        link.reference = owner;
        link.band = selection.and_then(|selection| selection.band);
        Box::new(link)
    }

    /// Reports whether threads keep such connections for themselves.
    #[inline]
    fn keeps_by_thread(&self, sharing_key: SharingKey) -> bool {
        self.options.client_connections == ClientConnections::Private || sharing_key.is_private()
    }

    /// Gives back a connection on which nothing is outstanding.
    pub(crate) fn give_back(&self, link: Box<ClientLink>) {
        if self.closed.get().is_some() {
            link.link.close();
            return;
        }
        if self.keeps_by_thread(link.sharing_key) {
            // When a thread ends, its connections are closed with the thread-local. If the thread-local no longer
            // exists, the link is dropped, which closes the connection.
            let _ = PRIVATE.try_with(|links| links.borrow_mut().put(self.id, link));
            return;
        }
        let mut idle = self.idle.lock();
        if idle.len() < self.options.max_idle_connections {
            idle.put(self.id, link);
        }
    }

    /// Returns the last use of the connection that has been idle longest.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let idle = self.idle.lock();
        idle.idle_since()
    }

    /// Closes the connections that were last used at `since` or before; returns their number.
    pub(crate) fn close_idle(&self, since: Instant) -> usize {
        let mut idle = self.idle.lock();
        let closed = idle.extract(|link| link.last_used <= since);
        drop(idle);
        for link in &closed {
            link.link.close();
        }
        closed.len()
    }

    /// Reports whether a connection to the peer is open.
    pub(super) fn has_open(&self) -> bool {
        self.open.lock().iter().any(|link| link.strong_count() > 0)
    }

    /// Drops the connections that the server has closed, of those that were last used at `before` or earlier and that
    /// any thread may take. Makes a system call for each of them. Callers do not wait meanwhile.
    pub(super) fn drop_dead(self: &Arc<Self>, before: Instant) {
        let idle = self.idle.lock().idle_since_before(before);
        for link in idle.iter().filter(|link| link.has_input().unwrap_or(true)) {
            // Input on an idle connection is its end, or an answer that no caller awaits.
            let taken = self.idle.lock().take_this(link);
            let Some(mut taken) = taken else {
                continue;
            };
            if taken.has_ended() {
                taken.link.close();
                self.lost();
            } else if self.is_closed() {
                taken.link.close();
            } else {
                self.idle.lock().put_unused(self.id, taken);
            }
        }
        for led in self.shared.led() {
            led.drop_dead();
        }
    }

    /// Starts checks, between calls, of the connections whose answers callers read in turn.
    pub(super) fn watch(self: &Arc<Self>) {
        self.cache.watch(self, &self.options);
    }

    /// Counts a broken connection of this peer, so that all others are checked before their next use.
    pub(crate) fn lost(&self) {
        self.losses.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of connections that were lost so far.
    pub(crate) fn losses(&self) -> u32 {
        self.losses.load(Ordering::Relaxed)
    }

    /// Opens a connection and registers it for shutdown.
    pub(crate) fn connect(
        self: &Arc<Self>,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Arc<dyn Link>, SystemException> {
        Peer::connect_first(&[self], timing, attempts, None).map(|(_, link, _)| link)
    }

    /// Opens a connection to the first of several servers that answers, and registers it for shutdown. Returns the
    /// index of that server, the connection, and the number of connections that the server had lost before. `mark` is
    /// the DSCP of the connection's packets, from the first packet on.
    pub(crate) fn connect_first(
        peers: &[&Arc<Peer>],
        timing: Timing,
        attempts: &mut Vec<Attempt>,
        mark: Option<u8>,
    ) -> Result<(usize, Arc<dyn Link>, u32), SystemException> {
        if peers.iter().any(|peer| peer.closed.get().is_some()) {
            return Err(raise::ORB_SHUT_DOWN);
        }
        let mut limit = timing.connect;
        if let Some(left) = timing.left_to_send()? {
            limit = limit.min(left);
        }
        let losses: Vec<u32> = peers.iter().map(|peer| peer.losses()).collect();
        let targets: Vec<ConnectTarget<'_>> =
            peers.iter().map(|peer| (peer.protocol.transport(), &peer.address)).collect();
        let context = RaceContext { threads: &peers[0].threads, mark };
        let mut connected = connect_first_with(&targets, limit, &context);
        let exhausted = oxorb_sys::descriptor::exhausted;
        // If no descriptor is free, an idle connection is closed to free one.
        while connected.is_err() && exhausted() && make_room(&peers[0].cache) {
            connected = connect_first_with(&targets, limit, &context);
        }
        match connected {
            Ok((won, link)) => {
                if let Some(properties) = peers[won].options.indispensable()
                    && let Err(error) = link.apply(&properties)
                {
                    attempts.push(Attempt {
                        endpoint: peers[won].to_string(),
                        what: format!("-ORBSharedPages: {error}"),
                    });
                    return Err(raise::CONNECT_FAILED);
                }
                let link: Arc<dyn Link> = Arc::from(link);
                let waiting = peers[won].options.waiting();
                if waiting != Properties::default() {
                    // If the system refuses these properties, the connection waits for input like others.
                    let _ = link.apply(&waiting);
                }
                peers[won].register(&link)?;
                Ok((won, link, losses[won]))
            }
            Err(errors) => {
                let exhausted = exhausted();
                for (peer, error) in peers.iter().zip(errors) {
                    attempts.push(Attempt {
                        endpoint: peer.to_string(),
                        what: match exhausted {
                            true => without_descriptors(&error),
                            false => error.to_string(),
                        },
                    });
                }
                if exhausted {
                    let attempts = std::mem::take(attempts);
                    return Err(failure::record(raise::NO_DESCRIPTORS, attempts));
                }
                // If the time limit has ended, TIMEOUT is raised, because a retry is useless. Another failure may be
                // temporary.
                timing.left_to_send()?;
                Err(raise::CONNECT_FAILED)
            }
        }
    }

    fn register(&self, link: &Arc<dyn Link>) -> Result<(), SystemException> {
        let mut open = self.open.lock();
        open.retain(|link| link.strong_count() > 0);
        open.push(Arc::downgrade(link));
        drop(open);
        // `close` may have run before the connection was registered, and has then not closed it.
        if self.closed.get().is_some() {
            link.close();
            return Err(raise::ORB_SHUT_DOWN);
        }
        Ok(())
    }

    /// Sends buffered oneways, as far as that is possible until `until`.
    pub(crate) fn flush(&self, until: Instant) {
        for buffer in self.shared.buffers() {
            // A failure is ignored, because there is no caller to whom a loss could be reported.
            let _ = buffer.flush(Some(until));
        }
    }

    /// Closes every connection; calls that are waiting fail, new ones are refused.
    pub(crate) fn close(&self) {
        let _ = self.closed.set(());
        for buffer in self.shared.buffers() {
            buffer.wake();
        }
        for link in self.open.lock().drain(..).filter_map(|link| link.upgrade()) {
            link.close();
        }
        let mut idle = self.idle.lock();
        drop(std::mem::take(&mut *idle));
        drop(idle);
        for shared in self.shared.iter() {
            shared.change().set(None);
        }
    }

    /// Takes out the connection for these calls that was used last.
    #[inline]
    pub(super) fn take_idle(&self, sharing_key: SharingKey) -> Option<Box<ClientLink>> {
        let key = ConnectionKey { peer: self.id, sharing_key };
        if self.keeps_by_thread(sharing_key) {
            let ours = PRIVATE.try_with(|links| links.borrow_mut().take(key));
            return ours.ok().flatten();
        }
        let mut idle = self.idle.lock();
        idle.take(key)
    }

    /// Takes out the connection that was used last, if it is one to this server.
    #[inline(always)]
    pub(super) fn take_last(&self) -> Option<Box<ClientLink>> {
        if self.keeps_by_thread(SharingKey::default()) {
            let ours = PRIVATE.try_with(|links| links.borrow_mut().take_last(self.id));
            return ours.ok().flatten();
        }
        let mut idle = self.idle.lock();
        idle.take_last(self.id)
    }

    /// Gives a connection back that was [taken](Self::take_last) out.
    #[inline(always)]
    pub(super) fn give_back_last(&self, link: Box<ClientLink>) {
        if self.closed.get().is_some() || !self.keeps_by_thread(SharingKey::default()) {
            return self.give_back(link);
        }
        // When a thread ends, its connections are closed with the thread-local. If the thread-local no longer exists,
        // the link is dropped, which closes the connection.
        let _ = PRIVATE.try_with(|links| links.borrow_mut().put(self.id, link));
    }

    /// Returns the time until which a connection that is used now needs no check.
    #[inline]
    pub(super) fn trusted_until(&self, now: Instant) -> Instant {
        now.checked_add(self.options.trust_idle).unwrap_or(now)
    }

    fn still_good(&self, link: &mut ClientLink, now: Instant) -> bool {
        let losses = self.losses.load(Ordering::Relaxed);
        let doubtful = losses != link.losses_seen || now > link.trusted_until;
        link.losses_seen = losses;
        link.last_used = now;
        link.trusted_until = self.trusted_until(now);
        !(doubtful && link.link.is_dead())
    }
}

/// Threads and clock of the ORB, and the DSCP of the call, for connecting.
struct RaceContext<'a> {
    threads: &'a Threads,
    mark: Option<u8>,
}

impl Surroundings for RaceContext<'_> {
    /// Starts a thread as urgent as the caller, which waits for it.
    fn look_up(&self, run: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let (purpose, priority) = (ThreadPurpose::LookUp, rt::thread_priority());
        let started = self.threads.spawn(purpose, "oxorb-lookup", priority, run);
        started.map(drop)
    }

    fn now(&self) -> Instant {
        clock::now()
    }

    fn mark(&self) -> Option<u8> {
        self.mark
    }

    /// Sleeps for the pause. Connections of a simulation have no descriptors to wait for, and are queried after each
    /// pause.
    #[cfg(all(test, feature = "simulation"))]
    fn first_ready(
        &self,
        _: &mut dyn Iterator<Item = (BorrowedFd<'_>, bool)>,
        limit: Duration,
    ) -> io::Result<Option<usize>> {
        crate::threads::sync::thread::sleep(limit);
        Ok(None)
    }
}

/// Closes an idle connection, which all threads may use or which this thread keeps. Returns false if there is none.
fn make_room(cache: &Cache) -> bool {
    let ours = || PRIVATE.try_with(|links| links.borrow_mut().take_any());
    cache.make_room() || matches!(ours(), Ok(Some(_)))
}

/// Describes a failure caused by a lack of descriptors, with the limit and the settings.
fn without_descriptors(error: &impl fmt::Display) -> String {
    let most = match oxorb_sys::descriptor::limit() {
        Some(limit) => format!("{limit} descriptors that it may have (ulimit -n)"),
        None => "descriptors that the system has".to_owned(),
    };
    format!(
        "{error}: this process uses all {most}; raise that limit, or bound the number of connections \
         (-ORBMaxClientConnections, -ORBClientConnections multiplexed)"
    )
}

/// Drops this thread's connections that no call can use any more, or that their server closed while they were idle.
/// Makes a system call for each that has been idle for [`LOOK`] or longer.
fn drop_orphans(now: Instant) {
    let idle_since = now.checked_sub(LOOK);
    let _ = PRIVATE.try_with(|links| {
        links.borrow_mut().extract(|link| {
            let of_nobody = |owner: &Weak<Owner>| owner.strong_count() == 0;
            let peer = link.owner.upgrade().filter(|peer| peer.closed.get().is_none());
            let Some(peer) = peer else {
                return true;
            };
            let idles = idle_since.is_some_and(|before| link.last_used <= before);
            let dead = idles && link.link.has_input().unwrap_or(true) && link.has_ended();
            if dead {
                peer.lost();
            }
            dead || link.reference.as_ref().is_some_and(of_nobody)
        })
    });
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.address.for_people())
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({self})")
    }
}
