//! Resources of lanes in addition to their threads: handlers of calls, and memory for decoded values.

/// Threads that run the reply handlers of asynchronous calls (`-ORBCallbackThreads`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallbackThreads {
    /// A callback thread of the ORB for each CORBA priority at which calls are made.
    #[default]
    Shared,
    /// Thread of the same lane, between its requests and at the lane's priority, for calls made by a thread of a lane;
    /// a callback thread of the ORB for all other calls.
    Lane,
}

pub(super) const CALLBACK_THREADS: &str = "shared|lane";

impl CallbackThreads {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "shared" => CallbackThreads::Shared,
            "lane" => CallbackThreads::Lane,
            _ => return Err(format!("expected {CALLBACK_THREADS}")),
        })
    }
}

/// Treatment of a request whose values do not fit the arena of the thread that serves it
/// (`-ORBValueArenaFull`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArenaFull {
    /// The arena allocates more memory on the heap, and frees it when the request ends.
    #[default]
    Heap,
    /// The request raises NO_MEMORY, COMPLETED_NO.
    NoMemory,
}

pub(super) const ARENA_FULL: &str = "heap|no-memory";

impl ArenaFull {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "heap" => ArenaFull::Heap,
            "no-memory" => ArenaFull::NoMemory,
            _ => return Err(format!("expected {ARENA_FULL}")),
        })
    }
}
