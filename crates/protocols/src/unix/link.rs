//! Links over UNIX sockets.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use oxorb_sys::socket;
use oxorb_sys::unix::{self, Credentials};
use oxorb_transport::stream::Stream;
use oxorb_transport::{Facts, Link, PeerId, Properties, WriteError};

use crate::unix::known::Known;

/// Maximum number of octets passed to one blocking system call of a write.
///
/// The kernel copies them into one piece of its memory, and waits for space once. A larger write
/// would wait for space piece by piece, each for up to the time-out.
const PIECE: usize = 32 << 10;

/// Connection over a UNIX stream socket.
///
/// See [`Stream`] for the costs of reads and writes and the precision of time-outs. The kernel
/// holds at most a send buffer of octets that the peer has not read; the size of the receive buffer
/// has no effect.
#[derive(Debug)]
pub struct UnixLink {
    stream: Stream<PIECE>,
    peer: PeerId,
    /// Address of the server, for users.
    server: Arc<str>,
    side: Side,
}

#[derive(Debug)]
enum Side {
    Client,
    Server,
}

impl UnixLink {
    /// Wraps a blocking socket that is connected to `server`.
    ///
    /// # Errors
    /// The system does not report who listens at the socket, or it is another user than the
    /// server's.
    pub(crate) fn connected(socket: OwnedFd, server: Arc<str>, known: Known) -> io::Result<Self> {
        let listening = unix::peer_credentials(&socket)?;
        known.verify_user(listening)?;
        Ok(Self::new(socket, identity(listening), server, Side::Client))
    }

    /// Wraps a blocking socket accepted by `server`.
    ///
    /// # Errors
    /// The system does not report who connected.
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

    /// Sets the size of the send buffer, at least to that of one system call's write. The other
    /// properties need a network.
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
