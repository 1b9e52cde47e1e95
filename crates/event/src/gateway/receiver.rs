//! Receiver of datagrams, which become events of a channel.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::AddAssign;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use oxorb::transport::{Access, PeerId};
use oxorb_sys::sync::Mutex;
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};

use super::datagram::{self, MOST_MTU};
use super::reassembly::{Reassembly, ReassemblyCounts, ReassemblyLimits};
use super::{GatewayError, NetworkInterface, payload};
use crate::rtec_event_comm::Event;
use crate::{Channel, Key, SupplierEnd, publishes};

/// Settings of a [`UdpReceiver`].
#[derive(Clone, Debug)]
pub struct ReceiverOptions {
    /// Address on which to receive: one of this host, or that of a multicast group. Several receivers may use the
    /// address of the same group.
    pub listen: SocketAddr,
    /// Interface on which a multicast group is received. By default the system chooses it.
    pub interface: NetworkInterface,
    /// Whether each datagram must have a correct CRC-32. Default off. Senders must use the same setting.
    pub checksum: bool,
    /// Address of a sender whose datagrams are ignored. If it is the sender of the same gateway, the channel does not
    /// receive its own events. An unspecified IP address matches all senders with this port.
    pub ignore: Option<SocketAddr>,
    /// Senders whose datagrams are received, by their addresses. Default: all. An address can be forged, so this keeps
    /// others out only where the network drops datagrams with forged addresses.
    pub senders: Access,
    /// Types and sources that the receiver publishes. Other events are not delivered. Default: all (0, 0).
    pub publications: Vec<Key>,
    /// Limits of the memory that senders can occupy.
    pub limits: ReassemblyLimits,
}

impl ReceiverOptions {
    /// Returns options with this address and the default values of the other settings.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            interface: NetworkInterface::Any,
            checksum: false,
            ignore: None,
            senders: Access::default(),
            publications: vec![(0, 0)],
            limits: ReassemblyLimits::default(),
        }
    }
}

/// Statistics of a [`UdpReceiver`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverStatistics {
    /// Number of datagrams that were received and not ignored.
    pub datagrams: u64,
    /// Number of datagrams that were ignored, because they came from the sender to ignore or from one that is not
    /// [permitted](ReceiverOptions::senders).
    pub ignored: u64,
    /// Number of datagrams that were damaged or did not come from a gateway.
    pub malformed: u64,
    /// Number of fragments that were duplicates, arrived too late, or contradicted other fragments.
    pub dropped: u64,
    /// Number of messages that are not sets of events.
    pub undecodable: u64,
    /// Number of events pushed to the channel.
    pub events: u64,
    /// Number of events that the channel refused.
    pub refused: u64,
    /// Numbers of messages, by result.
    pub messages: ReassemblyCounts,
}

impl AddAssign for ReceiverStatistics {
    /// Adds the statistics of another receiver.
    fn add_assign(&mut self, other: Self) {
        let Self { datagrams, ignored, malformed, dropped, undecodable, events, refused, messages } =
            other;
        self.datagrams += datagrams;
        self.ignored += ignored;
        self.malformed += malformed;
        self.dropped += dropped;
        self.undecodable += undecodable;
        self.events += events;
        self.refused += refused;
        self.messages.complete += messages.complete;
        self.messages.incomplete += messages.incomplete;
        self.messages.evicted += messages.evicted;
    }
}

/// Supplier of a channel that receives events as datagrams, including those of TAO's gateways. Dropping it disconnects
/// it and waits for its thread.
///
/// A dedicated thread receives datagrams and pushes events. The events of one sender are pushed in the order in which
/// their messages become complete. Lost datagrams are not requested again.
#[derive(Debug)]
pub struct UdpReceiver {
    receiving: Arc<Receiving>,
    thread: Option<JoinHandle<()>>,
}

struct Receiving {
    socket: UdpSocket,
    options: ReceiverOptions,
    connection: Box<dyn SupplierEnd>,
    stopped: AtomicBool,
    datagrams: AtomicU64,
    ignored: AtomicU64,
    malformed: AtomicU64,
    dropped: AtomicU64,
    undecodable: AtomicU64,
    events: AtomicU64,
    refused: AtomicU64,
    messages: Mutex<ReassemblyCounts>,
}

/// Interval at which the thread checks whether it must end.
const ROUND: Duration = Duration::from_millis(100);

impl UdpReceiver {
    /// Connects to a local or remote channel, as a gateway.
    ///
    /// # Errors
    /// [`GatewayError::Socket`], [`GatewayError::Channel`], [`GatewayError::Thread`].
    pub fn connect(
        channel: &(impl Channel + ?Sized),
        options: ReceiverOptions,
    ) -> Result<Self, GatewayError> {
        let address = options.listen;
        let what = match address.ip().is_multicast() {
            true => "cannot join",
            false => "cannot listen at",
        };
        let socket =
            open(&options).map_err(|error| GatewayError::Socket { address, what, error })?;
        let mut published = publishes(options.publications.iter().copied());
        published.is_gateway = true;
        let connection = channel.join_supplier(&published).map_err(GatewayError::Channel)?;
        let receiving = Arc::new(Receiving {
            socket,
            options,
            connection,
            stopped: AtomicBool::new(false),
            datagrams: AtomicU64::new(0),
            ignored: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            undecodable: AtomicU64::new(0),
            events: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            messages: Mutex::default(),
        });
        let run = {
            let receiving = Arc::clone(&receiving);
            move || {
                oxorb_delivery::run_ordinary();
                receiving.run();
            }
        };
        let builder = thread::Builder::new().name("event-gateway".into());
        let thread = builder.spawn(run).map_err(GatewayError::Thread)?;
        Ok(Self { receiving, thread: Some(thread) })
    }

    /// Returns the local address of the socket.
    ///
    /// # Errors
    /// An error of the operating system. None is expected for an open socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.receiving.socket.local_addr()
    }

    /// Reports whether the connection to the channel still exists. Costs one call for a remote channel.
    pub fn is_connected(&self) -> bool {
        self.receiving.connection.is_connected()
    }

    /// Reports whether the thread is still running.
    pub(super) fn is_listening(&self) -> bool {
        self.thread.as_ref().is_some_and(|it| !it.is_finished())
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> ReceiverStatistics {
        let receiving = &self.receiving;
        ReceiverStatistics {
            datagrams: receiving.datagrams.load(Relaxed),
            ignored: receiving.ignored.load(Relaxed),
            malformed: receiving.malformed.load(Relaxed),
            dropped: receiving.dropped.load(Relaxed),
            undecodable: receiving.undecodable.load(Relaxed),
            events: receiving.events.load(Relaxed),
            refused: receiving.refused.load(Relaxed),
            messages: *receiving.messages.lock(),
        }
    }
}

impl UdpReceiver {
    /// Ends the receiver, and waits for its thread.
    pub(super) fn stop(&mut self) {
        self.receiving.stopped.store(true, Ordering::Release);
        // If a consumer drops the receiver while the receiver's thread calls it, the thread cannot wait for itself.
        if let Some(thread) =
            self.thread.take().filter(|one| one.thread().id() != thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

impl Drop for UdpReceiver {
    fn drop(&mut self) {
        self.stop();
    }
}

fn open(options: &ReceiverOptions) -> io::Result<UdpSocket> {
    let mut address = options.listen;
    if let SocketAddr::V6(group) = &mut address
        && group.ip().is_multicast()
        && group.scope_id() == 0
    {
        // A link-local group needs the index of the interface as its scope.
        group.set_scope_id(options.interface.index()?);
    }
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let handle: OwnedFd = socket(family, SocketType::DGRAM, None)?;
    rustix::io::fcntl_setfd(&handle, rustix::io::FdFlags::CLOEXEC)?;
    if address.ip().is_multicast() {
        sockopt::set_socket_reuseaddr(&handle, true)?;
    }
    bind(&handle, &address)?;
    let socket = UdpSocket::from(handle);
    match address.ip() {
        IpAddr::V4(group) if group.is_multicast() => options.interface.join_v4(&socket, &group)?,
        IpAddr::V6(group) if group.is_multicast() => {
            socket.join_multicast_v6(&group, options.interface.index()?)?
        }
        _ => {}
    }
    socket.set_read_timeout(Some(ROUND))?;
    Ok(socket)
}

impl Receiving {
    fn run(&self) {
        let mut buffer = vec![0; MOST_MTU];
        let mut reassembly = Reassembly::new(self.options.limits);
        while !self.stopped.load(Ordering::Acquire) {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => self.take(&mut reassembly, from, &buffer[..length]),
                Err(error) if is_passing(&error) => reassembly.expire(Instant::now()),
                // An error may be temporary, such as an ICMP report about a datagram that this socket did not send.
                // Wait, so that the loop does not use all of the processor if the error persists.
                Err(_) => thread::sleep(ROUND),
            }
            *self.messages.lock() = reassembly.counts();
        }
    }

    fn take(&self, reassembly: &mut Reassembly, from: SocketAddr, octets: &[u8]) {
        if self.options.ignore.is_some_and(|ignored| is_of(ignored, from))
            || !self.options.senders.admits(&PeerId::Ip(from.ip()))
        {
            self.ignored.fetch_add(1, Relaxed);
            return;
        }
        self.datagrams.fetch_add(1, Relaxed);
        let Ok((header, fragment)) = datagram::read(octets, self.options.checksum) else {
            self.malformed.fetch_add(1, Relaxed);
            return;
        };
        match reassembly.take(from, &header, fragment, Instant::now()) {
            Err(_) => drop(self.dropped.fetch_add(1, Relaxed)),
            Ok(None) => {}
            Ok(Some(message)) => match payload::read(&message, header.order) {
                Err(_) => drop(self.undecodable.fetch_add(1, Relaxed)),
                Ok(events) => events.iter().for_each(|event| self.push(event)),
            },
        }
    }
}

impl Receiving {
    fn push(&self, event: &Event) {
        let counted = match self.connection.push(event) {
            Ok(()) => &self.events,
            Err(_) => &self.refused,
        };
        counted.fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for Receiving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving")
            .field("socket", &self.socket)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn is_of(sender: SocketAddr, from: SocketAddr) -> bool {
    sender.port() == from.port() && (sender.ip().is_unspecified() || sender.ip() == from.ip())
}
