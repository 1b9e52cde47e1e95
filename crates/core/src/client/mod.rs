//! The client half of a call: route, link, request, reply.
//!
//! ```text
//! invoke -> exchange (exchange.rs) which profile, forward, retry: the only loop
//!             Selection (selection.rs)  RT-CORBA: which addresses at this priority, whose connection
//!             reach (reach.rs)     a link nobody else uses: this thread's own, a cached one, a new one
//!             Call::send (call.rs) request written in place, one write
//!             Pending::wait        one read, reply matched
//!           Reply (reply.rs)       decoded where it lies; dropping it returns the link
//! ```
//!
//! The completion status of a failure follows from the value in hand: with a
//! `Call` it is NO, with a `Pending` MAYBE, with a `Reply` what the reply says.

mod alarm;
mod asynchronous;
mod binding;
mod buffered;
mod cache;
mod call;
mod callback;
mod copied;
mod current;
mod delivery;
mod direct;
mod draft;
mod exchange;
mod explicit;
mod intercepted;
mod kept;
mod launch;
mod leader;
mod level;
mod link;
mod local;
#[cfg(all(test, feature = "model"))]
mod model;
mod multiplexed;
mod peer;
mod peers;
mod prepared;
mod reach;
mod receive;
mod replies;
mod reply;
mod selection;
mod settle;
mod shared;
mod side;
mod slot;
mod timing;
mod writer;

pub(crate) use alarm::Alarms;
pub use asynchronous::{AsyncReply, InFlight, wait_until};
pub(crate) use asynchronous::{begin, invoke_async};
pub(crate) use binding::Binding;
pub use buffered::Buffered;
pub(crate) use cache::Cache;
pub(crate) use callback::Callbacks;
pub(crate) use delivery::Deliveries;
pub use delivery::deliver;
pub(crate) use direct::Nearness;
pub use direct::{Handles, handle, handles};
pub(crate) use explicit::{share, validate};
pub(crate) use multiplexed::Multiplexed;
pub(crate) use peer::Peer;
pub use prepared::{Prepared, Slots};
pub use reply::Answered;
pub(crate) use reply::Reply;
pub(crate) use selection::{Owner, Selection};
pub(crate) use side::ClientSide;
pub(crate) use timing::Timing;

pub(crate) use exchange::Round;

use exchange::{Exchange, Step, exchange};

use oxorb_cdr::{Encoder, Result as CdrResult};
use oxorb_giop::{ReplyStatus, Response};
use oxorb_object::SystemException;

use crate::Ref;
use crate::op::{Operation, UserException};
use crate::policy::SyncScope;
use crate::raise;

/// Writes the arguments of a call; may be asked to do so more than once.
pub(crate) type Args<'f, 'a> = &'f dyn Fn(&mut Encoder<'a>) -> CdrResult<()>;

/// Two-way: returns when there is a result or a user exception to decode.
pub(crate) fn invoke<'a, E: UserException>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<Reply, E> {
    let policies = reference.policies();
    let reply = exchange(reference, &policies, op, args)?.expect("a two-way call has a reply");
    if reply.status() == ReplyStatus::USER_EXCEPTION {
        return Err(reply.user_exception());
    }
    Ok(reply)
}

/// Two-way, for whoever reads results and exceptions himself.
pub(crate) fn invoke_dynamic<'a, T>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    read: impl FnOnce(Answered<'_>) -> T,
) -> Result<T, SystemException> {
    let policies = reference.policies();
    let reply = exchange(reference, &policies, op, args)?.expect("a two-way call has a reply");
    Ok(read(reply.answered()))
}

/// Oneway: returns when what the sync scope asks for has happened.
pub(crate) fn send<'a>(
    reference: &Ref,
    mut op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    let policies = reference.policies();
    op.response = match policies.sync_scope {
        SyncScope::WithTransport => Response::None,
        SyncScope::None => return buffered::send(reference, &policies, op, args),
        SyncScope::WithServer => Response::WithServer,
        SyncScope::WithTarget => Response::WithTarget,
    };
    match exchange(reference, &policies, op, args)? {
        // A oneway operation declares none.
        Some(reply) if reply.status() == ReplyStatus::USER_EXCEPTION => {
            Err(raise::UNLISTED_USER_EXCEPTION)
        }
        _ => Ok(()),
    }
}

/// Sends what calls have left in the buffer of the object's server.
pub(crate) fn flush(reference: &Ref) -> Result<(), SystemException> {
    buffered::flush(reference)
}

/// What is in that buffer and what became of what was.
pub(crate) fn buffered(reference: &Ref) -> Buffered {
    buffered::look(reference)
}
