//! Connections whose client offers to take requests, too (bidirectional GIOP, CORBA 3.3 part 2, 9.9).
//!
//! ```text
//! client, behind NAT           server
//!   connects       --------->  accepts
//!   Request 0, "I listen at 10.0.0.7:4711" (BI_DIR_IIOP)
//!                              policy allows it: 10.0.0.7:4711 is reached here from now on
//!   serves         <---------  Request 1, a callback
//! ```
//!
//! Both sides must opt in. The offer names addresses, and a client may name any:
//! so an address for which another client's connection is in use stays with it,
//! our own addresses cannot be named, and whoever accepts offers should say by
//! access rules from whom.

use std::sync::{Arc, Weak};

use oxorb_transport::tcp;

use super::lane::Lane;
use super::stand_in::Desk;
use super::threadpool::OwnAddress;
use crate::conn::Reader;
use crate::{Incident, Orb, WeakOrb};

/// A client offers the connection at `desk` with its request to the object of `key`.
#[cold]
pub(super) fn consider(orb: &Orb, desk: &Desk, key: &[u8], offer: &[u8]) {
    let session = desk.session();
    let Some(link) = desk.link() else { return };
    if session.opened_here {
        return;
    }
    let calls = desk.lines(|lines| lines.status.calls().cloned());
    if calls.as_ref().is_some_and(|calls| calls.has_offer(offer)) {
        return;
    }
    let refuse = |why: String| {
        // Told once: it comes again with each request.
        let mut session = desk.session();
        if std::mem::replace(&mut session.refused, true) {
            return;
        }
        desk.set_session(session);
        orb.note(Incident::BidirectionalRefused, || link.peer(), || why);
    };
    let policy = orb.adapter().and_then(|adapter| adapter.bidirectional(key));
    if !policy.unwrap_or(orb.options().accept_bidirectional) {
        // Another object's policy may allow it.
        return refuse(String::new());
    }
    let points = match oxorb_object::parse_listen_points(offer) {
        Ok(points) => points,
        Err(violation) => return refuse(violation.to_string()),
    };
    let calls = calls.unwrap_or_else(|| {
        let turn = desk.lines(|lines| Some(Arc::clone(lines.status.turns())));
        let turn = turn.unwrap_or_default();
        let reader = desk.lane().map(|(lane, id)| LaneReader {
            lane,
            orb: orb.downgrade(),
            id,
        });
        let reader = reader.map(|reader| Box::new(reader) as Box<dyn Reader>);
        let calls = orb.call_back_over(Arc::clone(&link), turn, reader);
        desk.use_both_ways(Arc::clone(&calls));
        calls
    });
    calls.set_offer(offer);
    let mut taken = Vec::new();
    for point in &points {
        let address = tcp::address(&point.host, point.port);
        let ours = !matches!(orb.own_address(&address), OwnAddress::No);
        if !ours && Arc::clone(&calls).lead_to(&address) {
            taken.push(point.to_string());
        }
    }
    let detail = || match taken.is_empty() {
        true => "none of its addresses can be had: others use them".to_owned(),
        false => format!("for {}", taken.join(", ")),
    };
    orb.note(Incident::BidirectionalAccepted, || link.peer(), detail);
}

/// Lane whose threads read a connection that carries calls, too.
struct LaneReader {
    lane: Weak<Lane>,
    orb: WeakOrb,
    /// Number of the connection there.
    id: u64,
}

impl Reader for LaneReader {
    fn awaits_answer(&self) {
        if let Some((lane, orb)) = self.lane.upgrade().zip(self.orb.upgrade()) {
            lane.awaits_answer(&orb, self.id);
        }
    }
}

/// Whether the object of `key` takes requests over connections that this ORB opened.
pub(super) fn is_open(orb: &Orb, key: &[u8]) -> bool {
    orb.adapter()
        .and_then(|adapter| adapter.bidirectional(key))
        .unwrap_or(orb.options().offer_bidirectional)
}
