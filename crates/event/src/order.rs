//! Order of events between processes.

use oxorb::Builder;
use oxorb::settings::ClientConnections;

/// Configures an ORB to keep the order of each supplier's events to and from other processes.
///
/// Events are oneways. By default a thread sends over any idle connection, and a server processes several requests of
/// one connection concurrently, so that oneways may overtake each other. With this setting all threads share one
/// connection to each server, and requests of a connection are served one after the other. This costs a lock per call
/// if several threads call one server, and a long operation delays the other requests of its connection. Both ends of a
/// connection need this setting: supplier and channel, channel and consumer.
///
/// A connection on which a message was cut off, because its server did not read for the time limit of a call, cannot be
/// used any more. A new one is opened only after the server has read the old one to its end: until then calls fail with
/// TRANSIENT, minor `EARLIER_UNREAD`, and a channel with queues keeps the events of its consumer there.
///
/// Later command-line settings take precedence (`-ORBClientConnections`, `-ORBMaxRequestsPerConnection`,
/// `-ORBOrderedReconnect`).
///
/// ```
/// let orb = oxorb_event::in_order(oxorb::Orb::builder()).build()?;
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn in_order(builder: Builder) -> Builder {
    builder.configure(|options| {
        options.client_connections = ClientConnections::LeaderFollowers;
        options.max_requests_per_connection = 1;
        options.ordered_reconnect = true;
    })
}
