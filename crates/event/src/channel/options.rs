//! Options and limits of a channel.

use std::time::Duration;

use crate::{FilterLimits, Syntax};

/// Options of a channel. The defaults are those of TAO's default factory.
///
/// ```
/// use oxorb_event::{ChannelOptions, Limits};
///
/// let options = ChannelOptions {
///     disconnect_callbacks: true,
///     limits: Limits { consumers: 100, ..Limits::default() },
///     ..ChannelOptions::default()
/// };
/// assert!(options.supplier_filtering);
/// ```
#[derive(Clone, Debug)]
pub struct ChannelOptions {
    /// Syntax of lists of dependencies. Default: detected from the list.
    pub syntax: Syntax,
    /// Whether a supplier reaches only consumers that one of its publications can match (TAO: `-ECSupplierFiltering
    /// per-supplier`). Default on. Off: every event is matched against the filters of all consumers, regardless of
    /// publications.
    pub supplier_filtering: bool,
    /// Whether a consumer that connects again replaces the earlier connection (`ConsumerReconnect`). Default off: the
    /// call raises `AlreadyConnected`.
    pub consumer_reconnect: bool,
    /// Whether a supplier that connects again replaces the earlier connection (`SupplierReconnect`). Default off: the
    /// call raises `AlreadyConnected`.
    pub supplier_reconnect: bool,
    /// Whether a peer that disconnects is called back with its own `disconnect_...` (`DisconnectCallbacks`). Default
    /// off.
    pub disconnect_callbacks: bool,
    /// Whether the channel writes `ec_recv_time` and `ec_send_time`. Default off: suppliers' values are passed
    /// unchanged, as in TAO. On: two clock readings and a copy per event.
    pub timestamps: bool,
    /// Whether the time of each event from its arrival to the end of its delivery is measured
    /// ([`ConsumerStatistics::latency`](crate::ConsumerStatistics::latency)). Default off. On: a clock reading per push
    /// and per delivery, and 5 KiB per consumer.
    pub latency: bool,
    /// Time limit of a call to a consumer, supplier or observer, after which it counts as failed. Default 1 s. It
    /// bounds the time for which a peer can block the calling thread.
    pub call_timeout: Duration,
    /// Detection of dead peers.
    pub control: Control,
    /// Time without a push after which a remote supplier that connected with nil is released, since such a supplier
    /// cannot be pinged. Default `None`: such a supplier keeps its proxy until it disconnects; [`Limits::suppliers`]
    /// bounds the number of proxies. After its release a supplier's two-way requests raise OBJECT_NOT_EXIST, and its
    /// oneways are lost. Suppliers are checked at intervals of a quarter of this time, so the release may be late by up
    /// to half of it.
    pub supplier_idle: Option<Duration>,
    /// Time for which a proxy that was never connected is kept after the end of the connection over which a client
    /// obtained it. Default 30 s.
    pub keep_unused: Duration,
    /// Period in which a [queued](crate::EventChannel::queued) channel checks its scheduling service for a new schedule
    /// ([`EventChannel::schedule_with`](crate::EventChannel::schedule_with)). Default 1 s; `None`: never, and lanes are
    /// those at the time of connecting. A check is one call that returns the table of the service.
    pub reschedule: Option<Duration>,
    /// Limits of the channel.
    pub limits: Limits,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        ChannelOptions {
            syntax: Syntax::default(),
            supplier_filtering: true,
            consumer_reconnect: false,
            supplier_reconnect: false,
            disconnect_callbacks: false,
            timestamps: false,
            latency: false,
            call_timeout: Duration::from_secs(1),
            control: Control::default(),
            supplier_idle: None,
            keep_unused: Duration::from_secs(30),
            reschedule: Some(Duration::from_secs(1)),
            limits: Limits::default(),
        }
    }
}

/// Detection of consumers and suppliers that died (TAO: `-ECConsumerControl`, `-ECSupplierControl`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Period of the rounds of `_non_existent` to all remote peers. Default 5 s; `None`: no pings.
    pub period: Option<Duration>,
    /// Time limit of an answer. Default 1 s; TAO's is 10 ms.
    pub timeout: Duration,
    /// Number of consecutive failures, of pushes and pings, after which a peer is released. Default 3. OBJECT_NOT_EXIST
    /// releases it at once.
    pub failures: u32,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            period: Some(Duration::from_secs(5)),
            timeout: Duration::from_secs(1),
            failures: 3,
        }
    }
}

/// Limits of a channel. Requests beyond them are refused or counted as dropped; the exception identifies the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of consumer proxies, connected or not. Default 10,000, at about 1 KiB each. Beyond it: IMP_LIMIT,
    /// minor `EVENT_PROXIES`.
    pub consumers: usize,
    /// Maximum number of supplier proxies, connected or not. Default 10,000, at about 1 KiB each, plus an index of the
    /// consumers that match the supplier's publications. Beyond it: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub suppliers: usize,
    /// Maximum number of observers. Default 64. Beyond it: `CANT_APPEND_OBSERVER`.
    pub observers: usize,
    /// Maximum number of timeouts in the filters of all consumers together. Default 10,000, at about 100 octets each.
    /// Beyond it: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub timers: usize,
    /// Maximum number of publications of one supplier. Default 1,024. Beyond it: IMP_LIMIT, minor `EVENT_TYPES`.
    pub publications: usize,
    /// Maximum number of events per push. Default 1,024. A larger set is dropped and counted as refused.
    pub events: usize,
    /// Maximum size in octets of the payloads and received values of one push. Default 1 MiB. A larger set is dropped
    /// and counted as refused.
    pub octets: usize,
    /// Shortest period of a periodic timeout. Default 1 ms. Below it: `TypeError`.
    pub period: Duration,
    /// Maximum size in octets of the payloads and received values that the conjunctions of one consumer collect.
    /// Default 16 MiB. Beyond it, all collected events are dropped and counted
    /// ([`ConsumerStatistics::uncollected`](crate::ConsumerStatistics::uncollected)).
    pub collected: usize,
    /// Limits of the filter of one consumer.
    pub filter: FilterLimits,
    /// Maximum percentage of [`consumers`](Self::consumers), [`suppliers`](Self::suppliers) and
    /// [`observers`](Self::observers) that one client may use; at least one of each. Default 25; 100: no limit. A
    /// client is identified by network address, user, or certificate; this process is not a client. Beyond it:
    /// IMP_LIMIT, minor `EVENT_SHARE`, or `CANT_APPEND_OBSERVER`.
    pub client_share: u8,
}

impl Limits {
    /// Returns the share of `all` that one client may use; `None`: unlimited.
    pub(super) fn share_of(&self, all: usize) -> Option<usize> {
        let hundredths = all as u128 * u128::from(self.client_share);
        (self.client_share < 100).then(|| ((hundredths / 100) as usize).max(1))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            consumers: 10_000,
            suppliers: 10_000,
            observers: 64,
            timers: 10_000,
            publications: 1_024,
            events: 1_024,
            octets: 1 << 20,
            period: Duration::from_millis(1),
            collected: 16 << 20,
            filter: FilterLimits::default(),
            client_share: 25,
        }
    }
}
