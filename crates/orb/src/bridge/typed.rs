//! Requests that are decoded and encoded again, with their references replaced.

use std::sync::Arc;

use crate::rt::current_deadline;
use crate::{Outcome, Ref, Upcall};
use oxorb_dynamic::{Exception, Invocation, Results, Signature, invoke, serve};

use crate::bridge::counts::add;
use crate::bridge::passage::{Passage, Towards};
use crate::bridge::replacing::ReferenceReplacer;
use crate::bridge::targets::hurried;

/// Passes a request of a known operation on to its target, and counts it.
pub(crate) fn rewrite(
    passage: &Arc<Passage>,
    target: &Ref,
    signature: &Signature,
    upcall: Upcall<'_>,
) -> Outcome {
    let (counts, is_oneway) = (&passage.counts, signature.oneway || !upcall.expects_reply());
    add(&counts.rewritten, 1);
    let ended = |is_answered: bool| match is_answered && is_oneway {
        true => add(&counts.oneways, 1),
        false => counts.end(is_answered),
    };
    serve(upcall, signature, |invocation| call(passage, target, invocation), ended)
}

/// Calls the target with the references in arguments and results replaced.
fn call(
    passage: &Arc<Passage>,
    target: &Ref,
    invocation: Invocation<'_>,
) -> Result<Results, Exception> {
    let mut args = invocation.args;
    let mut replacer = ReferenceReplacer::new(passage, Towards::Target);
    for (arg, param) in args.iter_mut().zip(invocation.signature.inputs()) {
        replacer.replace(arg, Some(param.ty.as_ref()))?;
    }
    let in_time;
    let target = match current_deadline() {
        None => target,
        Some(end) => {
            in_time = hurried(target, end);
            &in_time
        }
    };
    let done = invoke(target, invocation.signature, &args, &invocation.context);
    replaced(passage, invocation.signature, done)
}

/// Returns results of an operation or its exception for the client, with the references replaced.
pub(crate) fn replaced(
    passage: &Arc<Passage>,
    signature: &Signature,
    done: Result<Results, Exception>,
) -> Result<Results, Exception> {
    let mut replacer = ReferenceReplacer::new(passage, Towards::Client);
    match done {
        Ok(mut results) => {
            replacer.replace(&mut results.returns, Some(signature.returns.as_ref()))?;
            for (value, param) in results.out.iter_mut().zip(signature.outputs()) {
                replacer.replace(value, Some(param.ty.as_ref()))?;
            }
            Ok(results)
        }
        Err(Exception::User(mut user)) if passage.rules.everywhere => {
            replacer.replace(&mut user.members, Some(user.ty.as_ref()))?;
            Err(Exception::User(user))
        }
        failed => failed,
    }
}
