use std::time::Duration;

/// Limits on the resources that clients can make an event service hold. Beyond them a call is refused, and the minor
/// code of its IMP_LIMIT names the limit.
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
    /// Event channels. Default 64; each has its own threads. Answer: IMP_LIMIT, minor `EVENT_CHANNELS`.
    pub channels: usize,
    /// Consumer admins and supplier admins of a channel, together. Default 256. Answer: IMP_LIMIT, minor `EVENT_ADMINS`.
    pub admins: usize,
    /// Proxies of a channel, connected or not. Default 4,096. Answer: IMP_LIMIT, minor `EVENT_PROXIES`.
    pub proxies: usize,
    /// Filters and mapping filters of the service. Default 4,096. Answer: IMP_LIMIT, minor `EVENT_FILTERS`.
    pub filters: usize,
    /// Filters attached to one proxy or admin. Default 64. Answer: IMP_LIMIT, minor `EVENT_FILTERS`.
    pub filters_of_object: usize,
    /// Constraints of a filter. Default 1,024. Answer: IMP_LIMIT, minor `EVENT_CONSTRAINTS`.
    pub constraints: usize,
    /// Octets of one constraint. Default 65,536. Answer: InvalidConstraint.
    pub constraint_octets: usize,
    /// Octets of memory of one filter: the text and the tree of constraints, and the values of mapping filters. Default
    /// 4 MiB; a constraint takes up to about 50 times its text. Answer: IMP_LIMIT, minor `EVENT_HELD`. While
    /// constraints are replaced, the old ones count, too.
    pub filter_octets: usize,
    /// Octets of memory of all filters, subscriptions and offers of the service together. Default 128 MiB. Answer:
    /// IMP_LIMIT, minor `EVENT_HELD`.
    pub held_octets: usize,
    /// Event types in a subscription, an offer, or a constraint. Default 256. Answer: IMP_LIMIT, minor `EVENT_TYPES`.
    pub event_types: usize,
    /// Events that wait for one consumer: maximum and default of MaxEventsPerConsumer. Default 1,024.
    pub queue_events: usize,
    /// Octets of events that wait for one consumer. Default 16 MiB. Beyond it the discard policy applies.
    pub queue_octets: u64,
    /// Events of one batch: maximum of MaximumBatchSize, and of one pull of a sequence. Default 1,024.
    pub batch: usize,
    /// Pulls of a channel that wait for an event at the same time; each occupies a thread of the ORB. Default 64.
    /// Answer: IMP_LIMIT, minor `EVENT_PULLS`.
    pub blocked_pulls: usize,
    /// Suppliers from which the service pulls; each has its own thread. Default 64. Answer: IMP_LIMIT, minor
    /// `EVENT_PULLS`.
    pub pulled_suppliers: usize,
    /// Longest wait of a pull for an event. Default 60 s. Answer: TIMEOUT, minor `PULL`.
    pub pull_wait: Duration,
    /// Octets of persistent events that wait for their consumers in the store. The file takes about twice that. Default
    /// 256 MiB. Answer: IMP_LIMIT, minor `EVENT_STORE`.
    pub stored_octets: u64,
    /// Callbacks of filters and of the reconnection registry. Default 256. Answer: IMP_LIMIT, minor `EVENT_CALLBACKS`.
    pub callbacks: usize,
    /// Percentage of [`channels`](Self::channels), of [`filters`](Self::filters), of
    /// [`pulled_suppliers`](Self::pulled_suppliers), and in each channel of [`admins`](Self::admins),
    /// [`proxies`](Self::proxies) and [`blocked_pulls`](Self::blocked_pulls) that one client may use, and at least one
    /// of each. Default 25; 100: no share. A client is identified by network address, user, or certificate; callers in
    /// the service's own process are not clients. Answer: IMP_LIMIT, minor `EVENT_SHARE`.
    pub client_share: u8,
}

impl Limits {
    /// Returns the share of `all` that one client may use.
    pub(crate) fn share_of(&self, all: usize) -> usize {
        let hundredths = all as u128 * u128::from(self.client_share.min(100));
        // At most `all`.
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
