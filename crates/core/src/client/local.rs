//! Calls to objects of this process, which use the same message as remote calls, but no socket.

use std::sync::Arc;

use oxorb_cdr::Encoder;
use oxorb_giop::ReplyStatus;
use oxorb_object::{CompletionStatus, SystemException};

use super::buffers::{DIALECT, put_buffer, take_buffer};
use super::draft::{Draft, First};
use super::{Args, Reply, Timing};
use crate::conn::{CollocatedReply, Mailbox};
use crate::error::raise;
use crate::{Orb, Ref};

/// State of a local call once its upcall has returned.
pub(crate) enum Made {
    /// The servant has answered. `None` for a oneway.
    Ended(Option<Reply>),
    /// The servant answers later.
    Later(Arc<Mailbox>),
}

/// Makes the call and waits for its answer. Returns `None` for a oneway.
///
/// A servant cannot be stopped when the call's time is over. The time limit therefore has other effects: a call whose
/// time is over before the servant runs does not run; the servant can query the deadline; a late result becomes
/// TIMEOUT, COMPLETED_YES, so that the caller acts as if the object were elsewhere. A servant that answers later is
/// awaited until the deadline, then the call ends with TIMEOUT, COMPLETED_MAYBE.
pub(crate) fn call<'a>(
    reference: &Ref,
    timing: Timing,
    draft: &Draft<'_>,
    args: Args<'_, 'a>,
) -> Result<Option<Reply>, SystemException> {
    match begin(reference, timing, draft, args)? {
        Made::Ended(reply) => Ok(reply),
        Made::Later(mailbox) => wait(reference.orb(), &mailbox, timing).map(Some),
    }
}

/// Waits for the answer of a servant that answers later.
#[cold]
pub(crate) fn wait(orb: &Orb, mailbox: &Mailbox, timing: Timing) -> Result<Reply, SystemException> {
    match mailbox.wait(timing.deadline()) {
        Some(message) => answered(orb, message),
        None => Err(raise::timeout(CompletionStatus::Maybe)),
    }
}

/// Returns the reply of a servant that answers later.
pub(crate) fn answered(orb: &Orb, message: Vec<u8>) -> Result<Reply, SystemException> {
    Reply::from_memory(orb, message, DIALECT)
}

/// Marshals the request, serves it in the caller's thread and keeps the reply, so that a local call has exactly the
/// semantics of a remote one.
pub(crate) fn begin<'a>(
    reference: &Ref,
    timing: Timing,
    draft: &Draft<'_>,
    args: Args<'_, 'a>,
) -> Result<Made, SystemException> {
    let orb = reference.orb();
    let running = orb.begin_local()?;
    let mut e = Encoder::new(take_buffer(), orb.options().byte_order, DIALECT);
    let written = draft.write(&mut e, 0, &First::default(), args, &orb.options().limits);
    let message = e.finish();
    let kept = match &written {
        Ok(()) => running.serve(message.contiguous(), DIALECT, take_buffer()),
        Err(_) => CollocatedReply::Nothing(Vec::new()),
    };
    put_buffer(message.into_buffer());
    written?;
    match kept {
        CollocatedReply::Reply(late) if timing.left(CompletionStatus::Yes).is_err() => {
            let reply = Reply::from_memory(orb, late, DIALECT)?;
            match reply.status() {
                // An exception of the servant tells the caller more than a time-out does.
                ReplyStatus::SYSTEM_EXCEPTION => Ok(Made::Ended(Some(reply))),
                _ => Err(raise::timeout(CompletionStatus::Yes)),
            }
        }
        CollocatedReply::Reply(reply) => {
            let reply = Reply::from_memory(orb, reply, DIALECT)?;
            Ok(Made::Ended(Some(reply)))
        }
        CollocatedReply::Later(mailbox) => Ok(Made::Later(mailbox)),
        CollocatedReply::Nothing(unused) => {
            put_buffer(unused);
            Ok(Made::Ended(None))
        }
    }
}
