//! Quality of service of the request that a thread serves (RIOP).

use std::cell::Cell;
use std::time::{Duration, Instant};

use oxorb_object::{CommunicationClass, Qos, ServiceContexts};
use oxorb_rt::Priority;

crate::sync::thread_local! {
    static CURRENT: Cell<Option<Served>> = const { Cell::new(None) };
    /// Class of `CURRENT`; `None` where that is. Calls look here, most of which are made outside of such requests.
    static CLASS: Cell<Option<CommunicationClass>> = const { Cell::new(None) };
}

/// A request that said something.
#[derive(Clone, Copy)]
struct Served {
    qos: Qos,
    since: Instant,
}

/// Least deadline that travels: 0 would mean that there is none.
const SOONEST: Duration = Duration::from_nanos(100);

/// Returns what the caller of the operation that this thread serves said about its quality of service
/// ([`RequestQos`](crate::policy::RequestQos)); `None` where it said nothing, and outside of a request. One look at a
/// thread-local.
///
/// Calls that the servant makes in this thread carry it on, unless a policy says otherwise for them: with what is left of
/// the deadline, and the priority at which they are made. A servant that answers later, from another thread, sets it there
/// itself: `object.with(RequestQos(qos))`.
///
/// ```
/// assert_eq!(oxorb_core::current_qos(), None, "no request is being served here");
/// ```
pub fn current_qos() -> Option<Qos> {
    Some(CURRENT.with(Cell::get)?.qos)
}

/// Returns the communication class that calls of this thread inherit; `None`: nothing is inherited.
#[inline]
pub(crate) fn inherited_class() -> Option<CommunicationClass> {
    CLASS.with(Cell::get)
}

/// Returns the quality of service that a call of this thread inherits from the request being served. `travels`: the
/// priority of the call, where the object wants to know it.
#[cold]
pub(crate) fn inherited(travels: Option<Priority>) -> Option<Qos> {
    let Served { qos, since } = CURRENT.with(Cell::get)?;
    let left = |limit: Duration| limit.saturating_sub(since.elapsed()).max(SOONEST);
    Some(Qos {
        deadline: qos.deadline.map(left),
        priority: travels.map(Priority::get).or(qos.priority),
        ..qos
    })
}

/// Serves a request with what its contexts say for [`current_qos`].
#[inline]
pub(crate) fn within<R>(contexts: &ServiceContexts<'_>, serve: impl FnOnce() -> R) -> R {
    // A request within a request may be worth something else, or nothing.
    if contexts.is_empty() && inherited_class().is_none() {
        return serve();
    }
    let served = Qos::of(contexts).map(|qos| Served {
        qos,
        since: Instant::now(),
    });
    let _before = Restore(replace(served));
    serve()
}

fn replace(served: Option<Served>) -> Option<Served> {
    CLASS.with(|class| class.set(served.map(|served| served.qos.class)));
    CURRENT.with(|current| current.replace(served))
}

/// Puts that of the outer request back, also when a servant panics.
struct Restore(Option<Served>);

impl Drop for Restore {
    fn drop(&mut self) {
        replace(self.0);
    }
}
