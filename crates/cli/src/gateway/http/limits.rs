//! Limits on what clients can cost.

use std::time::Duration;

use oxorb_dynamic::DecoderLimits;
use oxorb_terminal::duration;

/// Maximum number of octets of a request's headers.
pub(super) const MAX_HEADERS: usize = 32 << 10;

/// Maximum number of concurrent requests of one HTTP/2 connection.
pub(super) const MAX_STREAMS: u32 = 64;

/// Maximum number of octets that a client may send on a stream of HTTP/2 before the gateway reads them.
pub(super) const STREAM_WINDOW: u32 = 64 << 10;

/// Maximum number of octets that a client may send on all streams of an HTTP/2 connection before the gateway reads
/// them.
pub(super) const CONNECTION_WINDOW: u32 = 256 << 10;

/// Maximum number of octets of a stream of HTTP/2 that wait to be sent.
pub(super) const SEND_BUFFER: usize = 64 << 10;

/// Maximum number of octets of an answer that are passed to the connection at once.
pub(super) const PART: usize = 16 << 10;

/// Number of octets that may arrive on a connection without being part of an admitted request.
pub(super) const FREE_OCTETS: u64 = 64 << 10;

/// Number of octets that a connection reads before other connections have their turn.
pub(super) const TURN: usize = 16 << 10;

/// Number of octets that a connection reads in its turn before its first admitted request.
pub(super) const TURN_OF_STRANGER: usize = 4 << 10;

/// Number of octets that may arrive on a connection for each octet of a body. They suffice for chunks and frames of few
/// octets.
pub(super) const OCTETS_PER_BODY_OCTET: usize = 2;

/// Number of octets that may arrive on a connection for each part of an answer that a client takes, in addition to those
/// of the part. Clients of HTTP/2 confirm the parts.
pub(super) const OCTETS_PER_PART: usize = 64;

/// Number of octets that may arrive on a connection for each admitted request and for each of its fields, in addition to
/// those of their texts.
pub(super) const OCTETS_PER_FIELD: usize = 64;

/// Time that a body may take in addition to that of its octets at the minimum rate. For an answer, it is [`IDLE`].
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Maximum number of octets of the events that wait for one client, unless a single event is larger.
pub(super) const EVENTS_OCTETS: usize = 1 << 20;

/// Time for which the gateway stays connected to a channel after its last client has left, so that the client can
/// return and receive the events that it has missed.
pub(super) const LINGER: Duration = Duration::from_secs(30);

/// Maximum number of types that the gateway looks up in a repository for one request.
pub(super) const MOST_LOOKUPS: usize = 64;

/// Time without a request after which a connection is closed.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// Time for running requests once the gateway ends, and for a closed connection to end.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// Time between two signs of life on a stream of events.
pub(super) const PULSE: Duration = Duration::from_secs(15);

/// Maximum number of octets of the JSON of all bodies in memory, divided by that of the bodies. The values of an array
/// of numbers or of small structs take up to a hundred times the octets of their text.
const PARSED: u32 = 4;

/// Maximum number of octets of the JSON of an answer, unless the ORB is configured otherwise.
pub(super) const MAX_TEXT: u32 = 16 << 20;

/// Maximum number of octets of the values of an answer in memory, unless the ORB is configured otherwise.
const MAX_VALUES: u32 = 64 << 20;

/// Lowers default limits of the ORB. Each concurrent call may need that much memory, because a server behind the
/// gateway may be hostile, too.
pub(super) fn lower(limits: &mut DecoderLimits) {
    let default = DecoderLimits::default();
    if limits.max_text == default.max_text {
        limits.max_text = MAX_TEXT;
    }
    if limits.max_memory == default.max_memory {
        limits.max_memory = MAX_VALUES;
    }
}

/// Minimum number of octets for each second; 0 if there is no minimum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(pub(super) u32);

impl Rate {
    /// Returns the time that octets may take; `None` if they may take any time.
    pub(super) fn time(self, octets: usize) -> Option<Duration> {
        let micros = (octets as u64).saturating_mul(1_000_000).checked_div(self.0.into())?;
        Some(Duration::from_micros(micros))
    }
}

/// Options of limits.
#[derive(Clone, clap::Args)]
pub(super) struct LimitArgs {
    /// Time limit of a call, connecting and waiting for a free thread included. Clients can lower it with the header
    /// Request-Timeout, in seconds. For example 300ms; a bare number is milliseconds
    #[arg(long, default_value = "10s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds().positive())]
    timeout: Duration,
    /// Maximum number of concurrent calls; each occupies a thread. One object, and one client address, has at most
    /// three quarters of the threads, and at least one
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    calls: u16,
    /// Maximum number of calls that wait for a free thread; further requests get 503
    #[arg(long, default_value_t = 128, value_name = "N")]
    queue: u16,
    /// Maximum number of HTTP connections; further ones wait
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// Maximum number of HTTP connections of one address, or of one IPv6 network of 64 bits; further ones are closed
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections_per_client: u16,
    /// Maximum number of streams of events; further requests get 503. One client address has at most three quarters
    /// of them, and at least one
    #[arg(long, default_value_t = 64, value_name = "N")]
    streams: u16,
    /// Maximum number of events that wait for one client; further events are dropped and counted
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    events_queue: u16,
    /// Maximum number of recent events of each channel that are kept for clients that return (Last-Event-ID)
    #[arg(long, default_value_t = 256, value_name = "N")]
    events_history: u16,
    /// Maximum number of octets of the events of each channel that are kept for clients that return
    #[arg(long, default_value_t = 1 << 20, value_name = "OCTETS")]
    max_history: u32,
    /// Maximum number of octets of a request's body
    #[arg(long, default_value_t = 1 << 20, value_name = "OCTETS")]
    max_body: u32,
    /// Maximum number of octets of the bodies of all requests that arrive or run; further requests get 503. Their JSON
    /// takes at most four times as many octets in memory
    #[arg(long, default_value_t = 64 << 20, value_name = "OCTETS")]
    max_bodies: u32,
    /// Maximum number of octets of all answers that clients have not received; further requests get 503. One client
    /// address has at most half of these octets, as of those of bodies, or those of one answer or body
    #[arg(long, default_value_t = 256 << 20, value_name = "OCTETS")]
    max_answers: u32,
    /// Time limit for the arrival of a request's headers, and of its body. For example 300ms; a bare number is
    /// milliseconds
    #[arg(long, default_value = "10s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds().positive())]
    read_timeout: Duration,
    /// Minimum number of octets for each second of a body that arrives, after 10 s, and of the answers that a client
    /// receives, after 60 s, on average; slower clients are disconnected. 0 permits any rate
    #[arg(long, default_value_t = 1 << 10, value_name = "OCTETS")]
    min_rate: u32,
}

impl LimitArgs {
    /// Returns the time limit of a call.
    pub(super) fn call_time(&self) -> Duration {
        self.timeout
    }

    /// Returns the time limit for the headers of a request, and for its body.
    pub(super) fn read_time(&self) -> Duration {
        self.read_timeout
    }

    /// Returns the minimum rate of bodies and answers.
    pub(super) fn min_rate(&self) -> Rate {
        Rate(self.min_rate)
    }

    /// Returns the time limit for a body of which this number of octets has arrived.
    pub(super) fn body_time(&self, octets: usize) -> Duration {
        let most = self.min_rate().time(octets).map_or(Duration::MAX, |time| GRACE + time);
        most.min(self.read_timeout)
    }

    /// Returns the maximum number of octets of a body.
    pub(super) fn max_body(&self) -> usize {
        self.max_body as usize
    }

    /// Returns the maximum number of octets of all bodies.
    pub(super) fn max_bodies(&self) -> u32 {
        self.max_bodies
    }

    /// Returns the maximum number of octets of the JSON of all bodies in memory.
    pub(super) fn max_parsed(&self) -> u32 {
        self.max_bodies.saturating_mul(PARSED)
    }

    /// Returns the maximum number of octets of all answers.
    pub(super) fn max_answers(&self) -> u32 {
        self.max_answers
    }

    /// Returns the maximum number of concurrent calls.
    pub(super) fn calls(&self) -> usize {
        self.calls.into()
    }

    /// Returns the maximum number of calls that run or wait.
    pub(super) fn admitted(&self) -> usize {
        self.calls() + usize::from(self.queue)
    }

    /// Returns the maximum number of connections.
    pub(super) fn connections(&self) -> usize {
        self.connections.into()
    }

    /// Returns the maximum number of connections of one client.
    pub(super) fn connections_per_client(&self) -> usize {
        self.connections_per_client.into()
    }

    /// Returns the maximum number of streams of events.
    pub(super) fn streams(&self) -> usize {
        self.streams.into()
    }

    /// Returns the maximum number of streams of events of one client.
    pub(super) fn streams_per_client(&self) -> usize {
        (self.streams() * 3 / 4).max(1)
    }

    /// Returns the maximum number of recent events that are kept of each channel.
    pub(super) fn events_history(&self) -> usize {
        self.events_history.into()
    }

    /// Returns the maximum number of octets of these events.
    pub(super) fn max_history(&self) -> usize {
        self.max_history as usize
    }

    /// Returns the maximum number of events that wait for one client.
    pub(super) fn events_queue(&self) -> usize {
        self.events_queue.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_default_limits_are_lowered() {
        let mut limits = DecoderLimits { max_memory: 1 << 30, ..DecoderLimits::default() };
        lower(&mut limits);
        assert_eq!((limits.max_text, limits.max_memory), (MAX_TEXT, 1 << 30));
        let mut limits = DecoderLimits { max_text: 1 << 10, ..DecoderLimits::default() };
        lower(&mut limits);
        assert_eq!((limits.max_text, limits.max_memory), (1 << 10, MAX_VALUES));
    }
}
