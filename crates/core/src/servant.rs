//! Servants, which incarnate CORBA objects.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::{CurrentLane, Outcome, Upcall};

/// A servant as the object adapter sees it: untyped.
///
/// The IDL compiler wraps each typed servant (`impl bank::Account for Teller`)
/// in one of these. Implement it by hand to serve an interface that is not
/// known at compile time, or to forward requests.
///
/// Called by several threads at a time, hence `Sync`. Every way through
/// [`dispatch`](Self::dispatch) must answer, or it does not compile:
///
/// ```
/// use oxorb_core::{Outcome, Servant, Upcall};
///
/// /// `interface Echo { long long same(in long long n); };`
/// struct Echo;
///
/// impl Servant for Echo {
///     fn repository_id(&self) -> &str {
///         "IDL:demo/Echo:1.0"
///     }
///
///     fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
///         match upcall.operation() {
///             "same" => match upcall.args(|d| d.longlong()) {
///                 Ok(n) => upcall.reply(|e| {
///                     e.longlong(n);
///                     Ok(())
///                 }),
///                 Err(rejected) => upcall.reject(rejected),
///             },
///             _ => upcall.unknown_operation(),
///         }
///     }
/// }
/// ```
pub trait Servant: Send + Sync + 'static {
    /// The most derived interface, as `IDL:bank/Account:1.0`.
    fn repository_id(&self) -> &str;

    /// Whether the object supports the interface `id` (`_is_a`).
    fn is_a(&self, id: &str) -> bool {
        id == self.repository_id() || id == crate::ObjectRef::ID
    }

    /// Tells servants apart: two wrappers of one shared servant give the same
    /// number. The IDL compiler makes it the address of the typed servant.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>() as usize
    }

    /// Returns the typed handles of the servant, by which stubs of the same process call it without a message. For
    /// generated code.
    #[doc(hidden)]
    fn handles(&self) -> Option<&Handles> {
        None
    }

    /// Returns the lane to whose only thread the servant is confined. For the object adapter.
    #[doc(hidden)]
    fn confinement(&self) -> Option<CurrentLane> {
        None
    }

    /// Serves one request. `_is_a`, `_non_existent`, `_interface` and
    /// `_repository_id` never arrive here: the adapter answers them.
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome;
}

/// Reference type of an interface, by which the run time finds what serves requests to a typed servant `T` of it.
/// Implemented by generated code.
#[doc(hidden)]
pub trait Dispatch<T: ?Sized>: 'static {
    /// The interfaces, most derived first, `CORBA::Object` last.
    const REPOSITORY_IDS: &'static [&'static str];

    /// [`Servant::dispatch`].
    fn dispatch(servant: &T, upcall: Upcall<'_>) -> Outcome;
}

/// Makes the untyped servant around a typed one. For generated code.
#[doc(hidden)]
pub fn skeleton<T, R>(servant: Arc<T>, handles: Handles) -> Arc<dyn Servant>
where
    T: Send + Sync + ?Sized + 'static,
    R: Dispatch<T>,
{
    Arc::new(Skeleton::<T, R> { servant, handles, reference: PhantomData })
}

struct Skeleton<T: ?Sized, R> {
    servant: Arc<T>,
    handles: Handles,
    reference: PhantomData<fn() -> R>,
}

impl<T, R> Servant for Skeleton<T, R>
where
    T: Send + Sync + ?Sized + 'static,
    R: Dispatch<T>,
{
    fn repository_id(&self) -> &str {
        R::REPOSITORY_IDS[0]
    }

    fn is_a(&self, id: &str) -> bool {
        R::REPOSITORY_IDS.contains(&id)
    }

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.servant).cast::<()>() as usize
    }

    fn handles(&self) -> Option<&Handles> {
        Some(&self.handles)
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        R::dispatch(&self.servant, upcall)
    }
}

/// A servant that stays in one thread, as the object adapter sees it: untyped, and neither `Send` nor `Sync`.
///
/// The IDL compiler wraps each typed servant (`impl bank::AccountConfined for Teller`) in one of these. Implement it by
/// hand to serve an interface that is not known at compile time. Made, called and dropped by the only thread of a lane.
///
/// ```
/// use std::cell::Cell;
///
/// use oxorb_core::{ConfinedServant, Outcome, Upcall};
///
/// /// `interface Counter { long long next(); };`
/// struct Counter(Cell<i64>);
///
/// impl ConfinedServant for Counter {
///     fn interfaces(&self) -> Vec<String> {
///         vec!["IDL:demo/Counter:1.0".to_owned()]
///     }
///
///     fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
///         match upcall.operation() {
///             "next" => {
///                 self.0.set(self.0.get() + 1);
///                 upcall.reply(|e| {
///                     e.longlong(self.0.get());
///                     Ok(())
///                 })
///             }
///             _ => upcall.unknown_operation(),
///         }
///     }
/// }
/// ```
pub trait ConfinedServant: 'static {
    /// Returns the interfaces that the object supports, as `IDL:bank/Account:1.0`: the most derived one, then its bases.
    /// Asked once, when the servant has been made.
    fn interfaces(&self) -> Vec<String>;

    /// Serves one request, as [`Servant::dispatch`](crate::Servant::dispatch) does.
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome;
}

/// The typed handles of a servant: one `Arc<dyn Interface>` for its interface and each base. For generated code.
pub type Handles = Box<[Box<dyn Any + Send + Sync>]>;

/// Makes one of the [`Handles`].
pub fn handle<S: ?Sized + Send + Sync + 'static>(servant: Arc<S>) -> Box<dyn Any + Send + Sync> {
    Box::new(servant)
}

/// Makes [`Handles`].
pub fn handles<const N: usize>(all: [Box<dyn Any + Send + Sync>; N]) -> Handles {
    Box::new(all)
}
