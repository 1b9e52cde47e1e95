//! Gateways: events of one channel in another, farther than one machine.
//!
//! ```text
//! channel --IiopGateway: what its consumers ask for--> channel elsewhere, by GIOP
//! channel --UdpSender--> datagrams, to a host or a multicast group --UdpReceiver--> channel, and more of them
//! ```
//!
//! Each takes 1 from an event's `ttl` and passes none on that has 0 left; so events end that go round in a circle of
//! gateways. Both connect as gateways: what they ask for and publish is not told to observers, which keeps two gateways
//! from feeding on each other's subscriptions.
//!
//! Octets of datagrams are those of TAO's multicast gateway: [`datagram`] and [`reassembly`], which are pure code.

mod addresses;
pub mod datagram;
mod destination;
mod error;
mod groups;
mod iiop;
mod interface;
mod launch;
mod payload;
pub mod reassembly;
mod receiver;
mod sender;

pub(crate) use payload::read as read_payload;

pub use addresses::AskedAddresses;
pub use destination::{DestinationError, Destinations};
pub use error::GatewayError;
pub use groups::{GroupOptions, GroupReceiver, GroupStatistics};
pub use iiop::{GatewayState, IiopGateway, IiopOptions, IiopStatistics};
pub use interface::{Interface, InterfaceError};
pub use receiver::{ReceiverOptions, ReceiverStatistics, UdpReceiver};
pub use sender::{SenderOptions, SenderStatistics, UdpSender};
