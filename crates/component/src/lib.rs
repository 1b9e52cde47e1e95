//! The run time of CORBA components: ports, life cycle, homes and containers (CORBA 3.3 part 3).
//!
//! ```text
//! executor (yours) <-- servant (generated: equivalent IDL) <-- Container: POA, limits, phases
//!        |                         |
//!        +---- context (generated) +---- ports: Facet, Receptacle, Emitter, Publisher
//! ```
//!
//! * [`Container`] installs components and homes over a POA, with RT-CORBA policies.
//! * [`Component`] represents a component regardless of its type: it implements `Components::CCMObject` by the names of
//!   ports, and its owner moves it through its life cycle.
//! * The types of `Components.idl` have their own names here: [`CcmObject`], [`Cookie`], [`Navigation`].
//!
//! The facade exports this crate as `oxorb::components`. `docs/components.md` describes how to write components. Out of
//! scope are entity and transactional containers, and the container's view of `Components::CCMContext`.
#![forbid(unsafe_code)]

mod assembly;
mod attribute;
mod component;
mod container;
mod finder;
mod generic;
mod home;
mod keys;
mod life;
mod port;
mod refusal;
mod settings;

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    include!(concat!(env!("OUT_DIR"), "/Components.rs"));
}

pub use assembly::ComposedOf;
#[doc(hidden)]
pub use assembly::{Assembly, Instance};
pub use attribute::Attribute;
pub use component::Component;
pub use container::{Container, ContainerBuilder, InstallError};
pub use finder::Homes;
pub use home::{Home, ManagedBy};
pub use idl::components::*;
pub use keys::PrimaryKey;
pub use life::{LifeCycle, LifeCycleError, Phase};
pub use port::{
    CarriedSource, Connected, Deliver, Emitter, EventCarrier, EventLanes, EventType, Facet,
    LimitedPort, MultipleReceptacle, NotConnected, PortRate, Publisher, Pushed, Receptacle, Sink,
    Used,
};
