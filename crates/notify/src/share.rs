//! Shares: the part of each limit that one client may use.

use std::collections::HashMap;
use std::sync::Arc;

use oxorb::servant::{ClientConnection, current_connection};
use oxorb::transport::PeerId;
use oxorb::{SystemException, minor};
use oxorb_sys::sync::Mutex;

use crate::Limits;
use crate::problem::too_many;

/// Client for which an object is created, identified by the connection of its request. `None` for callers in this
/// process and for the store, to which no share applies.
#[derive(Clone)]
pub(crate) struct Maker(Option<ClientConnection>);

/// Number of objects of one kind, for each client.
#[derive(Default)]
pub(crate) struct Shares(Mutex<HashMap<PeerId, usize>>);

/// Counts one object towards the share of its client until it is dropped. Empty if the object has no client.
#[must_use]
pub(crate) struct Share(Option<(Arc<Shares>, PeerId)>);

impl Maker {
    /// Returns the client whose request this thread is serving.
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

    /// Counts one more object for the client. `all` is the limit for all clients together. Raises IMP_LIMIT, minor
    /// `EVENT_SHARE`, if the client has used its share.
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
