//! Characters: conversion to and from the code set of a connection, without replacement of
//! unrepresentable ones.

mod narrow;
mod outside;
mod wide;

pub use outside::{CodeSet, Found, OutsideCodeSet};

use crate::{ErrorKind, Result};

/// Checks the length of a string, in characters, against its bound.
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
