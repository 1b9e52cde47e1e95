//! Selection of a connection's lane by the kernel.

/// Endpoint that all lanes of a threadpool share, in addition to their own. The kernel selects the lane before the ORB
/// sees the connection: clients without priorities, and through a single port of a firewall, reach all lanes.
#[derive(Debug, Clone)]
pub(crate) struct Front {
    pub(crate) endpoint: String,
    pub(crate) by: Steering,
}

/// Property of a client's first packet that selects the lane of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steering {
    /// DSCP of the packet: a lane receives connections with its own DSCP, which is
    /// [`ThreadpoolLane::dscp`](super::ThreadpoolLane::dscp) or that of its priority. The lane with the lowest priority
    /// receives all others. A classic BPF program of the sockets selects (SO_ATTACH_REUSEPORT_CBPF).
    Mark,
    /// Processor that handles the packet: a lane receives connections handled by its own processor
    /// ([`ThreadpoolLane::cpu`](super::ThreadpoolLane::cpu), SO_INCOMING_CPU); others go to any lane. With several
    /// queues the device determines the processor.
    Processor,
}

impl Steering {
    /// Valid values in text.
    pub const VALUES: &'static str = "mark|processor";

    /// Parses one of [`VALUES`](Self::VALUES).
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "mark" => Some(Self::Mark),
            "processor" => Some(Self::Processor),
            _ => None,
        }
    }
}
