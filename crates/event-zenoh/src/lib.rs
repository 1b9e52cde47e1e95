//! A federation of event channels: channels on many hosts share topics over zenoh.
//!
//! ```text
//! channel --ZenohGateway--> zenoh (routers, peers) --ZenohGateway--> channel, and more of them
//! ```
//!
//! A topic is a type and a source of events. A gateway passes every event of its channel to zenoh once, and subscribes
//! to what the consumers of its channel want; zenoh finds the hosts, the routes between them, and other routes when one
//! is lost. Events keep their order within a topic; gaps are counted, duplicates rejected. For the guarantees see
//! `docs/federation.md`.
//!
//! ```
//! use oxorb_event::{ChannelOptions, EventChannel, Publisher, Subscriber};
//! use oxorb_event_zenoh::{Federation, FederationOptions, Node, ZenohGateway};
//!
//! let federation = Federation::join(&Node {
//!     listen: vec!["tcp/127.0.0.1:0".into()],
//!     scouting: false,
//!     ..Node::default()
//! })?;
//! let channel = EventChannel::new(ChannelOptions::default());
//! let gateway = ZenohGateway::start(&channel, &federation, FederationOptions::default())?;
//! Publisher::<f64>::new(&channel, "level", "tank 1")?.publish(&0.75)?;
//! assert_eq!(gateway.statistics().received, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod gateway;
mod interest;
mod node;
mod options;
mod priorities;
mod receiving;
mod sending;
mod statistics;
mod topics;
pub mod wire;

pub use error::FederationError;
pub use gateway::ZenohGateway;
pub use node::{Federation, Mode, Node};
pub use options::{FederationOptions, WhenCongested};
pub use priorities::{Priorities, PriorityError};
pub use statistics::FederationStatistics;
pub use zenoh::qos::Priority;
