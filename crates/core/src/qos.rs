//! What a request is worth, on the server's side (RIOP, A3).

use std::cell::Cell;

use oxorb_giop::{Qos, ServiceContexts};

crate::sync::thread_local! {
    static CURRENT: Cell<Option<Qos>> = const { Cell::new(None) };
}

/// What the caller of the operation that this thread serves said about its quality of service
/// ([`RequestQos`](crate::policy::RequestQos)); `None` where it said nothing, and outside of a request. One look at a
/// thread-local.
///
/// A servant that passes a request on, a gateway say, passes this on, too (A3.8): `object.with(RequestQos(qos))`.
///
/// ```
/// assert_eq!(oxorb_core::current_qos(), None, "no request is being served here");
/// ```
pub fn current_qos() -> Option<Qos> {
    CURRENT.with(Cell::get)
}

/// Serves a request with what its contexts say for [`current_qos`].
#[inline]
pub(crate) fn within<R>(contexts: &ServiceContexts<'_>, serve: impl FnOnce() -> R) -> R {
    // A request within a request may be worth something else, or nothing.
    if contexts.is_empty() && CURRENT.with(Cell::get).is_none() {
        return serve();
    }
    let _before = Restore(CURRENT.with(|current| current.replace(Qos::of(contexts))));
    serve()
}

/// Puts that of the outer request back, also when a servant panics.
struct Restore(Option<Qos>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}
