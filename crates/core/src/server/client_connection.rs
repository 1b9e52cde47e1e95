//! Connection of a request, for servants that keep resources for clients.

use std::fmt;
use std::sync::Weak;

use oxorb_transport::PeerId;

use super::serving_context;
use super::status::Status;
use crate::threads::within;

/// Connection of a request: its client, and whether it is still open. For servants that keep resources for a client,
/// and release them when the client has gone.
///
/// Does not keep the connection open, so that it may be stored for any time. Cheap to clone.
///
/// ```
/// use oxorb_core::{ClientConnection, current_connection};
///
/// /// Place that is taken for a client, which may go without a word.
/// struct Place(Option<ClientConnection>);
///
/// impl Place {
///     fn new() -> Place {
///         Place(current_connection())
///     }
///
///     fn is_free(&self) -> bool {
///         self.0.as_ref().is_some_and(|client| !client.is_open())
///     }
/// }
/// assert!(!Place::new().is_free(), "a caller of this process does not go");
/// ```
#[derive(Clone)]
pub struct ClientConnection {
    client: PeerId,
    status: Weak<Status>,
}

impl ClientConnection {
    /// Returns the client, as limits per client identify it: all connections of one address, user or certificate.
    pub fn client(&self) -> &PeerId {
        &self.client
    }

    /// Reports whether the connection is open: closed neither by the client nor by the server, and not lost. A client
    /// whose host vanished counts as connected until the loss is detected.
    pub fn is_open(&self) -> bool {
        self.status.upgrade().is_some_and(|status| status.is_served())
    }

    /// Reports whether both values stand for the same connection.
    pub fn is_same(&self, other: &ClientConnection) -> bool {
        Weak::ptr_eq(&self.status, &other.status)
    }
}

impl fmt::Debug for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = (&self.client, self.is_open());
        f.debug_struct("ClientConnection")
            .field("client", fields.0)
            .field("open", &fields.1)
            .finish()
    }
}

/// Returns the connection of the request that this thread serves; also one that this side opened, if requests arrive
/// over it. `None` outside of such a request, within a collocated call that it makes, and for a request that was held
/// until its POA was active.
///
/// Costs nothing unless called, and then an access to a thread-local variable.
///
/// ```
/// assert!(oxorb_core::current_connection().is_none(), "no request is being served here");
/// ```
pub fn current_connection() -> Option<ClientConnection> {
    match within::within_local() {
        true => None,
        false => serving_context::connection(|link, status| ClientConnection {
            client: link.identity().client(),
            status,
        }),
    }
}
