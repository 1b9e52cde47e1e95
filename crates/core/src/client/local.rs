//! Calls to objects of this very process: the same message, no socket.

use std::cell::RefCell;

use oxorb_cdr::{CharSet, Dialect, Encoder, WcharSet};
use oxorb_giop::{CompletionStatus, ReplyStatus, ServiceContext, SystemException, Version};
use oxorb_rt::BufferPool;

use super::call::{Request, write_request};
use super::{Args, Reply, Timing};
use crate::op::Operation;
use crate::route::{Route, RouteProfile};
use crate::server::{self, Sink};
use crate::{Orb, Ref, raise};

/// Marshals the request, serves it in the caller's thread and keeps the reply,
/// so that a local call means exactly what a remote one does. `None`: oneway.
///
/// Nobody can stop the servant when the call's time is over. What the time limit
/// means is this: a call whose time is over before the servant runs does not
/// run; the servant can ask for the deadline; a result that is late is TIMEOUT,
/// COMPLETED_YES, so that the caller acts as if the object were elsewhere.
pub(crate) fn call<'a>(
    reference: &Ref,
    route: &Route,
    profile: &RouteProfile,
    timing: Timing,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    contexts: &[ServiceContext<'_>],
) -> Result<Option<Reply>, SystemException> {
    let orb: &Orb = reference.orb();
    let _running = orb.begin_local()?;
    let request = Request {
        op,
        target: route.target(profile),
        version: Version::V1_2,
        code_sets: None,
        contexts,
    };
    // Whatever the reference says about versions and code sets, both sides are us.
    let dialect = Dialect {
        giop_minor: Version::V1_2.minor,
        chars: CharSet::Utf8,
        wchars: WcharSet::Utf16,
    };
    let mut e = Encoder::new(take_buffer(), orb.options().byte_order, dialect);
    let written = write_request(&mut e, 0, &request, None, &[], args, &orb.options().limits);
    let message = e.finish();
    let mut sink = Sink::to_memory(take_buffer());
    if written.is_ok() {
        let octets = message.contiguous();
        server::dispatch_local(orb, octets, dialect, &mut sink);
    }
    put_buffer(message.into_buffer());
    written?;
    match sink.into_memory() {
        Ok(late) if timing.left(CompletionStatus::Yes).is_err() => {
            let reply = Reply::from_memory(orb, late, dialect)?;
            match reply.status() {
                // What it raised says more.
                ReplyStatus::SYSTEM_EXCEPTION => Ok(Some(reply)),
                _ => Err(raise::timeout(CompletionStatus::Yes)),
            }
        }
        Ok(reply) => Reply::from_memory(orb, reply, dialect).map(Some),
        Err(unused) => {
            put_buffer(unused);
            Ok(None)
        }
    }
}

/// Buffers a thread keeps for local calls: for a few calls within calls.
const BUFFERS: usize = 8;

/// Longest buffer a thread keeps, in octets.
const RETAIN: usize = 64 * 1024;

thread_local! {
    static POOL: RefCell<BufferPool> = RefCell::new(BufferPool::new(BUFFERS, RETAIN));
}

fn take_buffer() -> Vec<u8> {
    POOL.with_borrow_mut(|pool| pool.take(0))
}

/// Takes back the buffer of a local call's request or reply.
pub(crate) fn put_buffer(buffer: Vec<u8>) {
    POOL.with_borrow_mut(|pool| pool.put(buffer));
}
