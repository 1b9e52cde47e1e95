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
//! | To | see |
//! |---|---|
//! | start, configure, end an ORB | [`Orb`], [`Builder`], [`Options`] |
//! | serve objects | [`Poa`], [`Policies`] |
//! | call objects | the generated `...Ref` types, [`Interface`] |
//! | write components | `components`, with the feature of that name |
//! | launch deployment plans | `deployment`, with the feature of that name |
//! | call and serve without generated code | [`dynamic`] |
//! | read errors | [`SystemException`], [`last_failure`] |
//!
//! [`oxorb_idlgen`]: https://docs.rs/oxorb-idlgen
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod __gen;
/// Codec of values: for [`CustomMarshal`], and for octets outside messages.
pub mod cdr {
    pub use oxorb_cdr::{Decode, Decoder, Dialect, Encode, Encoder, Error, ErrorKind, Result};
}
/// Components: containers, homes, ports, and the types of the module `Components`. Requires the feature `components`.
#[cfg(feature = "components")]
pub mod components {
    pub use oxorb_component::*;
}
#[cfg(feature = "bridge")]
pub mod bridge;
#[cfg(feature = "deployment")]
pub mod deployment;
/// Calls, servants and values without generated code: DII, DSI, DynAny.
pub mod dynamic {
    pub use oxorb_dynamic::*;
}
/// Schedules: results of the analysis, and their enforcement ([`RunTimeScheduler`]).
pub mod sched {
    pub use oxorb_rt::dispatch::{Counts, Module, Plan, StartError, Storage, Threads};
    pub use oxorb_sched::*;
}
mod builder;
#[cfg(feature = "files")]
pub mod config;
mod orb;
mod protocols;
mod signals;

pub use builder::Builder;
#[cfg(feature = "files")]
pub use config::{ConfigError, Configuration, PERSONALITIES, Personality};
pub use orb::Orb;
pub use oxorb_cdr::{
    Any, ByteOrder, CharSet, Codec, CustomMarshal, Decimal, DecimalError, Dynamic, DynamicError,
    Factory, FixedPoint, Inherits, Link, LongDouble, OctetSeq, Octets, Printable, Room, Shape,
    StringValue, TcKind, TypeCode, Typed, Value, ValueBase, ValueInfo, ValueRegistry, ValueState,
    Valuetype, Wchar, Wstring, WstringValue,
};
pub use oxorb_core::BeyondBudget;
pub use oxorb_core::{
    Abstract, Amh, ArenaFull, Arriving, AsyncReply, Attempt, Budget, BudgetError, BudgetOf,
    BudgetUse, Buffered, Busy, CallbackThreads, CallsBetween, ClassPacing, ClientConnection,
    ClientConnections, Collocation, Concurrency, ConfinedBy, ConfinedServant, ConnectionEvent,
    ConnectionStatistics, Context, CurrentLane, DelegatesTo, Demultiplexing, Detached,
    DetachedReply, DropError, DropRule, DropRules, Failure, Held, Incident, Incompatible,
    Interface, LaneEndpoints, LaneMemory, LaneNumber, LaneScheduling, Later, LogLevel,
    MappingChoice, Meaning, Measurement, Measurements, MessageBuffers, Modules, MutexNotFound,
    NotConfined, NotOneThread, ObjectRef, OnewayBatch, OperationSearch, Options, OrbThread,
    Outcome, Overrun, OverrunHooks, PEER_OPTIONS, PeerOption, PoolThread, PreconnectError,
    Prepared, ProcessorShare, QueueOrder, Raised, Raises, RateGroup, ReactorChoice, RealTime, Ref,
    ReplyTo, RequestBuffering, RequestRate, Reservation, ResolveError, RtMutex, RtMutexGuard,
    RunTimeScheduler, SETTINGS, Schedule, SchedulingClass, Servant, ServedBy, Serving, Setting,
    SettingError, SetupError, Sleep, Slots, Steering, ThreadAttributes, ThreadFilter,
    ThreadFilters, ThreadPurpose, ThreadScheduling, Threadpool, ThreadpoolError, ThreadpoolId,
    ThreadpoolLane, ThreadpoolLanes, Upcall, current_connection, current_deadline, current_qos,
    last_failure, policy, request_is_cancelled, wait_until,
};
pub use oxorb_core::{
    Admission, AdmissionError, AdmissionPlan, AdmissionRequest, CarriedQos, carried_qos,
};
pub use oxorb_core::{escape, interceptor, probe, protocol};

/// Messagings with less overhead than GIOP, for an application's own protocols. Requires the feature `lite`, which is
/// on by default.
#[cfg(feature = "lite")]
pub mod lite {
    pub use oxorb_lite::{GIOP_LITE, GIOP_LITE_RT, Messaging};
}
pub use oxorb_object::{
    CompletionStatus, Corbaloc, Corbaname, Ior, PriorityBand, PriorityBands, PriorityModel,
    PriorityModelPolicy, SystemException, SystemExceptionKind, TaggedComponent, TooMany, Version,
    describe, minor,
};
pub use oxorb_poa::{
    AdapterActivator, AdapterObserver, Bidirectional, Cookie, Current, IdAssignment, IdUniqueness,
    ImplicitActivation, InvalidPolicy, Lifespan, Lookup, ManagerState, NoContext, ObjectId,
    ObjectReferenceFactory, ObjectReferenceTemplate, Poa, PoaBuilder, PoaError, PoaManager,
    Policies, Policy, Refused, RequestProcessing, RtPolicies, ServantActivator, ServantLocator,
    ServantRetention, ThreadPolicy,
};
#[cfg(any(feature = "tls", feature = "tls-aws-lc-rs"))]
pub use oxorb_protocols::tls;
pub use oxorb_rt::{
    Distribution, Histogram, NativePriority, NativeRange, OutOfRange, Priority, PriorityMapping,
    PriorityTransform,
};
pub use oxorb_transport as transport;

pub use oxorb_object::SocketIdentity;
pub use oxorb_object::components::tag::{
    ALTERNATE_IIOP_ADDRESS, CSI_SEC_MECH_LIST, OMNIORB_UNIX, OXORB_SHM_SOCKET, OXORB_SOCKET,
    SSL_SEC_TRANS, TAO_ENDPOINTS,
};

/// Returns a reference as `corbaloc:iiop:...`, with the addresses of all protocols that an ORB
/// speaks by default. `None` if the reference has no such address.
pub fn corbaloc(ior: &Ior) -> Option<String> {
    protocols::table().url_of(ior)
}

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

/// The page about addresses that survive restarts, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/stable-addresses.md")]
struct StableAddressesPage;
