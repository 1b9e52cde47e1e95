//! Multicast groups that are joined and left as the subscriptions of a channel's consumers change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

use super::iiop::asked_for;
use super::{Destinations, GatewayError, ReceiverOptions, ReceiverStatistics, UdpReceiver};
use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use crate::{Channel, Key, ObserverEnd};

/// Settings of a [`GroupReceiver`].
#[derive(Clone, Debug)]
pub struct GroupOptions {
    /// Group of each type and source. The senders must use the same table.
    pub destinations: Destinations,
    /// Settings for the receiver of each group. Its `listen` is replaced by the address of the group.
    pub receiver: ReceiverOptions,
    /// Maximum number of groups. Each takes a socket and a thread. Beyond the maximum, the groups with the highest
    /// addresses are not joined. Default 64.
    pub most: usize,
    /// Interval at which addresses are determined again, and failed joins are retried. Default 10 s.
    pub period: Duration,
}

impl GroupOptions {
    /// Returns options with these destinations and the default values of the other settings.
    pub fn new(destinations: Destinations) -> Self {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Self {
            destinations,
            receiver: ReceiverOptions::new(nowhere),
            most: 64,
            period: Duration::from_secs(10),
        }
    }
}

/// Statistics of a [`GroupReceiver`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupStatistics {
    /// Groups that are joined, followed by those that are being left.
    pub groups: Vec<SocketAddr>,
    /// Subscribed groups that could not be joined or that exceed [`most`](GroupOptions::most).
    pub left_out: Vec<SocketAddr>,
    /// Statistics of all groups, including those that were left.
    pub received: ReceiverStatistics,
}

/// Receiver of the multicast groups that carry the events to which the consumers of a channel subscribe. It corresponds
/// to TAO's `ECG_Mcast_EH` with an address server that has several groups. Dropping it leaves all groups.
///
/// The receiver observes the channel. If a consumer subscribes to any type or any source (a wildcard), the receiver
/// joins all groups that its table contains for this subscription. A remote address server is called with the wildcard,
/// as by TAO's gateways. Addresses that are not multicast groups are ignored. A dedicated thread determines addresses
/// and joins and leaves groups, so that consumers do not wait. Events that are sent before their group is joined are
/// not received.
pub struct GroupReceiver {
    inner: Arc<Inner>,
    observer: Option<Box<dyn ObserverEnd>>,
    thread: Option<JoinHandle<()>>,
}

struct Inner {
    channel: Box<dyn Channel + Send + Sync>,
    options: GroupOptions,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Types and sources to which consumers subscribe.
    wanted: BTreeSet<Key>,
    /// Whether `wanted` has changed since the thread last processed it.
    is_new: bool,
    stopped: bool,
    groups: BTreeMap<SocketAddr, UdpReceiver>,
    /// Groups that are being left, with their statistics up to now.
    leaving: BTreeMap<SocketAddr, ReceiverStatistics>,
    left_out: Vec<SocketAddr>,
    /// Statistics of groups that were left.
    before: ReceiverStatistics,
}

impl GroupReceiver {
    /// Connects to a local or remote channel, as an observer and, for each group, as a gateway. Does not wait until
    /// groups are joined.
    ///
    /// # Errors
    /// [`GatewayError::Channel`], [`GatewayError::Thread`].
    pub fn connect(
        channel: &(impl Channel + Clone + Send + Sync + 'static),
        options: GroupOptions,
    ) -> Result<Self, GatewayError> {
        let inner = Arc::new(Inner {
            channel: Box::new(channel.clone()),
            options,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let run = {
            let inner = Arc::clone(&inner);
            move || inner.run()
        };
        let builder = thread::Builder::new().name("event-groups".into());
        let thread = builder.spawn(run).map_err(GatewayError::Thread)?;
        let mut receiver = Self { inner, observer: None, thread: Some(thread) };
        let watcher = Arc::new(Watcher(Arc::clone(&receiver.inner)));
        let observer = channel.join_observer(watcher);
        receiver.observer = Some(observer.map_err(GatewayError::Channel)?);
        Ok(receiver)
    }

    /// Reports whether the channel still notifies the receiver of subscriptions. Costs one call for a remote channel.
    pub fn is_connected(&self) -> bool {
        self.observer.as_ref().is_some_and(|it| it.is_connected())
    }

    /// Returns the current groups and the statistics.
    pub fn statistics(&self) -> GroupStatistics {
        let state = self.inner.lock();
        let mut received = state.before;
        for receiver in state.groups.values() {
            received += receiver.statistics();
        }
        for left in state.leaving.values() {
            received += *left;
        }
        let mut groups: Vec<SocketAddr> = state.groups.keys().copied().collect();
        groups.extend(state.leaving.keys());
        GroupStatistics { groups, left_out: state.left_out.clone(), received }
    }
}

impl Drop for GroupReceiver {
    /// Waits until all groups are left.
    fn drop(&mut self) {
        drop(self.observer.take());
        self.inner.lock().stopped = true;
        self.inner.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for GroupReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        f.debug_tuple("GroupReceiver").field(&statistics).finish()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn run(&self) {
        loop {
            let state = self.lock();
            let idle = |state: &mut State| !(state.stopped || state.is_new);
            let (mut state, _) = self.changed.wait_timeout_while(state, self.options.period, idle);
            state.is_new = false;
            if state.stopped {
                let groups = std::mem::take(&mut state.groups);
                drop(state);
                return drop(groups);
            }
            let wanted = state.wanted.clone();
            drop(state);
            self.follow(&self.groups(&wanted));
        }
    }

    /// Returns the multicast groups for the subscribed types and sources.
    fn groups(&self, wanted: &BTreeSet<Key>) -> BTreeSet<SocketAddr> {
        let destinations = &self.options.destinations;
        let addresses = wanted.iter().flat_map(|key| destinations.asked_for(*key));
        addresses.filter(|address| address.ip().is_multicast()).collect()
    }

    /// Leaves groups that are not in `wanted`, and joins new ones.
    fn follow(&self, wanted: &BTreeSet<SocketAddr>) {
        let mut state = self.lock();
        let left =
            state.groups.extract_if(.., |group, it| !wanted.contains(group) || !it.is_listening());
        let left: Vec<(SocketAddr, UdpReceiver)> = left.collect();
        let so_far = left.iter().map(|(group, it)| (*group, it.statistics()));
        state.leaving = so_far.collect();
        let new = wanted.iter().filter(|it| !state.groups.contains_key(it));
        let new: Vec<SocketAddr> = new.copied().collect();
        let mut room = self.options.most.saturating_sub(state.groups.len());
        drop(state);
        for (group, mut receiver) in left {
            receiver.stop();
            let mut state = self.lock();
            state.leaving.remove(&group);
            state.before += receiver.statistics();
        }
        let mut left_out = Vec::new();
        for listen in new {
            let options = ReceiverOptions { listen, ..self.options.receiver.clone() };
            let joined = (room > 0).then(|| UdpReceiver::connect(&*self.channel, options));
            match joined {
                Some(Ok(receiver)) => {
                    room -= 1;
                    self.lock().groups.insert(listen, receiver);
                }
                _ => left_out.push(listen),
            }
        }
        self.lock().left_out = left_out;
    }
}

/// Observer that is registered with the channel.
struct Watcher(Arc<Inner>);

impl Observer for Watcher {
    /// Records the subscriptions. Does nothing else, because the channel waits for the reply.
    fn update_consumer(&self, subscriptions: &ConsumerQos) -> oxorb::Result<()> {
        let wanted = asked_for(subscriptions);
        let mut state = self.0.lock();
        if state.wanted != wanted {
            state.wanted = wanted;
            state.is_new = true;
            self.0.changed.notify_all();
        }
        Ok(())
    }

    fn update_supplier(&self, _publications: &SupplierQos) -> oxorb::Result<()> {
        Ok(())
    }
}
