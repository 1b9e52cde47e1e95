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
    /// Whether the events of a supplier reach only consumers whose filters can match one of the supplier's publications
    /// (TAO: `-ECSupplierFiltering per-supplier`). Default on. If off, the filters of all consumers are applied to
    /// every event, regardless of publications.
    pub supplier_filtering: bool,
    /// Whether a consumer that connects again replaces the previous connection (`ConsumerReconnect`). Default off: the
    /// call raises `AlreadyConnected`.
    pub consumer_reconnect: bool,
    /// Whether a supplier that connects again replaces the previous connection (`SupplierReconnect`). Default off: the
    /// call raises `AlreadyConnected`.
    pub supplier_reconnect: bool,
    /// Whether the channel calls the `disconnect_...` operation of a peer that disconnects (`DisconnectCallbacks`).
    /// Default off.
    pub disconnect_callbacks: bool,
    /// Whether the channel writes `ec_recv_time` and `ec_send_time`. Default off: the values of suppliers are not
    /// changed, as in TAO. If on, each event costs two clock readings and a copy.
    pub timestamps: bool,
    /// Whether the channel measures the time from the arrival of each event to the end of its delivery
    /// ([`ConsumerStatistics::latency`](crate::ConsumerStatistics::latency)). Default off. If on, each push and each
    /// delivery costs a clock reading, and each consumer takes 5 KiB.
    pub latency: bool,
    /// Time limit of a call to a consumer, supplier or observer. A call that exceeds it counts as failed. It limits the
    /// time for which a peer can block the calling thread. Default 1 s.
    pub call_timeout: Duration,
    /// Detection of dead peers.
    pub control: Control,
    /// Time without a push after which a remote supplier that connected with nil is released, because it cannot be
    /// pinged. Default `None`: it keeps its proxy until it disconnects, and [`Limits::suppliers`] limits the number of
    /// proxies. After the release, the supplier's two-way requests raise OBJECT_NOT_EXIST, and its oneways are lost.
    /// The checks take place at intervals of a quarter of this time, so the release may be late by up to half of this
    /// time.
    pub supplier_idle: Option<Duration>,
    /// Time for which a proxy that was never connected is kept after the end of the connection over which a client
    /// obtained the proxy. Default 30 s.
    pub keep_unused: Duration,
    /// Interval at which a [queued](crate::EventChannel::queued) channel checks its scheduling service for a new
    /// schedule ([`EventChannel::schedule_with`](crate::EventChannel::schedule_with)). Default 1 s. `None`: there are
    /// no checks, and a consumer stays in the lane that it gets when it connects. A check is one call, which returns
    /// the table of the service.
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

/// Detection of dead consumers and suppliers (TAO: `-ECConsumerControl`, `-ECSupplierControl`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Interval between two rounds in which all remote peers are pinged (`_non_existent`). Default 5 s; `None`: no
    /// pings.
    pub period: Option<Duration>,
    /// Time limit for the reply to a ping. Default 1 s; TAO's is 10 ms.
    pub timeout: Duration,
    /// Number of consecutive failed pushes and pings after which a peer is released. Default 3. OBJECT_NOT_EXIST
    /// releases a peer immediately.
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

/// Limits of a channel. Requests beyond a limit are refused, and the exception identifies the limit; or events are
/// dropped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of consumer proxies, whether connected or not. Default 10,000, at about 1 KiB each. Beyond it:
    /// IMP_LIMIT, minor `EVENT_PROXIES`.
    pub consumers: usize,
    /// Maximum number of supplier proxies, whether connected or not. Default 10,000, at about 1 KiB each, plus an index
    /// of the consumers that match the supplier's publications. Beyond it: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub suppliers: usize,
    /// Maximum number of observers. Default 64. Beyond it: `CANT_APPEND_OBSERVER`.
    pub observers: usize,
    /// Maximum number of timeouts in the filters of all consumers together. Default 10,000, at about 100 octets each.
    /// Beyond it: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub timers: usize,
    /// Maximum number of publications of one supplier. Default 1,024. Beyond it: IMP_LIMIT, minor `EVENT_TYPES`.
    pub publications: usize,
    /// Maximum number of events in one push. Default 1,024. A larger set is dropped and counted as refused.
    pub events: usize,
    /// Maximum size in octets of the payloads and received values of one push. Default 1 MiB. A larger set is dropped
    /// and counted as refused.
    pub octets: usize,
    /// Minimum period of a periodic timeout. Default 1 ms. Below it: `TypeError`.
    pub period: Duration,
    /// Maximum size in octets of the payloads and received values that the conjunctions of one consumer may collect.
    /// Default 16 MiB. Beyond it, all collected events are dropped and counted
    /// ([`ConsumerStatistics::uncollected`](crate::ConsumerStatistics::uncollected)).
    pub collected: usize,
    /// Limits of the filter of one consumer.
    pub filter: FilterLimits,
    /// Maximum percentage of [`consumers`](Self::consumers), [`suppliers`](Self::suppliers) and
    /// [`observers`](Self::observers) that one client may use. A client may always use at least one of each. Default
    /// 25; 100 means no limit. A client is identified by its network address, user or certificate. Callers in this
    /// process are not clients. Beyond it: IMP_LIMIT, minor `EVENT_SHARE`, or `CANT_APPEND_OBSERVER`.
    pub client_share: u8,
}

impl Limits {
    /// Returns the share of `all` that one client may use; `None` if there is no limit.
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
