//! OxORB: a real-time CORBA ORB.
//!
//! Write the interface in IDL, let [`oxorb_idlgen`] turn it into Rust in
//! `build.rs`, implement the generated trait, and serve it:
//!
//! ```no_run
//! # mod bank {
//! #     pub trait Account {}
//! # }
//! let orb = oxorb::Orb::builder().args(std::env::args()).build()?;
//! // let account: bank::AccountRef = orb.root_poa().activate(Teller::new())?;
//! // println!("{}", account.to_ior());
//! orb.run();
//! # Ok::<(), oxorb::SetupError>(())
//! ```
//!
//! and call it, from this or any other ORB:
//!
//! ```no_run
//! # let orb = oxorb::Orb::builder().build()?;
//! let object: oxorb::ObjectRef = orb.resolve("corbaloc::server.example:2809/Bank")?;
//! // let left = account.withdraw(10)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Most programs begin with `use oxorb::prelude::*`.
//!
//! | To | see |
//! |---|---|
//! | start, configure, end an ORB | [`Orb`], [`Builder`], [`settings`] |
//! | serve objects | [`poa`], [`servant`] |
//! | call objects | the generated `...Ref` types, [`Interface`], [`client`] |
//! | pass values | [`values`] |
//! | read and write references | [`ior`] |
//! | see each request, and each event of a connection | [`interceptor`], [`incident`] |
//! | let Prometheus read counts | `-ORBMetrics`, [`CoreOrb::metrics`] |
//! | keep deadlines | [`rt`], [`policy`], [`admission`], [`sched`] |
//! | write components | `components`, with the feature of that name |
//! | launch deployment plans | `deployment`, with the feature of that name |
//! | pass requests on between protocols | `bridge`, with the feature of that name |
//! | stand between clients outside and servers inside | `gateway`, with the feature of that name |
//! | call and serve without generated code | [`dynamic`] |
//! | read errors | [`SystemException`], [`client::Failure`] |
//!
//! [`oxorb_idlgen`]: https://docs.rs/oxorb-idlgen
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod __gen;
pub mod admission;
#[cfg(feature = "bridge")]
pub mod bridge;
mod builder;
/// Encoder and decoder of values, for [`CustomMarshal`](values::CustomMarshal) and for data outside messages.
pub mod cdr {
    pub use oxorb_cdr::{
        Decode, Decoder, Dialect, Encode, Encoded, Encoder, Error, ErrorKind, Fixed, Gap,
        OutsideCodeSet, Result, WcharSet,
    };
}
pub mod client;
/// Components: containers, homes, ports, and the types of the module `Components`. Requires the feature `components`.
#[cfg(feature = "components")]
pub mod components {
    pub use oxorb_component::*;
}
#[cfg(feature = "files")]
pub mod config;
#[cfg(feature = "deployment")]
pub mod deployment;
/// Calls, servants and values without generated code: DII, DSI, DynAny.
pub mod dynamic {
    pub use oxorb_dynamic::*;
}
#[cfg(feature = "gateway")]
pub mod gateway;
pub mod incident;
/// Interceptors of requests and of new adapters, and the service contexts that they read and add.
pub mod interceptor {
    #[doc(inline)]
    pub use oxorb_core::Response;
    pub use oxorb_core::interceptor::*;
    #[doc(inline)]
    pub use oxorb_object::{ServiceContext, ServiceContexts};
}
pub mod ior;
/// Message formats with less overhead than GIOP, for an application's own protocols. Requires the feature `lite`, which
/// is on by default.
#[cfg(feature = "lite")]
pub mod lite {
    pub use oxorb_lite::{GIOP_LITE, GIOP_LITE_RT, Messaging};
}
mod orb;
pub mod poa;
/// Client policies, such as time limits and retries of calls, and the choice of protocol and connection.
pub mod policy {
    pub use oxorb_core::policy::*;
    #[doc(inline)]
    pub use oxorb_object::Urgency;
}
pub mod prelude;
mod protocols;
pub mod rt;
pub mod sched;
pub mod servant;
pub mod settings;
mod signals;
pub mod values;

pub use builder::Builder;
pub use orb::Orb;
pub use oxorb_cdr::Any;
pub use oxorb_core::{
    Interface, ObjectRef, Orb as CoreOrb, Outcome, Ref, ResolveError, Servant, SetupError, Upcall,
    WeakOrb, protocol,
};
pub use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, minor};
#[cfg(any(feature = "tls", feature = "tls-aws-lc-rs"))]
pub use oxorb_protocols::tls;
pub use oxorb_transport as transport;

/// Result of an operation without declared exceptions.
pub type Result<T> = core::result::Result<T, SystemException>;

/// Includes the Rust code that `oxorb_idlgen::compile(["idl/NAME.idl"])` generated in `build.rs`.
///
/// ```ignore
/// oxorb::include_idl!("bank");
/// use bank::Account;
/// ```
#[macro_export]
macro_rules! include_idl {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}

/// The examples of `docs/poa.md` are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/poa.md")]
struct PoaPage;

/// The page about real time, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/realtime.md")]
struct RealTimePage;

/// The page about admission and budgets, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/admission.md")]
struct AdmissionPage;

/// The page about policies, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/policies.md")]
struct PoliciesPage;

/// The page about protocols, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/protocols.md")]
struct ProtocolsPage;

/// The page about shared memory, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/shared-memory.md")]
struct SharedMemoryPage;

/// The page about schedules, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scheduling.md")]
struct SchedulingPage;

/// The page about running a server, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/operation.md")]
struct OperationPage;

/// The page about metrics, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/metrics.md")]
struct MetricsPage;

/// The page about addresses that survive restarts, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/stable-addresses.md")]
struct StableAddressesPage;
