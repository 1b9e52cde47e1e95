//! Connections.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use oxorb_sys::socket;
use oxorb_sys::unix::{self, Credentials};
use oxorb_transport::stream::Stream;
use oxorb_transport::{Facts, Link, PeerId, Properties, WriteError};

use crate::unix::known::Known;

/// Octets that one system call which waits is given to write, at most.
///
/// The kernel copies them into one piece of memory of its own, and waits for room once. A larger
/// write would wait for room piece by piece, each as long as the time-out allows.
const PIECE: usize = 32 << 10;

/// A connection over a UNIX stream socket.
///
/// [`Stream`] says what a read and a write cost, and how exact time-outs are. The kernel holds at
/// most a send buffer of octets that the peer has not read; the size of the receive buffer means
/// nothing.
#[derive(Debug)]
pub struct UnixLink {
    stream: Stream<PIECE>,
    peer: PeerId,
    /// Address where the server listens, for people.
    server: Arc<str>,
    side: Side,
}

#[derive(Debug)]
enum Side {
    Client,
    Server,
}

impl UnixLink {
    /// Takes over a blocking socket that has connected to `server`.
    ///
    /// # Errors
    /// When the system does not tell who listens there, or another user than the server's does.
    pub(crate) fn connected(socket: OwnedFd, server: Arc<str>, known: Known) -> io::Result<Self> {
        let listening = unix::peer_credentials(&socket)?;
        known.verify_user(listening)?;
        Ok(Self::new(socket, identity(listening), server, Side::Client))
    }

    /// Takes over a blocking socket that was accepted by `server`.
    ///
    /// # Errors
    /// When the system does not tell who connected.
    pub(crate) fn accepted(socket: OwnedFd, server: Arc<str>) -> io::Result<Self> {
        let client = identity(unix::peer_credentials(&socket)?);
        Ok(Self::new(socket, client, server, Side::Server))
    }

    fn new(socket: OwnedFd, peer: PeerId, server: Arc<str>, side: Side) -> Self {
        Self { stream: Stream::new(socket), peer, server, side }
    }
}

impl Link for UnixLink {
    oxorb_transport::forward_to_stream!(stream);

    #[inline]
    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        self.stream.write(slices)
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn peer(&self) -> String {
        match self.side {
            Side::Client => self.server.to_string(),
            Side::Server => self.peer.to_string(),
        }
    }

    fn identity(&self) -> PeerId {
        self.peer.clone()
    }

    /// Sets the size of the send buffer, at least what one system call writes. There is no network
    /// for the other properties.
    fn apply(&self, properties: &Properties) -> io::Result<()> {
        if properties.send_buffer.is_some() {
            socket::set_buffers(self.stream.socket(), properties.send_buffer, None)?;
            unix::send_buffer(self.stream.socket(), PIECE)?;
        }
        Ok(())
    }

    fn local(&self) -> String {
        match self.side {
            Side::Client => identity(unix::own_credentials()).to_string(),
            Side::Server => self.server.to_string(),
        }
    }
}

fn identity(Credentials { uid, gid, pid }: Credentials) -> PeerId {
    PeerId::User { uid, gid, pid }
}
