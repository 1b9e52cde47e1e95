/// Transmission code set of `char` and `string` (TCS-C).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CharSet {
    /// ISO 8859-1 (0x00010001), the default without negotiation.
    Iso8859_1,
    /// UTF-8 (0x05010001).
    Utf8,
}

/// Transmission code set of `wchar` and `wstring` (TCS-W).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WcharSet {
    /// Missing code set: any wide character is an error, because the receiver could not
    /// read it.
    None,
    /// UTF-16 (0x00010109).
    Utf16,
    /// UCS-2 level 1 (0x00010100): UTF-16 without surrogates, so nothing beyond U+FFFF.
    Ucs2,
}

/// CDR rules that depend on GIOP version and code sets; all other rules are the same for all of
/// them.
///
/// ```
/// use oxorb_cdr::{CharSet, Dialect, WcharSet};
///
/// let negotiated = Dialect { chars: CharSet::Utf8, wchars: WcharSet::Utf16, ..Dialect::new(1) };
/// assert_eq!(negotiated.giop_minor, 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dialect {
    /// Minor version of the GIOP message: 0 forbids wide characters, 1 sends them as `ushort`, 2
    /// and later with a length.
    pub giop_minor: u8,
    /// Code set of `char` and `string`.
    pub chars: CharSet,
    /// Code set of `wchar` and `wstring`.
    pub wchars: WcharSet,
}

impl Dialect {
    /// Rules inside encapsulations, which declare no version: GIOP 1.2 with ISO 8859-1 and UTF-16.
    pub const GIOP_1_2: Self = Self { wchars: WcharSet::Utf16, ..Self::new(2) };

    /// Returns the rules of a connection without negotiated code sets: ISO 8859-1 and no wide
    /// characters.
    #[inline]
    pub const fn new(giop_minor: u8) -> Self {
        Self { giop_minor, chars: CharSet::Iso8859_1, wchars: WcharSet::None }
    }
}
