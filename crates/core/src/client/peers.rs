//! Servers that an ORB calls, each with its connections.

use std::collections::HashMap;
use std::sync::Arc;

use oxorb_object::CodeSetContext;
use oxorb_transport::Address;

use super::{ClientSide, Multiplexed, Peer};
use crate::monitoring::Incident;
use crate::protocol::ProtocolStack;
use crate::shared::Shared;

/// Number of server addresses from which the ORB begins to forget unused ones.
const MANY_PEERS: usize = 64;

/// Servers by address, and by the code sets in which text travels to them.
///
/// The first request of a connection fixes its pair of code sets. References that agree on another pair, or on none
/// (references from `corbaloc:` URLs), have separate connections; otherwise the encoding of their text would depend on
/// which reference was called first.
#[derive(Default)]
pub(super) struct Peers(HashMap<Address, Vec<KnownPeer>>);

struct KnownPeer {
    code_sets: Option<CodeSetContext>,
    peer: Arc<Peer>,
}

impl Peers {
    /// Iterates over all peers, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Peer>> {
        self.0.values().flatten().map(|known| &known.peer)
    }

    /// Forgets unused peers that have read everything. Returns the peers that did not read everything in time.
    fn purge(&mut self) -> Vec<String> {
        let mut overdue = Vec::new();
        let mut is_used = |peer: &Arc<Peer>| {
            if Arc::strong_count(peer) > 1 || peer.is_called_back() {
                return true;
            }
            let before = peer.shared.look_before(peer.options().stall_timeout);
            overdue.extend(before.overdue);
            before.unread
        };
        self.0.retain(|_, known| {
            known.retain(|known| is_used(&known.peer));
            !known.is_empty()
        });
        overdue
    }
}

impl ClientSide {
    /// Returns the peer that speaks a protocol at an address, for references with these code sets.
    pub(crate) fn peer(
        &self,
        shared: &Shared,
        protocol: &Arc<ProtocolStack>,
        address: &Address,
        code_sets: Option<CodeSetContext>,
    ) -> Arc<Peer> {
        let mut overdue = Vec::new();
        let mut peers = self.peers.lock();
        // A server that calls back many short-lived clients must not keep a peer for each of them.
        if peers.0.len() >= MANY_PEERS && peers.0.len().is_power_of_two() {
            overdue = peers.purge();
        }
        let known = peers.0.entry(address.clone()).or_default();
        let same = |known: &&KnownPeer| Arc::ptr_eq(known.peer.protocol(), protocol);
        let mut found = known.iter().filter(same);
        let found = found.find(|known| known.code_sets == code_sets);
        let peer = match found {
            Some(found) => Arc::clone(&found.peer),
            None => {
                let Shared { options, threads, .. } = shared;
                let cache = &self.cache;
                let peer = Arc::new(Peer::new(protocol, address, options, cache, threads));
                peer.set_both_ways(self.offers_bidirectional());
                // A connection that carries requests both ways is shared by all peers at its address, with any code
                // sets.
                let open = known.iter().filter(same).find_map(|known| {
                    Multiplexed::open_to(&known.peer, None).filter(|open| open.is_both_ways())
                });
                if let Some(open) = open {
                    open.serves(&peer);
                }
                known.push(KnownPeer { code_sets, peer: Arc::clone(&peer) });
                peer
            }
        };
        drop(peers);
        for late in overdue {
            shared.note(Incident::OrderLost, || late, String::new);
        }
        if shared.is_closing() {
            peer.close();
        }
        peer
    }

    /// Returns the peers that speak a protocol at an address, for references with any code sets; at
    /// least one.
    pub(crate) fn peers_at(
        &self,
        shared: &Shared,
        protocol: &Arc<ProtocolStack>,
        address: &Address,
    ) -> Vec<Arc<Peer>> {
        let peer = self.peer(shared, protocol, address, None);
        let peers = self.peers.lock();
        let same = |peer: &&Arc<Peer>| Arc::ptr_eq(peer.protocol(), protocol);
        match peers.0.get(address) {
            Some(known) => {
                let all = known.iter().map(|known| &known.peer);
                all.filter(same).cloned().collect()
            }
            None => vec![peer],
        }
    }
}
