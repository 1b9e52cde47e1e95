use std::time::Duration;

use oxorb_event::delivery::Qos;

use crate::Priorities;

/// Settings of a [`ZenohGateway`](crate::ZenohGateway).
#[derive(Clone, Debug)]
pub struct FederationOptions {
    /// First part of the names of topics in zenoh; channels share topics whose gateways have the same. One or more names
    /// with `/` between, without `*`, `$`, `?` and `#`. Default `oxorb/events`.
    pub prefix: String,
    /// Priority in zenoh of each event. Default: [`Data`](crate::Priority::Data) for all.
    pub priorities: Priorities,
    /// Policy for events that zenoh has no room for: it queues a few batches for each priority and neighbour. Default
    /// [`WhenCongested::Drop`].
    pub when_congested: WhenCongested,
    /// Queue of events that wait for zenoh, one for each priority. Default 1,024 events, 16 MiB, the oldest goes.
    pub sending: Qos,
    /// Queue of events that wait for the channel, one for each priority. Default 1,024 events, 16 MiB, the oldest goes.
    pub receiving: Qos,
    /// Topics that the gateway numbers in either direction. Default 65,536, at about 200 octets each. Events of topics beyond it
    /// are sent without a number (counted), so that receivers miss no gaps in them; when receiving, topics that were
    /// silent longest are forgotten.
    pub topics: usize,
    /// Largest sample that the gateway takes, in octets. Default 1 MiB and 1 KiB.
    pub sample_octets: usize,
    /// Topics whose last event the gateway keeps for channels that join later, or were cut off; further topics have none.
    /// Default 0. An event is kept in memory, once, as long as no later one of its topic was sent.
    pub latest: usize,
    /// Time between two requests for the last events of other gateways, which bring what a partition swallowed; also the
    /// time such a request may take. Default 5 s. Ignored unless [`latest`](Self::latest) is set.
    pub refresh: Duration,
}

/// Policy for events that zenoh has no room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenCongested {
    /// zenoh drops the event, after 10 ms (one beyond 64 KiB: 50 ms); receivers count the gap.
    #[default]
    Drop,
    /// The gateway waits for room, and its own queue fills; a neighbour that takes nothing for 5 s loses its connection. One
    /// slow neighbour delays events to all others.
    Wait,
}

impl Default for FederationOptions {
    fn default() -> Self {
        Self {
            prefix: "oxorb/events".to_owned(),
            priorities: Priorities::default(),
            when_congested: WhenCongested::default(),
            sending: Qos::default(),
            receiving: Qos::default(),
            topics: 65_536,
            sample_octets: (1 << 20) + 1_024,
            latest: 0,
            refresh: Duration::from_secs(5),
        }
    }
}
