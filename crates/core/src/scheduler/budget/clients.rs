//! Bound of the tables that have an entry for each client.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Number of clients in a table from which on [`make_room`] is called for a new one.
pub(crate) const MOST_CLIENTS: usize = 4096;

/// Number of places that are free after room was made.
const ROOM: usize = MOST_CLIENTS / 8;

/// Drops entries of clients without connections, which only the table refers to: first those without debt, and then
/// those with the least debt, until [`ROOM`] places are free. Therefore a flood of new clients causes a search of the
/// table only once for each [`ROOM`] clients. Connected clients stay; their number is bounded by MaxConnections.
pub(crate) fn make_room<K: Clone + Eq + Hash, T: ?Sized>(
    clients: &mut HashMap<K, Arc<T>>,
    debt: impl Fn(&T) -> u64,
) {
    clients.retain(|_, entry| Arc::strong_count(entry) > 1 || debt(entry) > 0);
    let excess = clients.len().saturating_sub(MOST_CLIENTS - ROOM);
    if excess == 0 {
        return;
    }
    let gone = clients.iter().filter(|(_, entry)| Arc::strong_count(entry) == 1);
    let gone = gone.map(|(client, entry)| (debt(entry), client.clone()));
    let mut gone: Vec<(u64, K)> = gone.collect();
    if excess < gone.len() {
        gone.select_nth_unstable_by_key(excess, |(debt, _)| *debt);
        gone.truncate(excess);
    }
    for (_, client) in &gone {
        clients.remove(client);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use oxorb_transport::PeerId;

    use super::*;

    fn at(number: usize) -> PeerId {
        PeerId::Ip(IpAddr::V4(Ipv4Addr::from_bits(number as u32)))
    }

    /// Returns a full table, in which the debt of each client is its number.
    fn full() -> HashMap<PeerId, Arc<u64>> {
        (0..MOST_CLIENTS).map(|number| (at(number), Arc::new(number as u64))).collect()
    }

    #[test]
    fn the_clients_with_the_least_debt_make_room_for_many() {
        let mut clients = full();
        make_room(&mut clients, |debt| *debt);
        assert_eq!(clients.len(), MOST_CLIENTS - ROOM);
        assert!((ROOM..MOST_CLIENTS).all(|number| clients.contains_key(&at(number))));
    }

    #[test]
    fn connected_clients_stay() {
        let mut clients = full();
        let connected: Vec<_> = (0..ROOM).map(|number| Arc::clone(&clients[&at(number)])).collect();
        make_room(&mut clients, |debt| *debt);
        assert_eq!(clients.len(), MOST_CLIENTS - ROOM);
        assert!((0..ROOM).all(|number| clients.contains_key(&at(number))));
        make_room(&mut clients, |_| 0);
        assert_eq!(clients.len(), connected.len(), "only those without connections are dropped");
        let mut clients = full();
        let connected: Vec<_> = clients.values().cloned().collect();
        make_room(&mut clients, |_| 0);
        assert_eq!(clients.len(), connected.len());
    }
}
