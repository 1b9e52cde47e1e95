//! Order of events between processes.

use oxorb::{Builder, ClientConnections};

/// Lets an ORB keep the order of each supplier's events on their way to other processes and from
/// them.
///
/// Events are oneways. By default a thread sends over whichever connection is idle, and a server takes several requests of
/// one connection at a time: oneways may overtake each other. Here all threads share one connection to each server, and
/// requests of a connection are served one after the other. Costs a lock per call where several threads call one server,
/// and an operation that takes long keeps others of its connection waiting. Both ends need it: supplier and channel, channel
/// and consumer.
///
/// A connection on which a message was cut off, because its server did not read for a call's time, is of no further use.
/// Another one is opened only after the server has read that one to its end: until then calls are TRANSIENT, minor
/// `EARLIER_UNREAD`, and a channel with queues keeps the events of its consumer there.
///
/// Settings of the command line that follow win (`-ORBClientConnections`, `-ORBMaxRequestsPerConnection`,
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
