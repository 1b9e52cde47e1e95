use std::time::Duration;

use oxorb_event::delivery::Qos;

use crate::Priorities;

/// Settings of a [`ZenohGateway`](crate::ZenohGateway).
#[derive(Clone, Debug)]
pub struct FederationOptions {
    /// First part of the names of topics in zenoh; channels with the same prefix share topics. One or more names
    /// separated by `/`, without `*`, `$`, `?` and `#`. Default `oxorb/events`.
    pub prefix: String,
    /// Priority in zenoh of each event. Default: [`Data`](crate::Priority::Data) for all.
    pub priorities: Priorities,
    /// Policy for events when zenoh's queues, a few batches for each priority and neighbour, are full. Default
    /// [`WhenCongested::Drop`].
    pub when_congested: WhenCongested,
    /// Queue of events that wait for zenoh, one per priority. Default 1,024 events, 16 MiB; the oldest is dropped.
    pub sending: Qos,
    /// Queue of events that wait for the channel, one per priority. Default 1,024 events, 16 MiB; the oldest is
    /// dropped.
    pub receiving: Qos,
    /// Maximum number of topics that are numbered in each direction. Default 65,536, at about 200 octets each. Events
    /// of further topics are sent without a number and counted as unnumbered, so that receivers detect no gaps in them;
    /// when receiving, the topics that were silent longest are forgotten.
    pub topics: usize,
    /// Maximum size in octets of a sample that the gateway accepts. Default 1 MiB and 1 KiB.
    pub sample_octets: usize,
    /// Maximum number of topics whose last event is kept for channels that join later or were cut off. Default 0. One
    /// event per topic is kept in memory, until a later one is sent.
    pub latest: usize,
    /// Period of the queries for the last events of other gateways, which recover events lost in a partition; also the
    /// time limit of such a query. Default 5 s. Ignored unless [`latest`](Self::latest) is set.
    pub refresh: Duration,
}

/// Policy for events when zenoh's queues are full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenCongested {
    /// zenoh drops the event, after 10 ms (one beyond 64 KiB: 50 ms); receivers count the gap.
    #[default]
    Drop,
    /// The gateway waits for space, and its own queue fills; a neighbour that reads nothing for 5 s loses its
    /// connection. One slow neighbour delays events to all others.
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
