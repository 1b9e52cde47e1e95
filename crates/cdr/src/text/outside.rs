//! Description of a character outside a code set.

use core::fmt;

use crate::{CharSet, ErrorKind, WcharSet};

/// Character outside a code set, or octets that are not a character of it.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
///
/// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
/// let error = encoder.string("10 €").unwrap_err();
/// assert!(error.to_string().ends_with("ISO 8859-1, the code set in use, lacks U+20AC (character 4 of the text)"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutsideCodeSet {
    /// Code set of the connection or encapsulation.
    pub code_set: CodeSet,
    /// Offending item.
    pub found: Found,
    /// Number of characters, octets or units of the text before the item.
    pub position: u32,
}

/// Transmission code set for narrow or wide characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeSet {
    /// Code set of `char` and `string`.
    Char(CharSet),
    /// Code set of `wchar` and `wstring`.
    Wchar(WcharSet),
}

/// Item that does not belong to a code set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Character to be written.
    Character(char),
    /// Octet that was read.
    Octet(u8),
    /// UTF-16 unit that was read.
    Unit(u16),
    /// Number of octets read for one character that do not form one.
    Octets(u8),
}

impl Found {
    /// Returns the error for this item.
    #[cold]
    pub(crate) fn outside(self, code_set: CodeSet, position: usize) -> ErrorKind {
        ErrorKind::NotInCodeSet(OutsideCodeSet {
            code_set,
            found: self,
            position: u32::try_from(position).unwrap_or(u32::MAX),
        })
    }
}

impl fmt::Display for OutsideCodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (set, at) = (self.code_set, u64::from(self.position) + 1);
        match self.found {
            Found::Character(c) => {
                let number = u32::from(c);
                let single = match set {
                    CodeSet::Char(CharSet::Utf8) => " in a single octet",
                    CodeSet::Wchar(WcharSet::Utf16) => " in a single unit",
                    _ => "",
                };
                write!(
                    f,
                    "{set}, the code set in use, lacks U+{number:04X}{single} (character {at} of the text)"
                )
            }
            Found::Octet(octet) => {
                write!(
                    f,
                    "octet {octet:#04x} (octet {at} of the text) is not a character of {set}, the code set in use"
                )
            }
            Found::Unit(unit) => {
                write!(
                    f,
                    "unit {unit:#06x} (unit {at} of the text) is not a character of {set}, the code set in use"
                )
            }
            Found::Octets(octets) => {
                write!(f, "{octets} octets are not one character of {set}, the code set in use")
            }
        }
    }
}

impl fmt::Display for CodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodeSet::Char(CharSet::Iso8859_1) => "ISO 8859-1",
            CodeSet::Char(CharSet::Utf8) => "UTF-8",
            CodeSet::Wchar(WcharSet::Utf16) => "UTF-16",
            CodeSet::Wchar(WcharSet::Ucs2) => "UCS-2",
            CodeSet::Wchar(WcharSet::None) => "no code set",
        })
    }
}
