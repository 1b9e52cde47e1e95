//! Valuetypes, of which only null is known here: the place where their sharing, chunks and truncation go.

use super::{Dynamic, DynamicError};
use crate::{Decoder, Encoder, ErrorKind, Result, TypeRef};

pub(super) fn read(_ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<Dynamic, DynamicError> {
    skip(_ty, d)?;
    Ok(Dynamic::Null)
}

pub(super) fn write(
    value: &Dynamic,
    ty: TypeRef<'_>,
    e: &mut Encoder<'_>,
) -> Result<(), DynamicError> {
    match value {
        Dynamic::Null => {
            e.ulong(0);
            Ok(())
        }
        other => Err(DynamicError::expected(ty, other.what())),
    }
}

pub(super) fn skip(_ty: TypeRef<'_>, d: &mut Decoder<'_>) -> Result<()> {
    match d.ulong()? {
        0 => Ok(()),
        _ => Err(d.error_back(4, ErrorKind::ValueUnsupported)),
    }
}
