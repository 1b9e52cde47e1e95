use std::time::Duration;

use oxorb_event::delivery::Qos;

use crate::Priorities;

/// Settings of a [`ZenohGateway`](crate::ZenohGateway).
#[derive(Clone, Debug)]
pub struct FederationOptions {
    /// Prefix of the names of topics in zenoh. Channels with the same prefix share topics. The prefix consists of one
    /// or more names separated by `/`, without `*`, `$`, `?` and `#`. Default `oxorb/events`.
    pub prefix: String,
    /// Priority of each event in zenoh. Default: [`Data`](crate::Priority::Data) for all events.
    pub priorities: Priorities,
    /// Policy for events when zenoh's queues are full. zenoh has a queue of a few batches for each priority and
    /// neighbour. Default [`WhenCongested::Drop`].
    pub when_congested: WhenCongested,
    /// Queue of events that wait for zenoh, one for each priority. Default 1,024 events, 16 MiB; if it is full, the
    /// oldest event is dropped.
    pub sending: Qos,
    /// Queue of events that wait for the channel, one for each priority. Default 1,024 events, 16 MiB; if it is full,
    /// the oldest event is dropped.
    pub receiving: Qos,
    /// Maximum number of topics whose events are numbered, in each direction. Default 65,536, at about 200 octets each.
    /// Events of further topics are sent without a number and counted as unnumbered; receivers cannot detect gaps in
    /// these topics. A receiver that reaches the limit forgets the topics in which it has received nothing for the
    /// longest time.
    pub topics: usize,
    /// Maximum size in octets of a sample that the gateway accepts. Default 1 MiB and 1 KiB.
    pub sample_octets: usize,
    /// Maximum number of topics whose last event is kept in memory for channels that join late or were disconnected.
    /// Default 0.
    pub latest: usize,
    /// Period of the queries for the last events of other gateways, which recover events lost in a partition. This is
    /// also the time limit of each query. Default 5 s. Ignored if [`latest`](Self::latest) is 0.
    pub refresh: Duration,
}

/// Policy for events when zenoh's queues are full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenCongested {
    /// zenoh drops the event after 10 ms, or after 50 ms if it is larger than 64 KiB. Receivers count the gap.
    #[default]
    Drop,
    /// The gateway waits for space while its own queue fills. If a neighbour reads nothing for 5 s, it loses its
    /// connection. One slow neighbour delays the events to all others.
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
