//! Core of the ORB: object references, invocation, connections, dispatch, shutdown.
//!
//! This crate is the only one that sees both messages (`oxorb-giop`) and bytes
//! in motion (`oxorb-transport`). A request is a value that moves forward:
//!
//! ```text
//! client   Ref --begin--> Call --send--> Pending --wait--> Reply --> Result
//! server   octets --> Frame --> Upcall --> Adapter --> servant --> Outcome --> octets
//! ```
//!
//! Read [`client`] for the first line of that picture and [`server`] for the second. This crate calls the object
//! adapter only through the trait [`Adapter`], and does not depend on the POA.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod __gen;
pub mod client;
mod conn;
mod error;
pub mod interceptor;
mod monitoring;
mod options;
mod orb;
pub mod policy;
pub mod protocol;
mod reference;
mod scheduler;
mod servant;
pub mod server;
mod shared;
#[cfg(all(test, any(feature = "model", feature = "simulation")))]
mod sim;
mod threads;

pub use client::messaging::{ReplyTo, held_exception, hold_exception};
pub use client::{
    AsyncReply, BufferedOneways, InFlight, OnewayBatch, PreparedRequest, PreparedSlots, RawReply,
    Sleep, deliver, wait_until,
};
pub use error::{
    Attempt, Failure, PreconnectError, Raises, ResolveError, ServantError, SetupError,
};
pub use interceptor::access_limits::AccessLimits;
pub use interceptor::access_rules::{AccessRequest, AccessRule, AccessRules, write_object};
pub use monitoring::{ConnectionEvent, ConnectionStatistics, Incident, LogLevel};
pub use options::{
    ArenaFull, ArrivingRequest, CallbackThreads, ClassPacing, ClientConnections, Collocation,
    Concurrency, Demultiplexing, FILE_SETTINGS, IncompatibleOptions, OperationSearch, Options,
    PEER_OPTIONS, PeerOption, PeerOptionMeaning, PoolThread, ReactorChoice, SETTINGS, Setting,
    SettingError, ThreadFilter, ThreadFilters,
};
pub use orb::{Orb, Over, WeakOrb};
pub use oxorb_giop::{Aliased, MessageLimits, PreparedTarget, Response, Violation};
pub use oxorb_rt::probe;
pub use oxorb_sys::schedule::{
    Reservation, ReservationError, SchedulingClass, ThreadPriority, ThreadScheduling,
};
pub use oxorb_sys::thread::{OrbThread, ThreadAttributes, ThreadPurpose, ThreadRegistry};
pub use reference::{
    Abstract, ConfinedBy, Context, Interface, NO_SLOT, ObjectRef, Op, Operation, OperationError,
    Operations, Passes, Ref, SLOTTED_KEY, SLOTTED_KEY_LEN, ServedBy, decode_context, decode_ref,
    encode_context, encode_ref, text_passes,
};
pub use scheduler::admission::{Admission, AdmissionError, AdmissionPlan, AdmissionRequest};
#[doc(hidden)]
pub use scheduler::budget::Bucket;
pub use scheduler::budget::{
    BeyondBudget, Budget, BudgetError, BudgetOf, BudgetUse, Described, Overrun, OverrunHooks,
    ProcessorShare, RequestRate,
};
pub use scheduler::{
    CallsBetween, Measurement, Measurements, ModuleSettings, RunTimeScheduler, Running, Scheduled,
};
pub use servant::escape;
pub use servant::{
    Adapter, Amh, CarriedQos, ConfinedServant, DelegatesTo, DetachedReply, DetachedRequest,
    Dispatch, Handles, HeldReply, LentArena, Located, NotConfined, NotOneThread, Outcome, Rejected,
    ResponseHandler, Servant, Upcall, carried_qos, current_deadline, current_qos, handle, handles,
    skeleton,
};
pub use server::{
    ClientConnection, CurrentLane, DropError, DropRule, DropRules, LaneMemory, MessageBuffers,
    QueueOrder, RateGroup, RequestBuffering, Steering, Threadpool, ThreadpoolError, ThreadpoolLane,
    ThreadpoolLanes, current_connection, request_is_cancelled,
};
pub use threads::MainThreadQueueFull;
#[doc(hidden)]
pub use threads::lock;
pub use threads::rt::{
    LaneEndpoints, LaneNumber, LaneScheduling, MappingChoice, MutexNotFound, RaisedPriority,
    RealTime, RtMutex, RtMutexGuard, Serving, ThreadpoolId,
};
