//! Numbers of connections, or of streams of events, by client address, so that a single client cannot occupy all of
//! them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use oxorb_sys::sync::Mutex;

/// Number of bits of an IPv6 address that a client chooses itself.
const HOST_BITS: u32 = 64;

/// Open connections or streams of all clients.
pub(super) struct Peers {
    /// Maximum number of those of one client.
    most: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// Open connection or stream of a client, until this is dropped.
pub(super) struct PeerPlace {
    peers: Arc<Peers>,
    client: IpAddr,
}

impl Peers {
    /// Permits this number to each client.
    pub(super) fn new(most: usize) -> Arc<Peers> {
        Arc::new(Peers { most, open: Mutex::default() })
    }

    /// Counts a connection or stream; returns `None` if its client has too many.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<PeerPlace> {
        let client = client(address);
        let mut open = self.open.lock();
        let count = open.get(&client).copied().unwrap_or_default();
        if count >= self.most {
            return None;
        }
        open.insert(client, count + 1);
        Some(PeerPlace { peers: Arc::clone(self), client })
    }
}

impl Drop for PeerPlace {
    fn drop(&mut self) {
        let mut open = self.peers.open.lock();
        match open.get_mut(&self.client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => _ = open.remove(&self.client),
        }
    }
}

/// Returns the address that stands for a client. A client usually has a network of IPv6 addresses.
pub(super) fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() >> HOST_BITS << HOST_BITS).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_client() {
        let peers = Peers::new(2);
        let admit = |address: &str| peers.admit(address.parse().unwrap());
        let first = admit("10.0.0.7");
        let second = admit("::ffff:10.0.0.7");
        assert!(first.is_some() && second.is_some());
        assert!(admit("10.0.0.7").is_none());
        assert!(admit("10.0.0.8").is_some());
        drop(first);
        assert!(admit("10.0.0.7").is_some());
        drop(second);
        let network = [admit("2001:db8::1"), admit("2001:db8::2")];
        assert!(network.iter().all(Option::is_some));
        assert!(admit("2001:db8::3").is_none());
        assert!(admit("2001:db8:0:1::3").is_some());
        drop(network);
        assert!(peers.open.lock().is_empty());
    }
}
