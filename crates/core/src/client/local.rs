//! Calls to objects of this very process: the same message, no socket.

use oxorb_cdr::{CharSet, Dialect, Encoder, WcharSet};
use oxorb_giop::{SystemException, Version};

use super::call::{Request, write_request};
use super::{Args, Reply};
use crate::op::Op;
use crate::route::{Route, RouteProfile};
use crate::server::{self, Sink};
use crate::{Orb, Ref};

/// Marshals the request, serves it in the caller's thread and keeps the reply,
/// so that a local call means exactly what a remote one does. `None`: oneway.
pub(crate) fn call<'a>(
    reference: &Ref,
    route: &Route,
    profile: &RouteProfile,
    op: &Op,
    args: Args<'_, 'a>,
) -> Result<Option<Reply>, SystemException> {
    let orb: &Orb = reference.orb();
    let request = Request {
        op,
        target: route.target(profile),
        version: Version::V1_2,
        code_sets: None,
    };
    // Whatever the reference says about versions and code sets, both sides are us.
    let dialect = Dialect {
        giop_minor: Version::V1_2.minor,
        chars: CharSet::Utf8,
        wchars: WcharSet::Utf16,
    };
    let mut e = Encoder::new(Vec::new(), orb.options().byte_order, dialect);
    write_request(&mut e, 0, &request, None, args, &orb.options().limits)?;
    let message = e.finish().to_vec();
    let mut sink = Sink::to_memory();
    server::dispatch_local(orb, &message, dialect, &mut sink);
    match sink.into_memory() {
        Some(reply) => Reply::from_memory(orb, reply, dialect).map(Some),
        None => Ok(None),
    }
}
