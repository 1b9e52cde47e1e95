use std::time::Duration;

/// Limits on the resources that clients can make an event service use. A call that exceeds a limit is refused with
/// IMP_LIMIT, unless stated otherwise; its minor code identifies the limit.
///
/// ```
/// use oxorb_notify::Limits;
///
/// let limits = Limits {
///     channels: 4,
///     ..Limits::default()
/// };
/// assert_eq!(limits.admins, 256);
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of event channels. Default 64; each has its own threads. Beyond it: IMP_LIMIT, minor
    /// `EVENT_CHANNELS`.
    pub channels: usize,
    /// Maximum number of admins of a channel, for consumers and suppliers together. Default 256. Beyond it: IMP_LIMIT,
    /// minor `EVENT_ADMINS`.
    pub admins: usize,
    /// Maximum number of proxies of a channel, whether connected or not. Default 4,096. Beyond it: IMP_LIMIT, minor
    /// `EVENT_PROXIES`.
    pub proxies: usize,
    /// Maximum number of filters and mapping filters of the service together. Default 4,096. Beyond it: IMP_LIMIT,
    /// minor `EVENT_FILTERS`.
    pub filters: usize,
    /// Maximum number of filters attached to one proxy or admin. Default 64. Beyond it: IMP_LIMIT, minor
    /// `EVENT_FILTERS`.
    pub filters_of_object: usize,
    /// Maximum number of constraints of a filter. Default 1,024. Beyond it: IMP_LIMIT, minor `EVENT_CONSTRAINTS`.
    pub constraints: usize,
    /// Maximum length in octets of one constraint. Default 65,536. Beyond it: InvalidConstraint.
    pub constraint_octets: usize,
    /// Maximum memory in octets of one filter: the texts and trees of its constraints, and the values of a mapping
    /// filter. Default 4 MiB; a constraint takes up to about 50 times the length of its text. Beyond it: IMP_LIMIT,
    /// minor `EVENT_HELD`. While constraints are replaced, both the old and the new ones count.
    pub filter_octets: usize,
    /// Maximum memory in octets of all filters, subscriptions and offers of the service together. Default 128 MiB.
    /// Beyond it: IMP_LIMIT, minor `EVENT_HELD`.
    pub held_octets: usize,
    /// Maximum number of event types in a subscription, an offer, or a constraint. Default 256. Beyond it: IMP_LIMIT,
    /// minor `EVENT_TYPES`.
    pub event_types: usize,
    /// Maximum number of events that wait for one consumer. This is the maximum and the default of the property
    /// MaxEventsPerConsumer. Default 1,024.
    pub queue_events: usize,
    /// Maximum size in octets of the events that wait for one consumer. Default 16 MiB. Beyond it, the discard policy
    /// applies.
    pub queue_octets: u64,
    /// Maximum number of events in one batch. It limits the property MaximumBatchSize, and one pull of a sequence.
    /// Default 1,024.
    pub batch: usize,
    /// Maximum number of pulls of a channel that wait for an event at the same time. Each of them occupies a thread of
    /// the ORB. Default 64. Beyond it: IMP_LIMIT, minor `EVENT_PULLS`.
    pub blocked_pulls: usize,
    /// Maximum number of suppliers from which the service pulls. Each of them has a separate thread. Default 64. Beyond
    /// it: IMP_LIMIT, minor `EVENT_PULLS`.
    pub pulled_suppliers: usize,
    /// Maximum time that a pull waits for an event. Default 60 s. Beyond it: TIMEOUT, minor `PULL`.
    pub pull_wait: Duration,
    /// Maximum size in octets of the persistent events that wait in the store for their consumers. The file is about
    /// twice this size. Default 256 MiB. Beyond it: IMP_LIMIT, minor `EVENT_STORE`.
    pub stored_octets: u64,
    /// Maximum number of callbacks of filters and of the reconnection registry. Default 256. Beyond it: IMP_LIMIT,
    /// minor `EVENT_CALLBACKS`.
    pub callbacks: usize,
    /// Maximum percentage that one client may use of [`channels`](Self::channels), [`filters`](Self::filters) and
    /// [`pulled_suppliers`](Self::pulled_suppliers), and in each channel of [`admins`](Self::admins),
    /// [`proxies`](Self::proxies) and [`blocked_pulls`](Self::blocked_pulls). A client may always use at least one of
    /// each. Default 25; 100 means no limit. A client is identified by its network address, user or certificate.
    /// Callers in the service's own process are not clients. Beyond it: IMP_LIMIT, minor `EVENT_SHARE`.
    pub client_share: u8,
}

impl Limits {
    /// Returns the share of `all` that one client may use.
    pub(crate) fn share_of(&self, all: usize) -> usize {
        let hundredths = all as u128 * u128::from(self.client_share.min(100));
        // The conversion is lossless, because the percentage is at most 100 and the result thus at most `all`.
        ((hundredths / 100) as usize).max(1)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            channels: 64,
            admins: 256,
            proxies: 4_096,
            filters: 4_096,
            filters_of_object: 64,
            constraints: 1_024,
            constraint_octets: 65_536,
            filter_octets: 4 << 20,
            held_octets: 128 << 20,
            event_types: 256,
            queue_events: 1_024,
            queue_octets: 16 << 20,
            batch: 1_024,
            blocked_pulls: 64,
            pulled_suppliers: 64,
            pull_wait: Duration::from_secs(60),
            stored_octets: 256 << 20,
            callbacks: 256,
            client_share: 25,
        }
    }
}
