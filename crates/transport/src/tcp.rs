//! TCP, over IPv4 and IPv6.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use oxorb_sys::socket;

use crate::stream::Stream;
use crate::{Facts, Link, PeerId, Properties, Scheme, WriteError};

mod accept;
mod endpoint;
mod publish;
mod transport;

pub use accept::TcpAcceptor;
pub use endpoint::Place;
pub use publish::Publish;
pub use transport::{Tcp, address, connect, host_and_port};

/// Scheme of TCP addresses.
pub const SCHEME: Scheme = Scheme::new("tcp");

/// TCP connection. Small writes are sent at once (`TCP_NODELAY`).
///
/// See [`Stream`] for the costs of reads and writes and the precision of time-outs.
#[derive(Debug)]
pub struct TcpLink {
    stream: Stream,
    peer: SocketAddr,
    local: SocketAddr,
}

impl TcpLink {
    /// Wraps a connected, blocking TCP socket.
    ///
    /// # Errors
    /// The socket is not, or no longer, connected.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        socket::set_no_delay(&socket, true)?;
        let peer = canonical(socket::peer_address(&socket)?);
        let local = canonical(socket::local_address(&socket)?);
        if peer.ip() == local.ip() || peer.ip().is_loopback() {
            // An error is ignored: if the system does not permit it, large messages only take longer.
            let _ = socket::send_unpaced(&socket);
        }
        Ok(Self { peer, local, stream: Stream::new(socket) })
    }

    /// Returns the address of the other end.
    pub fn peer_address(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the address of this end.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }
}

impl Link for TcpLink {
    crate::forward_to_stream!(stream);

    #[inline]
    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        self.stream.write(slices)
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn peer(&self) -> String {
        self.peer.to_string()
    }

    fn identity(&self) -> PeerId {
        PeerId::Ip(self.peer.ip())
    }

    fn apply(&self, properties: &Properties) -> io::Result<()> {
        let &Properties {
            send_buffer,
            receive_buffer,
            keep_alive,
            delay,
            dont_route,
            dscp,
            queue_priority,
            busy_poll,
            bandwidth,
            pages: _,
        } = properties;
        let socket = self.stream.socket();
        socket::set_buffers(socket, send_buffer, receive_buffer)?;
        keep_alive.map_or(Ok(()), |idle| socket::set_keep_alive(socket, idle))?;
        delay.map_or(Ok(()), |delay| socket::set_no_delay(socket, !delay))?;
        dont_route.map_or(Ok(()), |past| socket::set_dont_route(socket, past))?;
        dscp.map_or(Ok(()), |dscp| socket::set_dscp(socket, dscp))?;
        let queue = queue_priority.map(i32::from);
        queue.map_or(Ok(()), |queue| socket::set_queue_priority(socket, queue))?;
        if bandwidth.is_some() {
            socket::set_pacing_rate(socket, bandwidth)?;
        }
        // Set last: busy polling may need a privilege that no other property needs, and all others are set even if the
        // kernel refuses it.
        busy_poll.map_or(Ok(()), |time| socket::set_busy_poll(socket, time))
    }

    fn local(&self) -> String {
        self.local.to_string()
    }
}

/// Converts an IPv4-mapped address of a dual-stack socket to IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}
