//! Server half of a call: connections, threads, dispatch, shutdown.
//!
//! ```text
//! acceptor thread (accept.rs)       one per endpoint; a link for each client
//!      (or, if lanes share a port: reception.rs, until the first message has selected a lane)
//!   -> a thread of its own          (per_connection.rs), or
//!      one of a few of a lane       (lane_threads.rs): stays while the link is busy; lending.rs: when all are
//!                                    reactor.rs: how they wait
//!      (or it reads for others:     assign.rs, queue.rs, modules.rs)
//!        -> Connection::serve       (serve.rs)      octets -> whole messages
//!             -> dispatch           (dispatch.rs)   message -> Upcall -> Adapter -> Outcome
//!                  -> Sink          (sink.rs)       reply octets, one write, same thread
//! ```
//!
//! These files are threads and what they do; they take the whole [`Orb`](crate::Orb), since requests are served by its
//! objects. Below them is the state that they share, which does not know the ORB: `ServerSide` (side.rs) with its
//! registry, lanes (lane.rs, reserve.rs), threadpools and listeners, and each connection (connection.rs, status.rs).
//!
//! A thread that waits for a reply inside an upcall lets a takeover thread (takeover_thread.rs)
//! read its connection if input arrives there. If a client has several outstanding requests over
//! one connection, another thread reads the connection while one request runs (side_by_side.rs,
//! watching.rs; connection_owner.rs and followers.rs select the thread).
//!
//! A servant may also answer later, from any thread (AMH): the request then keeps a share of its
//! connection (deferred_reply.rs) or, if it was collocated, a mailbox (conn/mailbox.rs).
//!
//! On a busy connection a request costs one read and one write, without queue, hand-over between
//! threads, or lock.

mod accept;
mod admission;
mod assign;
mod assigned;
mod client;
mod client_connection;
mod connection;
mod connection_owner;
mod current_lane;
mod deferred_reply;
mod dispatch;
mod dropping;
#[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
mod epoll;
mod followers;
mod gather;
mod handed_on;
mod intake;
mod jobs;
mod lane;
mod lane_memory;
mod lane_threads;
mod large_replies;
mod lending;
mod listener;
#[cfg(all(test, feature = "model"))]
mod model;
mod modules;
mod per_connection;
mod queue;
mod rate_groups;
mod reactor;
mod reception;
mod registry;
mod reply_memory;
mod reserve;
mod serve;
mod serving_context;
mod session;
mod share;
mod side;
mod side_by_side;
mod sink;
mod status;
mod takeover;
mod takeover_thread;
mod threadpool;
mod watching;

#[cfg(all(test, feature = "model"))]
pub(crate) use accept::welcome;
#[cfg(all(test, not(feature = "simulation")))]
pub(crate) use assigned::PING;
pub use client_connection::{ClientConnection, current_connection};
pub use current_lane::CurrentLane;
pub(crate) use deferred_reply::DeferredReply;
pub(crate) use dispatch::{serve_local, upcall};
pub(crate) use handed_on::NotQueued;
pub(crate) use lane::{Lane, serving_lane};
pub use lane_memory::{LaneMemory, MessageBuffers};
pub(crate) use listener::Listeners;
pub(crate) use modules::DispatchingModules;
pub(crate) use per_connection::start_both_ways;
#[cfg(all(test, feature = "model"))]
pub(crate) use queue::Queue;
pub use rate_groups::RateGroup;
#[cfg(all(test, any(feature = "model", feature = "simulation")))]
pub(crate) use reactor::{Armed, Reactor, ReactorCommand};
#[cfg(all(test, feature = "model"))]
pub(crate) use registry::Look;
pub(crate) use registry::Registry;
pub(crate) use serving_context::{afford, encodes, pool as pool_of_request, values_of_request};
pub(crate) use session::Caller;
pub(crate) use share::Values;
pub(crate) use side::ServerSide;
pub(crate) use sink::CameOver;
pub use sink::Sink;
pub use takeover_thread::request_is_cancelled;
pub(crate) use threadpool::Pools;
pub use threadpool::{
    DropError, DropRule, DropRules, QueueOrder, RequestBuffering, Steering, Threadpool,
    ThreadpoolError, ThreadpoolLane, ThreadpoolLanes,
};
#[cfg(all(test, feature = "model"))]
pub(crate) use watching::look;
