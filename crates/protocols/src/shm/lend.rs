//! Lending of blocks that the peer has written.

use std::io;
use std::sync::Arc;

use oxorb_lend::{Lease, Memory};
use oxorb_transport::Lender;

use crate::shm::ShmLink;
use crate::shm::link::Found;
use crate::shm::ring::Direction;
use crate::shm::segment::Segment;
use crate::shm::splices::{Splice, give_back};
use crate::shm::time::Clock;

/// Memory of a connection, from which the reading end lends blocks.
#[derive(Debug)]
pub(crate) struct Lent {
    segment: Arc<Segment>,
    /// Direction that this end reads.
    reads: Direction,
}

impl Lent {
    pub(crate) fn new(segment: Arc<Segment>, reads: Direction) -> Self {
        Self { segment, reads }
    }
}

impl Memory for Lent {
    fn copy_to(&self, at: usize, octets: &mut [u8]) {
        self.segment.copy_to(at, octets);
    }

    fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
        self.segment.copy_out(at, buffer, octets);
    }

    fn give_back(&self, ticket: u64) {
        give_back(&self.segment, self.reads, ticket as u32);
    }
}

impl ShmLink {
    /// Waits until the writer has published all of the current splice. Returns `None` if it never
    /// will.
    #[cold]
    fn lease_whole(&self, max: u32) -> io::Result<Option<Splice>> {
        let clock = Clock::new(&self.read_timeout);
        loop {
            if self.wait(&clock)? == Found::End {
                return Ok(None);
            }
            match self.incoming.lease(&self.segment, max) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                leased => return leased,
            }
        }
    }
}

impl Lender for ShmLink {
    fn lease(&self, max: usize, waits: bool) -> io::Result<Option<Lease>> {
        let Some(lent) = &self.lent else {
            return Ok(None);
        };
        if self.is_deaf() {
            // The read that follows returns the end of the stream or the error.
            return Ok(None);
        }
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let mut leased = self.incoming.lease(&self.segment, max);
        if waits && matches!(&leased, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            leased = self.lease_whole(max);
        }
        let splice = match leased {
            Ok(Some(splice)) => splice,
            Ok(None) => return Ok(None),
            Err(error) => {
                // Octets remain unread, so threads that wait at the descriptor are notified.
                let failed = Err(error);
                self.has_read(&failed);
                return match failed {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
                    // The payload will never be complete, so a read must take the octets that have arrived, and then
                    // report the end.
                    _ if self.stays_as_it_is() => Ok(None),
                    failed => failed.map(|_| None),
                };
            }
        };
        let octets = splice.octets as usize;
        self.has_read(&Ok(octets));
        let memory = Arc::clone(lent);
        let first = self.incoming.at.in_blocks(&self.segment, splice.first);
        let ticket = splice.ticket.into();
        Ok(Some(Lease::new(memory, first, octets, ticket)))
    }
}

/// Returns the client's end and the server's end of a connection; the server's end may be watched.
#[cfg(test)]
#[cfg(not(loom))]
pub(crate) fn pair(blocks: u32, watched: bool) -> [ShmLink; 2] {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use oxorb_transport::Link as _;

    use crate::shm::greeting::{Greeting, receive};
    use crate::shm::segment::Sizes;

    let ring = crate::shm::MIN_RING;
    let sizes = Sizes { ring, blocks };
    let (to_server, to_client) = UnixStream::pair().unwrap();
    let [to_server, to_client] = [to_server, to_client].map(OwnedFd::from);
    let greeting = Greeting::new(sizes).unwrap();
    greeting.send(&to_server).unwrap();
    let received = receive(&to_client, sizes).unwrap();
    let client = ShmLink::connected(to_server, greeting, "here".into()).unwrap();
    let server = ShmLink::accepted(to_client, received, "here".into()).unwrap();
    if watched {
        server.poll_fd().unwrap();
    }
    [client, server]
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::time::Duration;

    use oxorb_sys::poll;
    use oxorb_sys::socket::{self, Shutdown};
    use oxorb_transport::Link as _;

    use super::*;
    use crate::shm::splices::PIECE;
    use crate::shm::state;

    const OCTETS: u32 = 4 * PIECE;

    /// Returns a client that has published a head and the first piece of a large payload, and a
    /// server that has read up to that payload.
    fn amid_a_payload(watched: bool) -> [ShmLink; 2] {
        let [client, server] = pair(64 << 10, watched);
        client.outgoing.put(&client.segment, b"head");
        let block = client.blocks.take(&client.segment, OCTETS).unwrap();
        let at = client.outgoing.at.in_blocks(&client.segment, block.first);
        client.segment.copy_in(at, &[7; PIECE as usize]);
        let ticket = client.blocks.send(block);
        client.outgoing.splice(&client.segment, block, ticket);
        client.publish(client.outgoing.tail()).unwrap();
        assert_eq!(server.read_now(&mut Vec::new(), 999).unwrap(), 4);
        [client, server]
    }

    fn waits(server: &ShmLink) {
        let leased = server.lease(OCTETS as usize, false);
        assert_eq!(leased.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    /// The first attempt to borrow the payload makes the server's thread read instead, and so find the
    /// end. Otherwise, the thread would be woken again and again.
    #[test]
    fn who_dies_inside_a_payload_is_noticed_at_once_by_who_would_borrow_it() {
        for (watched, word) in [(true, false), (false, false), (true, true), (false, true)] {
            let [client, server] = amid_a_payload(watched);
            waits(&server);
            match word {
                true => client.close(),
                // This is the state in which the system leaves the connection of a killed process.
                false => socket::shutdown(&client.socket, Shutdown::Both).unwrap(),
            }
            let leased = server.lease(OCTETS as usize, false).unwrap();
            assert!(leased.is_none(), "it never becomes whole");
            let mut buffer = Vec::new();
            let read = server.read_now(&mut buffer, OCTETS as usize).unwrap();
            assert_eq!((read, &*buffer), (buffer.len(), &[7; PIECE as usize][..]));
            let leased = server.lease(OCTETS as usize, false).unwrap();
            assert!(leased.is_none());
            assert_eq!(server.read_now(&mut buffer, 999).unwrap(), 0, "the end");
        }
    }

    #[test]
    fn who_wakes_for_nothing_inside_a_payload_is_closed() {
        let [client, server] = amid_a_payload(true);
        let descriptor = server.poll_fd().unwrap();
        let mut woken = 0;
        loop {
            let _ = socket::ring(&client.socket);
            let late = Some(Duration::from_secs(20));
            assert!(poll::readable(descriptor, late).unwrap());
            match server.lease(OCTETS as usize, false) {
                Ok(leased) => {
                    assert!(leased.is_none());
                    break;
                }
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            woken += 1;
            assert!(woken <= 1010, "nobody minds");
        }
        assert!(woken >= 900, "{woken}");
        assert!(server.state.has(state::NOISY));
        let error = server.read_now(&mut Vec::new(), 999).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
