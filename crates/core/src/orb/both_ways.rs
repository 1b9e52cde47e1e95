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

use std::sync::Arc;

use oxorb_object::{IiopEndpoint, MAX_LISTEN_ADDRESSES, ServiceContexts, SystemException};
use oxorb_transport::{Address, Link, PeerId};

use super::{Inner, Orb};
use crate::Incident;
use crate::client::{BothEnds, Multiplexed, Peer};
use crate::conn::{Calls, MAX_OFFER, MAX_OFFERS, Offer, Turn};
use crate::error::raise;
use crate::reference::OwnAddress;
use crate::server::{self, Caller, Keeper};

impl Orb {
    /// Returns the ORB as connections that carry requests both ways see it.
    pub(crate) fn both_ends(&self) -> &Arc<impl BothEnds> {
        &self.inner
    }

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
        let calls = status.calls().cloned();
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
            let keeper: Arc<dyn Keeper> = Arc::<Inner>::clone(&self.inner);
            let turn = Arc::clone(status.turns());
            // The threads of a lane that read a connection may wait for answers themselves.
            let provide_reader = caller.lane().map(|(lane, id)| {
                let orb = Arc::downgrade(&keeper);
                let provide = move || {
                    if let Some((lane, orb)) = lane.upgrade().zip(orb.upgrade()) {
                        lane.awaits_answer(&orb, id);
                    }
                };
                Box::new(provide) as Box<dyn Fn() + Send + Sync>
            });
            let calls: Arc<dyn Calls> =
                Multiplexed::accepted(self.both_ends(), Arc::clone(&link), turn, provide_reader);
            status.use_both_ways(Arc::clone(&calls));
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
    fn lead_to(&self, calls: &Arc<dyn Calls>, offered: &[Address]) -> Result<String, String> {
        let mut place = String::new();
        // All addresses are checked before calls to any of them are directed to this connection.
        for address in offered {
            let ours = !matches!(self.own_address(address), OwnAddress::No);
            address.for_people().clone_into(&mut place);
            if ours || !Arc::clone(calls).may_lead_to(address) {
                return Err(format!(
                    "{place}: this address belongs to this ORB or to another connection"
                ));
            }
        }
        let led = |address: &&Address| Arc::clone(calls).lead_to(address);
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
}

impl BothEnds for Inner {
    fn offers_bidirectional(&self) -> bool {
        self.client.offers_bidirectional()
    }

    fn serve_both_ways(
        self: Arc<Self>,
        link: Arc<dyn Link>,
        turn: Arc<Turn>,
        calls: Arc<dyn Calls>,
    ) -> Result<(), SystemException> {
        let admitted = self.server.registry.join(&link);
        let admitted = admitted.ok_or(raise::ORB_SHUT_DOWN)?;
        let id = admitted.id;
        // The reading thread sets the time limit of reads. The time limit of writes is that of a server, because
        // replies are written, too.
        let _ = link.set_write_timeout(Some(self.shared.options.stall_timeout));
        let _ = link.apply(&self.shared.options.connection());
        let orb = Orb { inner: self };
        server::start_both_ways(&orb, admitted, link, turn, calls).map_err(|_| {
            orb.registry().remove(id);
            raise::NO_THREAD
        })
    }

    fn offer(&self, to: &dyn Link) -> Option<Offer> {
        // Addresses within this host are useless to a server on another host, which would refuse them.
        let here = matches!(to.identity(), PeerId::User { .. } | PeerId::Process);
        let (mut points, mut others) = (Vec::new(), Vec::new());
        let addresses = self.server.published.get()?.iter();
        for at in addresses.filter(|at| at.protocol.messaging().is_none()) {
            let transport = at.protocol.transport();
            match transport.listen_point(&at.address) {
                // A server refuses a protected address that is offered over an unprotected connection; see
                // `verified_points`.
                Some(_) if transport.is_secure() && !to.is_protected() => {}
                Some((host, port)) => points.push(IiopEndpoint { host, port }),
                None if here => others.push(at.address.to_string()),
                None => {}
            }
        }
        others.truncate(MAX_LISTEN_ADDRESSES);
        Some(Offer::new(&points, &others))
    }

    fn peers_at(&self, address: &Address) -> Vec<Arc<Peer>> {
        match self.shared.options.protocols.giop_to(address) {
            Some(protocol) => self.client.peers_at(&self.shared, protocol, address),
            None => Vec::new(),
        }
    }
}
