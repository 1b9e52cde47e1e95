//! Facts about an address: whether an ORB listens there itself, and which of its lanes.

use oxorb_transport::Address;

/// Lane of a threadpool of an ORB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneOf {
    /// Number of the threadpool, from 1.
    pub(crate) pool: u32,
    /// Index of the lane, from 0.
    pub(crate) lane: u32,
}

/// Facts about an address of an ORB.
#[derive(Clone, Debug)]
pub(crate) enum OwnAddress {
    /// The address belongs to another process, as far as is known.
    No,
    /// The ORB listens there.
    Orb,
    /// A lane is published there; this process reaches it at another address.
    Lane(LaneOf, Address),
}
