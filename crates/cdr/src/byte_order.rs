/// Order of the octets of a number on the wire.
///
/// A sender writes in its own order and declares it (CORBA 3.3 part 2, 9.3.1); the receiver
/// converts.
///
/// ```
/// use oxorb_cdr::ByteOrder;
///
/// assert_eq!(ByteOrder::from_flag(true), ByteOrder::Little);
/// assert!(!ByteOrder::Big.flag());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ByteOrder {
    /// Most significant octet first.
    Big,
    /// Least significant octet first.
    Little,
}

impl ByteOrder {
    /// Native order of this machine, the default of an encoder.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Reads the byte-order flag of a GIOP header or an encapsulation: `true` is little-endian.
    #[inline]
    pub const fn from_flag(little: bool) -> Self {
        if little { Self::Little } else { Self::Big }
    }

    /// Returns the byte-order flag to send: `true` is little-endian.
    #[inline]
    pub const fn flag(self) -> bool {
        matches!(self, Self::Little)
    }

    /// Reports whether numbers must be swapped between this order and memory.
    #[inline]
    pub(crate) const fn is_foreign(self) -> bool {
        self.flag() != Self::NATIVE.flag()
    }
}
