//! Connections that carry requests both ways: where the two halves of the ORB meet.

use std::sync::Arc;

use oxorb_object::SystemException;
use oxorb_transport::Link;

use super::Orb;
use crate::client::Multiplexed;
use crate::conn::{Calls, Reader, Turn};
use crate::{raise, server};

impl Orb {
    /// Serves the requests that come over a connection which this side opened for `calls`.
    pub(crate) fn serve_both_ways(
        &self,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        calls: Arc<dyn Calls>,
    ) -> Result<(), SystemException> {
        let admitted = self.registry().join(&link).ok_or(raise::ORB_SHUT_DOWN)?;
        let id = admitted.id;
        // The tick is the reading thread's business, the patience of writes is
        // that of a server: replies are written, too.
        let _ = link.set_write_timeout(Some(self.options().stall_timeout));
        let _ = link.apply(&self.options().connection());
        server::start_both_ways(self, admitted, link, turn, calls).map_err(|_| {
            self.registry().remove(id);
            raise::NO_THREAD
        })
    }

    /// Returns the way back over a connection that a client opened and offers.
    pub(crate) fn call_back_over(
        &self,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        reader: Option<Box<dyn Reader>>,
    ) -> Arc<dyn Calls> {
        Multiplexed::accepted(self, link, turn, reader)
    }
}
