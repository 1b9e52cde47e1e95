use crate::once::OnceLock;

/// Size from which an encoder's buffer is large, in octets.
pub const LARGE_BUFFER: usize = 1 << 20;

static HOOK: OnceLock<fn(usize)> = OnceLock::new();

/// Sets a hook called whenever the buffer of an encoder grows beyond [`LARGE_BUFFER`], on the
/// encoding thread, with the new size in octets: for callers that account for memory, or make other
/// threads wait for it. One hook per process; later calls have no effect. A hook that panics aborts
/// the process.
pub fn on_large_buffer(hook: fn(usize)) {
    let _ = HOOK.set(hook);
}

/// Calls the hook before a buffer grows to `octets` octets.
pub(crate) fn grows_to(octets: usize) {
    if octets > LARGE_BUFFER
        && let Some(hook) = HOOK.get()
    {
        hook(octets);
    }
}
