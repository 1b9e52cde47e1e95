//! The connection behind a request, for interceptors and access rules.

use std::fmt;

use oxorb_transport::Link;

use crate::access_index::Visited;

/// The connection that a request came over, if it came over one.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'r> {
    pub(crate) link: Option<&'r dyn Link>,
    /// Access rules that concern its peer; `None`: there is no place for that.
    pub(crate) visited: Option<&'r Visited>,
}

impl fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.map(|link| link.peer()).fmt(f)
    }
}
