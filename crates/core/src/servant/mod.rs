//! Servants, which incarnate CORBA objects: the adapter that finds them, and the requests that they serve and answer.

mod adapter;
pub(crate) mod arena;
mod confined;
mod delegate;
mod elsewhere;
pub mod escape;
mod held;
mod later;
pub(crate) mod terms;
mod upcall;

pub use adapter::{Adapter, Located};
pub use arena::LentArena;
pub use confined::{NotConfined, NotOneThread};
pub use delegate::DelegatesTo;
pub use held::{DetachedReply, DetachedRequest, HeldReply};
pub use later::{Amh, ResponseHandler};
pub(crate) use terms::Times;
pub use terms::{CarriedQos, carried_qos, current_deadline, current_qos};
pub(crate) use upcall::Arrived;
pub use upcall::{Outcome, Rejected, Upcall};

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use oxorb_object::SystemException;

use crate::CurrentLane;

/// Servant as the object adapter calls it: untyped.
///
/// The IDL compiler wraps each typed servant (`impl bank::Account for Teller`) in an untyped one.
/// Implement the trait by hand to serve an interface that is not known at compile time, or to
/// forward requests.
///
/// Called by several threads at a time, hence `Sync`. Each path through
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
    /// Returns the repository id of the most derived interface, such as `IDL:bank/Account:1.0`.
    fn repository_id(&self) -> &str;

    /// Reports whether the object supports the interface `id` (`_is_a`).
    fn is_a(&self, id: &str) -> bool {
        id == self.repository_id() || id == crate::ObjectRef::ID
    }

    /// Answers a client's `_is_a`. By default, returns [`is_a`](Self::is_a). A servant that asks another server
    /// implements it, so that its client receives the exception if that server cannot be asked.
    ///
    /// # Errors
    /// The exception that the client receives instead of an answer.
    fn answer_is_a(&self, id: &str) -> Result<bool, SystemException> {
        Ok(self.is_a(id))
    }

    /// Returns a number that identifies the servant: two wrappers of one shared servant return the
    /// same number. In generated code it is the address of the typed servant.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>() as usize
    }

    /// Returns the typed handles of the servant, by which collocated stubs call it directly. For generated code.
    #[doc(hidden)]
    fn handles(&self) -> Option<&Handles> {
        None
    }

    /// Returns the lane to whose only thread the servant is confined. For the object adapter.
    #[doc(hidden)]
    fn confinement(&self) -> Option<CurrentLane> {
        None
    }

    /// Serves one request. The adapter itself answers `_is_a`, `_non_existent`, `_interface` and
    /// `_repository_id`.
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome;
}

/// Reference type of an interface, which dispatches requests to a typed servant `T`. Implemented by generated code.
#[doc(hidden)]
pub trait Dispatch<T: ?Sized>: 'static {
    /// Repository ids of the interfaces, most derived first, `CORBA::Object` last.
    const REPOSITORY_IDS: &'static [&'static str];

    /// Serves one request, as [`Servant::dispatch`] does.
    fn dispatch(servant: &T, upcall: Upcall<'_>) -> Outcome;
}

/// Wraps a typed servant in an untyped one. For generated code.
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

/// Servant that stays in one thread, as the object adapter calls it: untyped, and neither `Send` nor `Sync`.
///
/// The IDL compiler wraps each typed servant (`impl bank::AccountConfined for Teller`) in an untyped one. Implement the
/// trait by hand to serve an interface that is not known at compile time. The only thread of a lane creates, calls and
/// drops the servant.
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
    /// Returns the repository ids of the supported interfaces: the most derived one, such as `IDL:bank/Account:1.0`,
    /// then its bases. Called once, after the servant has been created.
    fn interfaces(&self) -> Vec<String>;

    /// Serves one request, as [`Servant::dispatch`](crate::Servant::dispatch) does.
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome;
}

/// Typed handles of a servant: one `Arc<dyn Interface>` for its interface and each base. For generated code.
pub type Handles = Box<[Box<dyn Any + Send + Sync>]>;

/// Returns one of the [`Handles`].
pub fn handle<S: ?Sized + Send + Sync + 'static>(servant: Arc<S>) -> Box<dyn Any + Send + Sync> {
    Box::new(servant)
}

/// Returns the [`Handles`] of a servant.
pub fn handles<const N: usize>(all: [Box<dyn Any + Send + Sync>; N]) -> Handles {
    Box::new(all)
}
