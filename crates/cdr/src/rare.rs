//! Dropping of fields that are empty in nearly every message.

use crate::prelude::*;
/// Drops a value that few messages have: a check inline, and a call only if there is a value.
///
/// By default the compiler puts the whole drop of `T` into one function, which is called for each
/// message.
#[inline(always)]
pub(crate) fn drop_rare<T>(value: Option<Box<T>>) {
    if let Some(value) = value {
        drop_present(value);
    }
}

#[cold]
#[inline(never)]
fn drop_present<T>(value: Box<T>) {
    drop(value);
}
