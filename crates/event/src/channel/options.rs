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
    /// Syntax of lists of dependencies. Default: by the list.
    pub syntax: Syntax,
    /// Whether a supplier reaches only consumers that one of its publications can match (TAO: `-ECSupplierFiltering
    /// per-supplier`). Default on. Off: whatever it pushes is asked about everywhere, publications or not.
    pub supplier_filtering: bool,
    /// Whether a consumer that connects again takes the place of the one before (`ConsumerReconnect`). Default off: it gets
    /// `AlreadyConnected`.
    pub consumer_reconnect: bool,
    /// Whether a supplier that connects again takes the place of the one before (`SupplierReconnect`). Default off: it gets
    /// `AlreadyConnected`.
    pub supplier_reconnect: bool,
    /// Whether one that disconnects is called back with its own `disconnect_...` (`DisconnectCallbacks`). Default off.
    pub disconnect_callbacks: bool,
    /// Whether the channel writes `ec_recv_time` and `ec_send_time`. Default off: suppliers' values pass as they are, as in
    /// TAO. On: two readings of the clock and a copy of each event.
    pub timestamps: bool,
    /// Whether the time of each event from its arrival to the end of its delivery is measured
    /// ([`ConsumerStatistics::latency`](crate::ConsumerStatistics::latency)). Default off. On: a reading of the clock for each
    /// push and each delivery, and 5 KiB for each consumer.
    pub latency: bool,
    /// Longest call to a consumer, supplier or observer before it counts as failed. Default 1 s.
    /// This bounds what a peer costs the thread that calls it.
    pub call_timeout: Duration,
    /// Search for dead peers.
    pub control: Control,
    /// Time without a push after which a supplier elsewhere that connected with nil is let go: nobody can ask whether it still
    /// is. Default `None`: such a supplier keeps its proxy until it disconnects, and [`Limits::suppliers`] bounds how many do.
    /// A supplier that is let go gets OBJECT_NOT_EXIST when it asks; its oneways are lost. Found up to half
    /// of that time later: two looks, a quarter apart.
    pub supplier_idle: Option<Duration>,
    /// Time for which a proxy that was never connected is kept after the connection over which a client obtained it has
    /// ended. Default 30 s.
    pub keep_unused: Duration,
    /// Time between two looks of a [queued](crate::EventChannel::queued) channel whether its scheduling service has another
    /// schedule ([`EventChannel::schedule_with`](crate::EventChannel::schedule_with)). Default 1 s; `None`: never, and lanes
    /// are those of the time of connecting. A look is one call that returns the table of the service.
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

/// Search for consumers and suppliers that died (TAO: `-ECConsumerControl`, `-ECSupplierControl`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Time between two rounds of `_non_existent` to all peers elsewhere. Default 5 s; `None`: nobody is asked.
    pub period: Option<Duration>,
    /// Longest time to an answer. Default 1 s; TAO's is 10 ms.
    pub timeout: Duration,
    /// Failures in a row, of pushes and of questions, after which a peer is let go. Default 3. OBJECT_NOT_EXIST suffices
    /// at once.
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

/// Limits of a channel. Requests beyond them are refused or counted as dropped, and the answer
/// names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Proxies for consumers, connected or not. Default 10,000, at about 1 KiB each.
    /// Answer: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub consumers: usize,
    /// Proxies for suppliers, connected or not. Default 10,000, at about 1 KiB each, and an index of the consumers that its
    /// publications match. Answer: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub suppliers: usize,
    /// Observers. Default 64. Answer: `CANT_APPEND_OBSERVER`.
    pub observers: usize,
    /// Timeouts in the filters of all consumers together. Default 10,000, at about 100 octets each. Answer: IMP_LIMIT,
    /// minor `EVENT_PROXIES`.
    pub timers: usize,
    /// Publications of one supplier. Default 1,024. Answer: IMP_LIMIT, minor `EVENT_TYPES`.
    pub publications: usize,
    /// Events of one push. Default 1,024. The set is dropped and counted as refused.
    pub events: usize,
    /// Octets of payloads and of received values in one push. Default 1 MiB. The set is dropped and counted as refused.
    pub octets: usize,
    /// Least period of a periodic timeout. Default 1 ms. Answer: `TypeError`.
    pub period: Duration,
    /// Octets of payloads and of received values that the conjunctions of one consumer collect. Default 16 MiB. Beyond, all that they have is
    /// dropped and counted ([`ConsumerStatistics::uncollected`](crate::ConsumerStatistics::uncollected)).
    pub collected: usize,
    /// Filters of one consumer.
    pub filter: FilterLimits,
    /// Percent of [`consumers`](Self::consumers), [`suppliers`](Self::suppliers) and [`observers`](Self::observers) that one
    /// client may have; never less than one. Default 25; 100: all. A client is whatever connects from one network address,
    /// as one user, or with one certificate; this process is none. Answer: IMP_LIMIT, minor `EVENT_SHARE`, or
    /// `CANT_APPEND_OBSERVER`.
    pub client_share: u8,
}

impl Limits {
    /// Returns how many of so many one client may have; `None`: all.
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
