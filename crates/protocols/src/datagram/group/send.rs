//! Sending end of a group: oneways, each divided into packets.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use oxorb_sys::sync::Mutex;
use oxorb_sys::{datagram, random};
use oxorb_transport::stream::Stream;
use oxorb_transport::{Facts, Link, Oversized, PeerId, Properties, Unanswered, WriteError};

use super::packet::{self, HEADER, SENT_ID};
use crate::datagram::link::{apply, facts};
use crate::datagram::message::Header;

/// Largest message to a group, in octets.
pub const MOST_MESSAGE: usize = 1 << 20;

/// Socket that sends to a group and receives nothing.
///
/// # Real-time cost
///
/// A write is one system call for each packet, and allocates nothing, unless the message is in
/// several slices and the largest so far. It takes a lock that only other writes hold.
pub(crate) struct Sender {
    stream: Stream,
    group: SocketAddr,
    /// Largest packet in octets.
    packet: usize,
    closed: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// Id of the next collection: eight random octets, and an increasing number.
    id: [u8; SENT_ID],
    next: u32,
    /// Joined slices of a message.
    joined: Vec<u8>,
}

impl Sender {
    /// Wraps a socket that is connected to a group.
    pub(crate) fn new(socket: OwnedFd, group: SocketAddr, packet: usize) -> io::Result<Self> {
        let mut id = [0; SENT_ID];
        id[..8].copy_from_slice(&random::octets::<8>()?);
        Ok(Self {
            stream: Stream::new(socket),
            group,
            packet,
            closed: AtomicBool::new(false),
            state: Mutex::new(State { id, next: 0, joined: Vec::new() }),
        })
    }

    /// Discards everything received: errors about missing listeners, and unsolicited datagrams.
    fn read_by(
        &self,
        buffer: &mut Vec<u8>,
        max: usize,
        read: impl Fn(&Stream, &mut Vec<u8>, usize) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let start = buffer.len();
        while max > 0 && !self.closed.load(Relaxed) {
            match read(&self.stream, buffer, max) {
                Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => {
                    return Err(error);
                }
                _ => buffer.truncate(start),
            }
        }
        Ok(0)
    }

    /// Sends a sequence of complete messages, except those that are refused.
    fn send_all(&self, state: &mut State, mut rest: &[u8]) -> Result<(), WriteError> {
        let (mut written, mut first) = (0, None);
        while !rest.is_empty() {
            let whole = Header::read(rest).filter(|header| header.octets <= rest.len());
            let (message, more) = rest.split_at(whole.map_or(rest.len(), |header| header.octets));
            rest = more;
            let refused: io::Error = match whole {
                _ if message.len() > MOST_MESSAGE => oversized(message.len()).into(),
                Some(header) if header.is_oneway(message) => {
                    let sent = self.send(state, message);
                    sent.map_err(|error| WriteError { written, error })?;
                    written += message.len();
                    continue;
                }
                // The message concerns a connection. It is dropped, because a group has no connections.
                Some(header) if header.ends_connection() => continue,
                _ => Unanswered.into(),
            };
            first.get_or_insert(refused);
        }
        first.map_or(Ok(()), |error| Err(WriteError { written: 0, error }))
    }

    /// Sends a message. Once its first packet is sent, the message counts as sent: the rest may be
    /// lost in transit, too.
    fn send(&self, state: &mut State, message: &[u8]) -> io::Result<()> {
        state.id[8..].copy_from_slice(&state.next.to_be_bytes());
        state.next = state.next.wrapping_add(1);
        let most = self.packet - HEADER;
        let of = message.len().div_ceil(most) as u32;
        for (payload, number) in message.chunks(most).zip(0..) {
            let header = packet::header(&state.id, number, of, payload.len() as u16);
            let mut slices = [IoSlice::new(&header), IoSlice::new(payload)];
            match self.stream.write(&mut slices) {
                Ok(()) => {}
                Err(failed) if datagram::is_too_long(&failed.error) => {
                    let problem = format!(
                        "a packet of {} octets is larger than the path to the group allows: lower packet= of \
                         -ORBMulticast",
                        HEADER + payload.len()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
                }
                Err(failed) if number == 0 => return Err(failed.error),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

#[cold]
fn oversized(octets: usize) -> Oversized {
    Oversized { octets, most: MOST_MESSAGE, advice: "send less data per request to a group" }
}

impl Link for Sender {
    /// Waits until the time-out passes or this end is closed: groups send no answers.
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_by(buffer, max, Stream::read)
    }

    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_by(buffer, max, Stream::read_now)
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let mut state = self.state.lock();
        if let [one] = slices {
            return self.send_all(&mut state, one);
        }
        let mut joined = std::mem::take(&mut state.joined);
        joined.clear();
        slices.iter().for_each(|slice| joined.extend_from_slice(slice));
        let sent = self.send_all(&mut state, &joined);
        state.joined = joined;
        sent
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
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

    /// Reports whether this end was closed: no member needs to be alive.
    fn is_dead(&self) -> bool {
        self.closed.load(Relaxed)
    }

    fn has_input(&self) -> io::Result<bool> {
        Ok(self.closed.load(Relaxed))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.socket())
    }

    fn facts(&self) -> Facts {
        facts(MOST_MESSAGE)
    }

    fn peer(&self) -> String {
        format!("miop:{}", self.group)
    }

    fn identity(&self) -> PeerId {
        PeerId::Ip(self.group.ip())
    }

    fn apply(&self, properties: &Properties) -> io::Result<()> {
        apply(self.stream.socket(), properties)
    }

    fn local(&self) -> String {
        let local = oxorb_sys::socket::local_address(self.stream.socket());
        local.map_or_else(|error| error.to_string(), |at| format!("udp:{at}"))
    }
}
