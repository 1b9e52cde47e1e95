//! A federation of event channels: channels on many hosts share their events over zenoh.
//!
//! ```text
//! channel --ZenohGateway--> zenoh (routers, peers) --ZenohGateway--> channel, and more of them
//! ```
//!
//! A topic is a combination of a type and a source of events. A gateway passes every event of its channel to zenoh
//! once, and subscribes to the topics of the channel's consumers. zenoh discovers the hosts and routes the events; if a
//! route is lost, it uses another one. Events keep their order within a topic. Gaps are counted, and duplicates are
//! rejected. `docs/federation.md` lists the guarantees.
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
