//! Gateways, which pass events from one channel to others, on the same or on other machines.
//!
//! ```text
//! channel --IiopGateway: what its consumers ask for--> channel elsewhere, by GIOP
//! channel --UdpSender--> datagrams, to a host or a multicast group --UdpReceiver--> channel, and more of them
//! ```
//!
//! Each gateway decrements the `ttl` of an event and does not pass on events whose `ttl` is 0. Events in a circle of
//! gateways therefore end. Gateways identify themselves as such when they connect. Their subscriptions and publications
//! are not reported to observers, because two gateways would otherwise subscribe to each other's subscriptions.
//!
//! Datagrams have the format of TAO's multicast gateway. [`datagram`] and [`reassembly`] implement it without sockets
//! or clocks.

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
pub use interface::{InterfaceError, NetworkInterface};
pub use receiver::{ReceiverOptions, ReceiverStatistics, UdpReceiver};
pub use sender::{SenderOptions, SenderStatistics, UdpSender};
