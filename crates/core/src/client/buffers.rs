//! Buffers of messages that stay in the process, and the encoding of their text.

use std::cell::RefCell;

use oxorb_cdr::{CharSet, Dialect, WcharSet};
use oxorb_object::Version;
use oxorb_rt::BufferPool;

/// Dialect of collocated calls: both sides are this ORB, regardless of the contents of the reference.
pub(super) const DIALECT: Dialect =
    Dialect { giop_minor: Version::V1_2.minor, chars: CharSet::Utf8, wchars: WcharSet::Utf16 };

/// Maximum number of buffers that a thread keeps for local calls, and for answers of shared connections: enough for a
/// few nested calls.
const BUFFERS: usize = 8;

/// Largest buffer that a thread keeps, in octets.
const RETAIN: usize = 64 * 1024;

thread_local! {
    static POOL: RefCell<BufferPool> = RefCell::new(BufferPool::new(BUFFERS, RETAIN));
}

/// Returns a buffer of this thread; [`put_buffer`] takes it back.
pub(super) fn take_buffer() -> Vec<u8> {
    POOL.with_borrow_mut(|pool| pool.take(0))
}

/// Takes back the buffer of a local call's request or reply.
pub(crate) fn put_buffer(buffer: Vec<u8>) {
    POOL.with_borrow_mut(|pool| pool.put(buffer));
}
