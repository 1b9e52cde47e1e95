//! An object of the bridge.

use std::cell::Cell;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::ior::Ior;
use crate::rt::PriorityModel;
use crate::values::ByteOrder;
use crate::{CompletionStatus, Outcome, Ref, Servant, SystemException, Upcall, minor};
use oxorb_cdr::{Encode as _, Relayed};
use oxorb_core::{Answered, Op, Operation};

use crate::bridge::Inner;
use crate::bridge::counts::add;
use crate::bridge::interfaces::Known;
use crate::bridge::typed;

static TWOWAY: Op = Op::twoway("");
static ONEWAY: Op = Op::oneway("");

/// Time limit for a target's answer to `_is_a`.
const IS_A: Duration = Duration::from_secs(10);

/// Servant that passes requests on to one target.
pub(crate) struct Forwarder {
    bridge: Weak<Inner>,
    type_id: String,
    /// Reference for requests in this machine's byte order.
    native: Ref,
    /// Reference for requests in the opposite byte order.
    foreign: Ref,
}

impl Forwarder {
    pub(crate) fn new(bridge: &Arc<Inner>, target: &Ior) -> Forwarder {
        Forwarder {
            bridge: Arc::downgrade(bridge),
            type_id: target.type_id.clone(),
            native: Ref::new(&bridge.orb, target.clone()),
            foreign: Ref::new(&bridge.foreign, target.clone()),
        }
    }

    /// Returns the priority model of the target's reference.
    pub(crate) fn priority_model(&self) -> Option<PriorityModel> {
        Some(self.native.priority_model()?.model)
    }

    /// Passes a request on.
    fn pass(&self, bridge: &Arc<Inner>, mut upcall: Upcall<'_>, known: Option<&Known>) -> Outcome {
        let values = match upcall.args(Relayed::rest) {
            Ok(values) => values,
            Err(rejected) => {
                add(&bridge.counts.failed, 1);
                return upcall.reject(rejected);
            }
        };
        add(&bridge.counts.octets, values.octets().len() as u64);
        // Keep this thread at the caller's priority until the target has answered, so that the request to the target
        // carries that priority.
        let _raised = match upcall.priority() {
            Ok(priority) => priority.and_then(|it| bridge.orb.raise_thread(it).ok()),
            Err(malformed) => {
                add(&bridge.counts.failed, 1);
                return upcall.fail(malformed);
            }
        };
        let target = match values.order() != ByteOrder::NATIVE {
            false => &self.native,
            true => &self.foreign,
        };
        let hurried;
        let target = match upcall.deadline() {
            None => target,
            Some(end) => {
                hurried = target.with_timeout(end.saturating_duration_since(Instant::now()));
                &hurried
            }
        };
        let passed = match upcall.expects_reply() {
            true => call(bridge, target, upcall, &values, known),
            false => send(bridge, target, upcall, &values),
        };
        match (passed, known) {
            (Ok(outcome), _) => outcome,
            (Err((upcall, exception)), Some(known)) if exception == NOT_ALIKE => {
                typed::rewrite(bridge, &self.native, &known.signature, upcall)
            }
            (Err((upcall, exception)), _) => {
                add(&bridge.counts.failed, 1);
                upcall.fail(exception)
            }
        }
    }
}

/// Request that was not passed on, and the exception to raise for it.
type NotPassed<'r> = (Upcall<'r>, SystemException);

fn call<'r>(
    bridge: &Inner,
    target: &Ref,
    upcall: Upcall<'r>,
    values: &Relayed<'r>,
    known: Option<&Known>,
) -> Result<Outcome, NotPassed<'r>> {
    let operation = Operation { name: upcall.operation(), ..Operation::from(&TWOWAY) };
    let mut upcall = Some(upcall);
    let called = target.invoke_dynamic(
        operation,
        |e| values.encode(e),
        |answered| upcall.take().map(|upcall| answer(bridge, upcall, answered, known)),
    );
    match (called, upcall) {
        (Ok(Some(outcome)), _) => Ok(outcome),
        (Err(exception), Some(upcall)) => Err((upcall, exception)),
        (Ok(None) | Err(_), _) => unreachable!("an answer is read once, and no exception is one"),
    }
}

fn answer(
    bridge: &Inner,
    upcall: Upcall<'_>,
    answered: Answered<'_>,
    known: Option<&Known>,
) -> Outcome {
    let counts = &bridge.counts;
    // Each request is counted before its answer is sent, so that the client that has the answer finds it counted.
    match (upcall.pass_on(answered, || counts.end(true)), known) {
        (Ok(outcome), _) => outcome,
        (Err((upcall, answered)), Some(known)) => {
            add(&counts.rewritten, 1);
            oxorb_dynamic::answer(upcall, &known.signature, answered, |it| counts.end(it))
        }
        (Err((upcall, _)), None) => {
            counts.end(false);
            upcall.fail(SystemException { completed: CompletionStatus::Yes, ..NOT_ALIKE })
        }
    }
}

fn send<'r>(
    bridge: &Inner,
    target: &Ref,
    upcall: Upcall<'r>,
    values: &Relayed<'r>,
) -> Result<Outcome, NotPassed<'r>> {
    let operation = Operation { name: upcall.operation(), ..Operation::from(&ONEWAY) };
    match target.send_dynamic(operation, |e| values.encode(e)) {
        Ok(()) => {
            add(&bridge.counts.oneways, 1);
            Ok(upcall.done())
        }
        Err(exception) => Err((upcall, exception)),
    }
}

impl Servant for Forwarder {
    fn repository_id(&self) -> &str {
        &self.type_id
    }

    fn is_a(&self, id: &str) -> bool {
        self.native.with_timeout(IS_A).is_a(id).unwrap_or(false)
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let Some(bridge) = self.bridge.upgrade() else {
            return upcall.fail(GONE);
        };
        let Some(_within) = Within::enter() else {
            add(&bridge.counts.failed, 1);
            return upcall.fail(LOOP);
        };
        let known = bridge.interfaces.operation(&self.type_id, upcall.operation());
        match known {
            Some(known) if known.references => {
                typed::rewrite(&bridge, &self.native, &known.signature, upcall)
            }
            known => self.pass(&bridge, upcall, known),
        }
    }
}

thread_local! {
    static DEPTH: Cell<u8> = const { Cell::new(0) };
}

/// Maximum number of nested requests that one thread passes on. Without it, a target that is, or forwards to, an object
/// of the bridge itself would recurse until the stack overflows.
const DEEPEST: u8 = 16;

/// Guard of a request that the thread is passing on.
struct Within;

impl Within {
    fn enter() -> Option<Within> {
        let depth = DEPTH.get();
        (depth < DEEPEST).then(|| {
            DEPTH.set(depth + 1);
            Within
        })
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

const LOOP: SystemException =
    SystemException::transient(minor::transient::FORWARD_LOOP, CompletionStatus::No);

/// Exception for values whose octets cannot be copied into the other message. Arguments are checked before anything is
/// sent, hence COMPLETED_NO.
const NOT_ALIKE: SystemException =
    SystemException::marshal(minor::marshal::NOT_ALIKE, CompletionStatus::No);

/// Exception for requests that cannot be passed on because the bridge is being shut down.
pub(crate) const GONE: SystemException =
    SystemException::transient(minor::transient::CONNECTION_CLOSED, CompletionStatus::No);
