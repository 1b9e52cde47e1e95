//! Encoding of references in messages.

use std::sync::Arc;

use oxorb_cdr::{Decode, Decoder, Encoder, ErrorKind, Result, Scope, ValueRegistry};
use oxorb_object::Ior;

use super::Ref;
use crate::Orb;

/// Writes the nil reference.
pub(crate) fn encode_nil(e: &mut Encoder<'_>) -> Result<()> {
    e.string("")?;
    e.length(0, None)
}

/// Reads a reference that may be nil, and binds it to the ORB that received it.
pub(crate) fn decode_nilable(d: &mut Decoder<'_>) -> Result<Option<Ref>> {
    let ior = Ior::decode(d)?;
    if ior.is_nil() {
        return Ok(None);
    }
    // Every decoder of the ORB has the ORB as its scope. A decoder that was made elsewhere, such as for the octets of a
    // file, has no ORB to which a reference could be bound.
    let Some(orb) = d.scope::<Orb>() else {
        return Err(ErrorKind::NoScope.at(d.position()));
    };
    Ok(Some(Ref::new(orb, ior)))
}

/// Scope of a decoder: binds the references in a message to the ORB that received it.
impl Scope for Orb {
    fn keep(&self) -> Arc<dyn Scope> {
        Arc::new(self.clone())
    }

    fn values(&self) -> Option<&ValueRegistry> {
        Some(Orb::values(self))
    }

    fn afford(&self, octets: usize) -> bool {
        crate::server::afford(self.shared(), octets)
    }
}
