//! Memory that the requests and answers of all clients may occupy, with a share for each client.

use std::collections::HashMap;
use std::mem;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::StatusCode;
use oxorb_sys::sync::Mutex;

use super::peers;
use super::problem::Problem;

/// Memory for one purpose.
pub(super) struct Memory {
    /// Number of octets in all.
    most: usize,
    /// Number of octets that one client may occupy.
    share: usize,
    used: Arc<Mutex<Used>>,
}

/// Octets that are occupied.
#[derive(Default)]
struct Used {
    all: usize,
    clients: HashMap<IpAddr, usize>,
}

/// Octets that are occupied until this is dropped.
pub(super) struct Occupied {
    used: Arc<Mutex<Used>>,
    client: IpAddr,
    octets: usize,
}

impl Memory {
    /// Creates a number of free octets. One client may occupy half of them, and always the octets of one thing that has
    /// at most `largest`.
    pub(super) fn new(octets: u32, largest: usize) -> Memory {
        let most = octets as usize;
        Memory { most, share: (most / 2).max(largest).min(most), used: Arc::default() }
    }

    /// Returns the number of octets that one client may occupy.
    pub(super) fn share(&self) -> usize {
        self.share
    }

    /// Occupies octets for the client of an address. Never waits.
    ///
    /// # Errors
    /// Fewer octets are free, or the client occupies its share.
    pub(super) fn occupy(&self, address: IpAddr, octets: usize) -> Result<Occupied, Problem> {
        let full = |whose: &str| {
            let why = format!("the requests and answers of {whose} occupy too much memory");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why))
        };
        let client = peers::client(address);
        let mut used = self.used.lock();
        let own = used.clients.get(&client).copied().unwrap_or_default();
        if octets > self.share.saturating_sub(own) {
            return full("this client");
        }
        if octets > self.most - used.all {
            return full("all clients");
        }
        if octets > 0 {
            used.all += octets;
            used.clients.insert(client, own + octets);
        }
        Ok(Occupied { used: Arc::clone(&self.used), client, octets })
    }
}

impl Occupied {
    /// Adds octets of the same memory and client.
    pub(super) fn add(&mut self, mut other: Occupied) {
        self.octets += mem::take(&mut other.octets);
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        if self.octets == 0 {
            return;
        }
        let mut used = self.used.lock();
        used.all -= self.octets;
        match used.clients.get_mut(&self.client) {
            Some(own) if *own > self.octets => *own -= self.octets,
            _ => _ = used.clients.remove(&self.client),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupy(memory: &Memory, address: &str, octets: usize) -> Option<Occupied> {
        memory.occupy(address.parse().unwrap(), octets).ok()
    }

    #[test]
    fn octets_are_free_again_after_their_use() {
        let memory = Memory::new(10, 10);
        let mut some = occupy(&memory, "10.0.0.7", 4).unwrap();
        some.add(occupy(&memory, "10.0.0.7", 6).unwrap());
        assert!(occupy(&memory, "10.0.0.7", 1).is_none());
        assert!(occupy(&memory, "10.0.0.8", 1).is_none());
        assert!(occupy(&memory, "10.0.0.7", usize::MAX).is_none());
        drop(some);
        assert!(memory.used.lock().clients.is_empty());
        assert!(occupy(&memory, "10.0.0.8", 10).is_some());
        assert!(occupy(&memory, "10.0.0.8", 11).is_none());
    }

    #[test]
    fn a_client_leaves_half_to_others() {
        let memory = Memory::new(10, 1);
        let own = occupy(&memory, "10.0.0.7", 5);
        assert!(own.is_some());
        assert!(occupy(&memory, "10.0.0.7", 1).is_none());
        assert!(occupy(&memory, "::ffff:10.0.0.7", 1).is_none());
        let other = occupy(&memory, "2001:db8::1", 4);
        assert!(other.is_some());
        assert!(occupy(&memory, "2001:db8::2", 2).is_none(), "the same network");
        drop(own);
        assert!(occupy(&memory, "10.0.0.7", 5).is_some());
        // Something large is possible, but then nothing else of this client.
        let memory = Memory::new(10, 8);
        let large = occupy(&memory, "10.0.0.7", 8);
        assert!(large.is_some() && occupy(&memory, "10.0.0.7", 1).is_none());
    }
}
