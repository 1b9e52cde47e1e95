//! Idle connections of a thread or a server, found by hash.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use oxorb_transport::Link;

use super::link::ClientLink;
use super::selection::SharingKey;

/// Key of a connection: the server and, where it matters, the band or reference of the calls that may use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ConnectionKey {
    /// Number of the server ([`Peer::id`](super::Peer::id)).
    pub(super) peer: u64,
    pub(super) sharing_key: SharingKey,
}

/// Connections that are not in use.
///
/// The connection that was put in last is not hashed, so that a thread that calls one object pays for a comparison
/// only. Once there has been a connection for each key, nothing here allocates.
#[derive(Default)]
pub(super) struct IdleConnections {
    last: Option<(ConnectionKey, Box<ClientLink>)>,
    /// All other connections. In each list, the connection that has been idle longest comes first. `None` until there
    /// is a second connection.
    others: Option<HashMap<ConnectionKey, Links>>,
    count: usize,
}

/// Size in octets of the memory that a connection keeps for messages once another connection has been used after it.
/// Without this limit, the memory of all idle connections would add up.
const KEPT_ASIDE: usize = 2 << 20;

/// Boxed, because each call moves them several times.
type Links = Vec<Box<ClientLink>>;

impl IdleConnections {
    /// Returns an empty collection.
    pub(super) const fn new() -> IdleConnections {
        IdleConnections { last: None, others: None, count: 0 }
    }

    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Takes out the connection of a key that was used last.
    #[inline]
    pub(super) fn take(&mut self, key: ConnectionKey) -> Option<Box<ClientLink>> {
        let link = match self.last.take_if(|(last, _)| *last == key) {
            Some((_, link)) => link,
            None => self.others.as_mut()?.get_mut(&key)?.pop()?,
        };
        self.count -= 1;
        Some(link)
    }

    /// Takes out the connection that was put in last, if it is one to this server.
    #[inline(always)]
    pub(super) fn take_last(&mut self, peer: u64) -> Option<Box<ClientLink>> {
        let (_, link) = self.last.take_if(|(key, _)| key.peer == peer)?;
        self.count -= 1;
        Some(link)
    }

    /// Adds a connection that was just used.
    #[inline]
    pub(super) fn put(&mut self, peer: u64, link: Box<ClientLink>) {
        let key = ConnectionKey { peer, sharing_key: link.sharing_key };
        self.count += 1;
        if let Some((before, link)) = self.last.replace((key, link)) {
            self.put_aside(before, link);
        }
    }

    #[inline(never)]
    fn put_aside(&mut self, key: ConnectionKey, mut link: Box<ClientLink>) {
        link.limit_memory(KEPT_ASIDE);
        let others = self.others.get_or_insert_default();
        others.entry(key).or_default().push(link);
    }

    /// Takes out any connection.
    pub(super) fn take_any(&mut self) -> Option<Box<ClientLink>> {
        let link = match self.last.take() {
            Some((_, link)) => link,
            None => self.others.as_mut()?.values_mut().find_map(Vec::pop)?,
        };
        self.count -= 1;
        Some(link)
    }

    /// Returns the last use of the connection that has been idle longest. Inspects one connection of each key.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let last = self.last.as_ref().map(|(_, link)| link.last_used);
        let others = self.others.iter().flat_map(HashMap::values);
        let others = others.filter_map(|links| Some(links.first()?.last_used));
        last.into_iter().chain(others).min()
    }

    /// Returns the connections that were last used at `before` or earlier, and takes none out.
    pub(super) fn idle_since_before(&self, before: Instant) -> Vec<Arc<dyn Link>> {
        let last = self.last.iter().map(|(_, link)| link);
        let others = self.others.iter().flat_map(HashMap::values).flatten();
        let idle = last.chain(others).filter(|link| link.last_used <= before);
        idle.map(|link| Arc::clone(&link.link)).collect()
    }

    /// Takes out one connection, or returns `None` if it is in use.
    pub(super) fn take_this(&mut self, wanted: &Arc<dyn Link>) -> Option<Box<ClientLink>> {
        self.extract(|link| ptr::addr_eq(Arc::as_ptr(&link.link), Arc::as_ptr(wanted))).pop()
    }

    /// Adds a connection again that was taken out and not used. Others are taken before it.
    pub(super) fn put_unused(&mut self, peer: u64, link: Box<ClientLink>) {
        let key = ConnectionKey { peer, sharing_key: link.sharing_key };
        self.count += 1;
        if self.last.is_none() {
            self.last = Some((key, link));
        } else {
            self.others.get_or_insert_default().entry(key).or_default().insert(0, link);
        }
    }

    /// Takes out the connections for which `chosen` is true, and removes the keys that have none left.
    pub(super) fn extract(&mut self, mut chosen: impl FnMut(&mut ClientLink) -> bool) -> Links {
        let last = self.last.take_if(|(_, link)| chosen(link));
        let mut found: Links = last.into_iter().map(|(_, link)| link).collect();
        if let Some(others) = &mut self.others {
            others.retain(|_, links| {
                found.extend(links.extract_if(.., |link| chosen(link)));
                !links.is_empty()
            });
        }
        self.count -= found.len();
        found
    }
}
