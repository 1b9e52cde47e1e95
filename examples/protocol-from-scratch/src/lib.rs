//! A protocol of an application's own: a transport ([`serial`]) and a messaging ([`checksum`]), in ordinary Rust, joined
//! into one value for the table of an ORB. `docs/protocols.md` walks through it.
#![forbid(unsafe_code)]

pub mod checksum;
pub mod serial;

use std::sync::Arc;

use oxorb::protocol::{Mismatch, Placed, Protocol};

use checksum::CHECKSUM;
use serial::{SCHEME, Serial};

oxorb::include_idl!("gauge");

/// Tag of the profiles of GIOP over serial lines. Tags below `0x4f580000` belong to others; a protocol that leaves its
/// house asks the OMG for one.
pub const SERIAL_TAG: u32 = 0x5345_5200;

/// Tag of the profiles of checksum messages over serial lines.
pub const CHECKSUM_TAG: u32 = 0x5345_5201;

/// GIOP over serial lines: `serial://NAME`.
///
/// # Errors
/// [`Mismatch`] for lines that lose octets: GIOP has nothing to notice it by.
pub fn giop_over(lines: &Serial) -> Result<Protocol, Mismatch> {
    let profile = Placed::new(SERIAL_TAG, "serial", SCHEME);
    Protocol::new("serial", profile, None, Arc::new(lines.clone()))
}

/// Checksum messages over serial lines: `checksum+serial://NAME`.
///
/// # Errors
/// [`Mismatch`] for lines that lose octets: a checksum finds a damaged message, but brings none back.
pub fn checksum_over(lines: &Serial) -> Result<Protocol, Mismatch> {
    let profile = Placed::new(CHECKSUM_TAG, "checksum", SCHEME);
    let lines = Arc::new(lines.clone());
    Protocol::new("checksum+serial", profile, Some(CHECKSUM), lines)
}
