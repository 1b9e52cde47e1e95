//! Deployment as data: plans, packages, domains and real-time resources of components.
//!
//! OMG's Deployment and Configuration (formal/06-04-02) describes the deployment of components in XML; CIAO added
//! real-time resources. [`Document`] reads and writes both, and a TOML format of both for human authors. This crate
//! does not depend on an ORB, opens no socket and starts nothing.
//!
//! All input is limited ([`Limits`]), and every error has its line and column ([`Error`], [`Finding`]).
#![forbid(unsafe_code)]

mod archive;
mod assemble;
pub mod check;
mod described;
mod document;
mod element;
mod encoding;
mod extended;
mod finding;
#[doc(hidden)]
pub mod fuzz;
mod model;
mod process;
mod rates;
mod search;
mod size;
mod text;
mod xml;

pub use archive::{Archive, ArchiveLimits};
pub use assemble::{Assembly, AssemblyLimits};
pub use described::{Id, Ref};
pub use document::{Document, Format};
pub use element::Limits;
pub use extended::expand_extended_ports;
pub use finding::{Error, Finding, Place, Severity, Source};
pub use model::{basic, domain, package, plan, rtcad, value};
pub use process::{Process, processes};
pub use rates::{EnforcedRate, enforced_rates};
