//! An object of the bridge.

use std::cell::Cell;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::ior::Ior;
use crate::rt::PriorityModel;
use crate::values::ByteOrder;
use crate::{CompletionStatus, Outcome, Ref, Servant, SystemException, Upcall, minor};
use oxorb_cdr::{Encode as _, Relayed};
use oxorb_core::{Op, Operation, RawReply};

use crate::bridge::activity::ObjectActivity;
use crate::bridge::counts::add;
use crate::bridge::interfaces::Known;
use crate::bridge::passage::{Passage, Towards};
use crate::bridge::search::Place;
use crate::bridge::targets::hurried;
use crate::bridge::typed;

static TWOWAY: Op = Op::twoway("");
static ONEWAY: Op = Op::oneway("");

/// Time limit for a target's answer to `_is_a`.
const IS_A: Duration = Duration::from_secs(10);

/// Servant that passes requests on to one target.
pub(crate) struct Forwarder {
    passage: Weak<Passage>,
    type_id: String,
    /// Reference for requests in this machine's byte order.
    native: Ref,
    /// Reference for requests in the opposite byte order.
    foreign: Ref,
    activity: Arc<ObjectActivity>,
}

impl Forwarder {
    pub(crate) fn new(passage: &Arc<Passage>, target: &Ior) -> Forwarder {
        Forwarder {
            passage: Arc::downgrade(passage),
            type_id: target.type_id.clone(),
            native: Ref::new(&passage.orb, target.clone()).forwarding(),
            foreign: Ref::new(&passage.foreign, target.clone()).forwarding(),
            activity: Arc::default(),
        }
    }

    /// Returns the use of this object.
    #[cfg(feature = "gateway")]
    pub(crate) fn activity(&self) -> &Arc<ObjectActivity> {
        &self.activity
    }

    /// Returns the priority model of the target's reference.
    pub(crate) fn priority_model(&self) -> Option<PriorityModel> {
        Some(self.native.priority_model()?.model)
    }

    /// Passes a request on with its values decoded.
    fn rewrite(&self, passage: &Arc<Passage>, known: &Known, upcall: Upcall<'_>) -> Outcome {
        let signature = &known.signature;
        if upcall.expects_reply() || signature.oneway {
            return typed::rewrite(passage, &self.native, signature, upcall);
        }
        // The client waits for no reply, and may disconnect before the target has run the request.
        let lasting = Ref::new(&passage.orb, self.native.ior().clone());
        typed::rewrite(passage, &lasting, signature, upcall)
    }

    /// Passes a request on.
    fn pass(
        &self,
        passage: &Arc<Passage>,
        mut upcall: Upcall<'_>,
        known: Option<&Known>,
    ) -> Outcome {
        let counts = &passage.counts;
        let (place, values) = match upcall.args(|d| Ok((Place::of(d), Relayed::rest(d)?))) {
            Ok(read) => read,
            Err(rejected) => {
                add(&counts.failed, 1);
                return upcall.reject(rejected);
            }
        };
        let replaced;
        let values = match is_searched(passage, known) && place.has_references(values.octets()) {
            false => values,
            true => {
                if let Some(known) = known {
                    return self.rewrite(passage, known, upcall);
                }
                match replace(passage, place, values.octets(), Towards::Target) {
                    Ok(octets) => replaced = octets,
                    Err(exception) => {
                        add(&counts.failed, 1);
                        return upcall.fail(exception);
                    }
                }
                Relayed::rest(&mut place.decoder(&replaced)).expect("a vector is contiguous")
            }
        };
        let values = relaxed(values, known);
        add(&counts.octets, values.octets().len() as u64);
        // Keep this thread at the caller's priority until the target has answered, so that the request to the target
        // carries that priority.
        let _raised = match upcall.priority() {
            Ok(priority) => priority.and_then(|it| passage.orb.raise_thread(it).ok()),
            Err(malformed) => {
                add(&counts.failed, 1);
                return upcall.fail(malformed);
            }
        };
        let target = match values.order() != ByteOrder::NATIVE {
            false => &self.native,
            true => &self.foreign,
        };
        let in_time;
        let target = match upcall.deadline() {
            None => target,
            Some(end) => {
                in_time = hurried(target, end);
                &in_time
            }
        };
        let passed = match upcall.expects_reply() {
            true => call(passage, target, upcall, &values, known),
            false => send(passage, target, upcall, &values),
        };
        match (passed, known) {
            (Ok(outcome), _) => outcome,
            (Err((upcall, exception)), Some(known)) if exception == NOT_ALIKE => {
                self.rewrite(passage, known, upcall)
            }
            (Err((upcall, exception)), _) => {
                add(&counts.failed, 1);
                upcall.fail(exception)
            }
        }
    }
}

/// Reports whether the octets of an operation are searched for references.
fn is_searched(passage: &Passage, known: Option<&Known>) -> bool {
    passage.rules.everywhere && known.is_none_or(|known| known.searched)
}

/// Allows values without wide text in messages without a code set for wide text. Values of unknown types are allowed
/// there, too: OxORB and omniORB reject wide text in such messages.
fn relaxed<'d>(values: Relayed<'d>, known: Option<&Known>) -> Relayed<'d> {
    match known {
        Some(known) if known.wide => values,
        _ => values.allowing_no_wide_set(),
    }
}

/// Replaces the references in values of unknown types, and counts that.
fn replace(
    passage: &Arc<Passage>,
    place: Place,
    octets: &[u8],
    towards: Towards,
) -> Result<Vec<u8>, SystemException> {
    add(&passage.counts.rewritten, 1);
    let limit = passage.orb.options().limits.max_message;
    // The octets do not tell which interface the type of a reference declares.
    let counterpart = |ior: &Ior| passage.counterparts.counterpart(passage, ior, None, towards);
    place.replace(octets, limit, towards.completed(), counterpart)
}

/// Returns the operation of a request that carries `values` unchanged.
fn operation<'r>(of: &'static Op, upcall: &Upcall<'r>, values: &Relayed<'_>) -> Operation<'r> {
    let arguments_at = (!values.octets().is_empty()).then(|| values.offset());
    Operation { name: upcall.operation(), arguments_at, ..Operation::from(of) }
}

/// Request that was not passed on, and the exception to raise for it.
type NotPassed<'r> = (Upcall<'r>, SystemException);

fn call<'r>(
    passage: &Arc<Passage>,
    target: &Ref,
    upcall: Upcall<'r>,
    values: &Relayed<'_>,
    known: Option<&Known>,
) -> Result<Outcome, NotPassed<'r>> {
    let operation = operation(&TWOWAY, &upcall, values);
    let mut upcall = Some(upcall);
    let called = target.invoke_dynamic(
        operation,
        |e| values.encode(e),
        |answered| upcall.take().map(|upcall| answer(passage, upcall, answered, known)),
    );
    match (called, upcall) {
        (Ok(Some(outcome)), _) => Ok(outcome),
        (Err(exception), Some(upcall)) => Err((upcall, exception)),
        (Ok(None) | Err(_), _) => unreachable!("an answer is read once, and no exception is one"),
    }
}

fn answer(
    passage: &Arc<Passage>,
    upcall: Upcall<'_>,
    answered: RawReply<'_>,
    known: Option<&Known>,
) -> Outcome {
    let (RawReply::Results(d) | RawReply::Exception(d)) = &answered;
    let place = Place::of(d);
    let values = match is_searched(passage, known) {
        false => None,
        true => Relayed::rest(&mut d.clone()).ok(),
    };
    let Some(values) = values.filter(|values| place.has_references(values.octets())) else {
        return answer_unchanged(passage, upcall, answered, known);
    };
    if let Some(known) = known {
        return answer_decoded(passage, upcall, answered, known);
    }
    match replace(passage, place, values.octets(), Towards::Client) {
        Ok(octets) => {
            let d = place.decoder(&octets);
            let answered = match answered {
                RawReply::Results(_) => RawReply::Results(d),
                RawReply::Exception(_) => RawReply::Exception(d),
            };
            answer_unchanged(passage, upcall, answered, None)
        }
        Err(exception) => {
            passage.counts.end(false);
            upcall.fail(exception)
        }
    }
}

/// Answers with the octets of the target's answer, if they can be copied.
fn answer_unchanged(
    passage: &Arc<Passage>,
    upcall: Upcall<'_>,
    answered: RawReply<'_>,
    known: Option<&Known>,
) -> Outcome {
    let counts = &passage.counts;
    // Each request is counted before its answer is sent, so that the client that has the answer finds it counted.
    let passed = upcall.pass_on(answered, |values| relaxed(values, known), || counts.end(true));
    match (passed, known) {
        (Ok(outcome), _) => outcome,
        (Err((upcall, answered)), Some(known)) => answer_decoded(passage, upcall, answered, known),
        (Err((upcall, _)), None) => {
            counts.end(false);
            upcall.fail(SystemException { completed: CompletionStatus::Yes, ..NOT_ALIKE })
        }
    }
}

/// Answers with the values of the target's answer, with the references replaced.
fn answer_decoded(
    passage: &Arc<Passage>,
    upcall: Upcall<'_>,
    answered: RawReply<'_>,
    known: &Known,
) -> Outcome {
    let counts = &passage.counts;
    add(&counts.rewritten, 1);
    let signature = &known.signature;
    let change = |done| typed::replaced(passage, signature, done);
    oxorb_dynamic::answer_changed(upcall, signature, answered, change, |it| counts.end(it))
}

fn send<'r>(
    passage: &Passage,
    target: &Ref,
    upcall: Upcall<'r>,
    values: &Relayed<'_>,
) -> Result<Outcome, NotPassed<'r>> {
    let operation = operation(&ONEWAY, &upcall, values);
    match target.send_dynamic(operation, |e| values.encode(e)) {
        Ok(()) => {
            add(&passage.counts.oneways, 1);
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
        self.answer_is_a(id).unwrap_or(false)
    }

    fn answer_is_a(&self, id: &str) -> Result<bool, SystemException> {
        let _running = self.activity.enter();
        let passage = self.passage.upgrade().ok_or(GONE)?;
        if !passage.may_be_narrowed_to(id) {
            return Ok(false);
        }
        let answered = self.native.with_timeout(IS_A).is_a(id);
        answered.inspect_err(|_| add(&passage.counts.failed, 1))
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let Some(passage) = self.passage.upgrade() else {
            return upcall.fail(GONE);
        };
        let Some(_within) = Within::enter() else {
            add(&passage.counts.failed, 1);
            return upcall.fail(LOOP);
        };
        let _running = self.activity.enter();
        let Passage { rules, interfaces, ambiguous, .. } = &*passage;
        let is_decoded = |known: &Known| match rules.everywhere {
            // The search misses some forms of text, and whoever refuses unknown types does not rely on the search.
            true => known.is_decoded() || rules.known_only && known.searched,
            false => known.references,
        };
        let known = interfaces.operation(&self.type_id, upcall.operation());
        match known.filter(|_| !ambiguous.contains(upcall.operation())) {
            Some(known) if is_decoded(known) => self.rewrite(&passage, known, upcall),
            None if rules.known_only => {
                add(&passage.counts.failed, 1);
                let why = || {
                    let operation = upcall.operation();
                    format!("{operation} of {:?}: the IDL does not declare its types", self.type_id)
                };
                upcall.orb().note_not_passed(|| upcall.peer().to_string(), why);
                upcall.fail(UNKNOWN_TYPES)
            }
            known => self.pass(&passage, upcall, known),
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

const UNKNOWN_TYPES: SystemException =
    SystemException::no_permission(minor::no_permission::UNKNOWN_TYPES, CompletionStatus::No);

/// Exception for requests that cannot be passed on because the bridge is being shut down.
pub(crate) const GONE: SystemException =
    SystemException::transient(minor::transient::CONNECTION_CLOSED, CompletionStatus::No);
