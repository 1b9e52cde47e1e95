//! Custom valuetypes, whose state the application marshals itself.

use core::marker::PhantomData;

use crate::{Decoder, Encoder, ErrorKind, Result};

/// Marshalling of a `custom` valuetype's state by the application (`CORBA::CustomMarshal`).
///
/// The crate that includes the generated code implements it for the struct. Without it the code
/// compiles, but sending or receiving such a value is an error, [`ErrorKind::NoCustomMarshal`].
///
/// Custom values are always chunked, so a receiver that reads less than was written still finds the
/// end of the value.
pub trait CustomMarshal: Sized {
    /// Writes the state.
    fn marshal(&self, e: &mut Encoder<'_>) -> Result<()>;

    /// Reads the state that [`marshal`](Self::marshal) wrote. Links to values that are still being
    /// read return `None`.
    fn unmarshal(d: &mut Decoder<'_>) -> Result<Self>;
}

/// Marshalling of a custom valuetype: by its [`CustomMarshal`] if it has one, else by
/// [`NotByHand`].
///
/// Generated code calls `ByHand::<T>::marshal`, with [`NotByHand`] in scope. The compiler prefers
/// inherent functions to those of traits, and the inherent one exists only if `T` has a
/// `CustomMarshal`: the choice is made at compile time, without a registry.
#[doc(hidden)]
pub struct ByHand<T>(PhantomData<T>);

impl<T: CustomMarshal> ByHand<T> {
    /// Writes the state.
    pub fn marshal(state: &T, e: &mut Encoder<'_>) -> Result<()> {
        state.marshal(e)
    }

    /// Reads the state.
    pub fn unmarshal(d: &mut Decoder<'_>) -> Result<T> {
        T::unmarshal(d)
    }
}

/// Fallback for custom valuetypes without a [`CustomMarshal`].
#[doc(hidden)]
pub trait NotByHand<T> {
    /// Returns an error.
    fn marshal(_: &T, e: &mut Encoder<'_>) -> Result<()> {
        Err(e.error(ErrorKind::NoCustomMarshal))
    }

    /// Returns an error.
    fn unmarshal(d: &mut Decoder<'_>) -> Result<T> {
        Err(d.error(ErrorKind::NoCustomMarshal))
    }
}

impl<T> NotByHand<T> for ByHand<T> {}
