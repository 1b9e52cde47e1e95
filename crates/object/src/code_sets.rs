//! Code set negotiation, which determines the encoding of characters (CORBA 3.4, 13.10).
//!
//! The server lists its code sets in the TAG_CODE_SETS component of its references; the client
//! selects one for `char` and one for `wchar` ([`negotiate`]) and sends them in the CodeSets
//! service context of its first request. Rust text is Unicode, so the native sets are UTF-8 and
//! UTF-16, with conversion to ISO 8859-1 and UCS-2; an ORB can be configured to declare ISO 8859-1
//! as its native set, as most C++ ORBs do.

use crate::prelude::*;
use oxorb_cdr::{self as cdr, CharSet, Decoder, Dialect, Encoder, WcharSet};

use crate::{CompletionStatus, Malformed, SystemException, iiop_profile::PUBLISHED, minor};

/// ISO 8859-1 (Latin-1), the encoding of `char` data without negotiation.
pub const ISO_8859_1: u32 = 0x0001_0001;
/// ISO 646 International Reference Version (ASCII).
pub const ISO_646: u32 = 0x0001_0020;
/// UCS-2, level 1.
pub const UCS_2: u32 = 0x0001_0100;
/// UTF-8 under the id of ISO, which should not be used.
pub const UTF_8_ISO: u32 = 0x0001_0108;
/// UTF-16.
pub const UTF_16: u32 = 0x0001_0109;
/// UTF-8 under the X/Open id, which is in general use.
pub const UTF_8: u32 = 0x0501_0001;

/// Returns the name of a code set in the OSF registry, if CORBA systems use it.
pub fn name(id: u32) -> Option<&'static str> {
    const ISO_8859: [&str; 15] = [
        "ISO 8859-1",
        "ISO 8859-2",
        "ISO 8859-3",
        "ISO 8859-4",
        "ISO 8859-5",
        "ISO 8859-6",
        "ISO 8859-7",
        "ISO 8859-8",
        "ISO 8859-9",
        "ISO 8859-10",
        "ISO 8859-11",
        "ISO 8859-12",
        "ISO 8859-13",
        "ISO 8859-14",
        "ISO 8859-15",
    ];
    Some(match id {
        0x0001_0001..=0x0001_000f => ISO_8859[(id - 0x0001_0001) as usize],
        ISO_646 => "ISO 646 (ASCII)",
        0x0001_0100 => "UCS-2 level 1",
        0x0001_0101 => "UCS-2 level 2",
        0x0001_0102 => "UCS-2 level 3",
        0x0001_0104 => "UCS-4 level 1",
        0x0001_0105 => "UCS-4 level 2",
        0x0001_0106 => "UCS-4 level 3",
        UTF_8_ISO => "UTF-8 (ISO id)",
        UTF_16 => "UTF-16",
        UTF_8 => "UTF-8",
        0x1002_0025 => "EBCDIC IBM-037",
        0x1002_01f4 => "EBCDIC IBM-500",
        _ => return None,
    })
}

/// Code sets of one side for one kind of characters.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct CodeSetComponent {
    /// Native code set; 0 for none.
    pub native: u32,
    /// Code sets that can be converted from and to, best first.
    pub conversion: Vec<u32>,
}

impl CodeSetComponent {
    fn knows(&self, set: u32) -> bool {
        self.native == set || self.conversion.contains(&set)
    }
}

/// Content of TAG_CODE_SETS.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct CodeSetComponentInfo {
    /// Code sets for `char` and `string`.
    pub for_char_data: CodeSetComponent,
    /// Code sets for `wchar` and `wstring`.
    pub for_wchar_data: CodeSetComponent,
}

impl CodeSetComponentInfo {
    /// Returns the component that OxORB publishes and negotiates with by default:
    /// [`native_to`](Self::native_to) UTF-8.
    pub fn ours() -> Self {
        Self::native_to(CharSet::Utf8)
    }

    /// Returns the component that an ORB with this native `char` set publishes and negotiates with;
    /// it converts to the other set.
    pub fn native_to(chars: CharSet) -> Self {
        let (native, other) = match chars {
            CharSet::Utf8 => (UTF_8, ISO_8859_1),
            CharSet::Iso8859_1 => (ISO_8859_1, UTF_8),
        };
        Self {
            for_char_data: CodeSetComponent { native, conversion: vec![other] },
            for_wchar_data: CodeSetComponent { native: UTF_16, conversion: vec![UCS_2] },
        }
    }

    pub(crate) fn write(&self, e: &mut Encoder<'_>) {
        for component in [&self.for_char_data, &self.for_wchar_data] {
            e.ulong(component.native);
            e.ulong(component.conversion.len() as u32);
            for &set in &component.conversion {
                e.ulong(set);
            }
        }
    }

    pub(crate) fn read(d: &mut Decoder<'_>) -> cdr::Result<Self> {
        let mut component = || {
            let native = d.ulong()?;
            let count = d.length(None, 4)?;
            Ok(CodeSetComponent { native, conversion: d.ulongs(count)?.into_owned() })
        };
        Ok(Self { for_char_data: component()?, for_wchar_data: component()? })
    }
}

/// Chooses the transmission code sets for a server that published `server` (`None`: no component in
/// its reference).
///
/// In the specification's order (13.10.2.6): equal native sets, then the server's native set if the
/// client converts to it, then the client's if the server converts to it, then the first of the
/// server's conversion sets that the client knows, then the fallbacks UTF-8 and UTF-16 that every
/// ORB must know. `docs/design/code-sets.md` explains why not UTF-8 whenever possible.
///
/// # Errors
/// CODESET_INCOMPATIBLE when the server's native `char` set is unknown, so that it cannot be
/// determined whether it shares characters with ours. An unknown `wchar` set only means that wide
/// characters cannot be sent.
///
/// ```
/// use oxorb_object::code_sets::{self, CodeSetComponent, CodeSetComponentInfo};
/// let tao = CodeSetComponentInfo {
///     for_char_data: CodeSetComponent { native: code_sets::ISO_8859_1, conversion: vec![] },
///     for_wchar_data: CodeSetComponent { native: code_sets::UTF_16, conversion: vec![] },
/// };
/// let chosen = code_sets::negotiate(Some(&tao))?;
/// assert_eq!((chosen.char_data, chosen.wchar_data), (code_sets::ISO_8859_1, code_sets::UTF_16));
/// # Ok::<(), oxorb_object::SystemException>(())
/// ```
pub fn negotiate(server: Option<&CodeSetComponentInfo>) -> Result<CodeSetContext, SystemException> {
    negotiate_as(&CodeSetComponentInfo::ours(), server)
}

/// Negotiates as [`negotiate`], for a client with the code sets in `ours`.
///
/// # Errors
/// Those of [`negotiate`].
pub fn negotiate_as(
    ours: &CodeSetComponentInfo,
    server: Option<&CodeSetComponentInfo>,
) -> Result<CodeSetContext, SystemException> {
    let Some(server) = server else {
        return Ok(CodeSetContext::DEFAULT);
    };
    let char_data = match choose(&ours.for_char_data, &server.for_char_data, UTF_8) {
        Choice::Set(set) => set,
        Choice::None => ISO_8859_1,
        Choice::Incompatible => {
            let minor = minor::codeset_incompatible::NEGOTIATION;
            return Err(SystemException::codeset_incompatible(minor, CompletionStatus::No));
        }
    };
    let wchar_data = match choose(&ours.for_wchar_data, &server.for_wchar_data, UTF_16) {
        Choice::Set(set) => set,
        Choice::None | Choice::Incompatible => 0,
    };
    Ok(CodeSetContext { char_data, wchar_data })
}

/// Content of the CodeSets service context: the code sets that a client chose for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodeSetContext {
    /// Transmission code set of `char` and `string`.
    pub char_data: u32,
    /// Transmission code set of `wchar` and `wstring`; 0 for none.
    pub wchar_data: u32,
}

impl CodeSetContext {
    /// Code sets without negotiation: ISO 8859-1, and no wide characters.
    pub const DEFAULT: Self = Self { char_data: ISO_8859_1, wchar_data: 0 };

    /// Returns the rules for data on a connection that uses these sets.
    ///
    /// # Errors
    /// CODESET_INCOMPATIBLE, minor OMG 2, when one of them is unknown.
    pub fn dialect(self, giop_minor: u8) -> Result<Dialect, SystemException> {
        let chars = match self.char_data {
            0 | ISO_8859_1 | ISO_646 => CharSet::Iso8859_1,
            UTF_8 | UTF_8_ISO => CharSet::Utf8,
            _ => return Err(unsupported()),
        };
        let wchars = match self.wchar_data {
            0 => WcharSet::None,
            UTF_16 => WcharSet::Utf16,
            0x0001_0100..=0x0001_0102 => WcharSet::Ucs2,
            _ => return Err(unsupported()),
        };
        Ok(Dialect { giop_minor, chars, wchars })
    }

    /// Returns the data of the service context, twelve octets.
    pub fn to_bytes(self) -> [u8; 12] {
        let mut data = [0; 12];
        data[0] = PUBLISHED.flag().into();
        data[4..8].copy_from_slice(&self.char_data.to_be_bytes());
        data[8..].copy_from_slice(&self.wchar_data.to_be_bytes());
        data
    }

    /// Parses the data of the service context.
    ///
    /// # Errors
    /// [`Malformed::Cdr`] when it is malformed.
    pub fn parse(data: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
        Ok(Self { char_data: d.ulong()?, wchar_data: d.ulong()? })
    }
}

enum Choice {
    Set(u32),
    /// The server published no code sets.
    None,
    Incompatible,
}

fn choose(client: &CodeSetComponent, server: &CodeSetComponent, fallback: u32) -> Choice {
    if server.native == 0 && server.conversion.is_empty() {
        return Choice::None;
    }
    if client.knows(server.native) {
        return Choice::Set(server.native);
    }
    if server.conversion.contains(&client.native) {
        return Choice::Set(client.native);
    }
    if let Some(&common) = server.conversion.iter().find(|&&set| client.knows(set)) {
        return Choice::Set(common);
    }
    // Falls back to Unicode, which shares characters with every code set in the table of `name`. It
    // might share none with an unknown one.
    if name(server.native).is_some() { Choice::Set(fallback) } else { Choice::Incompatible }
}

fn unsupported() -> SystemException {
    SystemException::codeset_incompatible(
        minor::codeset_incompatible::TCS_UNSUPPORTED,
        CompletionStatus::No,
    )
}
