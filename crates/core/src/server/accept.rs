//! Threads that open listening endpoints and accept connections there.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::Wire;
use oxorb_object::Version;
use oxorb_sys::thread::{Places, ThreadPurpose};
use oxorb_transport::{
    Acceptor, Endpoint, Link, ListenError, RefusedConnection as NotLetIn, Transport,
};

use super::Sink;
use super::lane::Lane;
use super::listener::{Listener, Listeners, OpenError, Setup};
use super::per_connection;
use super::reception::Reception;
use super::registry::{AdmittedConnection, Refused};
use crate::protocol::ProtocolStack;
use crate::threads::sync::{atomic::Ordering, thread};
use crate::{Incident, Orb, SetupError};

const ACCEPTOR: &str = "oxorb-accept";

/// Pause after accept has failed for lack of descriptors or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

impl Listeners {
    /// Opens `endpoints` and starts to accept, for a thread per connection or for a lane's threads;
    /// if one endpoint cannot be opened, or the ORB is shut down meanwhile, none stays open.
    pub(crate) fn open(
        &self,
        orb: &Orb,
        endpoints: &[Endpoint],
        lane: impl FnOnce() -> io::Result<Option<Arc<Lane>>>,
    ) -> Result<Vec<Endpoint>, OpenError> {
        self.open_by(orb, endpoints, lane, |transport, at| transport.listen(at))
    }

    /// Opens `endpoints` as [`open`](Self::open) does, each by `listen`.
    pub(super) fn open_by(
        &self,
        orb: &Orb,
        endpoints: &[Endpoint],
        lane: impl FnOnce() -> io::Result<Option<Arc<Lane>>>,
        listen: impl Fn(&dyn Transport, &Endpoint) -> Result<Box<dyn Acceptor>, ListenError>,
    ) -> Result<Vec<Endpoint>, OpenError> {
        let open = |endpoint: &Endpoint| {
            let protocol = orb.options().protocol_at(endpoint).map_err(OpenError::Setup)?;
            let acceptor = listen(protocol.transport(), endpoint);
            let acceptor = acceptor.map_err(OpenError::Listen)?;
            Ok((Arc::clone(protocol), Arc::from(acceptor)))
        };
        let acceptors: Vec<(Arc<ProtocolStack>, Arc<dyn Acceptor>)> =
            endpoints.iter().map(open).collect::<Result<_, _>>()?;
        let lane = lane().map_err(OpenError::Threads)?;
        if let Some(lane) = &lane {
            let _ = self.lane.set(Arc::clone(lane));
        }
        let shared = orb.options().realtime.lanes_on_one_port && !acceptors.is_empty();
        let reception = shared.then(|| Reception::start(orb, lane.as_ref())).transpose();
        let reception = reception.map_err(OpenError::Threads)?;
        if let Some(reception) = &reception {
            let _ = self.reception.set(reception.reactor());
        }
        let real = acceptors.iter().map(|(_, acceptor)| acceptor.endpoint().clone()).collect();
        for (protocol, acceptor) in acceptors {
            let thread = {
                let (orb, acceptor, lane) = (orb.clone(), Arc::clone(&acceptor), lane.clone());
                let reception = reception.clone();
                let tag = protocol.profile().tag();
                let setup = Arc::clone(&self.setup);
                let wire = Wire::of(protocol.messaging(), Version::V1_0); // any version understands the oldest
                let builder = match &lane {
                    Some(lane) => lane.builder(orb.shared(), ThreadPurpose::Acceptor, ACCEPTOR),
                    None => orb.shared().threads.builder(ThreadPurpose::Acceptor, ACCEPTOR, None),
                };
                let places = Arc::default();
                let place = Places::add(&places, acceptor.endpoint().to_string());
                let started = builder.places(&places).spawn(move || {
                    let _place = place;
                    let (lane, reception) = (lane.as_ref(), reception.as_deref());
                    accept(&orb, &*acceptor, lane, tag, &setup, wire, reception);
                });
                // The threads that were started would keep their endpoints open.
                started.inspect_err(|_| self.close()).map_err(OpenError::Threads)?
            };
            self.open.lock().push(Listener { acceptor, thread: Some(thread) });
        }
        // A shutdown that began meanwhile may have closed the open endpoints before these were added.
        if orb.shared().is_closed() {
            self.close();
            return Err(OpenError::Setup(SetupError::ShutDown));
        }
        Ok(real)
    }
}

fn accept(
    orb: &Orb,
    acceptor: &dyn Acceptor,
    lane: Option<&Arc<Lane>>,
    tag: u32,
    setup: &Setup,
    wire: Wire,
    reception: Option<&Reception>,
) {
    let indispensable = orb.options().indispensable_at(acceptor.endpoint());
    if let Some(lane) = lane {
        lane.enter_unreserved(orb.shared());
    }
    let protocol = orb.options().protocol_at(acceptor.endpoint());
    let handshakes = protocol.is_ok_and(|protocol| protocol.transport().is_secure());
    let mut short = false;
    loop {
        if let Some(reception) = reception {
            reception.expect_client(orb, handshakes);
        }
        match acceptor.accept() {
            Ok(link) => {
                short = false;
                if let Some(reception) = reception {
                    reception.take_turn(orb);
                }
                if link.is_protected() {
                    orb.shared().watch.handshakes.fetch_add(1, Ordering::Relaxed);
                }
                if let Some(properties) = &indispensable
                    && let Err(error) = link.apply(properties)
                {
                    orb.shared().note(Incident::PagesRefused, || link.peer(), || error.to_string());
                    // The connection is closed in order, so that its client tries another address.
                    turn_away(Arc::from(link), wire);
                    continue;
                }
                // Without keep-alive, a client that vanishes silently would occupy its connection without limit;
                // `idle_timeout` covers systems without this option.
                let _ = link.apply(&orb.options().connection());
                setup.apply(&*link, tag, lane);
                let (endpoint, link): (_, Arc<dyn Link>) = (acceptor.endpoint(), Arc::from(link));
                match reception.filter(|_| Reception::suits(&*link, wire)) {
                    Some(reception) => reception.welcome(orb, endpoint, link, tag, wire),
                    None => welcome(orb, endpoint, link, lane, wire),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
            Err(error) => {
                // An ORB that is closing goes on until the acceptor has ended: handshakes of other clients may be in
                // progress, and those clients may have sent requests.
                if let Some(refused) = NotLetIn::of(&error) {
                    let why = || format!("{} at {}", refused.why, acceptor.endpoint());
                    orb.shared().note(Incident::HandshakeRefused, || refused.peer.clone(), why);
                    continue;
                }
                if orb.is_closing() {
                    return;
                }
                // A shortage is reported once, not for each attempt.
                if !short {
                    short = true;
                    let endpoint = || acceptor.endpoint().to_string();
                    orb.shared().note(Incident::AcceptPaused, endpoint, || error.to_string());
                }
                make_room(orb);
                thread::sleep(SHORTAGE_PAUSE);
            }
        }
    }
}

/// Passes a new connection to the thread or lane that serves it. A refused one is closed at once,
/// in order, so that its client tries another address.
pub(crate) fn welcome(
    orb: &Orb,
    endpoint: &Endpoint,
    link: Arc<dyn Link>,
    lane: Option<&Arc<Lane>>,
    wire: Wire,
) {
    if let Some(admitted) = admit(orb, endpoint, &link, wire) {
        serve(orb, admitted, link, &[], lane, wire);
    }
}

/// Admits a new connection, unless access rules or limits refuse it. A refused one is closed at once.
pub(super) fn admit(
    orb: &Orb,
    endpoint: &Endpoint,
    link: &Arc<dyn Link>,
    wire: Wire,
) -> Option<AdmittedConnection> {
    let access = match endpoint.access.is_open() {
        true => &orb.options().access,
        false => &endpoint.access,
    };
    let identity = link.identity();
    if !access.admits(&identity) {
        let at = || match identity.subject() {
            Some(subject) => format!("at {endpoint}, with the certificate of {subject}"),
            None => format!("at {endpoint}"),
        };
        orb.shared().note(Incident::AccessDenied, || link.peer(), at);
        turn_away(Arc::clone(link), wire);
        return None;
    }
    let admitted = match orb.registry().admit(link, orb.options()) {
        Ok(admitted) => admitted,
        Err(refused) => {
            if let Refused::Limit(incident) = refused {
                orb.shared().note(incident, || link.peer(), String::new);
            }
            turn_away(Arc::clone(link), wire);
            return None;
        }
    };
    if let Some(peer) = &admitted.purged {
        orb.shared().note(Incident::Purged, || peer.clone(), String::new);
    }
    orb.shared().watch.accepted.fetch_add(1, Ordering::Relaxed);
    admitted.status.speak(wire);
    admitted.status.set_payloads(orb.options().payloads_at(endpoint));
    Some(admitted)
}

/// Passes an admitted connection, with the octets that were read from it, to the thread or lane that serves it.
pub(super) fn serve(
    orb: &Orb,
    admitted: AdmittedConnection,
    link: Arc<dyn Link>,
    octets: &[u8],
    lane: Option<&Arc<Lane>>,
    wire: Wire,
) {
    let id = admitted.id;
    let taken = match lane {
        Some(lane) => lane.adopt(orb, admitted, Arc::clone(&link), octets),
        None => per_connection::start(orb, admitted, Arc::clone(&link), octets),
    };
    if let Err(error) = taken {
        // A lane that is ending returns this error, which is no incident.
        if error.kind() != io::ErrorKind::NotConnected {
            orb.shared().note(Incident::NotServed, || link.peer(), || error.to_string());
        }
        orb.registry().remove(id);
        turn_away(link, wire);
    }
}

/// Frees descriptors: closes an idle connection, and connections to servers that have closed them.
fn make_room(orb: &Orb) {
    let purged = orb.registry().purge_one();
    // An idle connection to a server is closed only if there is no client's connection to close.
    orb.client().give_up_idle(purged.is_none());
    if let Some(peer) = purged {
        orb.shared().note(Incident::Purged, || peer, String::new);
    }
}

/// Closes a new connection in order, so that its client tries another address.
pub(super) fn turn_away(link: Arc<dyn Link>, wire: Wire) {
    Sink::without_memory(Arc::clone(&link)).part(wire);
    link.close();
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use oxorb_testkit::until;

    use super::*;
    use crate::Options;

    #[test]
    fn a_shutdown_while_endpoints_are_opened_leaves_none_open() {
        let mut options = Options::default();
        options.listen_on("iiop://127.0.0.1:0").unwrap();
        let endpoints = options.endpoints().unwrap();
        let orb = Orb::new(options);
        let lane = || {
            orb.shutdown(false).unwrap();
            Ok(None)
        };
        let opened = orb.server().listeners.open(&orb, &endpoints, lane);
        assert!(matches!(opened, Err(OpenError::Setup(SetupError::ShutDown))));
        let accepts =
            || orb.threads().iter().any(|thread| thread.purpose == ThreadPurpose::Acceptor);
        until("no thread waits for clients", || !accepts());
        orb.shutdown(true).unwrap();
    }
}
