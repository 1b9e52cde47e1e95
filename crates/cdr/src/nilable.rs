use crate::{Decode, Decoder, Encode, Encoder, Result, TypeCode, Typed};

/// Type whose values IDL allows to be nil: a typed object reference.
///
/// `Option<T>` represents the IDL type in every context, with `None` for nil; it can be sent and
/// received, alone, in sequences, and in an [`Any`](crate::Any). A bare `T` is never nil.
pub trait Nilable: Sized {
    /// Writes a value or nil.
    fn encode_nilable<'a>(value: Option<&'a Self>, e: &mut Encoder<'a>) -> Result<()>;

    /// Reads a value or nil.
    fn decode_nilable(d: &mut Decoder<'_>) -> Result<Option<Self>>;
}

impl<T: Nilable> Encode for Option<T> {
    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        T::encode_nilable(self.as_ref(), e)
    }
}

impl<'de, T: Nilable> Decode<'de> for Option<T> {
    /// Minimum size of a reference: that of nil, with no profiles and an empty type id. Some peers
    /// send the latter as a count of zero without a NUL.
    const MIN_SIZE: usize = 8;

    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        T::decode_nilable(d)
    }
}

impl<T: Nilable + Typed> Typed for Option<T> {
    fn type_code() -> TypeCode {
        T::type_code()
    }
}
