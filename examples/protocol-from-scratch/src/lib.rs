//! An application's own protocol: a transport ([`serial`]) and a messaging ([`checksum`]), in ordinary Rust, joined
//! into one value for the table of an ORB. `docs/protocols.md` walks through it.
#![forbid(unsafe_code)]

pub mod checksum;
pub mod serial;

use std::sync::Arc;

use oxorb::protocol::{Mismatch, Placed, ProtocolStack};

use checksum::CHECKSUM;
use serial::{SCHEME, Serial};

oxorb::include_idl!("gauge");

/// Tag of the profiles of GIOP over serial lines. Tags below `0x4f580000` belong to others; a protocol for public use
/// needs one from the OMG.
pub const SERIAL_TAG: u32 = 0x5345_5200;

/// Tag of the profiles of checksum messages over serial lines.
pub const CHECKSUM_TAG: u32 = 0x5345_5201;

/// Returns the protocol GIOP over serial lines: `serial://NAME`.
///
/// # Errors
/// [`Mismatch`] for lines that lose octets, which GIOP cannot detect.
pub fn giop_over(lines: &Serial) -> Result<ProtocolStack, Mismatch> {
    let profile = Placed::new(SERIAL_TAG, "serial", SCHEME);
    ProtocolStack::new("serial", profile, None, Arc::new(lines.clone()))
}

/// Returns the protocol of checksum messages over serial lines: `checksum+serial://NAME`.
///
/// # Errors
/// [`Mismatch`] for lines that lose octets: a checksum detects a damaged message, but cannot restore it.
pub fn checksum_over(lines: &Serial) -> Result<ProtocolStack, Mismatch> {
    let profile = Placed::new(CHECKSUM_TAG, "checksum", SCHEME);
    let lines = Arc::new(lines.clone());
    ProtocolStack::new("checksum+serial", profile, Some(CHECKSUM), lines)
}
