//! Order of events between processes.

use oxorb::Builder;
use oxorb::settings::ClientConnections;

/// Configures an ORB to keep the order of each supplier's events between processes.
///
/// Events are oneways. By default a thread sends over any idle connection, and a server processes several requests of
/// one connection concurrently. Oneways can therefore overtake each other. With this setting, all threads share one
/// connection to each server, and the requests of a connection are served one after the other. This costs a lock for
/// each call if several threads call the same server, and a long operation delays the other requests of its connection.
/// Both ends of a connection need this setting: supplier and channel, and channel and consumer.
///
/// If a server reads nothing for the time limit of a call, a message may be sent only in part, and the connection can
/// no longer be used. The ORB opens a new connection only when the server has read all of the old one. Until then calls
/// fail with TRANSIENT, minor `EARLIER_UNREAD`, and a channel with queues keeps the consumer's events in its queue.
///
/// Settings on the command line take precedence (`-ORBClientConnections`, `-ORBMaxRequestsPerConnection`,
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
