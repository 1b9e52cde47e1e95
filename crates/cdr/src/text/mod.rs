//! Characters: what the code set of a connection makes of them, and no replacement for those it cannot carry.

mod narrow;
mod outside;
mod wide;

pub use outside::{CodeSet, Found, OutsideCodeSet};

use crate::{ErrorKind, Result};

/// Whether a string is longer than its bound, counted in characters.
pub(crate) fn exceeds(v: &str, bound: u32) -> Result<(), ErrorKind> {
    let bound = bound as usize;
    if v.len() <= bound {
        return Ok(()); // a character is at least one octet
    }
    match v.chars().count() {
        length if length > bound => Err(ErrorKind::BoundExceeded { length, bound }),
        _ => Ok(()),
    }
}
