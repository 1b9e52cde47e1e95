//! Registry of open connections: their clients, their idle times, and their end at shutdown.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_sys::thread::Place;
use oxorb_transport::{Link, PeerId};

use super::client::Client;
use super::lane::Lane;
use super::status::Status;
use crate::conn::{self, Turn};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use crate::{Incident, Options};

/// Time for which a connection must have been idle, or stalled within a message, before it may be closed for a new one.
const PURGE_AFTER: Duration = Duration::from_secs(1);

/// Registry of one ORB's open server connections. Used when a connection begins and ends, never per
/// request.
pub(crate) struct Registry {
    state: Mutex<RegistryState>,
    /// Whether no further connection is admitted. Written under the lock; read without it by
    /// threads that check on each tick, which must not wait for threads of other lanes.
    closing: AtomicBool,
    /// Number of open connections. Written under the lock; read without it for statistics, whose reader may have a low
    /// priority.
    open: AtomicUsize,
    /// Whether no connection is read any more, not even for replies to calls of this side.
    unread: AtomicBool,
    /// Number of running calls from this process to objects of the ORB, which no connection counts.
    pub(crate) local_calls: AtomicUsize,
    /// Number of requests that are kept to be answered later, over a connection or not.
    pub(crate) unanswered: AtomicUsize,
    /// Octets of the large messages of all clients.
    messages: Arc<AtomicUsize>,
    changed: Condvar,
    /// Start of the registry, from which idle times are counted.
    began: Instant,
}

#[derive(Default)]
struct RegistryState {
    next_id: u64,
    links: HashMap<u64, Entry>,
    clients: HashMap<PeerId, Arc<Client>>,
    /// Number of connections that have been asked to end and have not ended yet.
    ending: usize,
}

struct Entry {
    link: Arc<dyn Link>,
    status: Arc<Status>,
    /// Threadpool of the connection; 0 for the ORB's own.
    pool: u32,
    /// Entry of the connection in the list of threads.
    _place: Option<Place>,
}

/// Findings of [`Registry::long_running`], reused by periodic callers, so that a look allocates nothing.
#[derive(Default)]
pub(crate) struct Look {
    /// Connections whose thread was in the same request at two successive looks.
    pub(super) long: Vec<LongRunning>,
    /// Whether other connections run a request.
    pub(super) running: bool,
    /// Whether some connections carry several requests at a time.
    pub(super) shared: bool,
    /// Whether some connections had input recently.
    pub(super) busy: bool,
    /// Whether each of the busy connections has carried many requests since the last look.
    pub(super) stream: bool,
}

/// Connection with the request that its thread runs.
pub(super) struct LongRunning {
    pub(super) id: u64,
    pub(super) link: Arc<dyn Link>,
    pub(super) status: Arc<Status>,
    /// Phase of the request, for [`Status::take_over`].
    pub(super) request: u64,
}

/// New connection that may be served.
pub(crate) struct AdmittedConnection {
    pub(crate) id: u64,
    pub(crate) status: Arc<Status>,
    /// Peer of the connection that was closed for it, as [`Link::peer`] returns it.
    pub(crate) purged: Option<String>,
}

/// Reason to refuse a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Closing,
    Limit(Incident),
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            state: Mutex::default(),
            closing: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            unread: AtomicBool::new(false),
            local_calls: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
            messages: Arc::default(),
            changed: Condvar::new(),
            began: clock::now(),
        }
    }
}

impl Registry {
    /// Registers a connection within the limits. An idle or stalled connection may be closed for it: one of the same
    /// client if the client is at its limit.
    pub(crate) fn admit(
        &self,
        link: &Arc<dyn Link>,
        options: &Options,
    ) -> Result<AdmittedConnection, Refused> {
        let mut state = self.lock();
        if self.closing.load(Ordering::SeqCst) {
            return Err(Refused::Closing);
        }
        let identity = link.identity().client();
        let new = || Arc::new(Client::counted_in(&self.messages));
        let client = Arc::clone(state.clients.entry(identity.clone()).or_insert_with(new));
        let mut purged = None;
        if let Some(limit) = options.max_connections_per_client {
            let open = client.connections.load(Ordering::Relaxed);
            let ending = client.ending.load(Ordering::Relaxed);
            if is_full(open, ending, limit) {
                let of_client = |entry: &Entry| {
                    let of = entry.status.client.as_ref();
                    of.is_some_and(|of| Arc::ptr_eq(of, &client))
                };
                if ending < limit {
                    purged = self.purge_at(&mut state, self.now(), of_client);
                }
                if purged.is_none() {
                    return Err(Refused::Limit(Incident::TooManyFromClient));
                }
            }
        }
        let most = options.max_connections;
        if is_full(state.links.len(), state.ending, most) {
            purged = None;
            if state.ending < most {
                purged = self.purge_at(&mut state, self.now(), |_| true);
            }
            if purged.is_none() {
                self.forget(&mut state, &identity);
                return Err(Refused::Limit(Incident::TooManyConnections));
            }
        }
        client.connections.fetch_add(1, Ordering::Relaxed);
        Ok(self.enter(&mut state, link, Some(client), purged))
    }

    /// Registers a connection that this side opened, and over which requests may also arrive.
    pub(crate) fn join(&self, link: &Arc<dyn Link>) -> Option<AdmittedConnection> {
        let mut state = self.lock();
        if self.closing.load(Ordering::SeqCst) {
            return None;
        }
        let admitted = self.enter(&mut state, link, None, None);
        admitted.status.keep.store(true, Ordering::Relaxed);
        Some(admitted)
    }

    fn enter(
        &self,
        state: &mut RegistryState,
        link: &Arc<dyn Link>,
        client: Option<Arc<Client>>,
        purged: Option<String>,
    ) -> AdmittedConnection {
        let id = state.next_id;
        state.next_id += 1;
        let status = Arc::new(Status::new(self.now(), client));
        let entry =
            Entry { link: Arc::clone(link), status: Arc::clone(&status), pool: 0, _place: None };
        state.links.insert(id, entry);
        self.open.store(state.links.len(), Ordering::Release);
        AdmittedConnection { id, status, purged }
    }

    /// Ends the connection that has idled longest, preferably one that was never used; returns its
    /// peer.
    pub(crate) fn purge_one(&self) -> Option<String> {
        self.purge_one_as_of(self.now())
    }

    /// Does what [`purge_one`](Self::purge_one) does, as if the time were `now`, in milliseconds since the registry's
    /// origin.
    pub(crate) fn purge_one_as_of(&self, now: u64) -> Option<String> {
        self.purge_at(&mut self.lock(), now, |_| true)
    }

    /// Ends one of the connections that `which` accepts: one that was never used, one that is idle, or one that stalls
    /// within a message, in this order, and of these the one that has waited longest.
    fn purge_at(
        &self,
        state: &mut RegistryState,
        now: u64,
        which: impl Fn(&Entry) -> bool,
    ) -> Option<String> {
        let latest = now.saturating_sub(PURGE_AFTER.as_millis() as u64);
        let entry = loop {
            let candidates = state.links.values().filter(|entry| which(entry));
            let (entry, _) = candidates
                .filter(|entry| entry.status.may_end())
                .filter_map(|entry| Some((entry, entry.status.use_since(latest)?)))
                .min_by_key(|(_, rank)| *rank)?;
            // A call of this side may have begun meanwhile. The connection is then no candidate any more.
            if entry.status.retires_calls() {
                break entry;
            }
        };
        entry.status.told.store(true, Ordering::Relaxed);
        if let Some(client) = &entry.status.client {
            client.ending.fetch_add(1, Ordering::Relaxed);
        }
        entry.link.close_read();
        let peer = entry.link.peer();
        state.ending += 1;
        Some(peer)
    }

    /// Records that a connection waits for the rest of a message.
    pub(super) fn stalls(&self, status: &Status) {
        status.stalls_since.store(self.now(), Ordering::Relaxed);
    }

    /// Records that a connection is idle, and has waited for `waited` already.
    pub(crate) fn idles(&self, status: &Status, waited: Duration) {
        let since = self.now().saturating_sub(waited.as_millis() as u64).max(1);
        status.idle_since.store(since, Ordering::Relaxed);
    }

    /// Reports whether a connection has been idle for `limit`; the caller then ends it.
    pub(crate) fn is_overdue(&self, status: &Status, limit: Option<Duration>) -> bool {
        let Some(limit) = limit else {
            return false;
        };
        let since = status.idle_since.load(Ordering::Relaxed);
        if since != 0 && (status.under_way() > 0 || status.awaits_answer()) {
            // The connection is idle from the end of its request, or of the call over it, on. If the exchange fails,
            // input has arrived.
            let (set, load) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = status.idle_since.compare_exchange(since, self.now(), set, load);
            return false;
        }
        since != 0
            && status.may_end()
            && self.now().saturating_sub(since) >= limit.as_millis() as u64
            && status.retires_calls()
            && {
                let mut state = self.lock();
                if !status.told.swap(true, Ordering::Relaxed) {
                    state.ending += 1;
                    if let Some(client) = &status.client {
                        client.ending.fetch_add(1, Ordering::Relaxed);
                    }
                }
                true
            }
    }

    fn now(&self) -> u64 {
        clock::since(self.began).as_millis() as u64 + 1
    }

    /// Assigns a connection to a threadpool, whose threads list it as `place`.
    pub(crate) fn assign(&self, id: u64, pool: u32, place: Place) {
        if let Some(entry) = self.lock().links.get_mut(&id) {
            entry.pool = pool;
            entry._place = Some(place);
        }
    }

    /// Reports whether a threadpool has no open connection.
    pub(crate) fn is_empty_of(&self, pool: u32) -> bool {
        !self.lock().links.values().any(|entry| entry.pool == pool)
    }

    /// Returns the connections of a threadpool over which this side awaits an answer.
    #[cold]
    pub(super) fn awaited_of(&self, pool: u32) -> Vec<u64> {
        let awaits = |entry: &Entry| {
            entry.pool == pool && entry.status.calls().is_some_and(|calls| calls.is_awaited())
        };
        let state = self.lock();
        let awaited = state.links.iter().filter(|(_, entry)| awaits(entry));
        awaited.map(|(id, _)| *id).collect()
    }

    /// Ends every connection of a threadpool in order, after its running request. A connection that also carries calls
    /// of this side is read until [`end_replies_of`](Self::end_replies_of).
    pub(crate) fn close_of(&self, pool: u32) {
        let mut state = self.lock();
        let mut told = 0;
        let ending = || state.links.values().filter(|entry| entry.pool == pool);
        for entry in ending() {
            if !entry.status.told.swap(true, Ordering::Relaxed) {
                told += 1;
                if let Some(client) = &entry.status.client {
                    client.ending.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        // Once a client finds its connection closed, no connection of the threadpool serves further requests.
        for entry in ending().filter(|entry| entry.status.calls().is_none()) {
            entry.link.close_read();
        }
        state.ending += told;
    }

    /// Stops reading the connections of a threadpool that [end](Self::close_of), once none of them has a request that
    /// runs: such a request may wait for the reply to a call over one of them. To be called periodically.
    pub(crate) fn end_replies_of(&self, pool: u32) {
        let state = self.lock();
        let ending = || state.links.values().filter(move |entry| entry.pool == pool);
        if ending().all(Entry::brings_only_replies) {
            ending().for_each(|entry| entry.link.close_read());
        }
    }

    /// Closes every connection of a threadpool that is still open.
    pub(crate) fn cut_of(&self, pool: u32) {
        self.cut_where(|entry| entry.pool == pool);
    }

    /// Finds the connections whose thread was in the same request at the last look, and records the current requests
    /// for the next look.
    pub(super) fn long_running(&self, lane: Option<&Arc<Lane>>, look: &mut Look) {
        let mut long = std::mem::take(&mut look.long);
        long.clear();
        *look = Look { long, stream: true, ..Look::default() };
        for (id, entry) in &self.lock().links {
            let status = &entry.status;
            if !status.is_watched_by(lane) {
                continue;
            }
            if status.idle_since.load(Ordering::Relaxed) == 0 {
                look.busy = true;
                look.stream &= status.streams();
                // Only busy connections count, because the next input of an idle connection wakes the watching thread.
                look.shared |= status.is_shared();
            }
            match status.look() {
                Some((request, true)) => {
                    let (link, status) = (Arc::clone(&entry.link), Arc::clone(status));
                    look.long.push(LongRunning { id: *id, link, status, request });
                }
                Some((_, false)) => look.running = true,
                None => {}
            }
        }
    }

    /// Records the answer to a request that was answered later; an idle connection is idle from now on. Returns whether
    /// the connection has ended meanwhile, as [`Status::leave`] does.
    pub(crate) fn leave_answered(&self, status: &Status) -> bool {
        let idles = &status.idle_since;
        let since = idles.load(Ordering::Relaxed);
        if since != 0 {
            // If the exchange fails, the connection is busy again, and must not count as idle.
            let (set, load) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = idles.compare_exchange(since, self.now(), set, load);
        }
        status.unanswered.fetch_sub(1, Ordering::Relaxed);
        status.leave()
    }

    pub(crate) fn remove(&self, id: u64) {
        let mut state = self.lock();
        if let Some(entry) = state.links.remove(&id) {
            if entry.status.told.load(Ordering::Relaxed) {
                state.ending -= 1;
            }
            if let Some(client) = &entry.status.client {
                client.connections.fetch_sub(1, Ordering::Relaxed);
                if entry.status.told.load(Ordering::Relaxed) {
                    client.ending.fetch_sub(1, Ordering::Relaxed);
                }
                self.forget(&mut state, &entry.link.identity().client());
            }
        }
        self.open.store(state.links.len(), Ordering::Release);
        self.end_replies(&state);
        drop(state);
        self.changed.notify_all();
    }

    /// Removes a client without connections.
    fn forget(&self, state: &mut RegistryState, identity: &PeerId) {
        if let Some(client) = state.clients.get(identity)
            && client.connections.load(Ordering::Relaxed) == 0
        {
            state.clients.remove(identity);
        }
    }

    /// Reports whether there is and will be no open connection. Takes no lock before the ORB ends.
    pub(crate) fn has_ended(&self) -> bool {
        self.closing.load(Ordering::SeqCst) && self.lock().links.is_empty()
    }

    /// Returns the number of open connections. Takes no lock.
    pub(crate) fn len(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Returns the octets of all clients' large messages. Takes no lock.
    pub(crate) fn octets_held(&self) -> usize {
        self.messages.load(Ordering::Relaxed)
    }

    /// Wakes every reader: each finishes its running request, sends CloseConnection and ends. A connection that also
    /// carries calls of this side is read until no request of the ORB runs, because a request may wait for the reply to
    /// such a call.
    pub(crate) fn close(&self) {
        let state = self.lock();
        self.closing.store(true, Ordering::SeqCst);
        let ends = |entry: &&Entry| entry.status.calls().is_none();
        for entry in state.links.values().filter(ends) {
            entry.link.close_read();
        }
        self.end_replies(&state);
    }

    /// Stops reading for replies, if the ORB ends and no request runs.
    fn end_replies(&self, state: &RegistryState) {
        if self.closing.load(Ordering::SeqCst)
            && !self.unread.load(Ordering::Relaxed)
            && self.local_calls.load(Ordering::SeqCst) == 0
            && self.unanswered.load(Ordering::SeqCst) == 0
            && state.links.values().all(Entry::brings_only_replies)
        {
            self.unread.store(true, Ordering::SeqCst);
            state.links.values().for_each(|entry| entry.link.close_read());
        }
    }

    /// Reports whether a connection is read no further while the ORB ends. Takes no lock.
    pub(super) fn is_unread(&self, status: &Status) -> bool {
        status.calls().is_none() || self.unread.load(Ordering::SeqCst)
    }

    /// Reports whether the ORB ends and no connection is read for replies. Takes no lock before the ORB ends.
    pub(super) fn reads_no_more(&self) -> bool {
        let may_bring_replies = |entry: &Entry| entry.status.calls().is_some();
        self.closing.load(Ordering::SeqCst)
            && (self.unread.load(Ordering::SeqCst)
                || !self.lock().links.values().any(may_bring_replies))
    }

    /// Does what [`is_unread`](Self::is_unread) does, and checks whether a request still runs. For threads that check
    /// periodically.
    pub(super) fn becomes_unread(&self, status: &Status) -> bool {
        if !self.is_unread(status) {
            self.end_replies(&self.lock());
        }
        self.is_unread(status)
    }

    /// Waits until every connection has ended; returns false if `until` passes before.
    pub(crate) fn wait_empty(&self, until: Option<Instant>) -> bool {
        let mut state = self.lock();
        while !state.links.is_empty() {
            // The end of a request is not signalled while its connection stays open.
            self.end_replies(&state);
            let mut limit = (!self.unread.load(Ordering::SeqCst)).then_some(conn::TICK);
            if let Some(until) = until {
                let Some(left) = until.checked_duration_since(clock::now()) else {
                    return false;
                };
                limit = Some(limit.map_or(left, |tick| tick.min(left)));
            }
            state = match limit {
                None => self.changed.wait(state),
                Some(limit) => self.changed.wait_timeout(state, limit).0,
            };
        }
        true
    }

    /// Closes every connection that is still open.
    pub(crate) fn cut(&self) {
        self.unread.store(true, Ordering::SeqCst);
        self.cut_where(|_| true);
    }

    fn cut_where(&self, which: impl Fn(&Entry) -> bool) {
        let cut: Vec<Arc<Turn>> = {
            let state = self.lock();
            let entries = state.links.values().filter(|entry| which(entry));
            let cut = entries.map(|entry| {
                entry.link.close();
                Arc::clone(entry.status.turns())
            });
            cut.collect()
        };
        // No answer reaches a client any more. Ending the calls made for its requests writes to other connections, so
        // the registry is not locked.
        cut.iter().for_each(|turn| turn.end(true));
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock()
    }
}

impl Entry {
    /// Reports whether a connection that ends brings nothing more but replies to calls of this side: no request of it
    /// runs, or is to be answered later.
    fn brings_only_replies(&self) -> bool {
        self.status.calls().is_some() && !self.status.has_requests()
    }
}

/// Reports whether `most` connections are open. Those that were asked to end count only beyond `most` of them: if the
/// threads that would end them are busy, their number would otherwise have no limit.
fn is_full(open: usize, ending: usize, most: usize) -> bool {
    open - ending.min(most) >= most
}

#[cfg(test)]
mod tests {
    use oxorb_giop::Inbox;

    use super::*;
    use crate::conn::{Calls, ConnectionEnd};
    use crate::server::share::{Claim, ClientLimits};

    fn link() -> (Arc<dyn Link>, impl Link) {
        let (here, there) = oxorb_transport::mem::pair(64);
        (Arc::new(here), there)
    }

    fn options(max_connections: usize) -> Options {
        Options { max_connections, ..Options::default() }
    }

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "release builds count no locks")]
    fn looking_whether_the_orb_has_ended_takes_no_lock() {
        let registry = Registry::default();
        let locks = || crate::threads::lock::taken().expect("tests are debug builds");
        let before = locks();
        assert!(!registry.has_ended());
        assert_eq!(locks(), before, "idle threads of all lanes look on each tick");
        registry.close();
        assert!(registry.has_ended());
    }

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "release builds count no locks")]
    fn statistics_take_no_lock_and_include_all_clients() {
        let registry = Registry::default();
        let locks = || crate::threads::lock::taken().expect("tests are debug builds");
        let read = || {
            let before = locks();
            let read = (registry.len(), registry.octets_held());
            assert_eq!(locks(), before, "threads that take over connections need the lock");
            read
        };
        assert_eq!(read(), (0, 0));
        let links = [link(), link()];
        let admitted = links.each_ref().map(|(link, _)| registry.admit(link, &options(2)));
        let admitted = admitted.map(|admitted| admitted.ok().unwrap());
        assert_eq!(read(), (2, 0));
        let mut claims = admitted.each_ref().map(|one| Claim::of(one.status.client.as_ref()));
        assert!(claims.iter_mut().all(|claim| claim.grow(1000, ClientLimits::UNLIMITED)));
        assert!(claims[0].grow(1500, ClientLimits::UNLIMITED));
        assert_eq!(read(), (2, 2500));
        assert_eq!(claims[0].release(), 1500);
        registry.remove(admitted[0].id);
        assert_eq!(read(), (1, 1000));
        // Messages count until their memory is released, even if their connection ended before.
        registry.remove(admitted[1].id);
        assert_eq!(read(), (0, 1000));
        drop(claims);
        assert_eq!(read(), (0, 0));
    }

    #[test]
    fn one_too_many_is_refused_while_none_idles() {
        let registry = Registry::default();
        let (first, _other) = link();
        let admitted = registry.admit(&first, &options(1)).ok().unwrap();
        admitted.status.wakes();
        let refused = registry.admit(&link().0, &options(1)).err();
        assert_eq!(refused, Some(Refused::Limit(Incident::TooManyConnections)));
        assert!(admitted.status.leave());
        registry.remove(admitted.id);
        assert!(registry.admit(&link().0, &options(1)).is_ok());
    }

    #[test]
    fn the_one_that_was_never_used_makes_room_then_the_one_that_idles_longest() {
        let registry = Registry::default();
        let links: Vec<_> = (0..3).map(|_| link()).collect();
        let status: Vec<_> = links
            .iter()
            .map(|(link, _)| registry.admit(link, &options(3)).ok().unwrap().status)
            .collect();
        let set = |at: usize, since: u64, used| {
            status[at].idle_since.store(since, Ordering::Relaxed);
            status[at].used.store(used, Ordering::Relaxed);
        };
        set(0, 2, true);
        set(1, 3, false);
        set(2, 1, true);
        let order = || {
            let before: Vec<_> = status.iter().map(|each| each.was_told_to_end()).collect();
            registry.purge_at(&mut registry.lock(), 10_000, |_| true)?;
            status.iter().zip(before).position(|(each, before)| each.was_told_to_end() != before)
        };
        assert_eq!([order(), order(), order()], [Some(1), Some(2), Some(0)]);
        assert_eq!(order(), None);
    }

    /// The thread that reads the connection notices only that nothing arrives.
    #[test]
    fn a_connection_whose_request_runs_in_another_thread_is_not_idle() {
        let registry = Registry::default();
        let (served, _other) = link();
        let status = registry.admit(&served, &options(1)).ok().unwrap().status;
        status.goes_beside(7);
        status.idle_since.store(1, Ordering::Relaxed);
        assert!(registry.purge_at(&mut registry.lock(), 10_000, |_| true).is_none());
        assert!(!registry.is_overdue(&status, Some(Duration::ZERO)));
        assert_ne!(status.idle_since.load(Ordering::Relaxed), 0);
        status.goes_no_more(7);
        assert!(registry.is_overdue(&status, Some(Duration::ZERO)));
    }

    /// Calls over a connection that a client offers.
    #[derive(Default)]
    struct Callbacks {
        awaited: AtomicBool,
        retired: AtomicBool,
        /// Whether a call begins after the connection was found without one.
        begins_late: AtomicBool,
    }

    impl Calls for Callbacks {
        fn complete(&self, _: &mut Inbox) -> Result<(), ConnectionEnd> {
            Ok(())
        }

        fn is_awaited(&self) -> bool {
            self.awaited.load(Ordering::Relaxed)
        }

        fn retire(&self) -> bool {
            if self.begins_late.swap(false, Ordering::Relaxed) {
                self.awaited.store(true, Ordering::Relaxed);
            }
            let retires = !self.is_awaited();
            self.retired.store(retires, Ordering::Relaxed);
            retires
        }

        fn expire(&self, _: Instant, _: Option<Duration>) {}

        fn end(&self, _: ConnectionEnd) {}
    }

    #[test]
    fn a_connection_is_kept_while_a_callback_over_it_is_outstanding() {
        let registry = Registry::default();
        let (offered, _other) = link();
        let status = registry.admit(&offered, &options(1)).ok().unwrap().status;
        let calls = Arc::new(Callbacks::default());
        status.use_both_ways(Arc::<Callbacks>::clone(&calls));
        let idle = || status.idle_since.store(1, Ordering::Relaxed);
        let purge = || registry.purge_at(&mut registry.lock(), 10_000, |_| true);
        calls.awaited.store(true, Ordering::Relaxed);
        idle();
        assert!(purge().is_none());
        assert!(!registry.is_overdue(&status, Some(Duration::ZERO)));
        assert!(!status.was_told_to_end());
        // The callback begins while a connection to be closed is being selected.
        calls.awaited.store(false, Ordering::Relaxed);
        calls.begins_late.store(true, Ordering::Relaxed);
        idle();
        assert!(purge().is_none());
        assert!(!status.was_told_to_end() && !calls.retired.load(Ordering::Relaxed));
        calls.awaited.store(false, Ordering::Relaxed);
        idle();
        assert!(purge().is_some());
        assert!(calls.retired.load(Ordering::Relaxed), "further callbacks use another connection");
    }

    /// Reports whether a link is closed for reading.
    fn is_deaf(link: &Arc<dyn Link>) -> bool {
        link.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        link.read(&mut Vec::new(), 1).is_ok_and(|octets| octets == 0)
    }

    #[test]
    fn a_connection_that_carries_calls_is_read_until_no_request_runs() {
        let registry = Registry::default();
        let ((plain, _client), (offered, _other)) = (link(), link());
        let requests = registry.admit(&plain, &options(2)).ok().unwrap();
        let running = requests.status.begins(7);
        let status = registry.admit(&offered, &options(2)).ok().unwrap().status;
        status.use_both_ways(Arc::new(Callbacks::default()));
        registry.local_calls.store(1, Ordering::SeqCst);
        registry.close();
        assert!(is_deaf(&plain) && registry.is_unread(&requests.status));
        assert!(status.serves_no_more(true));
        let is_read = || !registry.becomes_unread(&status) && !is_deaf(&offered);
        assert!(is_read() && !registry.reads_no_more());
        assert!(requests.status.ends(running));
        registry.remove(requests.id);
        assert!(is_read(), "a call within the process still runs");
        registry.local_calls.store(0, Ordering::SeqCst);
        let own = status.begins(8);
        assert!(is_read(), "a request of the connection itself runs");
        assert!(status.ends(own));
        let announced = status.announces().expect("it carries calls");
        assert!(is_read(), "a request was read that may begin");
        drop(announced);
        assert!(requests.status.announces().is_none(), "other connections count none");
        assert!(registry.becomes_unread(&status) && is_deaf(&offered));
        assert!(registry.reads_no_more());
    }

    #[test]
    fn a_connection_that_carries_calls_ends_at_once_if_no_request_runs() {
        let registry = Registry::default();
        let (offered, _other) = link();
        let status = registry.admit(&offered, &options(1)).ok().unwrap().status;
        status.use_both_ways(Arc::new(Callbacks::default()));
        registry.close();
        assert!(is_deaf(&offered) && registry.is_unread(&status));
    }

    #[test]
    fn an_idle_connection_retires_before_it_is_closed() {
        let registry = Registry::default();
        let (offered, _other) = link();
        let status = registry.admit(&offered, &options(1)).ok().unwrap().status;
        let calls = Arc::new(Callbacks::default());
        status.use_both_ways(Arc::<Callbacks>::clone(&calls));
        calls.begins_late.store(true, Ordering::Relaxed);
        status.idle_since.store(1, Ordering::Relaxed);
        assert!(!registry.is_overdue(&status, Some(Duration::ZERO)));
        assert!(!status.was_told_to_end());
        calls.awaited.store(false, Ordering::Relaxed);
        assert!(registry.is_overdue(&status, Some(Duration::ZERO)));
        assert!(status.was_told_to_end() && calls.retired.load(Ordering::Relaxed));
    }

    /// The threads of a lane that would end connections may all be busy.
    #[test]
    fn connections_that_are_asked_to_end_and_do_not_are_limited_too() {
        let before = Duration::from_secs(10);
        for of_client in [None, Some(2)] {
            let began = clock::now().checked_sub(before).expect("the machine has run for longer");
            let registry = Registry { began, ..Registry::default() };
            let most = if of_client.is_some() { 100 } else { 2 };
            let options = Options { max_connections_per_client: of_client, ..options(most) };
            let mut open = Vec::new();
            let refused = loop {
                assert!(open.len() < 10, "there is no limit");
                let one = link();
                match registry.admit(&one.0, &options) {
                    Ok(admitted) => {
                        admitted.status.idle_since.store(1, Ordering::Relaxed);
                        open.push((one, admitted));
                    }
                    Err(refused) => break refused,
                }
            };
            assert_eq!(open.len(), 4, "as many as the limit, twice");
            let incident = match of_client {
                None => Incident::TooManyConnections,
                Some(_) => Incident::TooManyFromClient,
            };
            assert_eq!(refused, Refused::Limit(incident));
            registry.remove(open[0].1.id);
            assert!(registry.admit(&link().0, &options).is_ok());
        }
    }

    #[test]
    fn what_carries_callbacks_is_never_told_to_end() {
        let registry = Registry::default();
        let (both_ways, _other) = link();
        let status = registry.join(&both_ways).unwrap().status;
        status.idle_since.store(1, Ordering::Relaxed);
        assert!(registry.purge_at(&mut registry.lock(), 10_000, |_| true).is_none());
        assert!(!registry.is_overdue(&status, Some(Duration::ZERO)));
    }
}
