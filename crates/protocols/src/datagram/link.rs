//! Links over UDP: messages to and from one peer.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb_sys::sync::{Mutex, MutexGuard};
use oxorb_sys::{datagram, poll, socket};
use oxorb_transport::stream::Stream;
use oxorb_transport::{Facts, Link, Oversized, PeerId, Properties, WriteError};

use crate::datagram::aside::Aside;
use crate::datagram::message::{HEADER, Header};
use crate::datagram::session::{Arrival, Departure, Role, Session};

/// Time limit of a read for which no time-out is set: an answer may never come, because datagrams may be lost.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// UDP socket connected to one peer. A read returns complete messages, and a write sends each
/// message as one datagram.
///
/// # Real-time cost
///
/// A read and a write are one system call each, and neither allocates nor locks. Unusual cases do:
/// dropped datagrams, several messages in one write, reads with less capacity than a datagram, and
/// the first datagrams of a source.
pub(crate) struct DatagramLink {
    stream: Stream,
    session: Session,
    peer: SocketAddr,
    local: SocketAddr,
    /// Time limit of a read, in nanoseconds.
    read_timeout: AtomicU64,
    closed: AtomicBool,
    /// Octets of complete messages received from the socket and not yet returned.
    aside: Mutex<Aside>,
    has_aside: AtomicBool,
    /// Number of reads that returned octets.
    heard: AtomicU64,
    /// Whether the kernel reported that nothing listens at the peer's port.
    gone: AtomicBool,
}

/// Value of `read_timeout` if no time-out is set.
const NEVER: u64 = u64::MAX;

/// Maximum number of datagrams without a message that a non-blocking read processes.
const MOST_DROPPED: u32 = 16;

impl DatagramLink {
    /// Wraps a connected socket.
    pub(crate) fn new(socket: OwnedFd, session: Session) -> io::Result<Self> {
        let peer = canonical(socket::peer_address(&socket)?);
        let local = canonical(socket::local_address(&socket)?);
        let link = Self {
            stream: Stream::new(socket),
            session,
            peer,
            local,
            read_timeout: AtomicU64::new(NEVER),
            closed: AtomicBool::new(false),
            aside: Mutex::default(),
            has_aside: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            gone: AtomicBool::new(false),
        };
        link.set_read_timeout(None)?;
        Ok(link)
    }

    /// Accepts a datagram that arrived before this socket existed. To be called before the first
    /// read.
    pub(crate) fn came_before(&self, datagram: &[u8]) {
        if self.takes(datagram) {
            self.aside().octets.extend_from_slice(datagram);
            self.has_aside.store(true, Relaxed);
        }
    }

    /// Returns the number of reads that returned octets.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// Reports whether the peer no longer exists, as far as the kernel knows, or this end was closed.
    pub(crate) fn is_over(&self) -> bool {
        self.gone.load(Relaxed) || self.closed.load(Relaxed)
    }

    /// Reports whether a datagram is a message for the layer above, and handles any other one.
    #[inline]
    fn takes(&self, datagram: &[u8]) -> bool {
        match self.session.arrived(datagram) {
            Arrival::Message => {
                let heard = self.heard.load(Relaxed);
                self.heard.store(heard.wrapping_add(1), Relaxed);
                true
            }
            other => self.reacts(&other),
        }
    }

    #[cold]
    fn reacts(&self, arrival: &Arrival) -> bool {
        match arrival {
            Arrival::Respond(word) => self.sends(word),
            Arrival::Release(messages) => {
                let mut rest = &messages[..];
                while let Some(header) = Header::read(rest)
                    && let Some((message, more)) = rest.split_at_checked(header.octets)
                {
                    self.sends(message);
                    rest = more;
                }
            }
            Arrival::Message | Arrival::Dropped(_) => {}
        }
        false
    }

    /// Sends a datagram and ignores failures.
    fn sends(&self, datagram: &[u8]) {
        let _ = socket::send_now(self.stream.socket(), &[IoSlice::new(datagram)]);
    }

    /// Continues after a read without a message, until one arrives or the time limit passes.
    #[cold]
    fn read_on(
        &self,
        first: io::Result<usize>,
        buffer: &mut Vec<u8>,
        start: usize,
        max: usize,
        waits: bool,
    ) -> io::Result<usize> {
        let mut read = first;
        let mut end = None;
        for reads in 1.. {
            match read {
                _ if self.closed.load(Relaxed) => {
                    buffer.truncate(start);
                    return Ok(0);
                }
                // A read of 0 octets is an empty datagram, and not the end of a stream.
                Ok(octets) => {
                    if octets > 0 && self.takes(&buffer[start..]) {
                        return Ok(octets);
                    }
                    buffer.truncate(start);
                }
                // The kernel reports an ICMP error about an earlier reply. It says nothing about the next message,
                // because anyone may have sent that request with a forged source address.
                Err(error)
                    if error.kind() == io::ErrorKind::ConnectionRefused
                        && self.session.role() == Role::Server =>
                {
                    self.gone.store(true, Relaxed);
                }
                Err(error) => return Err(error),
            }
            let now = Instant::now();
            let end = *end.get_or_insert_with(|| now.checked_add(self.longest_read()));
            let is_over = match (waits, end) {
                // A peer that sends garbage continuously must not occupy a thread that has other links to read.
                (false, _) => reads >= MOST_DROPPED,
                (true, None) => !poll::readable(self.stream.socket(), None)?,
                (true, Some(end)) => {
                    let left = end.saturating_duration_since(now);
                    left.is_zero() || !poll::readable(self.stream.socket(), Some(left))?
                }
            };
            if is_over {
                break;
            }
            read = self.stream.read_now(buffer, max);
            if waits && matches!(&read, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                read = Ok(0);
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn longest_read(&self) -> Duration {
        Duration::from_nanos(self.read_timeout.load(Relaxed))
    }

    /// Returns stored octets, or reads a datagram that exceeds the buffer's limit.
    #[cold]
    fn read_aside(&self, buffer: &mut Vec<u8>, max: usize, waits: bool) -> io::Result<usize> {
        let mut aside = self.aside();
        if aside.is_empty() {
            let most = self.session.most();
            let read = match waits {
                true => self.stream.read(&mut aside.octets, most),
                false => self.stream.read_now(&mut aside.octets, most),
            };
            if self.read_on(read, &mut aside.octets, 0, most, waits)? == 0 {
                return Ok(0);
            }
        }
        let count = aside.give(buffer, max);
        self.has_aside.store(!aside.is_empty(), Relaxed);
        Ok(count)
    }

    #[inline]
    fn read_by(
        &self,
        buffer: &mut Vec<u8>,
        max: usize,
        waits: bool,
        read: impl FnOnce(&Stream, &mut Vec<u8>, usize) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if max == 0 || self.closed.load(Relaxed) {
            return Ok(0);
        }
        if max < self.session.most() || self.has_aside.load(Relaxed) {
            return self.read_aside(buffer, max, waits);
        }
        let start = buffer.len();
        match read(&self.stream, buffer, max) {
            Ok(octets) if octets > 0 => match self.takes(&buffer[start..]) {
                true => Ok(octets),
                false => {
                    buffer.truncate(start);
                    self.read_on(Ok(0), buffer, start, max, waits)
                }
            },
            other => self.read_on(other, buffer, start, max, waits),
        }
    }

    /// Sends a complete message.
    #[inline]
    fn send_one(&self, header: Header, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        match self.session.departs(header, slices) {
            Departure::Send => match self.stream.write(slices) {
                Ok(()) => Ok(()),
                Err(failed) => self.unsent(failed, header.octets, slices),
            },
            Departure::Skip => Ok(()),
            Departure::Hold(challenge) => {
                challenge.inspect(|word| self.sends(word));
                Ok(())
            }
            Departure::Refuse => Err(self.oversized(header.octets)),
        }
    }

    #[cold]
    fn unsent(
        &self,
        failed: WriteError,
        octets: usize,
        slices: &mut [IoSlice<'_>],
    ) -> Result<(), WriteError> {
        match failed.error.kind() {
            _ if self.closed.load(Relaxed) => Err(failed),
            _ if datagram::is_too_long(&failed.error) => Err(self.oversized(octets)),
            io::ErrorKind::BrokenPipe => Err(failed),
            _ if self.session.role() == Role::Server => {
                // The kernel reports an error about an earlier datagram and has not sent this one, so this one is sent
                // again.
                if failed.error.kind() == io::ErrorKind::ConnectionRefused {
                    let _ = socket::send_now(self.stream.socket(), slices);
                }
                // The reply counts as lost in transit, as any datagram may be.
                Ok(())
            }
            _ => Err(WriteError { written: 0, ..failed }),
        }
    }

    #[cold]
    fn oversized(&self, octets: usize) -> WriteError {
        WriteError {
            written: 0,
            error: Oversized {
                octets,
                most: self.session.most(),
                advice: "send less data per request, let the server accept larger datagrams (option max= of its \
                         endpoint diop://), or add an IIOP endpoint to the server",
            }
            .into(),
        }
    }

    /// Sends several messages, or one with its header in several slices.
    #[cold]
    fn write_any(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let total = slices.iter().map(|slice| slice.len()).sum();
        let mut start = Vec::with_capacity(HEADER);
        for slice in slices.iter() {
            start.extend(&slice[..slice.len().min(HEADER - start.len())]);
        }
        match Header::read(&start) {
            Some(header) if header.octets == total => return self.send_one(header, slices),
            None if total == 0 => return Ok(()),
            _ => {}
        }
        let whole: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let mut messages = Vec::new();
        let mut rest = &whole[..];
        while !rest.is_empty() {
            let message = Header::read(rest)
                .and_then(|header| Some((header, rest.split_at_checked(header.octets)?)));
            let Some((header, (message, more))) = message else {
                return Err(self.oversized(total));
            };
            if header.octets > self.session.most() {
                return Err(self.oversized(header.octets));
            }
            messages.push((header, message));
            rest = more;
        }
        let mut written = 0;
        for (header, message) in messages {
            self.send_one(header, &mut [IoSlice::new(message)])
                .map_err(|failed| WriteError { written, ..failed })?;
            written += message.len();
        }
        Ok(())
    }

    fn aside(&self) -> MutexGuard<'_, Aside> {
        self.aside.lock()
    }
}

impl Link for DatagramLink {
    #[inline]
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_by(buffer, max, true, Stream::read)
    }

    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_by(buffer, max, false, Stream::read_now)
    }

    #[inline]
    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        if let [one] = slices
            && let Some(header) = Header::read(one)
            && header.octets == one.len()
        {
            return self.send_one(header, slices);
        }
        self.write_any(slices)
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = match self.session.role() {
            Role::Client => timeout.or(Some(LONGEST_WAIT)),
            Role::Server => timeout,
        };
        self.stream.set_read_timeout(timeout)?;
        let nanoseconds = timeout.map(|timeout| u64::try_from(timeout.as_nanos()));
        let nanoseconds = nanoseconds.and_then(Result::ok).unwrap_or(NEVER);
        self.read_timeout.store(nanoseconds, Relaxed);
        Ok(())
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_write_timeout(timeout)
    }

    fn close(&self) {
        self.closed.store(true, Relaxed);
        self.stream.close();
    }

    fn close_read(&self) {
        self.closed.store(true, Relaxed);
        self.stream.close_read();
    }

    fn close_write(&self) {
        self.stream.close_write();
    }

    /// Reports whether this end was closed, or the kernel reported that nothing listens at the
    /// peer.
    fn is_dead(&self) -> bool {
        self.closed.load(Relaxed) || socket::waiting(self.stream.socket()).is_err()
    }

    /// Reports whether a datagram has arrived, which need not be a message.
    fn has_input(&self) -> io::Result<bool> {
        Ok(self.pending() || self.closed.load(Relaxed) || self.stream.has_input()?)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.socket())
    }

    fn pending(&self) -> bool {
        self.has_aside.load(Relaxed)
    }

    fn facts(&self) -> Facts {
        facts(self.session.most())
    }

    fn peer(&self) -> String {
        format!("udp:{}", self.peer)
    }

    fn identity(&self) -> PeerId {
        PeerId::Ip(self.peer.ip())
    }

    fn apply(&self, properties: &Properties) -> io::Result<()> {
        apply(self.stream.socket(), properties)
    }

    fn local(&self) -> String {
        format!("udp:{}", self.local)
    }
}

/// Sets the properties that UDP sockets have.
pub(crate) fn apply(socket: BorrowedFd<'_>, properties: &Properties) -> io::Result<()> {
    let &Properties {
        send_buffer,
        receive_buffer,
        dont_route,
        dscp,
        queue_priority,
        busy_poll,
        bandwidth,
        ..
    } = properties;
    socket::set_buffers(socket, send_buffer, receive_buffer)?;
    dont_route.map_or(Ok(()), |past| socket::set_dont_route(socket, past))?;
    dscp.map_or(Ok(()), |dscp| socket::set_dscp(socket, dscp))?;
    let queue = queue_priority.map(i32::from);
    queue.map_or(Ok(()), |queue| socket::set_queue_priority(socket, queue))?;
    if bandwidth.is_some() {
        socket::set_pacing_rate(socket, bandwidth)?;
    }
    busy_poll.map_or(Ok(()), |time| socket::set_busy_poll(socket, time))
}

/// Returns the properties of links with datagrams of at most `most` octets.
pub(crate) fn facts(most: usize) -> Facts {
    Facts { stream: false, reliable: false, mtu: Some(most), priorities: true }
}

/// Converts an IPv4-mapped address of a dual-stack socket to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}
