//! Network of a model: servers by their ports, and links whose every wait is a choice of the scheduler.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::Wire;
use oxorb_object::Version;
use oxorb_transport::tcp::{self, Place};
use oxorb_transport::{
    Acceptor, Address, Endpoint, EndpointError, Facts, Link, ListenError, Notation, Part, PeerId,
    Properties, Publish, Scheme, Start, Transport, WriteError,
};
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::thread;

use crate::Orb;
use crate::protocol::{ProtocolStack, Protocols};
use crate::server::{Lane, welcome};
use crate::threads::sync::{Condvar, Mutex, MutexGuard};

/// Listening servers. A mutex of the system, which is never held during another step, and is not part of the model.
static SERVERS: oxorb_sys::sync::Mutex<BTreeMap<u16, ServingOrb>> =
    oxorb_sys::sync::Mutex::new(BTreeMap::new());

/// An ORB, and the lane that serves its connections, if there is one.
#[derive(Clone)]
struct ServingOrb(Orb, Option<Arc<Lane>>);

/// Makes `orb` reachable at the port until the guard is dropped.
pub(crate) fn listen(orb: &Orb, lane: Option<Arc<Lane>>) -> PortGuard {
    let mut servers = SERVERS.lock();
    let port = (1..).find(|port| !servers.contains_key(port));
    let port = port.expect("a few models at a time");
    servers.insert(port, ServingOrb(orb.clone(), lane));
    PortGuard(port)
}

/// Guard of a server's port.
pub(crate) struct PortGuard(pub(crate) u16);

impl Drop for PortGuard {
    fn drop(&mut self) {
        let mut servers = SERVERS.lock();
        let server = servers.remove(&self.0);
        drop(servers);
        drop(server);
    }
}

/// The network as a transport with TCP addresses, of which only the ports are used.
#[derive(Debug)]
pub(crate) struct ModelNetwork;

/// Returns the protocols of an ORB in a model.
pub(crate) fn protocols() -> Protocols {
    Protocols::of([ProtocolStack::iiop_over(Arc::new(ModelNetwork))]).expect("one protocol")
}

impl Transport for ModelNetwork {
    fn scheme(&self) -> Scheme {
        tcp::SCHEME
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn endpoints(&self, _: Notation, text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
        Err(text.error("servers of a model listen by themselves"))
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        Err(ListenError {
            endpoint: Box::new(at.clone()),
            address: at.place.clone(),
            error: io::ErrorKind::Unsupported.into(),
            advice: None,
        })
    }

    fn published(&self, at: &Endpoint, _: &[Publish]) -> io::Result<Vec<Address>> {
        Ok(vec![self.own_address(at)])
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        Address::new(tcp::SCHEME, &at.place)
    }

    fn is_fixed(&self, _: &Endpoint) -> bool {
        true
    }

    fn is_local(&self, _: &Endpoint) -> bool {
        true
    }

    fn following(&self, _: &Endpoint, _: u32) -> Option<Endpoint> {
        None
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        let refused = io::ErrorKind::ConnectionRefused;
        let (_, port) = tcp::host_and_port(to).ok_or(refused)?;
        let servers = SERVERS.lock();
        let server = servers.get(&port).cloned();
        drop(servers);
        // While a server ends, its port may already be closed or still be open.
        let open = |ServingOrb(orb, _): &ServingOrb| !orb.is_closing() || thread_rng().r#gen();
        let ServingOrb(orb, lane) = server.filter(open).ok_or(refused)?;
        let (here, there) = pair();
        let endpoint = Place::new("model", port).into();
        let wire = Wire::of(orb.options().protocols.first().messaging(), Version::V1_0);
        welcome(&orb, &endpoint, Arc::new(there), lane.as_ref(), wire);
        Ok(Start::Done(Box::new(here)))
    }
}

/// Returns two connected links.
pub(crate) fn pair() -> (ModelLink, ModelLink) {
    let [there, back] = [(); 2].map(|()| Arc::new(ModelPipe::default()));
    let link = |incoming: &Arc<ModelPipe>, outgoing: &Arc<ModelPipe>| ModelLink {
        incoming: Arc::clone(incoming),
        outgoing: Arc::clone(outgoing),
        limit: oxorb_sys::sync::Mutex::new(None),
    };
    (link(&back, &there), link(&there, &back))
}

/// Upper limit of waits that may end at any point without input: those of threads with periodic checks. Time limits of
/// calls are longer, and never expire.
const TICKS: Duration = Duration::from_secs(2);

/// Longest wait that always ends without input: a thread that stays with a connection for a moment
/// has others to serve.
const MOMENT: Duration = Duration::from_millis(1);

/// End of a connection.
pub(crate) struct ModelLink {
    incoming: Arc<ModelPipe>,
    outgoing: Arc<ModelPipe>,
    /// Read timeout.
    limit: oxorb_sys::sync::Mutex<Option<Duration>>,
}

#[derive(Default)]
struct ModelPipe {
    flow: Mutex<Flow>,
    changed: Condvar,
}

#[derive(Default)]
struct Flow {
    octets: VecDeque<u8>,
    /// Whether no further octet is written.
    ended: bool,
    /// Whether no further octet is read.
    deaf: bool,
}

impl ModelPipe {
    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock()
    }

    fn change(&self, change: impl FnOnce(&mut Flow)) {
        change(&mut self.flow());
        self.changed.notify_all();
    }
}

impl Flow {
    fn go_deaf(&mut self) {
        self.deaf = true;
        self.octets.clear();
    }

    /// Reports whether a read would find nothing at once.
    fn is_silent(&self) -> bool {
        self.octets.is_empty() && !self.ended && !self.deaf
    }
}

impl Link for ModelLink {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        let limit = *self.limit.lock();
        let within = |time| limit.is_some_and(|limit| limit <= time);
        let mut flow = self.incoming.flow();
        while flow.is_silent() {
            if within(TICKS) && thread_rng().gen_ratio(1, 4) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if within(MOMENT) {
                drop(flow);
                thread::yield_now();
                flow = self.incoming.flow();
                continue;
            }
            flow = self.incoming.changed.wait(flow);
        }
        if flow.deaf {
            return Ok(0);
        }
        // A read usually returns complete messages, and sometimes fewer octets.
        let there = flow.octets.len().min(max);
        let count = match there {
            2.. if thread_rng().gen_ratio(1, 8) => thread_rng().gen_range(1..there),
            _ => there,
        };
        buffer.extend(flow.octets.drain(..count));
        Ok(count)
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let mut flow = self.outgoing.flow();
        if flow.deaf {
            // The system may have detected the closed peer already, or may accept octets that are never read.
            return match thread_rng().r#gen() {
                true => Ok(()),
                false => Err(WriteError { written: 0, error: io::ErrorKind::BrokenPipe.into() }),
            };
        }
        if flow.ended {
            return Err(WriteError { written: 0, error: io::ErrorKind::NotConnected.into() });
        }
        flow.octets.extend(slices.iter().flat_map(|slice| slice.iter()));
        drop(flow);
        self.outgoing.changed.notify_all();
        Ok(())
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.limit.lock() = timeout;
        Ok(())
    }

    fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) {
        self.incoming.change(Flow::go_deaf);
        self.outgoing.change(|flow| flow.ended = true);
    }

    fn close_read(&self) {
        self.incoming.change(Flow::go_deaf);
    }

    fn is_dead(&self) -> bool {
        let flow = self.incoming.flow();
        flow.octets.is_empty() && flow.ended
    }

    fn has_input(&self) -> io::Result<bool> {
        Ok(!self.incoming.flow().is_silent())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn peer(&self) -> String {
        "a model".to_owned()
    }

    fn identity(&self) -> PeerId {
        PeerId::Ip(Ipv4Addr::LOCALHOST.into())
    }

    fn apply(&self, _: &Properties) -> io::Result<()> {
        Ok(())
    }

    fn local(&self) -> String {
        "a model".to_owned()
    }
}

impl Drop for ModelLink {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
    }
}
