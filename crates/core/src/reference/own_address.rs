//! Classification of an address: whether this ORB listens at it, and which of its lanes.

use oxorb_transport::Address;

/// Lane of a threadpool of an ORB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneOf {
    /// Number of the threadpool, from 1.
    pub(crate) pool: u32,
    /// Index of the lane, from 0.
    pub(crate) lane: u32,
}

/// Owner of an address, as far as the ORB knows.
#[derive(Clone, Debug)]
pub(crate) enum OwnAddress {
    /// The address belongs to another process, as far as is known.
    No,
    /// The ORB listens at the address.
    Orb,
    /// The address is published for a lane; this process connects to the lane at the given address.
    Lane(LaneOf, Address),
}
