use crate::{
    Decoder, Encoder, Fixed, FixedReader, FixedWriter, Layout, Result, TypeCode, Typed, fixed,
};

/// IDL 4 `int8`: a signed octet.
impl Fixed for i8 {
    const LAYOUT: Layout = <u8 as Fixed>::LAYOUT;

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        self.cast_unsigned().put(w);
    }

    #[inline(always)]
    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        u8::take(r).map(u8::cast_signed)
    }
}

fixed!(i8);

/// CORBA's type codes lack `int8`; on the wire it is an octet.
impl Typed for i8 {
    fn type_code() -> TypeCode {
        TypeCode::OCTET
    }
}

impl<'a> Encoder<'a> {
    /// Writes an `int8`.
    #[inline]
    pub fn int8(&mut self, v: i8) {
        self.octet(v.cast_unsigned());
    }

    /// Writes an `@optional` member: whether it is present, and if so the output of `f`.
    #[inline]
    pub fn optional<T>(
        &mut self,
        v: Option<&'a T>,
        f: impl FnOnce(&mut Self, &'a T) -> Result<()>,
    ) -> Result<()> {
        self.boolean(v.is_some());
        v.map_or(Ok(()), |v| f(self, v))
    }
}

impl<'de> Decoder<'de> {
    /// Reads an `int8`.
    #[inline]
    pub fn int8(&mut self) -> Result<i8> {
        self.octet().map(u8::cast_signed)
    }

    /// Reads an `@optional` member, by `f` if it is present.
    #[inline]
    pub fn optional<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        self.boolean()?.then(|| f(self)).transpose()
    }
}
