//! Receiving end of a group: packets of all sources, reassembled.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb_sys::datagram;
use oxorb_sys::socket::{self, Shutdown, Waiting};
use oxorb_sys::sync::Mutex;
use oxorb_transport::{Access, Facts, Link, PeerId, Properties, WriteError};

use super::reassembly::Reassembly;
use super::send::MOST_MESSAGE;
use crate::datagram::aside::Aside;
use crate::datagram::link::{apply, canonical, facts};
use crate::datagram::message::Header;

/// Maximum number of packets that a non-blocking read processes without completing a message.
const MOST_TAKEN: u32 = 64;

/// Socket that receives packets to a group. To the layers above, it is a connection that carries
/// oneways of all sources. Writes are dropped.
pub(crate) struct Hearer {
    socket: OwnedFd,
    group: SocketAddr,
    /// Sources that may send.
    access: Access,
    /// Reassembly, which outlives this socket.
    reassembly: Arc<Mutex<Reassembly>>,
    closed: Arc<AtomicBool>,
    reading: Mutex<Reading>,
    has_aside: AtomicBool,
}

#[derive(Default)]
struct Reading {
    timeout: Option<Duration>,
    packet: Vec<u8>,
    aside: Aside,
}

impl Hearer {
    /// Wraps a socket that has joined a group. `closed` is set once it is closed.
    pub(crate) fn new(
        socket: OwnedFd,
        group: SocketAddr,
        access: Access,
        reassembly: Arc<Mutex<Reassembly>>,
        closed: Arc<AtomicBool>,
    ) -> Self {
        Self {
            socket,
            group,
            access,
            reassembly,
            closed,
            reading: Mutex::default(),
            has_aside: AtomicBool::new(false),
        }
    }

    /// Reads packets until a message is complete, and stores that.
    fn fill(&self, reading: &mut Reading, waits: bool) -> io::Result<()> {
        let mut end = None;
        for taken in 1.. {
            if self.closed.load(Relaxed) {
                return Ok(());
            }
            reading.packet.clear();
            let most = datagram::MOST_OCTETS + 1;
            let came = datagram::receive_from(&self.socket, &mut reading.packet, most, waits)?;
            let now = Instant::now();
            if let Some(came) = came
                && self.access.admits(&PeerId::Ip(canonical(came.source).ip()))
                && let Some(message) =
                    self.reassembly.lock().take(now, came.source, &reading.packet)
                && Header::read(&message)
                    .is_some_and(|it| it.octets == message.len() && it.is_oneway(&message))
            {
                reading.aside.octets = message;
                return Ok(());
            }
            // A peer that sends garbage continuously must not occupy a thread that has other links to read.
            let is_over = match (waits, reading.timeout) {
                (false, _) => taken >= MOST_TAKEN,
                (true, None) => false,
                (true, Some(timeout)) => end
                    .get_or_insert_with(|| now.checked_add(timeout))
                    .is_some_and(|end| now >= end),
            };
            if is_over {
                break;
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn read_by(&self, buffer: &mut Vec<u8>, max: usize, waits: bool) -> io::Result<usize> {
        if max == 0 {
            return Ok(0);
        }
        let mut reading = self.reading.lock();
        if reading.aside.is_empty() {
            self.fill(&mut reading, waits)?;
        }
        let count = reading.aside.give(buffer, max);
        self.has_aside.store(!reading.aside.is_empty(), Relaxed);
        Ok(count)
    }
}

impl Link for Hearer {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_by(buffer, max, true)
    }

    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_by(buffer, max, false)
    }

    /// Drops the octets, because the sender of a oneway does not wait for an answer.
    fn write(&self, _: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        Ok(())
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let mut reading = self.reading.lock();
        if reading.timeout != timeout {
            socket::set_receive_timeout(&self.socket, timeout)?;
            reading.timeout = timeout;
        }
        Ok(())
    }

    fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) {
        self.closed.store(true, Relaxed);
        // On this unconnected socket `shutdown` fails with ENOTCONN, but it wakes waiting threads.
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    fn close_read(&self) {
        self.close();
    }

    /// Does nothing, as nothing is ever written.
    fn close_write(&self) {}

    fn is_dead(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Reports whether a packet has arrived, which need not complete a message.
    fn has_input(&self) -> io::Result<bool> {
        let here = || Ok(socket::waiting(&self.socket)? != Waiting::Nothing);
        match self.pending() || self.closed.load(Relaxed) {
            true => Ok(true),
            false => here(),
        }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn pending(&self) -> bool {
        self.has_aside.load(Relaxed)
    }

    fn facts(&self) -> Facts {
        facts(MOST_MESSAGE)
    }

    fn peer(&self) -> String {
        format!("miop:{}", self.group)
    }

    /// Returns the group's address: only the endpoint's access rules distinguish sources.
    fn identity(&self) -> PeerId {
        PeerId::Ip(self.group.ip())
    }

    fn apply(&self, properties: &Properties) -> io::Result<()> {
        apply(self.socket.as_fd(), properties)
    }

    fn local(&self) -> String {
        self.peer()
    }
}
