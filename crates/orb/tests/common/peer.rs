//! A peer of a connection, whose every octet is written by the test.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::transport::{Address, Link, tcp};
use oxorb_giop::{Frame, FrameContext, Header, MessageType, Wire};
use oxorb_testkit::hostile::{Form, Stream};

use super::LONG;
use super::transport::{protocol, wire};

/// A connection over the chosen transport: a system socket where the transport has one, a [`Link`]
/// otherwise. Reads wait for [`LONG`] at most.
pub(crate) enum Peer {
    Tcp(TcpStream),
    Unix(UnixStream),
    Other(Arc<dyn Link>),
}

impl Peer {
    /// Connects to an address of the chosen transport.
    pub(crate) fn connect(to: &Address) -> Peer {
        let peer = match (to.of(tcp::SCHEME), to.scheme()) {
            (Some(place), _) => Peer::tcp(TcpStream::connect(place).unwrap()),
            (None, "unix") if !to.name().starts_with('@') => {
                Peer::Unix(UnixStream::connect(to.name()).unwrap())
            }
            _ => {
                let link = oxorb::transport::connect(protocol().transport(), to, LONG);
                Peer::Other(link.unwrap().into())
            }
        };
        peer.set_read_timeout(Some(LONG)).unwrap();
        peer
    }

    /// Wraps a connection that is already open.
    pub(crate) fn tcp(stream: TcpStream) -> Peer {
        stream.set_nodelay(true).unwrap();
        let peer = Peer::Tcp(stream);
        peer.set_read_timeout(Some(LONG)).unwrap();
        peer
    }

    /// Wraps a link returned by an acceptor.
    pub(crate) fn accepted(link: Box<dyn Link>) -> Peer {
        let peer = Peer::Other(link.into());
        peer.set_read_timeout(Some(LONG)).unwrap();
        peer
    }

    pub(crate) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Peer::Tcp(stream) => stream.set_read_timeout(limit),
            Peer::Unix(stream) => stream.set_read_timeout(limit),
            Peer::Other(link) => link.set_read_timeout(limit),
        }
    }

    pub(crate) fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Peer::Tcp(stream) => stream.set_write_timeout(limit),
            Peer::Unix(stream) => stream.set_write_timeout(limit),
            Peer::Other(link) => link.set_write_timeout(limit),
        }
    }

    /// Waits until input is available, without reading it.
    pub(crate) fn await_input(&self) {
        let begun = Instant::now();
        while !self.has_input() {
            assert!(begun.elapsed() < LONG, "nothing comes");
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn has_input(&self) -> bool {
        match self {
            Peer::Tcp(stream) => stream.peek(&mut [0]).is_ok(),
            Peer::Unix(_) => panic!("only links can look without reading"),
            Peer::Other(link) => link.has_input().unwrap(),
        }
    }

    /// Returns another handle of the same connection.
    pub(crate) fn again(&self) -> Peer {
        match self {
            Peer::Tcp(stream) => Peer::Tcp(stream.try_clone().unwrap()),
            Peer::Unix(stream) => Peer::Unix(stream.try_clone().unwrap()),
            Peer::Other(link) => Peer::Other(link.clone()),
        }
    }

    /// Returns this end's address, as the peer sees it.
    pub(crate) fn name(&self) -> String {
        match self {
            Peer::Tcp(stream) => stream.local_addr().unwrap().to_string(),
            Peer::Unix(_) => "unix".to_owned(),
            Peer::Other(link) => link.local(),
        }
    }

    /// Reads the header of the next message of the chosen protocol, and no octet beyond it; returns
    /// it parsed and raw.
    pub(crate) fn header(&mut self) -> (Header, Vec<u8>) {
        let mut start = vec![0; header_size()];
        self.read_exact(&mut start).unwrap();
        let header = match wire() {
            Wire::Giop(_) => Header::parse(start.first_chunk().unwrap()),
            Wire::Other(messaging) => messaging.header(&start),
        };
        (header.unwrap(), start)
    }

    /// Reads the next message of the chosen protocol, and no octet beyond it.
    pub(crate) fn message(&mut self) -> Vec<u8> {
        let (header, mut message) = self.header();
        let start = message.len();
        message.resize(header.total(), 0);
        self.read_exact(&mut message[start..]).unwrap();
        message
    }

    /// Reads until the connection is closed.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        match self.read_to_end(&mut octets) {
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => {
                panic!("it is not closed: {error}")
            }
            _ => octets,
        }
    }
}

/// Returns the number of octets at the beginning of a message that are needed to parse its header.
pub(crate) fn header_size() -> usize {
    wire().messaging().map_or(12, |other| other.start())
}

/// Parses a message of the chosen protocol.
pub(crate) fn frame(octets: &[u8]) -> Frame<'_> {
    let context = CONTEXT.as_ref();
    Frame::parse_in(octets, context).unwrap()
}

static CONTEXT: LazyLock<Option<Arc<FrameContext>>> = LazyLock::new(|| FrameContext::of(wire()));

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Peer::Tcp(stream) => stream.read(buffer),
            Peer::Unix(stream) => stream.read(buffer),
            Peer::Other(link) => {
                let mut octets = Vec::new();
                let count = link.read(&mut octets, buffer.len())?;
                buffer[..count].copy_from_slice(&octets);
                Ok(count)
            }
        }
    }
}

impl Write for Peer {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Peer::Tcp(stream) => stream.write(octets),
            Peer::Unix(stream) => stream.write(octets),
            Peer::Other(link) => match link.write(&mut [IoSlice::new(octets)]) {
                Ok(()) => Ok(octets.len()),
                Err(failed) if failed.written > 0 => Ok(failed.written),
                Err(failed) => Err(failed.error),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Peer {
    fn again(&self) -> Box<dyn Stream> {
        Box::new(Peer::again(self))
    }

    fn wait_at_most(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(read)?;
        self.set_write_timeout(write)
    }
}

/// Connects to a server over TCP from an address other than this host's usual one.
pub(crate) fn from_another_address(to: &Address) -> Peer {
    let to = to.place().parse().expect("an address of TCP");
    let from = "127.0.0.2".parse().expect("an address");
    Peer::tcp(oxorb_testkit::net::connect_from(from, to).unwrap())
}

/// Returns the format of raw messages of the chosen protocol.
pub(crate) fn form() -> Form {
    match wire().name() {
        "giop-lite" => Form::Lite,
        "giop-lite-rt" => Form::LiteRt,
        _ => Form::Giop,
    }
}

/// Returns the type of a complete message.
pub(crate) fn kind(octets: &[u8]) -> MessageType {
    frame(octets).header.kind
}
