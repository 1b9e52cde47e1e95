use std::time::Duration;

use crate::etcl::Dialect;

use crate::Limits;

/// Behaviour of an event service. The defaults follow the specifications. Some members select TAO's behaviour instead.
///
/// ```
/// use oxorb_notify::Settings;
///
/// let settings = Settings {
///     reconnect: true,
///     ..Settings::default()
/// };
/// assert_eq!(settings.threads, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits on the resources that clients can make the service use.
    pub limits: Limits,
    /// Number of threads of each channel that push events to consumers. Default 2.
    pub threads: usize,
    /// Maximum number of additional threads of a channel, which are started while all other threads wait for slow
    /// consumers. Default 16. This number of consumers can be unresponsive at the same time, each for
    /// [`call_timeout`](Self::call_timeout), before other consumers are delayed.
    pub spare_threads: usize,
    /// Time limit of a call to a consumer, a supplier or a remote filter. Default 2 s.
    pub call_timeout: Duration,
    /// Number of consecutive failed deliveries after which a consumer is disconnected, and of consecutive failed calls
    /// after which a supplier is disconnected; 0: never. Default 3. Consumers that no longer exist are disconnected
    /// immediately.
    pub failures: u32,
    /// Time for which a remote filter is not called after [`failures`](Self::failures) consecutive calls have not
    /// reached it. If `failures` is 0, it counts as 1 here. During this time the filter matches nothing. Default 5 s.
    pub filter_pause: Duration,
    /// Time after which a failed delivery is retried. Default 500 ms.
    pub retry: Duration,
    /// Interval at which `try_pull` is called for suppliers that had no event. Default 100 ms.
    pub pull_period: Duration,
    /// Maximum time that an operation waits for the store. Default 10 s. Beyond it: TIMEOUT, minor `WRITING`; the
    /// change may still be written later.
    pub store_timeout: Duration,
    /// Time for which unused objects are kept after the end of the connection over which they were created. These are
    /// proxies that were never connected, and filters that no object uses. A filter that becomes unused after the end
    /// of the connection is kept for the same time from then on. Default 30 s. Stored proxies and filters are not
    /// removed, nor are channels and admins.
    pub keep_unused: Duration,
    /// Whether a second connect replaces the connected peer (TAO's `-AllowReconnect`). Default: no; the second connect
    /// raises AlreadyConnected.
    pub reconnect: bool,
    /// Whether a proxy of the Event Service drops events that are pushed before a supplier is connected, as in TAO.
    /// Default: no; the push raises Disconnected.
    pub drop_unconnected: bool,
    /// Whether the service calls the disconnect operation of a peer that disconnects (TAO's `-b`). Default: no.
    pub disconnect_callbacks: bool,
    /// Whether suppliers and consumers are notified of changed subscriptions and offers. `false` corresponds to TAO's
    /// `-NoUpdates`. Default: yes.
    pub updates: bool,
    /// Whether the filters of the default admins and those of their proxies are combined with OR_OP, as in TAO.
    /// Default: no; they are combined with AND_OP.
    pub default_operator_or: bool,
    /// Dialect of the constraints in filters.
    pub dialect: Dialect,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            limits: Limits::default(),
            threads: 2,
            spare_threads: 16,
            call_timeout: Duration::from_secs(2),
            failures: 3,
            filter_pause: Duration::from_secs(5),
            retry: Duration::from_millis(500),
            pull_period: Duration::from_millis(100),
            store_timeout: Duration::from_secs(10),
            keep_unused: Duration::from_secs(30),
            reconnect: false,
            drop_unconnected: false,
            disconnect_callbacks: false,
            updates: true,
            default_operator_or: false,
            dialect: Dialect::Standard,
        }
    }
}
