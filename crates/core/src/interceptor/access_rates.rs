//! Rates of access rules: the number of requests of each client that a rule with a limit still admits.
//!
//! A client has a token bucket for each rule with a limit. Connections keep the buckets of their client, so that a
//! request finds them without a lock.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use oxorb_transport::PeerId;

use crate::scheduler::budget::{Bucket, MOST_CLIENTS, RequestRate, make_room};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shortest time between two reports about one client and one rule, in nanoseconds.
const REPORT_AFTER: u64 = 1_000_000_000;

/// Buckets of all clients, which `K` identifies, for one set of access rules.
pub(crate) struct ClientRates<K = PeerId> {
    /// Rates of the rules with a limit, in the order of the rules.
    rates: Box<[RequestRate]>,
    /// Buckets by the identity of the client, in the order of `rates`. Those of clients with connections are always
    /// kept; [`make_room`] bounds the number of the others.
    clients: Mutex<HashMap<K, Arc<[RateBucket]>>>,
}

/// Token bucket of one client for one rule. Shared by all threads without locks.
pub(crate) struct RateBucket {
    bucket: Bucket,
    /// Cost of a request, in nanoseconds.
    interval: u64,
    /// Time of the last report of a refusal, in nanoseconds of the monotonic clock; 0 before the first report.
    reported: AtomicU64,
    /// Number of refusals since the last report.
    unreported: AtomicU64,
}

impl ClientRates {
    /// Returns the buckets of a client: all processes of a user count as one client, and so do all addresses of a
    /// subject. Takes a lock, so it is called once for each connection.
    pub(crate) fn of(&self, peer: &PeerId) -> Arc<[RateBucket]> {
        self.of_client(peer.client())
    }
}

impl<K: Clone + Eq + Hash> ClientRates<K> {
    pub(crate) fn new(rates: impl Iterator<Item = RequestRate>) -> Self {
        Self { rates: rates.collect(), clients: Mutex::default() }
    }

    /// Returns the buckets of a client. Takes a lock.
    pub(crate) fn of_client(&self, client: K) -> Arc<[RateBucket]> {
        let mut clients = self.clients.lock();
        if let Some(buckets) = clients.get(&client) {
            return Arc::clone(buckets);
        }
        if clients.len() >= MOST_CLIENTS {
            let now = clock::monotonic_nanoseconds();
            make_room(&mut clients, |buckets| {
                let debts = buckets.iter().map(|one| one.bucket.debt(now));
                debts.max().unwrap_or(0)
            });
        }
        let buckets: Arc<[RateBucket]> = self.rates.iter().map(RateBucket::new).collect();
        clients.insert(client, Arc::clone(&buckets));
        buckets
    }
}

impl RateBucket {
    fn new(rate: &RequestRate) -> Self {
        // The interval is rounded up, so that the rate is never exceeded.
        let interval = 1_000_000_000u64.div_ceil(rate.per_second.max(1).into());
        let bucket = Bucket::default();
        bucket.set_depth(interval.saturating_mul(rate.burst.max(1).into()));
        Self { bucket, interval, reported: AtomicU64::new(0), unreported: AtomicU64::new(0) }
    }

    /// Takes one request; returns false if the rate is exhausted.
    #[inline]
    pub(crate) fn take(&self, now: u64) -> bool {
        self.bucket.take(now, self.interval)
    }

    /// Counts a refusal. If a report is due, records it as made, and returns the number of refusals that no report
    /// has covered.
    pub(crate) fn refuse(&self, now: u64) -> Option<u64> {
        let reported = self.reported.load(Relaxed);
        let is_due = reported == 0 || now.saturating_sub(reported) >= REPORT_AFTER;
        let exchange = || self.reported.compare_exchange(reported, now.max(1), Relaxed, Relaxed);
        if is_due && exchange().is_ok() {
            return Some(self.unreported.swap(0, Relaxed));
        }
        self.unreported.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const NOW: u64 = 7_000_000_000;

    fn of(per_second: u32, burst: u32) -> ClientRates {
        ClientRates::new([RequestRate { per_second, burst }].into_iter())
    }

    fn at(number: u32) -> PeerId {
        PeerId::Ip(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let buckets = of(10, 3).of(&at(1));
        let taken = |now| (0..9).filter(|_| buckets[0].take(now)).count();
        assert_eq!(taken(NOW), 3);
        assert_eq!(taken(NOW + 99_999_999), 0);
        assert_eq!(taken(NOW + 100_000_000), 1);
        assert_eq!(taken(NOW + 3_600_000_000_000), 3);
    }

    #[test]
    fn each_client_has_its_own_buckets() {
        let rates = of(1, 1);
        let process = |uid, pid| PeerId::User { uid, gid: pid, pid };
        assert!(rates.of(&process(7, 1))[0].take(NOW));
        assert!(!rates.of(&process(7, 2))[0].take(NOW), "another process of this user");
        assert!(rates.of(&process(8, 1))[0].take(NOW), "another user");
        assert!(rates.of(&at(1))[0].take(NOW) && rates.of(&at(2))[0].take(NOW));
    }

    #[test]
    fn one_report_in_a_second_has_the_number_of_the_other_refusals() {
        let buckets = of(1, 1).of(&at(1));
        let bucket = &buckets[0];
        assert_eq!(bucket.refuse(NOW), Some(0));
        for _ in 0..5 {
            assert_eq!(bucket.refuse(NOW + REPORT_AFTER - 1), None);
        }
        assert_eq!(bucket.refuse(NOW + REPORT_AFTER), Some(5));
        assert_eq!(bucket.refuse(NOW + REPORT_AFTER), None);
    }

    #[test]
    fn the_table_is_bounded_and_a_client_does_not_lose_its_debt() {
        let rates = of(1, 1);
        // This debt exceeds the time that any test takes.
        rates.of(&at(0))[0].bucket.charge(clock::monotonic_nanoseconds(), u64::MAX / 4);
        let connected = rates.of(&at(1));
        for number in 2..3 * MOST_CLIENTS as u32 {
            rates.of(&at(number));
            assert!(rates.clients.lock().len() <= MOST_CLIENTS);
        }
        assert!(!rates.of(&at(0))[0].take(clock::monotonic_nanoseconds()));
        assert!(Arc::ptr_eq(&connected, &rates.of(&at(1))));
        // Clients with debts: those with the least debt are dropped, and the one with the largest debt stays.
        for number in 2..MOST_CLIENTS as u32 + 100 {
            let now = clock::monotonic_nanoseconds();
            rates.of(&at(number))[0].bucket.charge(now, u64::MAX / 8);
        }
        assert!(rates.clients.lock().len() <= MOST_CLIENTS);
        assert!(!rates.of(&at(0))[0].take(clock::monotonic_nanoseconds()));
    }
}
