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
    Answered, AsyncReply, Buffered, InFlight, OnewayBatch, Prepared, Sleep, Slots, deliver,
    wait_until,
};
pub use error::{Attempt, Failure, PreconnectError, Raise, Raises, ResolveError, SetupError};
pub use interceptor::access_limits::AccessLimits;
pub use interceptor::access_rules::{AccessRequest, AccessRule, AccessRules, write_object};
pub use monitoring::{ConnectionEvent, ConnectionStatistics, Incident, LogLevel};
pub use options::{
    ArenaFull, Arriving, CallbackThreads, ClassPacing, ClientConnections, Collocation, Concurrency,
    Demultiplexing, FILE_SETTINGS, Incompatible, Meaning, OperationSearch, Options, PEER_OPTIONS,
    PeerOption, PoolThread, ReactorChoice, SETTINGS, Setting, SettingError, ThreadFilter,
    ThreadFilters,
};
pub use orb::{Orb, Over, WeakOrb};
pub use oxorb_giop::{Aliased, Limits, PreparedTarget, Response, Violation};
pub use oxorb_rt::probe;
pub use oxorb_sys::schedule::{
    Class as SchedulingClass, Reservation, ReservationError, Schedule,
    Scheduling as ThreadScheduling,
};
pub use oxorb_sys::thread::{
    Attributes as ThreadAttributes, Listed as OrbThread, Purpose as ThreadPurpose,
    Registry as ThreadRegistry,
};
pub use reference::{
    Abstract, ConfinedBy, Context, Interface, NO_SLOT, ObjectRef, Op, Operation, Operations,
    Passes, Ref, SLOTTED_KEY, SLOTTED_KEY_LEN, ServedBy, UserException, decode_context, decode_ref,
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
    CallsBetween, Measurement, Measurements, Modules, RunTimeScheduler, Running, Scheduled,
};
pub use servant::escape;
pub use servant::{
    Adapter, Amh, CarriedQos, ConfinedServant, DelegatesTo, Detached, DetachedReply, Dispatch,
    Handles, Held, Later, LentArena, Located, NotConfined, NotOneThread, Outcome, Rejected,
    Servant, Upcall, carried_qos, current_deadline, current_qos, handle, handles, skeleton,
};
pub use server::{
    ClientConnection, CurrentLane, DropError, DropRule, DropRules, LaneMemory, MessageBuffers,
    QueueOrder, RateGroup, RequestBuffering, Steering, Threadpool, ThreadpoolError, ThreadpoolLane,
    ThreadpoolLanes, current_connection, request_is_cancelled,
};
pub use threads::Busy;
#[doc(hidden)]
pub use threads::lock;
pub use threads::rt::{
    LaneEndpoints, LaneNumber, LaneScheduling, MappingChoice, MutexNotFound, Raised, RealTime,
    RtMutex, RtMutexGuard, Serving, ThreadpoolId,
};
