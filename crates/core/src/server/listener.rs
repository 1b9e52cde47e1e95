//! Listening endpoints. `accept.rs` opens them and accepts connections.

use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use oxorb_object::ProtocolProperties;
use oxorb_rt::Priority;
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError, Properties};

use super::lane::Lane;
use super::reactor::Reactor;
use crate::SetupError;
use crate::policy::{self, ProtocolList};
use crate::threads::lock::Mutex;
use crate::threads::sync::attributed::Thread;

/// All listening endpoints of an ORB.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(super) open: Mutex<Vec<Listener>>,
    /// Lane that serves accepted connections; unset for a thread per connection.
    pub(super) lane: OnceLock<Arc<Lane>>,
    /// Reactor of the reception of accepted connections, if lanes share the endpoints.
    pub(super) reception: OnceLock<Arc<dyn Reactor>>,
    pub(super) setup: Arc<Setup>,
}

/// Properties of accepted connections, as far as policies set them.
#[derive(Default)]
pub(super) struct Setup {
    protocols: OnceLock<ProtocolList>,
    bandwidth: OnceLock<NonZeroU32>,
}

impl Setup {
    /// Applies the properties to a connection of the protocol with this tag. A closed connection is detected when it is
    /// served.
    pub(super) fn apply(&self, link: &dyn Link, tag: u32, lane: Option<&Arc<Lane>>) {
        let priority = lane.and_then(|lane| lane.priority());
        if let Some(list) = self.protocols.get()
            && let Some(place) = list.position(tag)
        {
            let _ = link.apply(&properties(&list[place].transport, priority));
        }
        let policy = self.bandwidth.get().map(|octets| u64::from(octets.get()));
        let lane = lane.and_then(|lane| lane.plan.pacing);
        if let Some(octets) = [policy, lane].into_iter().flatten().min() {
            let _ = link.apply(&Properties { bandwidth: Some(octets), ..Properties::default() });
        }
    }
}

/// Open endpoint, and the thread that accepts connections there.
pub(super) struct Listener {
    pub(super) acceptor: Arc<dyn Acceptor>,
    pub(super) thread: Option<Thread<()>>,
}

impl Listeners {
    /// Applies the properties of connections to one that another thread accepted for the lane.
    pub(super) fn set_up(&self, link: &dyn Link, tag: u32) {
        self.setup.apply(link, tag, self.lane.get());
    }

    /// Makes the system select among all acceptors at an endpoint by the DSCP of a client's first packet.
    pub(super) fn steer_by_mark(
        &self,
        at: &Endpoint,
        marks: &[(u8, u32)],
        otherwise: u32,
    ) -> io::Result<()> {
        let open = self.open.lock();
        let mut acceptors = open.iter().map(|listener| &listener.acceptor);
        let acceptor = acceptors.find(|acceptor| acceptor.endpoint() == at);
        let acceptor = acceptor.ok_or(io::ErrorKind::NotFound)?;
        acceptor.steer_by_mark(marks, otherwise)
    }

    /// Sets the protocol properties of connections accepted from now on. Only the first call has an
    /// effect.
    pub(crate) fn set_protocols(&self, protocols: ProtocolList) {
        let _ = self.setup.protocols.set(protocols);
    }

    /// Sets the largest send rate of connections accepted from now on, in octets per second. Only the first call has an
    /// effect.
    pub(crate) fn set_bandwidth(&self, octets: NonZeroU32) {
        let _ = self.setup.bandwidth.set(octets);
    }

    /// Returns the lane that serves accepted connections, if they do not have a thread each.
    pub(crate) fn lane(&self) -> Option<&Arc<Lane>> {
        self.lane.get()
    }

    /// Ends the threads that serve connections, after the last connection.
    pub(crate) fn end(&self) {
        if let Some(lane) = self.lane.get() {
            lane.stop();
        }
        if let Some(reception) = self.reception.get() {
            reception.wake();
        }
    }

    /// Stops listening; open connections are not affected.
    pub(crate) fn close(&self) {
        let mut open = self.open.lock();
        for listener in open.iter_mut() {
            listener.acceptor.close();
        }
        for listener in open.iter_mut() {
            if let Some(thread) = listener.thread.take() {
                let _ = thread.join();
            }
        }
        open.clear();
    }
}

/// Error in opening endpoints.
#[derive(Debug)]
pub(crate) enum OpenError {
    Listen(ListenError),
    Threads(io::Error),
    Setup(SetupError),
}

impl From<OpenError> for SetupError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Listen(error) => SetupError::Listen(error),
            OpenError::Threads(error) => SetupError::Threads(error),
            OpenError::Setup(error) => error,
        }
    }
}

/// Returns the connection properties that ServerProtocolPolicy sets, for a lane of this priority.
fn properties(of: &ProtocolProperties, priority: Option<Priority>) -> Properties {
    let named = policy::properties(of);
    let ProtocolProperties::Tcp(tcp) = of else {
        return named;
    };
    let marked = priority.filter(|_| tcp.enable_network_priority);
    // The priority is mapped to queues 0 to 6, which need no privilege.
    let queue = |priority: Priority| {
        let queue = i32::from(priority.get()) * 7 / (i32::from(Priority::MAX.get()) + 1);
        u8::try_from(queue).unwrap_or(0)
    };
    Properties {
        // `None` leaves keep-alive to the option KeepAlive, which sets the time before the system probes a silent
        // client.
        keep_alive: (!tcp.keep_alive).then_some(None),
        delay: None,
        dscp: marked.map(oxorb_rt::dscp),
        queue_priority: marked.map(queue),
        ..named
    }
}
