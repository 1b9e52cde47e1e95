//! Confirmation of pulled events: when a consumer has certainly received what it pulled.

use std::collections::VecDeque;

use oxorb::servant::ClientConnection;
use oxorb_sys::sync::Mutex;

/// Pulled events, represented by their slips `S`, that the consumer may not have received.
///
/// A reply may be lost, so a pull confirms only what earlier pulls of the same connection returned. Threads that share
/// a connection pull at the same time, and the service cannot distinguish them. If up to N of them have pulled at once,
/// the last N pulls may be in transit: a pull confirms all earlier ones, because a connection delivers replies in
/// order. At most N - 1 pulls of a connection stay unconfirmed when its consumer pulls with one thread again.
///
/// A connection that has ended confirms nothing, and the next pull of another connection confirms its events: the
/// consumer has connected again.
pub(super) struct Receipts<S>(Mutex<Vec<Puller<S>>>);

/// Pulls over one connection.
struct Puller<S> {
    /// Connection of the pulls; `None` for those of this process.
    connection: Option<ClientConnection>,
    /// Number of pulls in progress.
    active: usize,
    /// Maximum number of pulls in progress at one time.
    most: usize,
    /// Slips of the events of each unconfirmed pull, the oldest first.
    unconfirmed: VecDeque<Vec<S>>,
}

/// Pull in progress, which collects the slips of its events until it is dropped.
pub(super) struct Pull<'r, S> {
    receipts: &'r Receipts<S>,
    connection: Option<ClientConnection>,
    slips: Vec<S>,
}

impl<S> Default for Receipts<S> {
    fn default() -> Self {
        Receipts(Mutex::default())
    }
}

impl<S> Receipts<S> {
    /// Begins a pull over this connection; `None` for a caller in this process. Drops the slips of the events that the
    /// pull confirms. Takes time proportional to the number of connections that pull from the proxy.
    pub(super) fn begin(&self, connection: Option<ClientConnection>) -> Pull<'_, S> {
        let mut confirmed = VecDeque::new();
        let mut pullers = self.0.lock();
        pullers.retain_mut(|puller| {
            let ended = puller.connection.as_ref().is_some_and(|it| !it.is_open());
            if ended {
                confirmed.append(&mut puller.unconfirmed);
            }
            !ended || puller.active > 0
        });
        let at = pullers.iter().position(|puller| puller.is_of(connection.as_ref()));
        let at = at.unwrap_or_else(|| {
            let connection = connection.clone();
            let unconfirmed = VecDeque::new();
            pullers.push(Puller { connection, active: 0, most: 0, unconfirmed });
            pullers.len() - 1
        });
        confirmed.append(&mut pullers[at].begin());
        drop(pullers);
        // Dropping a slip writes to the store, so no lock is held.
        drop(confirmed);
        Pull { receipts: self, connection, slips: Vec::new() }
    }
}

impl<S> Puller<S> {
    fn is_of(&self, connection: Option<&ClientConnection>) -> bool {
        match (&self.connection, connection) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Counts a pull that begins, and returns the slips of all pulls that it confirms.
    fn begin(&mut self) -> VecDeque<Vec<S>> {
        self.active += 1;
        self.most = self.most.max(self.active);
        let in_transit = self.most - self.active;
        let confirmed = self.unconfirmed.len().saturating_sub(in_transit);
        let kept = self.unconfirmed.split_off(confirmed);
        std::mem::replace(&mut self.unconfirmed, kept)
    }
}

impl<S> Pull<'_, S> {
    /// Adds the slip of an event that the pull returns.
    pub(super) fn add(&mut self, slip: S) {
        self.slips.push(slip);
    }
}

impl<S> Drop for Pull<'_, S> {
    fn drop(&mut self) {
        let mut pullers = self.receipts.0.lock();
        let mut pullers = pullers.iter_mut();
        if let Some(puller) = pullers.find(|puller| puller.is_of(self.connection.as_ref())) {
            puller.active -= 1;
            if !self.slips.is_empty() {
                puller.unconfirmed.push_back(std::mem::take(&mut self.slips));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Pulls one event, and returns a handle that tells whether the event is confirmed.
    fn add(pull: &mut Pull<'_, Arc<()>>) -> Arc<()> {
        let slip = Arc::new(());
        pull.add(Arc::clone(&slip));
        slip
    }

    fn is_confirmed(slip: &Arc<()>) -> bool {
        Arc::strong_count(slip) == 1
    }

    #[test]
    fn a_pull_confirms_the_one_before() {
        let receipts = Receipts::default();
        let mut first = receipts.begin(None);
        let (one, two) = (add(&mut first), add(&mut first));
        drop(first);
        assert!(!is_confirmed(&one));
        let mut second = receipts.begin(None);
        assert!(is_confirmed(&one) && is_confirmed(&two));
        let three = add(&mut second);
        drop(second);
        assert!(!is_confirmed(&three));
    }

    #[test]
    fn pulls_at_once_do_not_confirm_each_other() {
        let receipts = Receipts::default();
        let (mut first, mut second) = (receipts.begin(None), receipts.begin(None));
        let one = add(&mut first);
        drop(first);
        let two = add(&mut second);
        drop(second);
        // The reply of one of the pulls may still be in transit to the other thread.
        let mut third = receipts.begin(None);
        assert!(is_confirmed(&one) && !is_confirmed(&two));
        // Both threads pull, so each of them has received its reply.
        let fourth = receipts.begin(None);
        assert!(is_confirmed(&two));
        drop(fourth);
        let three = add(&mut third);
        drop(third);
        drop(receipts.begin(None));
        assert!(!is_confirmed(&three), "the other thread may wait for this reply");
    }

    #[test]
    fn what_one_thread_leaves_unconfirmed_does_not_grow() {
        let receipts = Receipts::default();
        let (first, second) = (receipts.begin(None), receipts.begin(None));
        drop((first, second));
        let mut slips = Vec::new();
        for _ in 0..5 {
            slips.push(add(&mut receipts.begin(None)));
        }
        drop(receipts.begin(None));
        let confirmed: Vec<bool> = slips.iter().map(is_confirmed).collect();
        assert_eq!(confirmed, [true, true, true, true, false]);
    }
}
