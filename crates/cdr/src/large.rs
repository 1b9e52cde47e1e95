use crate::once::OnceLock;

/// Octets from which on a buffer of an encoder is large.
pub const LARGE_BUFFER: usize = 1 << 20;

static HOOK: OnceLock<fn(usize)> = OnceLock::new();

/// Sets a hook that is called whenever the buffer of an encoder grows beyond [`LARGE_BUFFER`], by
/// the thread that encodes and with the octets that the buffer will have: for callers that count
/// memory, or make others wait for it. One for each process; later calls change nothing. A hook
/// that panics aborts the process.
pub fn on_large_buffer(hook: fn(usize)) {
    let _ = HOOK.set(hook);
}

/// A buffer is about to have so many octets.
pub(crate) fn grows_to(octets: usize) {
    if octets > LARGE_BUFFER
        && let Some(hook) = HOOK.get()
    {
        hook(octets);
    }
}
