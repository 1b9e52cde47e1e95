//! Handshakes in steps that never wait.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, BorrowedFd};

use oxorb_sys::socket;
use oxorb_transport::tcp::TcpLink;
use oxorb_transport::{Link as _, PeerId};
use rustls::Connection;

use crate::tls::certificate::subject_of;
use crate::tls::link::{Side, TlsLink};
use crate::tls::words;

/// Maximum size in octets of a handshake accepted from a peer: some certificates up to a root, and
/// a margin.
const MAX_OCTETS: usize = 64 << 10;

/// Size of a record header, in octets.
const HEADER: usize = 5;

/// Number of octets of the first read of a server. A client cannot end the handshake before it has heard the server, so
/// whatever arrives first belongs to the handshake.
const FIRST: usize = 4 << 10;

/// Number of octets after a record that certainly belong to the handshake, while it is not over: its last record is at
/// least the last part of Finished, of which one octet, its tag and the header have 22.
const AHEAD: usize = 22;

/// Largest record without its header, in octets (RFC 8446, 5.2; some more in TLS 1.2).
const MAX_RECORD: usize = (16 << 10) + 2048;

/// Connection during its handshake.
pub(crate) struct Half {
    tcp: TcpLink,
    tls: Connection,
    side: Side,
    records: Records,
    /// Octets to be sent.
    outgoing: Vec<u8>,
    sent: usize,
}

/// Requirement of the next step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The handshake is over.
    Done,
    /// Octets of the peer.
    Input,
    /// Space for octets to send.
    Output,
}

impl Half {
    pub(crate) fn new(tcp: TcpLink, tls: Connection, side: Side) -> Self {
        Self { tcp, tls, side, records: Records::new(side), outgoing: Vec::new(), sent: 0 }
    }

    pub(crate) fn tcp(&self) -> &TcpLink {
        &self.tcp
    }

    /// Reports whether any octets of the peer have arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.records.received > 0
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.tcp.poll_fd().expect("TCP has a descriptor")
    }

    /// Advances as far as possible without waiting. No octets after the handshake are taken from the socket, which
    /// could not report them any more. After octets were sent, no others are read before the socket reports them,
    /// because the peer has yet to answer.
    ///
    /// # Errors
    /// The reason why the handshake failed, as the rest of a sentence. The alert to the peer has
    /// been queued.
    pub(crate) fn step(&mut self) -> Result<Step, String> {
        let peer = self.side.peer();
        loop {
            let has_output = self.tls.wants_write() || !self.outgoing.is_empty();
            match self.send() {
                Ok(true) => {}
                Ok(false) => return Ok(Step::Output),
                Err(error) => {
                    return Err(format!("the connection to the {peer} was lost: {error}"));
                }
            }
            if !self.tls.is_handshaking() {
                return Ok(Step::Done);
            }
            if has_output {
                return Ok(Step::Input);
            }
            let missing = self.records.missing();
            match self.tcp.read_now(&mut self.records.octets, missing) {
                Ok(0) => {
                    return Err(format!(
                        "the {peer} closed the connection in the middle of the handshake"
                    ));
                }
                Ok(octets) => self.records.received += octets,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Step::Input),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(format!("the connection to the {peer} was lost: {error}"));
                }
            }
            if let Err(why) = self.records.give(&mut self.tls) {
                // TLS has queued an alert with the reason, which is sent if the socket has space for it.
                let _ = self.send();
                return Err(why);
            }
        }
    }

    /// Sends queued octets; returns false if the socket has no space.
    fn send(&mut self) -> io::Result<bool> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.outgoing)?;
        }
        while self.sent < self.outgoing.len() {
            let rest = IoSlice::new(&self.outgoing[self.sent..]);
            match socket::send_now(
                self.tcp.poll_fd().expect("TCP has a descriptor").as_fd(),
                &[rest],
            ) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Returns the link after the handshake.
    pub(crate) fn into_link(self) -> TlsLink {
        let address = self.tcp.peer_address().ip();
        let certificate = self.tls.peer_certificates().and_then(|chain| chain.first());
        let subject = certificate.and_then(|it| subject_of(it, Some(address)));
        let identity = match subject {
            Some(subject) => PeerId::Subject(subject),
            None => PeerId::Ip(address),
        };
        TlsLink::new(self.tcp, self.tls, self.side, identity)
    }

    /// Closes the connection for writing, and returns it so that the peer can read the reason.
    pub(crate) fn part(self) -> TcpLink {
        self.tcp.close_write();
        self.tcp
    }
}

/// Received octets of a handshake that were not passed to TLS yet.
pub(crate) struct Records {
    pub(crate) octets: Vec<u8>,
    /// Size of the first record in `octets` as far as known, in octets.
    wanted: usize,
    /// Total number of octets received.
    pub(crate) received: usize,
    /// Side of this end.
    side: Side,
}

impl Records {
    pub(crate) fn new(side: Side) -> Self {
        Self { octets: Vec::new(), wanted: HEADER, received: 0, side }
    }

    /// Returns the maximum number of octets to read next.
    pub(crate) fn missing(&self) -> usize {
        match (self.octets.len(), self.side) {
            (0, Side::Server) if self.received == 0 => FIRST,
            (0, _) => AHEAD,
            (have, _) => self.wanted - have,
        }
    }

    /// Checks the received octets, and passes complete records to TLS.
    ///
    /// # Errors
    /// The reason why the handshake fails, as the rest of a sentence.
    pub(crate) fn give(&mut self, tls: &mut Connection) -> Result<(), String> {
        let peer = self.side.peer();
        if self.received > MAX_OCTETS {
            return Err(format!("the handshake of the {peer} needs more than {MAX_OCTETS} octets"));
        }
        let mut used = 0;
        while tls.is_handshaking() {
            let octets = &self.octets[used..];
            self.wanted = HEADER;
            let Some(&[kind, _, _, high, low]) = octets.first_chunk::<HEADER>() else {
                break;
            };
            self.wanted = HEADER + usize::from(u16::from_be_bytes([high, low]));
            if !(20..=23).contains(&kind) || self.wanted > HEADER + MAX_RECORD {
                return Err(no_tls(octets, peer));
            }
            let Some(mut rest) = octets.get(..self.wanted) else {
                break;
            };
            while !rest.is_empty() {
                match tls.read_tls(&mut rest) {
                    // The peer has sent close_notify, after which TLS accepts no more octets.
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => return Err(error.to_string()),
                }
                let processed = tls.process_new_packets();
                processed.map_err(|error| words::why(&error, peer))?;
            }
            used += self.wanted;
        }
        if !tls.is_handshaking() && used < self.octets.len() {
            return Err(format!("the {peer} sent more than its handshake before it could end"));
        }
        self.octets.drain(..used);
        Ok(())
    }
}

fn no_tls(octets: &[u8], peer: &str) -> String {
    match octets.starts_with(b"GIOP") {
        true => format!("the {peer} sent GIOP without TLS, as for a port of iiop"),
        false => format!("the {peer} sent data that is not TLS"),
    }
}
