//! Requests that are decoded and encoded again, with their references replaced.

use std::sync::{Arc, Weak};
use std::time::Instant;

use crate::rt::current_deadline;
use crate::{CompletionStatus, Ref};
use oxorb_dynamic::{DynamicServant, Exception, Invocation, Results, Signature, invoke};

use crate::bridge::Inner;
use crate::bridge::counts::add;
use crate::bridge::forwarder::GONE;
use crate::bridge::interfaces::Interfaces;

/// Dynamic servant that calls one target and replaces references.
pub(crate) struct Typed {
    pub(crate) bridge: Weak<Inner>,
    pub(crate) interfaces: Arc<Interfaces>,
    pub(crate) type_id: String,
    pub(crate) target: Ref,
}

impl Typed {
    fn call(&self, bridge: &Arc<Inner>, invocation: Invocation<'_>) -> Result<Results, Exception> {
        let mut args = invocation.args;
        for arg in &mut args {
            bridge.rewrite(arg, CompletionStatus::No)?;
        }
        let hurried;
        let target = match current_deadline() {
            None => &self.target,
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                hurried = self.target.with_timeout(left);
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
}

impl DynamicServant for Typed {
    fn repository_id(&self) -> &str {
        &self.type_id
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        let known = self.interfaces.operation(&self.type_id, operation)?;
        Some(&known.signature)
    }

    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception> {
        let bridge = self.bridge.upgrade().ok_or(GONE)?;
        let oneway = invocation.signature.oneway;
        let done = self.call(&bridge, invocation);
        let counts = &bridge.counts;
        match &done {
            Ok(_) if oneway => add(&counts.oneways, 1),
            Ok(_) | Err(Exception::User(_)) => add(&counts.answered, 1),
            Err(_) => add(&counts.failed, 1),
        }
        done
    }
}
