//! Connection of a request, for interceptors and access rules.

use std::fmt;

use oxorb_transport::Link;

use super::access_gate::Visited;

/// Connection that a request was received over, if any.
#[derive(Clone, Copy)]
pub(crate) struct RequestOrigin<'r> {
    pub(crate) link: Option<&'r dyn Link>,
    /// Access rules that concern the connection's peer; `None` if they are not kept.
    pub(crate) visited: Option<&'r Visited>,
}

impl fmt::Debug for RequestOrigin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.map(|link| link.peer()).fmt(f)
    }
}
