//! Requests that are decoded and encoded again, with their references replaced.

use std::sync::Arc;
use std::time::Instant;

use crate::rt::current_deadline;
use crate::{CompletionStatus, Outcome, Ref, Upcall};
use oxorb_dynamic::{Exception, Invocation, Results, Signature, invoke, serve};

use crate::bridge::Inner;
use crate::bridge::counts::add;

/// Passes a request of a known operation on to its target, and counts it.
pub(crate) fn rewrite(
    bridge: &Arc<Inner>,
    target: &Ref,
    signature: &Signature,
    upcall: Upcall<'_>,
) -> Outcome {
    let (counts, is_oneway) = (&bridge.counts, signature.oneway || !upcall.expects_reply());
    add(&counts.rewritten, 1);
    let ended = |is_answered: bool| match is_answered && is_oneway {
        true => add(&counts.oneways, 1),
        false => counts.end(is_answered),
    };
    serve(upcall, signature, |invocation| call(bridge, target, invocation), ended)
}

/// Calls the target with the references in arguments and results replaced.
fn call(
    bridge: &Arc<Inner>,
    target: &Ref,
    invocation: Invocation<'_>,
) -> Result<Results, Exception> {
    let mut args = invocation.args;
    for arg in &mut args {
        bridge.rewrite(arg, CompletionStatus::No)?;
    }
    let hurried;
    let target = match current_deadline() {
        None => target,
        Some(end) => {
            hurried = target.with_timeout(end.saturating_duration_since(Instant::now()));
            &hurried
        }
    };
    let mut results = invoke(target, invocation.signature, &args, &invocation.context)?;
    bridge.rewrite(&mut results.returns, CompletionStatus::Yes)?;
    for out in &mut results.out {
        bridge.rewrite(out, CompletionStatus::Yes)?;
    }
    Ok(results)
}
