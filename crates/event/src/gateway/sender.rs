//! Sender, which sends events of a channel as datagrams.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use oxorb_sys::sync::Mutex;
use rustix::net::sockopt;

use super::datagram::{LEAST_MTU, MOST_MTU, split};
use super::{Destinations, GatewayError, NetworkInterface, launch, payload};
use crate::rtec_event_channel_admin::ConsumerQos;
use crate::rtec_event_comm::{Event, PushConsumer};
use crate::{Channel, ConsumerEnd};

/// Settings of a [`UdpSender`].
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Destinations of the events.
    pub destinations: Destinations,
    /// Local address of the socket, in the address family of the destinations. Default `0.0.0.0:0`.
    pub local: SocketAddr,
    /// Interface for datagrams to a multicast group. Default: that of `local` or, if this is unspecified, one that the
    /// system chooses.
    pub interface: NetworkInterface,
    /// Maximum size in octets of a datagram, including its header, from 40 to 65,507. Default 1,024. IP fragments a
    /// datagram that is larger than a network frame, and the datagram is lost if one of these fragments is lost.
    pub mtu: usize,
    /// Whether each datagram has a CRC-32. Default off. Receivers must use the same setting.
    pub checksum: bool,
    /// Maximum number of hops of a datagram to a multicast group. Default 1, which is the local network only.
    pub hops: u32,
    /// Whether datagrams to a multicast group are also delivered to receivers on this host. Default on.
    pub to_this_host: bool,
    /// DSCP of the datagrams, from 0 to 63. By default the system chooses it.
    pub dscp: Option<u8>,
    /// Time from the push of an event to the launch of its datagrams (SO_TXTIME), if the network device has the
    /// queueing discipline `fq`. Other devices send the datagrams immediately. Default: immediately.
    pub launch_after: Option<Duration>,
}

impl SenderOptions {
    /// Returns options with these destinations and the default values of the other settings.
    pub fn new(destinations: Destinations) -> Self {
        Self {
            destinations,
            local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            interface: NetworkInterface::Any,
            mtu: 1_024,
            checksum: false,
            hops: 1,
            to_this_host: true,
            dscp: None,
            launch_after: None,
        }
    }
}

/// Statistics of a [`UdpSender`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderStatistics {
    /// Number of events that were sent.
    pub events: u64,
    /// Number of datagrams that were sent.
    pub datagrams: u64,
    /// Number of events whose `ttl` was 0 or less, which were not sent.
    pub ended: u64,
    /// Number of events that had no destination.
    pub nowhere: u64,
    /// Number of events that could not be sent completely, because the queue of the socket was full or there was no
    /// route.
    pub failed: u64,
}

/// Consumer of a channel that sends the channel's events as datagrams, in the same format as TAO's `ECG_UDP_Sender`.
/// Dropping it disconnects it.
///
/// Each event is sent in one or more datagrams, without acknowledgement. Sending takes one lock for each event and one
/// system call for each datagram, in the thread that pushes. It never waits, and allocates no memory when its buffers
/// have reached the size of the largest event.
pub struct UdpSender {
    sending: Arc<Sending>,
    connection: Box<dyn ConsumerEnd>,
}

#[derive(Debug)]
struct Sending {
    socket: UdpSocket,
    options: SenderOptions,
    state: Mutex<State>,
    events: AtomicU64,
    datagrams: AtomicU64,
    ended: AtomicU64,
    nowhere: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    next: u32,
    message: Vec<u8>,
    datagram: Vec<u8>,
}

impl UdpSender {
    /// Connects to a local or remote channel, as a gateway that subscribes to `wanted`.
    ///
    /// # Errors
    /// [`GatewayError::Socket`], [`GatewayError::Channel`].
    pub fn connect(
        channel: &(impl Channel + ?Sized),
        wanted: &ConsumerQos,
        options: SenderOptions,
    ) -> Result<Self, GatewayError> {
        let address = options.local;
        let socket = open(&options).map_err(|error| GatewayError::Socket {
            address,
            what: "cannot send from",
            error,
        })?;
        let sending = Arc::new(Sending {
            socket,
            options,
            state: Mutex::default(),
            events: AtomicU64::new(0),
            datagrams: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            nowhere: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let wanted = ConsumerQos { is_gateway: true, ..wanted.clone() };
        let consumer: Arc<dyn PushConsumer> = sending.clone();
        let connection = channel.join_consumer(consumer, &wanted).map_err(GatewayError::Channel)?;
        Ok(Self { sending, connection })
    }

    /// Returns the local address of the socket, for a receiver that must ignore this sender.
    ///
    /// # Errors
    /// An error of the operating system. None is expected for an open socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.sending.socket.local_addr()
    }

    /// Reports whether the connection to the channel still exists. Costs one call for a remote channel.
    pub fn is_connected(&self) -> bool {
        self.connection.is_connected()
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> SenderStatistics {
        let sending = &self.sending;
        SenderStatistics {
            events: sending.events.load(Relaxed),
            datagrams: sending.datagrams.load(Relaxed),
            ended: sending.ended.load(Relaxed),
            nowhere: sending.nowhere.load(Relaxed),
            failed: sending.failed.load(Relaxed),
        }
    }
}

fn open(options: &SenderOptions) -> io::Result<UdpSocket> {
    let mtu = LEAST_MTU..=MOST_MTU;
    if !mtu.contains(&options.mtu) {
        let what = format!("the mtu {} must be from {LEAST_MTU} to {MOST_MTU}", options.mtu);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let socket = UdpSocket::bind(options.local)?;
    socket.set_nonblocking(true)?;
    if options.local.is_ipv4() {
        options.interface.send_v4(&socket)?;
        socket.set_multicast_ttl_v4(options.hops)?;
        socket.set_multicast_loop_v4(options.to_this_host)?;
    } else {
        match options.interface.index()? {
            0 => {}
            index => sockopt::set_ipv6_multicast_if(&socket, index)?,
        }
        sockopt::set_ipv6_multicast_hops(&socket, options.hops)?;
        socket.set_multicast_loop_v6(options.to_this_host)?;
    }
    match options.dscp {
        None => {}
        Some(dscp) if dscp > 63 => {
            let what = format!("the DSCP {dscp} must be from 0 to 63");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Some(dscp) if options.local.is_ipv4() => sockopt::set_ip_tos(&socket, dscp << 2)?,
        Some(dscp) => sockopt::set_ipv6_tclass(&socket, u32::from(dscp) << 2)?,
    }
    if options.launch_after.is_some() {
        launch::prepare(&socket)?;
    }
    Ok(socket)
}

impl fmt::Debug for UdpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpSender").field("sending", &self.sending).finish_non_exhaustive()
    }
}

impl PushConsumer for Sending {
    fn push(&self, events: &[Event]) {
        for event in events {
            let counted = if event.header.ttl <= 0 {
                // Check the ttl first, so that no address server is called for an event that is not sent.
                &self.ended
            } else {
                match self.options.destinations.of(&event.header) {
                    None => &self.nowhere,
                    Some(to) => match self.send(event, to) {
                        Ok(()) => &self.events,
                        Err(_) => &self.failed,
                    },
                }
            };
            counted.fetch_add(1, Relaxed);
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Sending {
    fn send(&self, event: &Event, to: SocketAddr) -> io::Result<()> {
        // A panic under this lock does no harm, because the contents of the buffers are overwritten.
        let mut state = self.state.lock();
        let State { next, message, datagram } = &mut *state;
        payload::write(event, message).map_err(io::Error::other)?;
        let number = *next;
        *next = next.wrapping_add(1);
        let SenderOptions { mtu, checksum, .. } = self.options;
        let moment = self.options.launch_after.map(launch::moment);
        split(message, number, mtu, checksum, datagram, |octets| {
            match moment {
                None => drop(self.socket.send_to(octets, to)?),
                Some(moment) => launch::send_at(&self.socket, octets, to, moment)?,
            }
            self.datagrams.fetch_add(1, Relaxed);
            Ok(())
        })
    }
}
