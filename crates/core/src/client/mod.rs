//! The client half of a call: route, link, request, reply.
//!
//! ```text
//! invoke -> fast_call::call (fast_call.rs) nearly all calls, in one walk; the others:
//!           exchange (exchange.rs) which profile, forward, retry: the only loop
//!             Selection (selection.rs)  RT-CORBA: which addresses at this priority, whose connection
//!             reach (reach.rs)     a link nobody else uses: this thread's own, a cached one, a new one
//!             Call::send (call.rs) request written in place, one write
//!             Pending::wait        one read, reply matched
//!           Reply (reply.rs)       decoded where it lies; dropping it returns the link
//! ```
//!
//! The completion status of a failure follows from the value in hand: with a `Call` it is NO, with a `Pending` MAYBE,
//! with a `Reply` that of the reply.

mod alarm;
mod asynchronous;
mod batch;
mod binding;
mod buffered;
mod buffers;
mod cache;
mod call;
mod callback;
mod calls;
mod cancelling;
mod copied;
mod current;
mod deliver;
mod delivery;
mod direct;
mod draft;
mod exchange;
mod explicit;
mod fast_call;
mod given_up;
mod idle_connections;
mod intercepted;
mod launch;
mod leader;
mod level;
mod link;
mod local;
pub(crate) mod messaging;
mod metered;
#[cfg(all(test, feature = "model"))]
mod model;
mod multiplexed;
mod oneways;
mod peer;
mod peers;
mod prepared;
mod reach;
mod receive;
mod replies;
mod reply;
mod reply_meaning;
mod room;
mod scheduled;
mod selecting;
mod selection;
mod shared;
mod side;
mod sleep;
mod slot;
mod timing;
mod wait;
mod waiting;
mod writer;

pub(crate) use alarm::Alarms;
pub use asynchronous::{AsyncReply, InFlight};
pub use batch::OnewayBatch;
pub(crate) use binding::Binding;
pub(crate) use cache::Cache;
pub(crate) use callback::Callbacks;
pub use deliver::deliver;
pub(crate) use delivery::Deliveries;
pub(crate) use explicit::share;
pub(crate) use multiplexed::Multiplexed;
pub use oneways::BufferedOneways;
pub(crate) use peer::Peer;
pub use prepared::{PreparedRequest, PreparedSlots};
pub use reply::RawReply;
pub(crate) use reply::{Reply, ReplyIn};
pub(crate) use selection::{Owner, Selection};
pub(crate) use side::ClientSide;
pub use sleep::Sleep;
pub(crate) use timing::Timing;
pub use wait::wait_until;

pub(crate) use exchange::Round;

use exchange::{Exchange, Step};

pub(crate) use crate::reference::Args;
