//! Dropping what nearly no message has.

use crate::prelude::*;
/// Drops what is there in few messages: a look in place, and a call only where something is there.
///
/// Left to itself, the compiler makes one function of all that dropping `T` takes and calls it for each message.
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
