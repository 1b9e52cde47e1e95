//! The connection that a request came over, for servants that keep something for its client.

use std::fmt;
use std::sync::Weak;

use oxorb_transport::PeerId;

use super::serving_context;
use super::status::Status;
use crate::within;

/// Connection that a request came over: whose it is, and whether it is still there. For servants that hold something for a
/// client, and give it back when the client has gone.
///
/// Keeps nothing open, and may be kept for long. Cheap to clone.
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
    /// Returns the client, as the limits for each client know it: all connections of one address, user or certificate.
    pub fn client(&self) -> &PeerId {
        &self.client
    }

    /// Reports whether the connection is served: its client has neither closed it nor lost it, and nobody has closed it
    /// here. A client whose host vanished counts as connected until that is noticed.
    pub fn is_open(&self) -> bool {
        self.status.upgrade().is_some_and(|status| status.is_served())
    }

    /// Reports whether both are one connection.
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

/// Returns the connection over which the request came that this thread serves; one that this side opened, too, where
/// requests come back over it. `None` outside of such a request, within a call to an object of this process that it makes,
/// and for a request that waited until its POA was active.
///
/// Costs nothing unless called, and then a look at a thread-local.
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
