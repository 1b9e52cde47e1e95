//! State of a gateway that all requests share.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxorb::Orb;
use tokio::sync::Semaphore;

use super::calls::Workers;
use super::counts::Counts;
use super::events::Channel;
use super::guard::Guard;
use super::interfaces::Interfaces;
use super::limits::LimitArgs;
use super::log::Log;
use super::memory::Memory;
use super::objects::Objects;
use super::peers::Peers;
use super::rights::Rights;
use super::tokens::Tokens;

/// State of a gateway.
pub(super) struct Gateway {
    /// ORB that calls the objects.
    pub(super) orb: Orb,
    pub(super) interfaces: Interfaces,
    pub(super) objects: Objects,
    /// Event channels by name.
    pub(super) channels: BTreeMap<String, Arc<Channel>>,
    pub(super) guard: Guard,
    /// Tokens that admit clients; `None` if every client is admitted.
    pub(super) tokens: Option<Tokens>,
    /// Rules about what clients may call; `None` if they may call everything.
    pub(super) rights: Option<Rights>,
    /// Whether clients can show certificates.
    pub(super) has_certificates: bool,
    pub(super) limits: LimitArgs,
    /// Counts for the page of metrics.
    pub(super) counts: Arc<Counts>,
    pub(super) workers: Workers,
    /// Memory for the bodies of requests.
    pub(super) bodies: Memory,
    /// Memory for the JSON of bodies, once it is parsed.
    pub(super) parsed: Memory,
    /// Memory for answers that are not sent.
    pub(super) answers: Memory,
    /// Permits of streams of events.
    pub(super) streams: Arc<Semaphore>,
    /// Streams of events of each client.
    pub(super) stream_clients: Arc<Peers>,
    /// Log of requests; `None` if there is none.
    pub(super) log: Option<Log>,
    /// Whether arguments and members that are left out are zero, empty or nil.
    pub(super) defaults: bool,
}
