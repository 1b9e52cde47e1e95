//! Shares of clients: how much each of them has of what there is.

use std::collections::HashMap;
use std::sync::Arc;

use oxorb::transport::PeerId;
use oxorb::{ClientConnection, SystemException, current_connection, minor};
use oxorb_sys::sync::Mutex;

use crate::Limits;
use crate::problem::too_many;

/// Client for which something is made: the connection that its request came over. `None`: a caller of this process, or the
/// store, which have no share.
#[derive(Clone)]
pub(crate) struct Maker(Option<ClientConnection>);

/// Number of objects of one kind that each client has.
#[derive(Default)]
pub(crate) struct Shares(Mutex<HashMap<PeerId, usize>>);

/// Count of one object among those of its client, until it is dropped. Empty for one without a client.
#[must_use]
pub(crate) struct Share(Option<(Arc<Shares>, PeerId)>);

impl Maker {
    /// Returns the client whose request this thread serves.
    pub(crate) fn current() -> Maker {
        let elsewhere = |it: &ClientConnection| *it.client() != PeerId::Process;
        Maker(current_connection().filter(elsewhere))
    }

    pub(crate) fn nobody() -> Maker {
        Maker(None)
    }

    pub(crate) fn connection(self) -> Option<ClientConnection> {
        self.0
    }

    /// Counts one more object for the client, of which there may be `all`. IMP_LIMIT, minor `EVENT_SHARE`, if it has its
    /// share.
    pub(crate) fn take(
        &self,
        shares: &Arc<Shares>,
        all: usize,
        limits: &Limits,
    ) -> Result<Share, SystemException> {
        let Some(connection) = self.0.as_ref().filter(|_| limits.client_share < 100) else {
            return Ok(Share(None));
        };
        let client = connection.client();
        match shares.count(client, limits.share_of(all)) {
            true => Ok(Share(Some((Arc::clone(shares), client.clone())))),
            false => Err(too_many(minor::imp_limit::EVENT_SHARE)),
        }
    }
}

impl Shares {
    fn count(&self, client: &PeerId, most: usize) -> bool {
        let mut held = self.0.lock();
        let before = held.get(client).copied().unwrap_or(0);
        let fits = before < most;
        if fits {
            held.insert(client.clone(), before + 1);
        }
        fits
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some((shares, client)) = self.0.take() else {
            return;
        };
        let mut held = shares.0.lock();
        if let Some(count) = held.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                held.remove(&client);
            }
        }
    }
}
