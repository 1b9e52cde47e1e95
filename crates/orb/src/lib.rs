//! OxORB: a real-time CORBA ORB.
//!
//! A program consists of an interface in IDL, a build script that generates Rust from the IDL, and code that uses the
//! generated types. `oxorb new NAME` creates such a project. Its files are:
//!
//! ```toml
//! # Cargo.toml
//! [dependencies]
//! oxorb = "0.1"
//! [build-dependencies]
//! oxorb-idlgen = "0.1"
//! ```
//!
//! ```idl
//! // idl/hello.idl
//! module hello {
//!     interface Greeter { string greet(in string name); };
//! };
//! ```
//!
//! ```ignore
//! // build.rs
//! fn main() -> Result<(), oxorb_idlgen::Error> {
//!     oxorb_idlgen::compile(["idl/hello.idl"])
//! }
//! ```
//!
//! The server implements the generated trait `hello::Greeter`, and activates the servant in a POA:
//!
//! ```ignore
//! use oxorb::prelude::*;
//!
//! oxorb::include_idl!("hello");
//!
//! struct Polite;
//!
//! impl hello::Greeter for Polite {
//!     fn greet(&self, name: &str) -> oxorb::Result<String> {
//!         Ok(format!("Hello, {name}!"))
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let orb = Orb::builder().args(std::env::args()).build()?;
//!     let greeter: hello::GreeterRef = orb.root_poa().activate(Polite)?;
//!     orb.bind("Greeter", &greeter);  // corbaloc::HOST:PORT/Greeter
//!     println!("{}", greeter.to_ior());
//!     orb.run();
//!     Ok(())
//! }
//! ```
//!
//! The client calls the generated reference type `hello::GreeterRef`:
//!
//! ```ignore
//! let greeter: hello::GreeterRef = orb.resolve("corbaloc::localhost:2809/Greeter")?;
//! println!("{}", greeter.greet("World")?);
//! ```
//!
//! # Modules
//!
//! | To | see |
//! |---|---|
//! | create, configure, run and end an ORB | [`Orb`], [`Builder`], [`settings`] |
//! | serve objects | [`poa`], [`servant`] |
//! | call objects | the generated `...Ref` types, [`Interface`], [`client`] |
//! | pass values | [`values`], [`Any`] |
//! | read and write references | [`ior`] |
//! | see each request, and each event of a connection | [`interceptor`], [`incident`] |
//! | let Prometheus read counts | `-ORBMetrics`, [`Orb::metrics`](servant::CoreOrb::metrics) |
//! | keep deadlines | [`rt`], [`policy`], [`admission`], [`sched`] |
//! | write components | `components`, with the feature of that name |
//! | launch deployment plans | `deployment`, with the feature of that name |
//! | pass requests on between protocols | `bridge`, with the feature of that name |
//! | stand between clients outside and servers inside | `gateway`, with the feature of that name |
//! | call and serve without generated code | [`dynamic`] |
//! | read errors | [`SystemException`], [`client::Failure`] |
//!
//! Services are separate crates: `oxorb-naming`, `oxorb-event`, `oxorb-notify`, `oxorb-ifr` and `oxorb-scheduler`.
//!
//! # From the C++ mapping
//!
//! An [`Orb`] has a root POA, and dereferences to the ORB without POAs, which references, servants and interceptors see
//! ([`servant::CoreOrb`]). All methods of both can be called on an [`Orb`].
//!
//! | C++ | here |
//! |---|---|
//! | `CORBA::ORB_init(argc, argv)` | [`Orb::builder`], [`Builder::args`], [`Builder::build`] |
//! | the initial reference `"RootPOA"`, `the_POAManager()->activate()` | [`Orb::root_poa`], whose manager is active |
//! | other initial references | [`Orb::resolve_initial_references`](servant::CoreOrb::resolve_initial_references) |
//! | `string_to_object`, then `Echo::_narrow` | [`Orb::resolve`](servant::CoreOrb::resolve) |
//! | `object_to_string` | [`Interface::to_ior`] |
//! | `_narrow`, `_is_a`, `_non_existent` | [`Interface`]: `narrow`, `is_a`, `non_existent` |
//! | `POA_Echo`, `_this`, `activate_object` | the generated trait `Echo`, [`Poa::activate`](poa::Poa::activate) |
//! | `create_POA` with policies | [`Poa::create_poa`](poa::Poa::create_poa), [`poa::Policies`] |
//! | `Echo_ptr`, `Echo_var` | the generated type `EchoRef`; `Option<EchoRef>` if it may be nil |
//! | `catch (CORBA::SystemException&)`, `minor()` | [`Result`], [`SystemException`], [`minor`] |
//! | `catch` of user exceptions | the error enum of the operation, such as `account::WithdrawError` |
//! | `ORBInitializer` | [`Builder::client_interceptor`], [`Builder::server_interceptor`] |
//! | `PolicyManager`, `PolicyCurrent` | [`Orb::policies`](servant::CoreOrb::policies), [`policy::PolicyCurrent`] |
//! | `_set_policy_overrides` | [`Interface::with`], [`Interface::with_timeout`] |
//! | `create_threadpool_with_lanes` | [`Orb::create_threadpool`](servant::CoreOrb::create_threadpool), [`rt::Threadpool::with_lanes`] |
//! | `run`, `perform_work`, `shutdown` | the same names, of [`Orb`] |
//!
//! The repository has pages for those who come from TAO, omniORB and JacORB (`docs/coming-from/`), and one with the
//! Rust form of each IDL construct (`docs/mapping.md`).
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
    Interface, ObjectRef, Outcome, Ref, ResolveError, Servant, SetupError, Upcall, protocol,
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

/// The page about values of any type, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/dynany.md")]
struct DynAnyPage;

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
