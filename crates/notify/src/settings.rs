use std::time::Duration;

use crate::etcl::Dialect;

use crate::Limits;

/// Behaviour of an event service. The defaults follow the specifications; some members select TAO's behaviour.
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
    /// Limits on the resources that clients can make the service hold.
    pub limits: Limits,
    /// Number of threads of each channel that push events to consumers. Default 2.
    pub threads: usize,
    /// Maximum number of additional threads of a channel, started while all others wait for slow consumers. Default 16:
    /// that number of consumers can hang at the same time, each for [`call_timeout`](Self::call_timeout), before other
    /// consumers are delayed.
    pub spare_threads: usize,
    /// Time limit of a call to a consumer, a supplier or a remote filter. Default 2 s.
    pub call_timeout: Duration,
    /// Number of consecutive failed deliveries after which a consumer is disconnected, and of consecutive failed calls
    /// after which a supplier is disconnected; 0: unlimited. Default 3. Consumers that no longer exist are disconnected
    /// at once.
    pub failures: u32,
    /// Time for which a remote filter is not called after [`failures`](Self::failures) consecutive calls that did not
    /// reach it (0 counts as 1); meanwhile it matches nothing. Default 5 s.
    pub filter_pause: Duration,
    /// Time before a failed delivery is retried. Default 500 ms.
    pub retry: Duration,
    /// Period of `try_pull` calls to suppliers that had no event. Default 100 ms.
    pub pull_period: Duration,
    /// Longest time that an operation waits for the store. Default 10 s. Beyond it: TIMEOUT, minor `WRITING`; the write
    /// may still happen.
    pub store_timeout: Duration,
    /// Time for which proxies that were never connected, and filters that no object uses, are kept after the end of the
    /// connection over which they were created. Default 30 s. Stored proxies and filters, channels and admins are not
    /// removed.
    pub keep_unused: Duration,
    /// Whether a second connect replaces the peer (TAO's `-AllowReconnect`). Default: the second connect raises
    /// AlreadyConnected.
    pub reconnect: bool,
    /// Whether a proxy of the Event Service drops events that are pushed before a supplier is connected (TAO). Default:
    /// the push raises Disconnected.
    pub drop_unconnected: bool,
    /// Whether a peer that disconnects is called back with its own disconnect operation (TAO's `-b`). Default: no.
    pub disconnect_callbacks: bool,
    /// Whether suppliers and consumers are notified of changed subscriptions and offers (`false`: TAO's `-NoUpdates`).
    /// Default: yes.
    pub updates: bool,
    /// Operator between the filters of the default admins and those of their proxies: AND_OP (default), or OR_OP as in
    /// TAO.
    pub default_operator_or: bool,
    /// Dialect of constraints.
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
