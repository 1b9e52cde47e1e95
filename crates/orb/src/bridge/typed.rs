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
    for arg in &mut args {
        replacer.replace(arg)?;
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
    replaced(passage, done)
}

/// Returns results or an exception for the client, with the references replaced.
pub(crate) fn replaced(
    passage: &Arc<Passage>,
    done: Result<Results, Exception>,
) -> Result<Results, Exception> {
    let mut replacer = ReferenceReplacer::new(passage, Towards::Client);
    match done {
        Ok(mut results) => {
            for value in std::iter::once(&mut results.returns).chain(&mut results.out) {
                replacer.replace(value)?;
            }
            Ok(results)
        }
        Err(Exception::User(mut user)) if passage.rules.everywhere => {
            replacer.replace(&mut user.members)?;
            Err(Exception::User(user))
        }
        failed => failed,
    }
}
