//! Behaviour of values: from a handle of any base type, finds the trait that the actual type or one
//! of its bases implements.
//!
//! The application implements a trait that was generated alongside the state. A handle knows only
//! at run time which state it has, so the state provides its views by the `TypeId` of `dyn Trait`.
//! This needs no registry and no unsafe code: the lookup returns a constant that contains
//! functions.

use core::any::{Any, TypeId};
use core::fmt;

use super::{Value, Valuetype};

/// View of a state, or of the state of one of its bases, as `dyn Trait`. Generated code creates one
/// for each trait that a state implements.
#[doc(hidden)]
pub struct Behaviour<Tr: ?Sized + 'static> {
    of: fn() -> TypeId,
    shared: fn(&dyn Any) -> Option<&Tr>,
    exclusive: fn(&mut dyn Any) -> Option<&mut Tr>,
}

impl<Tr: ?Sized> Behaviour<Tr> {
    /// Creates a view; `of` returns the id of the type that implements the trait, the other
    /// functions convert it.
    pub const fn new(
        of: fn() -> TypeId,
        shared: fn(&dyn Any) -> Option<&Tr>,
        exclusive: fn(&mut dyn Any) -> Option<&mut Tr>,
    ) -> Self {
        Self { of, shared, exclusive }
    }
}

impl<Tr: ?Sized> fmt::Debug for Behaviour<Tr> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Behaviour")
    }
}

/// Function that returns the [`Behaviour`] of a state as the trait whose `dyn Trait` has an id.
pub(super) type Find = fn(TypeId) -> Option<&'static dyn Any>;

/// Returns the first behaviour found: a type's own implementation precedes that of its base.
#[doc(hidden)]
pub fn first_behaviour(id: TypeId, places: &[Find]) -> Option<&'static dyn Any> {
    places.iter().find_map(|find| find(id))
}

/// Fallback for states that do not implement a trait.
///
/// Generated code calls `Behaviour::<T>::find`, with this trait in scope: the compiler prefers
/// inherent functions, and that one exists only if `T` implements the trait (as for
/// [`NotByHand`](super::NotByHand)).
#[doc(hidden)]
pub trait NoBehaviour {
    /// Returns `None`.
    fn find(_: TypeId) -> Option<&'static dyn Any> {
        None
    }
}

impl<T: Valuetype> Value<T> {
    /// Returns the value as a trait, if its actual type or a base of it implements the trait.
    #[doc(hidden)]
    pub fn behaviour<Tr: ?Sized + 'static>(&self) -> Option<&Tr> {
        let found = self.instance.behaviour(TypeId::of::<Tr>())?;
        let behaviour: &Behaviour<Tr> = found.downcast_ref()?;
        (behaviour.shared)(self.instance.part((behaviour.of)())?)
    }

    /// Returns the behaviour for modification of the value: see [`make_mut`](Value::make_mut).
    #[doc(hidden)]
    pub fn behaviour_mut<Tr: ?Sized + 'static>(&mut self) -> Option<&mut Tr> {
        let found = self.instance.behaviour(TypeId::of::<Tr>())?;
        let behaviour: &Behaviour<Tr> = found.downcast_ref()?;
        (behaviour.exclusive)(self.exclusive()?.part_mut((behaviour.of)())?)
    }
}
