//! Priority and deadline, which GIOP carries in service contexts.

use oxorb_giop::{RequestHeader, Terms};
use oxorb_object::contexts::Priority;
use oxorb_object::{PolicyValues, ServiceContext, context_id, policy_type, time_value};

/// Service contexts that the header carries instead, by their indices in the list.
#[derive(Clone, Copy, Default)]
pub(super) struct Carried {
    priority: Option<usize>,
    deadline: Option<usize>,
}

impl Carried {
    /// Returns the number of these contexts.
    pub(super) fn count(&self) -> usize {
        usize::from(self.priority.is_some()) + usize::from(self.deadline.is_some())
    }

    /// Reports whether the context at an index is one of these terms.
    pub(super) fn is(&self, at: usize) -> bool {
        Some(at) == self.priority || Some(at) == self.deadline
    }
}

/// Returns priority and deadline of a request, and the contexts that contain nothing else.
pub(super) fn of(request: &RequestHeader<'_>) -> (Terms, Carried) {
    let mut terms = request.terms.unwrap_or_default();
    let mut carried = Carried::default();
    for (at, context) in request.contexts.iter().enumerate() {
        match context.id {
            context_id::RT_CORBA_PRIORITY if terms.priority.is_none() => {
                terms.priority = priority(context);
                carried.priority = terms.priority.map(|_| at);
            }
            context_id::INVOCATION_POLICIES if terms.within.is_none() => {
                terms.within = round_trip(context);
                carried.deadline = terms.within.map(|_| at);
            }
            _ => {}
        }
    }
    (terms, carried)
}

fn priority(context: &ServiceContext<'_>) -> Option<i16> {
    let priority = Priority::parse(context.data).ok()?.0;
    (priority >= 0).then_some(priority)
}

/// Returns the time limit of the reply from policies that contain exactly this limit.
fn round_trip(context: &ServiceContext<'_>) -> Option<u64> {
    let mut policies = PolicyValues::parse(context.data).ok()?;
    let (kind, value) = policies.next()?.ok()?;
    let alone = kind == policy_type::RELATIVE_ROUNDTRIP_TIMEOUT && policies.next().is_none();
    let units = time_value(value).ok().filter(|_| alone)?;
    // The limit is sent in nanoseconds. If it overflows there, leave it in its service context.
    units.checked_mul(super::request::UNIT).map(|_| units)
}
