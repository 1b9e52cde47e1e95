//! Ports, typed for executors and untyped for navigation.

mod carrier;
mod cookie;
mod event;
mod facet;
mod lanes;
mod rate;
mod receptacle;
mod table;

use std::sync::Arc;

pub use carrier::{CarriedSource, Deliver, EventCarrier};
pub use event::{Emitter, EventType, Publisher, Pushed, Sink};
pub use facet::Facet;
pub use lanes::EventLanes;
pub use rate::{LimitedPort, PortRate};
pub use receptacle::{Connected, MultipleReceptacle, NotConnected, Receptacle, Used};

pub(crate) use carrier::Way;
pub(crate) use event::Source;
pub(crate) use facet::{Provided, Provides};
pub(crate) use rate::{BEYOND_RATE, Gate, Paced};
pub(crate) use table::{Connections, Missing, Refusal, Table};

/// A port of a component, independent of its type, for the generic operations.
#[derive(Clone)]
pub(crate) enum Port {
    Facet(Arc<dyn Provides>),
    Receptacle(Arc<dyn Connections>),
    Consumer(Arc<dyn Provides>),
    Emitter(Arc<dyn Connections>),
    Publisher(Arc<dyn Connections>),
}
