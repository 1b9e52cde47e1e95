//! Values that say how the kernel picks a lane.

/// Endpoint that all lanes of a threadpool share, besides those that each has of its own. The kernel picks the lane before
/// the ORB sees the connection: clients that know nothing of priorities and a single port of a firewall reach all lanes.
#[derive(Debug, Clone)]
pub(crate) struct Front {
    pub(crate) endpoint: String,
    pub(crate) by: Steering,
}

/// Property of a client's first packet that decides which lane serves its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steering {
    /// The DSCP of the packet: a lane takes connections that carry its own, which is
    /// [`ThreadpoolLane::dscp`](super::ThreadpoolLane::dscp), or that of its priority. The lane of the least priority takes
    /// all others. A classic BPF program of the sockets (SO_ATTACH_REUSEPORT_CBPF) decides.
    Mark,
    /// The processor that handles the packet: a lane takes connections that come by its own processor
    /// ([`ThreadpoolLane::cpu`](super::ThreadpoolLane::cpu), SO_INCOMING_CPU); others go to any lane. Devices with several
    /// queues decide which processor that is.
    Processor,
}

impl Steering {
    /// Values in text.
    pub const VALUES: &'static str = "mark|processor";

    /// Reads one of [`VALUES`](Self::VALUES).
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "mark" => Some(Self::Mark),
            "processor" => Some(Self::Processor),
            _ => None,
        }
    }
}
