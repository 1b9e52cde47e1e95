//! Connections that carry requests both ways (bidirectional GIOP, CORBA 3.3 part 2, 9.9), where the client half and
//! the server half of the ORB meet.
//!
//! ```text
//! client, behind NAT           server
//!   connects       --------->  accepts
//!   Request 0, "I listen at 10.0.0.7:4711" (BI_DIR_IIOP)
//!                              policy allows it: 10.0.0.7:4711 is reached here from now on
//!   serves         <---------  Request 1, a callback
//! ```
//!
//! Both sides must opt in. The offer names addresses, and a client may name any TCP address. Therefore an address for
//! which another client's connection is in use stays with that connection, this ORB's own addresses cannot be named,
//! and a server that accepts offers should restrict the clients by access rules. Addresses of sockets and memory of
//! this host travel in a context of OxORB's own, since BI_DIR_IIOP has hosts and ports only; the transport verifies
//! that they are the client's. Over TLS a host and port also stand for an address of TLS, if the client's certificate
//! names the host.

use std::any::Any;
use std::sync::Arc;

use oxorb_object::{IiopEndpoint, ServiceContexts, SystemException};
use oxorb_transport::{Address, Link, PeerId};

use super::Orb;
use crate::Incident;
use crate::client::{Multiplexed, Peer};
use crate::conn::{Calls, MAX_OFFER, MAX_OFFERS, Offer, Turn};
use crate::error::raise;
use crate::reference::OwnAddress;
use crate::server::{self, Caller};

impl Orb {
    /// Evaluates a client's offer of its connection, made with a request to the object of `key`.
    #[cold]
    pub(crate) fn consider_offer(
        &self,
        caller: &mut Caller<'_>,
        key: &[u8],
        contexts: &ServiceContexts<'_>,
    ) {
        if caller.session.opened_here {
            return;
        }
        let (link, status) = (Arc::clone(caller.link), Arc::clone(&caller.common.status));
        let calls = status.calls().and_then(multiplexed);
        if calls.as_ref().is_some_and(|calls| calls.has_offer(contexts)) {
            return;
        }
        let refuse = |caller: &mut Caller<'_>, why: String| {
            // The offer comes with each request, so its refusal is reported only once.
            let mut session = *caller.session;
            if std::mem::replace(&mut session.refused, true) {
                return;
            }
            caller.set_session(session);
            self.shared().note(Incident::BidirectionalRefused, || link.peer(), || why);
        };
        if !self.bidirectional(key).unwrap_or(self.options().accept_bidirectional) {
            // Another object's policy may allow the offer later, so this refusal is not final.
            return refuse(caller, String::new());
        }
        let octets = Offer::octets(contexts);
        if octets > MAX_OFFER {
            return refuse(
                caller,
                format!("an offer of {octets} octets; at most {MAX_OFFER} are read"),
            );
        }
        let offer = Offer::of(contexts);
        let read = offer.points().and_then(|points| Ok((points, offer.others()?)));
        let (points, others) = match read {
            Ok(read) => read,
            Err(violation) => return refuse(caller, violation.to_string()),
        };
        let calls = calls.unwrap_or_else(|| {
            let turn = Arc::clone(status.turns());
            // The threads of a lane that read a connection may wait for answers themselves.
            let provide_reader = caller.lane().map(|(lane, id)| {
                let orb = self.downgrade();
                let provide = move || {
                    if let Some((lane, orb)) = lane.upgrade().zip(orb.upgrade()) {
                        lane.awaits_answer(&orb, id);
                    }
                };
                Box::new(provide) as Box<dyn Fn() + Send + Sync>
            });
            let calls = Multiplexed::accepted(Arc::clone(&link), turn, provide_reader);
            status.use_both_ways(Arc::<Multiplexed>::clone(&calls));
            calls
        });
        if !calls.set_offer(offer) {
            return refuse(
                caller,
                format!(
                    "more than {MAX_OFFERS} different offers over one connection: open another one"
                ),
            );
        }
        let points = points.iter();
        let points = points.flat_map(|point| self.verified_points(point, &*link));
        let others = others.iter();
        let others = others.map(|address| self.verified_offer(address, link.identity()));
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for offered in points.chain(others) {
            match offered.and_then(|offered| self.lead_to(&calls, &offered)) {
                Ok(address) => taken.push(address),
                Err(why) => refused.push(why),
            }
        }
        let detail = || match (taken.is_empty(), refused.is_empty()) {
            (true, _) => format!("for none of its addresses: {}", refused.join("; ")),
            (_, true) => format!("for {}", taken.join(", ")),
            _ => format!("for {}; not for {}", taken.join(", "), refused.join("; ")),
        };
        self.shared().note(Incident::BidirectionalAccepted, || link.peer(), detail);
    }

    /// Returns the addresses at a host and port that a client names for callbacks over its connection. Calls to a
    /// protected address never go over an unprotected connection.
    fn verified_points<'o>(
        &'o self,
        point: &'o IiopEndpoint,
        link: &'o dyn Link,
    ) -> impl Iterator<Item = Result<Vec<Address>, String>> + 'o {
        let protocols = self.options().protocols.iter();
        let transports = protocols
            .filter(|protocol| protocol.messaging().is_none())
            .map(|protocol| protocol.transport())
            .filter(|transport| link.is_protected() || !transport.is_secure());
        transports.filter_map(|transport| {
            let verified = transport.verify_point(&point.host, point.port, link);
            let named = |why| format!("{}:{}: {why}", point.host, point.port);
            Some(verified.transpose()?.map(|address| vec![address]).map_err(named))
        })
    }

    /// Reads an address that a client names for callbacks over its connection; returns all addresses of the same place.
    fn verified_offer(&self, address: &str, client: PeerId) -> Result<Vec<Address>, String> {
        let address: Address = address.parse().map_err(|error| format!("{error}"))?;
        let protocol = self.options().protocols.giop_to(&address);
        let protocol =
            protocol.ok_or_else(|| format!("{address}: its protocol is unknown to this ORB"))?;
        let verified = protocol.transport().verify_offer(&address, client);
        verified.map_err(|why| format!("{}: {why}", address.for_people()))
    }

    /// Directs calls for the addresses of one place to the connection of `calls`, unless the addresses are this ORB's
    /// own or another client's. Returns the place, for messages.
    fn lead_to(&self, calls: &Arc<Multiplexed>, offered: &[Address]) -> Result<String, String> {
        let mut place = String::new();
        // All addresses are checked before calls to any of them are directed to this connection.
        for address in offered {
            let ours = !matches!(self.own_address(address), OwnAddress::No);
            address.for_people().clone_into(&mut place);
            if ours || !calls.may_lead_to(&self.giop_peers(address)) {
                return Err(format!(
                    "{place}: this address belongs to this ORB or to another connection"
                ));
            }
        }
        let led = |address: &&Address| calls.lead_to(&self.giop_peers(address));
        match offered.iter().filter(led).count() {
            // Since the check, another client has claimed all of the addresses.
            0 => Err(format!("{place}: this address belongs to this ORB or to another connection")),
            _ => Ok(place),
        }
    }

    /// Reports whether the object of `key` accepts requests over connections that this ORB opened.
    pub(crate) fn takes_both_ways(&self, key: &[u8]) -> bool {
        self.bidirectional(key).unwrap_or(self.options().offer_bidirectional)
    }

    fn bidirectional(&self, key: &[u8]) -> Option<bool> {
        self.adapter()?.bidirectional(key)
    }

    /// Returns the peers that speak GIOP at an address.
    fn giop_peers(&self, address: &Address) -> Vec<Arc<Peer>> {
        match self.options().protocols.giop_to(address) {
            Some(protocol) => self.client().peers_at(self.shared(), protocol, address),
            None => Vec::new(),
        }
    }

    /// Serves the requests that arrive over a connection which this side opened for `calls`.
    ///
    /// # Errors
    /// The system refuses a thread, or the ORB was shut down.
    pub(crate) fn serve_both_ways(
        &self,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        calls: Arc<dyn Calls>,
    ) -> Result<(), SystemException> {
        let admitted = self.registry().join(&link);
        let admitted = admitted.ok_or(raise::ORB_SHUT_DOWN)?;
        let id = admitted.id;
        // The reading thread sets the time limit of reads. The time limit of writes is that of a server, because
        // replies are written, too.
        let _ = link.set_write_timeout(Some(self.options().stall_timeout));
        let _ = link.apply(&self.options().connection());
        server::start_both_ways(self, admitted, link, turn, calls).map_err(|_| {
            self.registry().remove(id);
            raise::NO_THREAD
        })
    }
}

/// Returns the connection that carries these calls, as the client half knows it.
fn multiplexed(calls: &Arc<dyn Calls>) -> Option<Arc<Multiplexed>> {
    let any: Arc<dyn Any + Send + Sync> = Arc::<dyn Calls>::clone(calls);
    any.downcast().ok()
}
