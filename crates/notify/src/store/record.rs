//! Rows of the store, which are values of IDL types.

use oxorb::ior::Ior;
use oxorb::values::Codec;
use oxorb::{Any, Orb, Ref};

use crate::notify_store as rows;

/// Type of a row.
pub(crate) trait Row: Sized {
    /// Converts an any to a row; `None` if its value has another type.
    fn of(any: &Any) -> Option<Self>;
}

macro_rules! rows {
    ($($row:ty),*) => {
        $(impl Row for $row {
            fn of(any: &Any) -> Option<Self> {
                any.get::<$row>().ok().flatten()
            }
        })*
    };
}

rows!(rows::Channel, rows::Admin, rows::Proxy, rows::Filter);

/// Encodes a value together with its type.
pub(crate) fn octets_of(any: &Any) -> oxorb::Result<Vec<u8>> {
    let encoded = Codec::default().encode(any);
    encoded.map_err(|_| {
        oxorb::SystemException::bad_param(
            oxorb::minor::bad_param::NOT_ENCODABLE,
            oxorb::CompletionStatus::No,
        )
    })
}

/// Encodes a reference. A missing reference is encoded as an empty row.
pub(crate) fn own(reference: Option<&Ref>) -> Vec<u8> {
    reference.map_or_else(Vec::new, |reference| reference.ior().to_octets())
}

/// Decodes a reference; `None` if there is none.
pub(crate) fn reference_of(orb: &Orb, octets: &[u8]) -> Option<Ref> {
    match octets {
        [] => None,
        octets => Some(Ref::new(orb, Ior::from_octets(octets).ok()?)),
    }
}
