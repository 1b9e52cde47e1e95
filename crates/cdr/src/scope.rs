use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

use crate::ValueRegistry;

/// Context that a [`Decoder`](crate::Decoder) carries for values that octets alone do not define:
/// the ORB, to which object references are bound and which knows the application's valuetypes.
pub trait Scope: Any + Send + Sync {
    /// Returns the scope in a form that outlives the message: for an [`Any`](crate::Any) with
    /// references or values in it, which is decoded later.
    fn keep(&self) -> Arc<dyn Scope>;

    /// Reserves octets of memory for values that this thread reads; returns `false` if none are
    /// left. Called in steps, and never for the first 32 KiB of a message.
    fn afford(&self, octets: usize) -> bool {
        let _ = octets;
        true
    }

    /// Returns the known valuetypes.
    fn values(&self) -> Option<&ValueRegistry> {
        None
    }
}

impl fmt::Debug for dyn Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}
