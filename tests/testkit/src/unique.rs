use std::sync::atomic::{AtomicU32, Ordering};

/// Part of a name that no other test has: the process and a number, such as `1234-7`. For temporary files and for addresses
/// of sockets.
///
/// A name of the process alone is shared by the tests that run as its threads.
pub fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
