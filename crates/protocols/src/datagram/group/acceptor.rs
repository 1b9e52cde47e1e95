//! Acceptor of a group.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oxorb_sys::multicast;
use oxorb_sys::sync::{Condvar, Mutex};
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError};

use super::hear::Hearer;
use super::place::Place;
use super::reassembly::{Limits, Reassembly};

/// Interval of checking whether the serving thread has closed the socket; the group is joined again
/// then.
const LOOK: Duration = Duration::from_millis(50);

/// Acceptor that returns one link for all sources, and another one after that is closed.
pub(crate) struct GroupAcceptor {
    endpoint: Endpoint,
    place: Place,
    group: SocketAddr,
    interface: Option<multicast::Interface>,
    reassembly: Arc<Mutex<Reassembly>>,
    state: Mutex<State>,
    changed: Condvar,
    closed: AtomicBool,
}

struct State {
    /// First link, created before the first accept.
    first: Option<Hearer>,
    /// Whether the last returned link is closed.
    over: Arc<AtomicBool>,
}

impl GroupAcceptor {
    /// Joins the group of an endpoint.
    pub(crate) fn listen(at: &Endpoint) -> Result<Self, ListenError> {
        let failed = |error: io::Error| ListenError {
            endpoint: Box::new(at.clone()),
            address: at.place.clone(),
            advice: advice(&error),
            error,
        };
        let place = Place::of(at).ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let named = place.interface.as_deref();
        let interface = named.map(multicast::interface).transpose();
        let interface = interface.map_err(|error| ListenError {
            advice: Some(
                "the host has no such interface: specify the name or an address of an existing one",
            ),
            ..failed(error)
        })?;
        let socket = multicast::join(place.group, interface).map_err(failed)?;
        let group = oxorb_sys::socket::local_address(&socket).map_err(failed)?;
        let mut endpoint = Place { group, ..place.clone() }.endpoint(at);
        // The access rules are removed from the endpoint, because they are checked for each packet: the link has many
        // sources.
        let access = std::mem::take(&mut endpoint.access);
        let limits = Limits { sources: place.sources, kept: place.kept, timeout: place.timeout };
        let reassembly = Arc::new(Mutex::new(Reassembly::new(limits)));
        let over = Arc::new(AtomicBool::new(false));
        let first = Hearer::new(socket, group, access, Arc::clone(&reassembly), Arc::clone(&over));
        Ok(Self {
            endpoint,
            place: Place { access: at.access.clone(), ..place },
            group,
            interface,
            reassembly,
            state: Mutex::new(State { first: Some(first), over }),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
        })
    }
}

impl Acceptor for GroupAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let mut state = self.state.lock();
        let since = Instant::now();
        loop {
            if self.closed.load(Ordering::Acquire) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            if let Some(first) = state.first.take() {
                return Ok(Box::new(first));
            }
            // The group is joined again only after a delay. Otherwise, a serving thread that always closes its link
            // would keep this thread busy.
            if state.over.load(Ordering::Acquire) && since.elapsed() >= LOOK {
                let socket = multicast::join(self.group, self.interface)?;
                state.over = Arc::new(AtomicBool::new(false));
                return Ok(Box::new(Hearer::new(
                    socket,
                    self.group,
                    self.place.access.clone(),
                    Arc::clone(&self.reassembly),
                    Arc::clone(&state.over),
                )));
            }
            state = self.changed.wait_timeout(state, LOOK).0;
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let _state = self.state.lock();
        self.changed.notify_all();
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// Returns advice to the user about a group that cannot be joined.
fn advice(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process took the port without sharing it: choose another port, or stop it"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege (CAP_NET_BIND_SERVICE): choose a higher port"
        }
        io::ErrorKind::InvalidInput => {
            "specify the address of a group, such as miop://239.255.0.1:5000"
        }
        _ => "no route leads to groups: specify the interface to listen on with interface=",
    })
}
