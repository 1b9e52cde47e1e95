//! Minor codes of system exceptions: one table of names, causes and remedies.
//!
//! A minor code consists of a vendor in its upper twenty bits and a number in the lower twelve.
//! [`OMG`] codes come from the specification (CORBA 3.4, annex A; checked against TAO and omniORB),
//! [`OXORB`] codes are defined here. Each exception with codes has a module of constants:
//!
//! ```
//! use oxorb_object::{SystemExceptionKind, minor};
//! assert_eq!(minor::transient::NO_USABLE_PROFILE, minor::OMG | 2);
//! let row = minor::find(SystemExceptionKind::Transient, minor::OMG | 2).unwrap();
//! assert_eq!(row.name, "NO_USABLE_PROFILE");
//! ```

use core::fmt;

use crate::SystemExceptionKind;

/// Vendor of the codes that the specification assigns.
pub const OMG: u32 = 0x4f4d_0000;
/// Vendor of OxORB's codes: "OX".
pub const OXORB: u32 = 0x4f58_0000;
/// Vendor of TAO's codes.
pub const TAO: u32 = 0x5441_0000;
/// Vendor of JacORB's codes.
pub const JACORB: u32 = 0x4a43_0000;
/// Vendor of omniORB's codes.
pub const OMNIORB: u32 = 0x4154_0000;
/// Vendor of the codes of Sun's ORB, which GlassFish and older JDKs contain.
pub const SUN: u32 = 0x5355_0000;
/// Vendors of the codes of IBM's ORB.
pub const IBM: [u32; 2] = [0x4942_1000, 0x4942_f000];

/// Row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Minor {
    /// Exception to which the code belongs.
    pub kind: SystemExceptionKind,
    /// Whole minor code, vendor included.
    pub code: u32,
    /// Name of the constant.
    pub name: &'static str,
    /// Meaning of the code.
    pub cause: &'static str,
    /// Recommended remedy.
    pub remedy: &'static str,
}

/// Returns the row of a code. Searches the table; not for the request path.
pub fn find(kind: SystemExceptionKind, minor: u32) -> Option<&'static Minor> {
    table().iter().copied().flatten().find(|row| row.kind == kind && row.code == minor)
}

/// Returns the meaning of a code, in a few words.
pub fn explain(minor: u32, kind: SystemExceptionKind) -> Option<&'static str> {
    find(kind, minor).map(|row| row.cause)
}

/// Returns all rows, exceptions in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static Minor> {
    table().iter().copied().flatten()
}

/// Returns the name of the vendor in a minor code, if known.
pub fn vendor(minor: u32) -> Option<&'static str> {
    Some(match minor & VENDOR_MASK {
        OMG => "OMG",
        OXORB => "OxORB",
        TAO => "TAO",
        JACORB => "JacORB",
        OMNIORB => "omniORB",
        SUN => "Sun",
        code if IBM.contains(&code) => "IBM",
        _ => return None,
    })
}

/// Returns the explanation of one of TAO's codes: the location of the failure, and the operating
/// system's error.
///
/// TAO packs both into the lower twelve bits. `None` for codes of other vendors.
pub fn explain_tao(minor: u32) -> Option<(&'static str, &'static str)> {
    if minor & VENDOR_MASK != TAO {
        return None;
    }
    let place = TAO_PLACES.get((minor >> 7 & 0x1f) as usize).copied().unwrap_or("unknown place");
    let errno = TAO_ERRNOS.get((minor & 0x7f) as usize).copied().unwrap_or("unknown error");
    Some((place, errno))
}

/// Reports whether a code has the OMG's vendor id although the OMG has not assigned it to the
/// exception, so that its meaning is specific to the sender. 0 means unspecified and is not such a
/// code.
pub fn is_unassigned(minor: u32, kind: SystemExceptionKind) -> bool {
    minor & VENDOR_MASK == OMG && minor != OMG && find(kind, minor).is_none()
}

/// Displays a code as `OMG 1: no such object`.
pub(crate) struct Explained(pub(crate) SystemExceptionKind, pub(crate) u32);

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, minor) = *self;
        match vendor(minor) {
            None if minor == 0 => return f.write_str("0"),
            None => return write!(f, "{minor:#010x}"),
            Some(vendor) => write!(f, "{vendor} {}", minor & !VENDOR_MASK)?,
        }
        if let Some(cause) = explain(minor, kind) {
            write!(f, ": {cause}")?;
        } else if is_unassigned(minor, kind) {
            write!(f, ": the OMG has not assigned this code to {kind}")?;
        } else if let Some((place, errno)) = explain_tao(minor) {
            write!(f, ": {place}, {errno}")?;
        }
        Ok(())
    }
}

const VENDOR_MASK: u32 = 0xffff_f000;

const TAO_PLACES: [&str; 22] = [
    "no place stated",
    "while following a location forward",
    "while sending a request",
    "POA manager discarding",
    "POA manager holding",
    "unhandled C++ exception in the servant",
    "while receiving",
    "no usable protocol",
    "while encoding profiles",
    "connecting timed out",
    "sending timed out",
    "receiving timed out",
    "implementation repository",
    "acceptor could not open",
    "while initializing the ORB",
    "while narrowing a policy",
    "while acquiring a lock",
    "POA being destroyed",
    "POA manager inactive",
    "connector could not initialize",
    "asynchronous method handling",
    "while creating a real-time thread",
];

const TAO_ERRNOS: [&str; 21] = [
    "no error number",
    "ETIMEDOUT",
    "ENFILE",
    "EMFILE",
    "EPIPE",
    "ECONNREFUSED",
    "ENOENT",
    "EBADF",
    "ENOSYS",
    "EPERM",
    "EAFNOSUPPORT",
    "EAGAIN",
    "ENOMEM",
    "EACCES",
    "EFAULT",
    "EBUSY",
    "EEXIST",
    "EINVAL",
    "ECOMM",
    "ECONNRESET",
    "ENOTSUP",
];

macro_rules! minors {
    ($($kind:ident $module:ident { $($vendor:ident $number:literal $name:ident: $cause:literal, $remedy:literal;)* })*) => {
        $(
            #[doc = concat!("Minor codes of ", stringify!($kind), ".")]
            pub mod $module {
                use super::{Minor, SystemExceptionKind};

                $(
                    #[doc = concat!("Cause: ", $cause, ". Remedy: ", $remedy, ".")]
                    pub const $name: u32 = super::$vendor | $number;
                )*

                /// List of the rows of this exception.
                pub const ALL: &[Minor] = &[$(Minor {
                    kind: SystemExceptionKind::$kind,
                    code: $name,
                    name: stringify!($name),
                    cause: $cause,
                    remedy: $remedy,
                },)*];
            }
        )*

        fn table() -> &'static [&'static [Minor]] {
            &[$($module::ALL,)*]
        }
    };
}

include!("minor/table.rs");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn no_code_and_no_name_occurs_twice_in_one_exception() {
        for (i, row) in all().enumerate() {
            for other in all().skip(i + 1).filter(|other| other.kind == row.kind) {
                assert_ne!(row.code, other.code, "{} {}", row.kind, row.name);
                assert_ne!(row.name, other.name, "{}", row.kind);
            }
        }
    }

    #[test]
    fn every_row_reads_as_part_of_a_sentence() {
        for row in all() {
            for text in [row.cause, row.remedy] {
                assert!(
                    !text.is_empty() && !text.ends_with('.'),
                    "{} {}: {text:?}",
                    row.kind,
                    row.name
                );
            }
            assert!(
                row.code & !VENDOR_MASK != 0 && matches!(vendor(row.code), Some("OMG" | "OxORB"))
            );
        }
    }

    #[test]
    fn tao_codes_are_taken_apart() {
        assert_eq!(
            explain_tao(TAO | 2 << 7 | 5),
            Some(("while sending a request", "ECONNREFUSED"))
        );
        assert_eq!(explain_tao(TAO | 0xfff), Some(("unknown place", "unknown error")));
        assert_eq!(explain_tao(OMG | 1), None);
    }

    #[test]
    fn display_names_vendor_number_and_cause() {
        let shown = |kind, minor| Explained(kind, minor).to_string();
        use SystemExceptionKind as K;
        assert_eq!(shown(K::Marshal, 0), "0");
        // A code without a vendor id is not one of the OMG, so it is shown as a plain number (P6).
        assert_eq!(shown(K::Transient, 2), "0x00000002");
        assert_eq!(shown(K::CommFailure, SUN | 201), "Sun 201");
        assert_eq!(shown(K::Internal, IBM[1] | 3), "IBM 3");
        assert_eq!(
            shown(K::NoResponse, OMG | 99),
            "OMG 99: the OMG has not assigned this code to NO_RESPONSE"
        );
        assert_eq!(shown(K::Marshal, 0x1234_5678), "0x12345678");
        let usable = "OMG 2: no usable profile in the reference; calls over TLS need trusted roots (-ORBTlsRoots)";
        assert_eq!(shown(K::Transient, OMG | 2), usable);
        assert_eq!(
            shown(K::Transient, TAO | 2 << 7 | 5),
            "TAO 261: while sending a request, ECONNREFUSED"
        );
        assert_eq!(shown(K::Transient, OMNIORB | 1), "omniORB 1");
    }
}
