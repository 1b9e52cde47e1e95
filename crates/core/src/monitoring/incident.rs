//! Incidents of connections for an operator: limits that were hit, peers that were refused.
//!
//! Nothing here is on the path of a usual request. Each incident is counted, and logged (`-ORBLogLevel`) unless the ORB
//! has an [observer](crate::Orb::observe_connections).

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;

use oxorb_cdr::Printable;

use super::log::{Log, LogLevel};
use crate::threads::sync::atomic::{AtomicU64, Ordering};

/// Event of a connection other than a request or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Incident {
    /// A connection from an address that the access rules of its endpoint do not admit.
    AccessDenied,
    /// A connection exceeded `MaxConnections`; it was sent CloseConnection.
    TooManyConnections,
    /// A connection exceeded the limit of its client address (`MaxConnectionsPerClient`).
    TooManyFromClient,
    /// An idle connection was closed in favour of a new one (`MaxConnections`, or descriptors).
    Purged,
    /// A connection was idle for longer than `IdleTimeout`.
    IdleClosed,
    /// A client stalled in the middle of a message for longer than `StallTimeout`.
    Stalled,
    /// A request exceeded the limit of its client (`MaxRequestsPerClient`); it raised TRANSIENT.
    TooManyRequests,
    /// A client's connections held more than `MaxOctetsPerClient`; reading from them paused.
    TooManyOctets,
    /// A client sent octets that are not GIOP, or violated the protocol.
    Violation,
    /// A request was cancelled before it ran; it was dropped.
    Cancelled,
    /// Accepting a connection failed for lack of descriptors or memory; it is retried after a pause.
    AcceptPaused,
    /// A client's offer of its connection for callbacks was accepted.
    BidirectionalAccepted,
    /// A client's offer of its connection for callbacks was refused by policy.
    BidirectionalRefused,
    /// References name the loopback address, because this host has no other.
    OnlyLoopback,
    /// The system permits no real-time priorities to threads of this process; they keep their class and priority.
    /// Reported once.
    NoRealTimePriority,
    /// A request came while all threads of its lane were busy and its request buffer was full; it raised TRANSIENT.
    BufferFull,
    /// The system does not let this process lock its memory; the process runs without. Reported once.
    MemoryNotLocked,
    /// An answer for a reply handler that is an object was lost: the handler could not be reached, or too many answers
    /// wait for handlers.
    HandlerNotTold,
    /// A request used more processor time than the run-time scheduler's table declares for its operation, or than its
    /// [budget](crate::Budget::longest) allows for one request.
    Overrun,
    /// A request could no longer meet its deadline when its dispatching module dequeued it.
    DispatchedLate,
    /// A threadpool with priorities was created in an ORB whose threads have none. Logged once.
    PrioritiesNotScheduled,
    /// A POA for persistent objects was created whose references name ports chosen by the system.
    PersistentOnAnyPort,
    /// A client sent a message that is larger, or in more fragments, than this side accepts; its connection was closed.
    TooLarge,
    /// A client reads its large replies too slowly (`MaxReplyOctetsPerClient`); one of its requests raised TRANSIENT.
    RepliesNotTaken,
    /// The system refused the pages that `SharedPages`, or `pages=` of the endpoint, requires for a connection's
    /// memory; the connection was closed.
    PagesRefused,
    /// The system refused a resource that serving a connection needs: a thread, a descriptor, or notification of its
    /// octets. The connection was refused.
    NotServed,
    /// A server did not read within `StallTimeout` the octets that were sent before a request that was cut off
    /// (`OrderedReconnect`); its connection was closed, and later requests may overtake them.
    OrderLost,
    /// The system refused a property that a lane requests for its packets; the lane runs without it. Reported once for
    /// each lane and property.
    LaneNotSteered,
    /// A scheduling context of a peer, service context 30, is unusable. A request with such a context raises MARSHAL.
    /// Logged once.
    BadSchedulingContext,
    /// A client and this server did not agree on a protected connection: no certificate, an untrusted one, or no answer
    /// in time.
    HandshakeRefused,
    /// Requests exceed a [budget](crate::Budget). Reported at most once a second for each budget;
    /// [`Orb::budgets`](crate::Orb::budgets) counts the requests.
    BeyondBudget,
    /// The system does not let budgets be enforced as configured: threads are demoted in another way, or not throttled.
    /// Reported once.
    BudgetNotEnforced,
    /// A request was not allowed by the access rules; it raised NO_PERMISSION.
    RequestDenied,
    /// A oneway waited for a thread longer than its communication class allows, or gave way to another request
    /// ([`DropRules`](crate::DropRules)).
    OnewayDropped,
    /// A client sent more requests than the [limit](crate::AccessRule::limit) of an access rule; a request raised
    /// TRANSIENT. Each request is counted, and one in a second is reported for each client and rule.
    RequestLimited,
    /// A gateway did not pass a request or a reply on, because it contains a reference that the gateway refuses, or
    /// values of unknown types; NO_PERMISSION was raised.
    NotPassed,
}

impl Incident {
    /// All incidents, in the order of their counters.
    pub const ALL: [Incident; 36] = [
        Incident::AccessDenied,
        Incident::TooManyConnections,
        Incident::TooManyFromClient,
        Incident::Purged,
        Incident::IdleClosed,
        Incident::Stalled,
        Incident::TooManyRequests,
        Incident::TooManyOctets,
        Incident::Violation,
        Incident::Cancelled,
        Incident::AcceptPaused,
        Incident::BidirectionalAccepted,
        Incident::BidirectionalRefused,
        Incident::OnlyLoopback,
        Incident::NoRealTimePriority,
        Incident::BufferFull,
        Incident::MemoryNotLocked,
        Incident::HandlerNotTold,
        Incident::Overrun,
        Incident::DispatchedLate,
        Incident::PrioritiesNotScheduled,
        Incident::PersistentOnAnyPort,
        Incident::TooLarge,
        Incident::RepliesNotTaken,
        Incident::PagesRefused,
        Incident::NotServed,
        Incident::OrderLost,
        Incident::LaneNotSteered,
        Incident::BadSchedulingContext,
        Incident::HandshakeRefused,
        Incident::BeyondBudget,
        Incident::BudgetNotEnforced,
        Incident::RequestDenied,
        Incident::OnewayDropped,
        Incident::RequestLimited,
        Incident::NotPassed,
    ];

    /// Returns the urgency of the incident's line in the log.
    pub fn level(self) -> LogLevel {
        match self {
            Incident::AcceptPaused
            | Incident::HandlerNotTold
            | Incident::PagesRefused
            | Incident::NotServed => LogLevel::Error,
            Incident::AccessDenied
            | Incident::TooManyConnections
            | Incident::TooManyFromClient
            | Incident::Stalled
            | Incident::TooManyRequests
            | Incident::TooManyOctets
            | Incident::Violation
            | Incident::TooLarge
            | Incident::RepliesNotTaken
            | Incident::NoRealTimePriority
            | Incident::PrioritiesNotScheduled
            | Incident::PersistentOnAnyPort
            | Incident::BufferFull
            | Incident::MemoryNotLocked
            | Incident::OrderLost
            | Incident::LaneNotSteered
            | Incident::BadSchedulingContext
            | Incident::HandshakeRefused
            | Incident::BeyondBudget
            | Incident::BudgetNotEnforced
            | Incident::RequestDenied
            | Incident::RequestLimited
            | Incident::NotPassed
            | Incident::Overrun => LogLevel::Warn,
            Incident::Purged
            | Incident::BidirectionalRefused
            | Incident::OnlyLoopback
            | Incident::OnewayDropped
            | Incident::DispatchedLate => LogLevel::Info,
            Incident::IdleClosed | Incident::Cancelled | Incident::BidirectionalAccepted => {
                LogLevel::Debug
            }
        }
    }

    /// Returns the kind of incident for a message that cannot be accepted: a limit of this side, or a fault of the
    /// peer.
    pub(crate) fn of(violation: &oxorb_giop::Violation) -> Incident {
        match violation.is_limit() {
            true => Incident::TooLarge,
            false => Incident::Violation,
        }
    }

    /// Returns a sentence for a log, with the setting that decides.
    pub fn text(self) -> &'static str {
        match self {
            Incident::AccessDenied => "the access rules do not admit this address (-ORBAccess)",
            Incident::TooManyConnections => {
                "the maximum number of connections is reached, and none of them is idle (-ORBMaxConnections)"
            }
            Incident::TooManyFromClient => {
                "this address has the maximum number of connections (-ORBMaxConnectionsPerClient)"
            }
            Incident::Purged => "an idle connection was closed to make room for a new one",
            Incident::IdleClosed => "the connection was idle for too long (-ORBIdleTimeout)",
            Incident::Stalled => "the client stalled in the middle of a message (-ORBStallTimeout)",
            Incident::TooManyRequests => {
                "this address has the maximum number of running requests (-ORBMaxRequestsPerClient)"
            }
            Incident::TooManyOctets => {
                "the messages of this address use the maximum amount of memory (-ORBMaxOctetsPerClient); reading pauses"
            }
            Incident::Violation => "the client violated the protocol",
            Incident::PagesRefused => {
                "the system refuses the pages that connections over shared memory require (-ORBSharedPages, or pages= \
                 of the endpoint); the connection was closed"
            }
            Incident::RepliesNotTaken => {
                "the replies that this address has not received yet have the maximum size (-ORBMaxReplyOctetsPerClient)"
            }
            Incident::TooLarge => {
                "the client sent more than this server accepts, and its connection was closed"
            }
            Incident::NotServed => {
                "the system refuses the threads or descriptors that serving the connection needs (ulimit -u and -n), \
                 or more than four lanes borrow from each other; the connection was rejected"
            }
            Incident::OrderLost => {
                "the server did not read in time the data before a request that was cut off; that connection was \
                 closed, and later requests may overtake earlier ones (-ORBStallTimeout, -ORBOrderedReconnect)"
            }
            Incident::LaneNotSteered => {
                "the system refuses the packet settings of the lane, and the lane continues without them (busy_poll \
                 and napi of the lane; `oxorb doctor` lists what to change)"
            }
            Incident::BadSchedulingContext => {
                "a distributable thread arrived with a scheduling context that cannot be used (both sides need the \
                 same scheduler)"
            }
            Incident::RequestDenied => {
                "the access rules do not allow this request ([access] of the configuration or of -ORBAccessRules)"
            }
            Incident::RequestLimited => {
                "this client sends more requests than an access rule admits (limit in [access] of the configuration or \
                 of -ORBAccessRules)"
            }
            Incident::HandshakeRefused => "the client was rejected",
            Incident::NotPassed => "the gateway did not pass a request or a reply on",
            Incident::OnewayDropped => {
                "a oneway that waited for a thread was dropped (drop of the threadpool's buffering)"
            }
            Incident::BeyondBudget => {
                "its budget is spent (-ORBBudget, Orb::budgets shows what is used)"
            }
            Incident::BudgetNotEnforced => {
                "the system does not permit budgets to be enforced as configured (CAP_SYS_NICE)"
            }
            Incident::Cancelled => "a request was cancelled before it ran",
            Incident::AcceptPaused => "no further connection can be accepted at the moment",
            Incident::BidirectionalAccepted => "the connection will also carry callbacks",
            Incident::OnlyLoopback => {
                "this host has no address but loopback, so only clients on it can connect (-ORBEndPointPublish \
                 publishes another address)"
            }
            Incident::BufferFull => {
                "all threads of the lane are busy and its request buffer is full (max_requests and max_octets of the \
                 threadpool's buffering)"
            }
            Incident::MemoryNotLocked => {
                "this process may not lock its memory, so pages may be swapped (CAP_IPC_LOCK or ulimit -l allows it, \
                 -ORBLockMemory)"
            }
            Incident::HandlerNotTold => "an answer could not be delivered to its reply handler",
            Incident::DispatchedLate => {
                "the request could no longer meet its deadline when it was dispatched (the setting missed of the \
                 dispatching modules determines its treatment)"
            }
            Incident::Overrun => {
                "a request used more processor time than was declared for it, so the analysis does not hold (`oxorb \
                 sched calibrate` measures processor times)"
            }
            Incident::NoRealTimePriority => {
                "this process may not have real-time priorities, so threads keep their schedule (CAP_SYS_NICE or \
                 ulimit -r allows them, -ORBSchedPolicy SCHED_OTHER does not need them)"
            }
            Incident::PersistentOnAnyPort => {
                "references to its persistent objects become invalid at the next start, because the system chose their \
                 port (-ORBListenEndpoints iiop://:PORT, or --port of a service of `oxorb`, fixes the port, also for \
                 lanes)"
            }
            Incident::PrioritiesNotScheduled => {
                "lanes have priorities, but all threads run in the same scheduling class, so the scheduler prefers \
                 none of them (-ORBSchedPolicy SCHED_FIFO or SCHED_RR)"
            }
            Incident::BidirectionalRefused => {
                "the client offered its connection for callbacks, which this server does not allow \
                 (-ORBAcceptBiDirectionalGIOP)"
            }
        }
    }
}

/// Incident, and the connection that it concerns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectionEvent {
    /// Kind of incident.
    pub incident: Incident,
    /// Peer, as `host:port`; an endpoint for incidents without a peer.
    pub peer: String,
    /// Further details; may be empty.
    pub detail: String,
}

impl fmt::Display for ConnectionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.peer, self.incident.text())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", Printable(&self.detail))?;
        }
        Ok(())
    }
}

/// Snapshot of the server side of an ORB.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectionStatistics {
    /// Number of connections that are open now.
    pub open: usize,
    /// Number of connections served since the start of the ORB.
    pub accepted: u64,
    /// Total size in octets of the messages that are arriving or being served now, over all clients; small messages are
    /// not counted.
    pub octets_held: usize,
    counts: [u64; Incident::ALL.len()],
}

impl ConnectionStatistics {
    /// Returns the number of times that an incident occurred since the start of the ORB.
    pub fn count(&self, incident: Incident) -> u64 {
        self.counts[incident as usize]
    }
}

/// Counters, observer and log of one ORB.
pub(crate) struct Watch {
    pub(crate) accepted: AtomicU64,
    /// Number of handshakes of protected connections that were finished.
    pub(crate) handshakes: AtomicU64,
    counts: [AtomicU64; Incident::ALL.len()],
    observer: OnceLock<Box<Observer>>,
    pub(crate) log: Log,
}

impl Watch {
    pub(crate) fn new(log: Log) -> Watch {
        Watch {
            accepted: AtomicU64::new(0),
            handshakes: AtomicU64::new(0),
            counts: std::array::from_fn(|_| AtomicU64::default()),
            observer: OnceLock::new(),
            log,
        }
    }

    /// Returns the statistics of connections; the arguments are those of the registry.
    pub(crate) fn statistics(&self, open: usize, octets_held: usize) -> ConnectionStatistics {
        ConnectionStatistics {
            open,
            accepted: self.accepted.load(Ordering::Relaxed),
            octets_held,
            counts: std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed)),
        }
    }

    /// Registers the observer of incidents; returns false if there is one already.
    pub(crate) fn observe(&self, observer: Box<Observer>) -> bool {
        self.observer.set(observer).is_ok()
    }

    /// Counts and reports an incident, the first time only.
    #[cold]
    pub(crate) fn note_once(
        &self,
        incident: Incident,
        about: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        let count = &self.counts[incident as usize];
        if count.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.tell(incident, about, detail);
        }
    }

    /// Counts an incident without a report.
    #[cold]
    pub(crate) fn count(&self, incident: Incident) {
        self.counts[incident as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts and reports an incident.
    #[cold]
    pub(crate) fn note(
        &self,
        incident: Incident,
        peer: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        self.count(incident);
        self.tell(incident, peer, detail);
    }

    fn tell(
        &self,
        incident: Incident,
        peer: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        let observer = self.observer.get();
        if observer.is_none() && !self.log.wants(incident.level()) {
            return;
        }
        let event = ConnectionEvent { incident, peer: peer(), detail: detail() };
        let Some(observer) = observer else {
            return self.log.incident(&event);
        };
        // A panic of the application must not end the thread that noticed the incident: it may be the one that accepts
        // connections, or one that serves a lane.
        if panic::catch_unwind(AssertUnwindSafe(|| observer(&event))).is_err() {
            self.log.incident(&event);
        }
    }
}

type Observer = dyn Fn(&ConnectionEvent) + Send + Sync;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_incident_has_its_own_place() {
        for (at, incident) in Incident::ALL.into_iter().enumerate() {
            assert_eq!(incident as usize, at);
        }
    }

    #[test]
    fn a_panic_of_the_observer_or_of_the_sink_does_not_end_the_thread() {
        let lines = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&lines);
        let watch = Watch::new(Log::new(LogLevel::Debug, None));
        assert!(watch.observe(Box::new(|_| panic!("as it should"))));
        assert!(watch.log.hand_to(Box::new(move |_, line: &str| {
            assert!(line.contains("192.0.2.7:1"), "{line}");
            counter.fetch_add(1, Ordering::Relaxed);
            panic!("as it should");
        })));
        watch.note(Incident::AccessDenied, || "192.0.2.7:1".to_owned(), String::new);
        assert_eq!(lines.load(Ordering::Relaxed), 1, "the incident is logged instead");
        assert_eq!(watch.statistics(0, 0).count(Incident::AccessDenied), 1);
    }

    #[test]
    fn what_is_told_once_is_told_once_however_many_notice_it() {
        let told = Arc::new(AtomicU64::new(0));
        let watch = Watch::new(Log::new(LogLevel::Off, None));
        let counter = Arc::clone(&told);
        assert!(watch.observe(Box::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        })));
        let incident = Incident::BudgetNotEnforced;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| watch.note_once(incident, String::new, String::new));
            }
        });
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(watch.statistics(0, 0).count(incident), 1);
    }
}
