//! Multicast groups that are joined and left as the consumers of a channel ask for events.

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
    /// The group of each type and source: those that senders have.
    pub destinations: Destinations,
    /// Settings of the receiver of each group, whose `listen` is the group.
    pub receiver: ReceiverOptions,
    /// Most groups at a time, each of which takes a socket and a thread; those above are left out, the highest addresses first.
    /// Default 64.
    pub most: usize,
    /// Time after which addresses are looked up again, and groups that could not be joined are tried again. Default 10 s.
    pub period: Duration,
}

impl GroupOptions {
    /// Returns the defaults, for these groups.
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

/// Counts of a [`GroupReceiver`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupStatistics {
    /// Groups that are joined, and behind them those that are being left.
    pub groups: Vec<SocketAddr>,
    /// Groups that are asked for, and could not be joined, or are more than [`most`](GroupOptions::most).
    pub left_out: Vec<SocketAddr>,
    /// Statistics of what came, in all groups, those included that were left since.
    pub received: ReceiverStatistics,
}

/// Receiver of those multicast groups in which the events come that the consumers of a channel ask for, as TAO's
/// `ECG_Mcast_EH` with an address server that has several groups. Dropping it leaves them all.
///
/// It observes the channel. A subscription whose type or source is any joins all groups that a table has for it; an address server
/// elsewhere is asked as TAO asks it. Addresses that are no multicast groups are passed over. A thread of its own looks up
/// addresses, joins and leaves, so no consumer waits for that: what is sent until then is not received.
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
    /// Types and sources that consumers ask for.
    wanted: BTreeSet<Key>,
    /// Whether `wanted` is another than the groups were joined for.
    is_new: bool,
    stopped: bool,
    groups: BTreeMap<SocketAddr, UdpReceiver>,
    /// Groups that are being left, and what came in them by then.
    leaving: BTreeMap<SocketAddr, ReceiverStatistics>,
    left_out: Vec<SocketAddr>,
    /// Counts of groups that were left.
    before: ReceiverStatistics,
}

impl GroupReceiver {
    /// Connects to a channel, of this process or elsewhere, as observer; and as a gateway for each group. Returns before the
    /// first group is joined.
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

    /// Whether the channel still tells what is asked for. Asks a channel elsewhere: one call.
    pub fn is_connected(&self) -> bool {
        self.observer.as_ref().is_some_and(|it| it.is_connected())
    }

    /// Returns the groups, and what came.
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

    /// Looks up the groups of what is asked for.
    fn groups(&self, wanted: &BTreeSet<Key>) -> BTreeSet<SocketAddr> {
        let destinations = &self.options.destinations;
        let addresses = wanted.iter().flat_map(|key| destinations.asked_for(*key));
        addresses.filter(|address| address.ip().is_multicast()).collect()
    }

    /// Leaves groups that are not wanted, and joins those that are.
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

/// Observer that the channel knows.
struct Watcher(Arc<Inner>);

impl Observer for Watcher {
    /// Notes the subscriptions, and does no more: the channel waits for the answer.
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
