//! Policies, one type each.

use std::time::{Duration, SystemTime};

/// Time limit of a two-way call, including connecting and retries; beyond it the call raises TIMEOUT.
///
/// Messaging::RelativeRoundtripTimeoutPolicy, type 32 (`relative_expiry`, here in ns). Default: the option
/// RoundTripTimeout, 60 s. If overridden, the remaining time travels with the request (see
/// [`Upcall::deadline`](crate::Upcall::deadline)). It also bounds the wait of a `oneway` for connection and transport.
/// For collocated objects see `docs/policies.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeRoundtripTimeout(pub Duration);

impl RelativeRoundtripTimeout {
    /// Absence of a limit.
    pub const NEVER: Self = Self(Duration::MAX);
}

/// Time limit until the server begins to serve a request; beyond it the call raises TIMEOUT, and the server drops the
/// request.
///
/// Messaging::RelativeRequestTimeoutPolicy, type 31. Default: no separate limit. The limit also bounds connecting and
/// sending, and travels with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeRequestTimeout(pub Duration);

/// Time limit of a reply, counted from the sending of the request; beyond it the call raises TIMEOUT.
///
/// OxORB's own, type 0x4f580001 (Messaging has only end times). Default: no separate limit. The limit does not travel
/// with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeReplyTimeout(pub Duration);

/// Earliest time of service: the client delays sending, and a server that receives the request earlier delays it, up to
/// its option HoldTime.
///
/// Messaging::RequestStartTimePolicy, type 27 (`start_time`, a UtcT). Asynchronous calls leave the waiting to the
/// server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestStartTime(pub SystemTime);

/// Latest time of service. If the request cannot be sent by then, the call raises TIMEOUT; if it reaches the server
/// later, the server drops it.
///
/// Messaging::RequestEndTimePolicy, type 28 (`end_time`, a UtcT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEndTime(pub SystemTime);

/// Earliest time at which the reply is delivered to the caller.
///
/// Messaging::ReplyStartTimePolicy, type 29 (`start_time`, a UtcT). Applies to asynchronous calls as well, whether
/// their answer is awaited, polled or passed to a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyStartTime(pub SystemTime);

/// Latest time of the reply: beyond it the call raises TIMEOUT, and a server that has not begun to serve the request
/// drops it.
///
/// Messaging::ReplyEndTimePolicy, type 30 (`end_time`, a UtcT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyEndTime(pub SystemTime);

/// Time limit of connecting to a server, including name resolution.
///
/// TAO::ConnectionTimeoutPolicy, type 0x54410008. Default: the option ConnectTimeout, 5 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionTimeout(pub Duration);

/// Event that a `oneway` waits for.
///
/// Messaging::SyncScopePolicy, type 24. Default: `WithTransport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SyncScope {
    /// Absence of an event: the request is copied into a bounded buffer, from which a thread of the ORB sends
    /// it (SYNC_NONE). Its outcome is not reported; [`Ref::buffered`](crate::Ref::buffered) returns
    /// counts. See [`BufferingConstraint`].
    None,
    /// Acceptance of the request by the transport (SYNC_WITH_TRANSPORT).
    #[default]
    WithTransport,
    /// Acceptance of the request by the server, before the servant runs (SYNC_WITH_SERVER): forwards are followed, and
    /// an unreachable server is detected. With GIOP 1.0 and 1.1, the same as `WithTarget`.
    WithServer,
    /// End of the servant's operation (SYNC_WITH_TARGET); system exceptions are returned.
    WithTarget,
}

/// Condition for sending buffered oneways ([`SyncScope::None`]): they are sent as soon as one of the constraints holds.
///
/// TAO::BufferingConstraintPolicy, type 0x54410001: BUFFER_TIMEOUT, BUFFER_MESSAGE_COUNT, BUFFER_MESSAGE_BYTES.
/// Default: [`FLUSH`](Self::FLUSH). Regardless of the policy, the buffer for a server is sent when it is half full
/// (option BufferedOneways), at [`Ref::flush`](crate::Ref::flush), and when the ORB ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BufferingConstraint {
    /// Time since the first oneway was buffered.
    pub time: Option<Duration>,
    /// Number of buffered oneways.
    pub count: Option<u32>,
    /// Number of buffered octets.
    pub octets: Option<usize>,
}

impl BufferingConstraint {
    /// Each oneway is sent as soon as the sending thread processes it (BUFFER_FLUSH).
    pub const FLUSH: Self = Self { time: None, count: None, octets: None };
}

/// Permission for a reference to be rebound to another location or connection without notice to the
/// caller.
///
/// Messaging::RebindPolicy, type 23. Default: `Transparent`. Under the other two variants the first call that succeeds,
/// or [`Ref::validate_connection`](crate::Ref::validate_connection), binds the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RebindMode {
    /// Forwards are followed and connections opened as needed (TRANSPARENT).
    #[default]
    Transparent,
    /// A bound reference reconnects as needed, but a forward raises REBIND, and no other endpoint is tried (NO_REBIND).
    NoRebind,
    /// Losing the connection of a bound reference also raises REBIND (NO_RECONNECT). Every lost connection to that
    /// server counts, because threads have connections of their own.
    NoReconnect,
}

/// Number of repetitions of a call that certainly did not run, after TRANSIENT or COMM_FAILURE with COMPLETED_NO, and
/// the delay before each.
///
/// OxORB's own, type 0x4f580002. Default: [`NONE`](Self::NONE), as in omniORB and TAO: the call raises the exception at
/// once. (JacORB repeats ten times, 500 ms apart.) Regardless of the policy, a call that may have run is never
/// repeated, a request that was lost on an idle connection or refused with CloseConnection is always sent again at
/// once, and the next endpoint is always tried at once. All of this counts against the call's time limit. For
/// asynchronous calls see `docs/asynchronous.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Number of repetitions after the first attempt.
    pub times: u32,
    /// Delay before the first repetition; it doubles for each further one.
    pub delay: Duration,
    /// Longest delay.
    pub max_delay: Duration,
}

impl Retry {
    /// Absence of repetitions.
    pub const NONE: Self = Self { times: 0, delay: Duration::ZERO, max_delay: Duration::ZERO };

    /// Returns `times` repetitions: 20 ms before the first, then 40, 80, up to 1 s.
    pub const fn times(times: u32) -> Self {
        Self { times, delay: Duration::from_millis(20), max_delay: Duration::from_secs(1) }
    }
}

/// Condition for querying the location of an object (LocateRequest) before a request is sent to it.
///
/// OxORB's own, type 0x4f580003. Default: `Never`. A forwarded request is then sent twice, which costs less than a
/// query unless the request is large. A query is sent once for each address of a reference, over a connection that no
/// other call uses meanwhile; none is sent if calls use a bidirectional connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocateFirst {
    /// Queries never, except by [`Ref::validate_connection`](crate::Ref::validate_connection).
    #[default]
    Never,
    /// Queries before the first request.
    Always,
    /// Queries before the first request larger than this number of octets.
    Above(usize),
}

/// Range of priorities in which a request may be served. It must overlap the range that the server published.
///
/// Messaging::RequestPriorityPolicy, type 25. Travels with the request. Its effect depends on the server's queueing;
/// OxORB serves in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPriority {
    /// Lowest priority.
    pub min: i16,
    /// Highest priority.
    pub max: i16,
}
