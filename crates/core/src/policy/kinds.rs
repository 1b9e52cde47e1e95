//! The policies themselves, one type each.

use std::time::{Duration, SystemTime};

/// Longest time that a two-way call may take, connecting and retries included; then TIMEOUT.
///
/// Messaging::RelativeRoundtripTimeoutPolicy, type 32 (`relative_expiry`, here to the nanosecond). Default: the option
/// RoundTripTimeout, 60 s. When overridden, what is left of it travels with the request (see
/// [`Upcall::deadline`](crate::Upcall::deadline)). Also bounds how long a `oneway` may wait for connection and
/// transport. For an object of this very process see `docs/policies.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeRoundtripTimeout(pub Duration);

impl RelativeRoundtripTimeout {
    /// Absence of a limit.
    pub const NEVER: Self = Self(Duration::MAX);
}

/// Longest time until the server begins to serve a request; then TIMEOUT, and the server drops it.
///
/// Messaging::RelativeRequestTimeoutPolicy, type 31. Default: no limit of its own. Bounds connecting and sending here,
/// and travels with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeRequestTimeout(pub Duration);

/// Longest time that a reply may take, counted from when the request was sent; then TIMEOUT.
///
/// OxORB's own, type 0x4f580001 (Messaging has end times only). Default: no limit of its own. Does not travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeReplyTimeout(pub Duration);

/// The request is not to be served earlier: the client waits with sending, and a server that gets it early waits with
/// serving, up to its option HoldTime.
///
/// Messaging::RequestStartTimePolicy, type 27 (`start_time`, a UtcT). Asynchronous calls leave the waiting to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestStartTime(pub SystemTime);

/// The request is not to be served later: TIMEOUT here when it could not be sent by then, and the server drops it.
///
/// Messaging::RequestEndTimePolicy, type 28 (`end_time`, a UtcT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEndTime(pub SystemTime);

/// The reply is not given to the caller earlier.
///
/// Messaging::ReplyStartTimePolicy, type 29 (`start_time`, a UtcT). Whoever awaits an asynchronous call, asks for it or is
/// called back gets it then, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyStartTime(pub SystemTime);

/// The reply is of no use later: TIMEOUT, and a server that has not begun drops the request.
///
/// Messaging::ReplyEndTimePolicy, type 30 (`end_time`, a UtcT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyEndTime(pub SystemTime);

/// Longest time that connecting to a server may take, name resolution included.
///
/// TAO::ConnectionTimeoutPolicy, type 0x54410008. Default: the option ConnectTimeout, 5 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionTimeout(pub Duration);

/// Event that a `oneway` waits for.
///
/// Messaging::SyncScopePolicy, type 24. Default: `WithTransport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SyncScope {
    /// Waits for no event: the request is copied into a bounded buffer, and a thread of the ORB
    /// sends it (SYNC_NONE). Its fate is not reported; [`Ref::buffered`](crate::Ref::buffered)
    /// counts. See [`BufferingConstraint`].
    None,
    /// The transport has taken the request (SYNC_WITH_TRANSPORT).
    #[default]
    WithTransport,
    /// The server has accepted the request, before the servant runs (SYNC_WITH_SERVER): forwards are followed, a server
    /// that is not there is noticed. Earlier than GIOP 1.2: as `WithTarget`.
    WithServer,
    /// The servant has run (SYNC_WITH_TARGET); its system exceptions arrive.
    WithTarget,
}

/// Condition on which buffered oneways ([`SyncScope::None`]) are sent: as soon as one of the
/// constraints is met.
///
/// TAO::BufferingConstraintPolicy, type 0x54410001: BUFFER_TIMEOUT, BUFFER_MESSAGE_COUNT, BUFFER_MESSAGE_BYTES. Default:
/// [`FLUSH`](Self::FLUSH). Whatever it says, the buffer of a server is sent when it is half full (option
/// BufferedOneways), at [`Ref::flush`](crate::Ref::flush), and when the ORB ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BufferingConstraint {
    /// Time after the first was buffered.
    pub time: Option<Duration>,
    /// Number of oneways that wait.
    pub count: Option<u32>,
    /// Number of octets that wait.
    pub octets: Option<usize>,
}

impl BufferingConstraint {
    /// Each is sent as soon as the sending thread gets to it (BUFFER_FLUSH).
    pub const FLUSH: Self = Self { time: None, count: None, octets: None };
}

/// Whether a reference may come to lead elsewhere without the caller's knowledge.
///
/// Messaging::RebindPolicy, type 23. Default: `Transparent`. With the other two the first call that succeeds, or
/// [`Ref::validate_connection`](crate::Ref::validate_connection), binds the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RebindMode {
    /// Forwards are followed and connections opened as needed (TRANSPARENT).
    #[default]
    Transparent,
    /// Once bound, connections are opened again as needed, but a forward is REBIND, and no other endpoint is tried
    /// (NO_REBIND).
    NoRebind,
    /// Once bound, a lost connection is REBIND, too (NO_RECONNECT). Any connection to that server that was lost counts:
    /// threads have connections of their own.
    NoReconnect,
}

/// Number of times that a call which certainly did not run is made again after TRANSIENT or
/// COMM_FAILURE, COMPLETED_NO, and the wait before.
///
/// OxORB's own, type 0x4f580002. Default: [`NONE`](Self::NONE), which is what omniORB and TAO do: the caller learns at
/// once. (JacORB repeats ten times, 500 ms apart.) Never repeated whatever this says: what may have run. Always repeated
/// whatever this says, and at once: a request that an idle connection swallowed or a server refused with
/// CloseConnection, and the next endpoint. All of it within the call's time limit. For
/// asynchronous calls see `docs/asynchronous.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Number of repetitions, after the first time.
    pub times: u32,
    /// The wait before the first repetition; each further one is twice as long.
    pub delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
}

impl Retry {
    /// Absence of repetitions.
    pub const NONE: Self = Self { times: 0, delay: Duration::ZERO, max_delay: Duration::ZERO };

    /// Repeats so often: 20 ms before the first repetition, then 40, 80, up to 1 s.
    pub const fn times(times: u32) -> Self {
        Self { times, delay: Duration::from_millis(20), max_delay: Duration::from_secs(1) }
    }
}

/// Condition on which the server is asked where an object is (LocateRequest) before a request is
/// sent to it.
///
/// OxORB's own, type 0x4f580003. Default: `Never`: a forward costs the request being sent again, which is cheaper
/// unless the request is large. Asked once for each address of a reference, over a connection that no other call uses
/// then; so not where calls go over one that carries requests both ways (bidirectional GIOP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocateFirst {
    /// Asks never, except by [`Ref::validate_connection`](crate::Ref::validate_connection).
    #[default]
    Never,
    /// Asks before the first request.
    Always,
    /// Asks before the first request longer than so many octets.
    Above(usize),
}

/// The lowest and highest priority with which a request may be served. The range that the server published must overlap.
///
/// Messaging::RequestPriorityPolicy, type 25. Travels with the request. What the server does with it is up to its
/// queueing; ours serves in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPriority {
    /// The lowest.
    pub min: i16,
    /// The highest.
    pub max: i16,
}
