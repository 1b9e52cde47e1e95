//! Custom valuetypes, whose state the application writes and reads by hand, or not at all.

use core::marker::PhantomData;

use crate::{Decoder, Encoder, ErrorKind, Result};

/// Octets that a `custom` valuetype puts on the wire instead of its members
/// (`CORBA::CustomMarshal`).
///
/// Whoever includes the generated code implements it for the struct, in the same crate. Without it the code compiles, and
/// sending or receiving such a value is an error, [`ErrorKind::NoCustomMarshal`].
///
/// Its values are always chunked, so a receiver that reads less than was written is in step again after the value.
pub trait CustomMarshal: Sized {
    /// Writes the state.
    fn marshal(&self, e: &mut Encoder<'_>) -> Result<()>;

    /// Reads what [`marshal`](Self::marshal) wrote. Links to values that are still being read give `None`.
    fn unmarshal(d: &mut Decoder<'_>) -> Result<Self>;
}

/// The marshalling of a custom valuetype: by its [`CustomMarshal`] if it has one, else by [`NotByHand`].
///
/// Generated code names `ByHand::<T>::marshal`, with [`NotByHand`] in scope. The compiler takes what is inherent before what
/// is a trait's, and what is inherent is there only if `T` has a `CustomMarshal`: so it is decided without a registry,
/// when the code is compiled.
#[doc(hidden)]
pub struct ByHand<T>(PhantomData<T>);

impl<T: CustomMarshal> ByHand<T> {
    /// Writes the state.
    pub fn marshal(state: &T, e: &mut Encoder<'_>) -> Result<()> {
        state.marshal(e)
    }

    /// Reads it.
    pub fn unmarshal(d: &mut Decoder<'_>) -> Result<T> {
        T::unmarshal(d)
    }
}

/// Fallback for custom valuetypes without a [`CustomMarshal`].
#[doc(hidden)]
pub trait NotByHand<T> {
    /// An error.
    fn marshal(_: &T, e: &mut Encoder<'_>) -> Result<()> {
        Err(e.error(ErrorKind::NoCustomMarshal))
    }

    /// An error.
    fn unmarshal(d: &mut Decoder<'_>) -> Result<T> {
        Err(d.error(ErrorKind::NoCustomMarshal))
    }
}

impl<T> NotByHand<T> for ByHand<T> {}
