//! Writes: into the ring, and large payloads into blocks next to it.

use std::hint;
use std::io::{self, IoSlice};
use std::time::Duration;

use oxorb_sys::{poll, socket};
use oxorb_transport::WriteError;

use crate::shm::ShmLink;
use crate::shm::blocks::Block;
use crate::shm::link::{CLOSED, LOOKS, SLICE};
use crate::shm::ring::Told;
use crate::shm::splices;
use crate::shm::state::Transition;
use crate::shm::time::Clock;

/// Size in octets from which on a payload is placed in a block, if one is free.
pub(crate) const LARGE: usize = oxorb_transport::LARGE;

/// Size in octets from which on a message may have such payloads.
pub(crate) const MANY: usize = LARGE;

/// Number of octets of a large message in the ring that are published at once: the peer reads them
/// while this end copies the next ones.
const PIECE: u32 = 32 << 10;

/// Message being written into the ring.
struct Message<'l> {
    link: &'l ShmLink,
    /// Number of published octets of the message.
    written: usize,
    /// Number of octets of the message that are written and not yet published.
    hidden: usize,
    /// Number of octets of the ring used by the unpublished ones.
    put: u32,
    /// Whether octets were published without waking a sleeping reader.
    quiet: bool,
    /// Number of the first unpublished octet of the ring.
    from: u32,
    /// Clock of the wait for space, if there was one.
    clock: Option<Clock>,
}

impl<'l> Message<'l> {
    fn new(link: &'l ShmLink) -> Self {
        Self {
            link,
            written: 0,
            hidden: 0,
            put: 0,
            quiet: false,
            from: link.outgoing.tail(),
            clock: None,
        }
    }

    /// Publishes the octets put in since the last time, and wakes the peer, even if some of its
    /// octets were published quietly.
    fn publish(&mut self) -> io::Result<()> {
        if self.put > 0 || self.quiet {
            self.link.publish(self.from)?;
            self.written += self.hidden;
            (self.hidden, self.put, self.quiet) = (0, 0, false);
            self.from = self.link.outgoing.tail();
        }
        Ok(())
    }

    /// Publishes the octets put in without waking the peer.
    fn publish_quietly(&mut self) {
        self.link.outgoing.publish_quietly(&self.link.segment);
        self.written += self.hidden;
        (self.hidden, self.put, self.quiet) = (0, 0, true);
        self.from = self.link.outgoing.tail();
    }

    /// Returns the free space, from one to `wanted` octets; if there is none, publishes and waits.
    /// `left` is the number of octets of the payload still to put in.
    fn room(&mut self, wanted: u32, left: usize) -> io::Result<u32> {
        loop {
            let room = self.link.outgoing.room(&self.link.segment, wanted)?;
            if room > 0 {
                return Ok(room.min(wanted));
            }
            self.publish()?;
            let timeout = &self.link.write_timeout;
            let clock = self.clock.get_or_insert_with(|| Clock::new(timeout));
            self.link.wait_for_room(left, clock)?;
        }
    }

    /// Writes octets to the ring.
    fn put(&mut self, mut octets: &[u8]) -> io::Result<()> {
        while !octets.is_empty() {
            let wanted = octets.len().min((PIECE - self.put) as usize);
            let room = self.room(wanted as u32, octets.len())?;
            let (piece, behind) = octets.split_at(room as usize);
            self.link.outgoing.put(&self.link.segment, piece);
            octets = behind;
            self.hidden += piece.len();
            self.put += room;
            if self.put == PIECE {
                self.publish()?;
            }
        }
        Ok(())
    }

    /// Writes octets to a block, and the block to the ring.
    fn splice(&mut self, octets: &[u8], block: Block) -> io::Result<()> {
        let Self { link, .. } = *self;
        let mut at = link.outgoing.at.in_blocks(&link.segment, block.first);
        let (first, rest) = octets.split_at(octets.len().min(splices::PIECE as usize));
        link.segment.copy_in(at, first);
        let put = self.put_block(block, first.len());
        if put.is_err() {
            link.blocks.give_back(block);
        }
        put?;
        at += first.len();
        let pieces = rest.chunks(splices::PIECE as usize);
        for (number, piece) in pieces.enumerate() {
            // A sleeping reader is woken for the first piece, and for the last one if it has fallen
            // asleep again.
            match number {
                0 => self.publish()?,
                _ => self.publish_quietly(),
            }
            link.segment.copy_in(at, piece);
            at += piece.len();
            self.room(1, 1)?;
            link.outgoing.show_more();
            self.hidden += piece.len();
            self.put += 1;
        }
        Ok(())
    }

    /// Writes a block to the ring, of which `filled` octets are filled.
    fn put_block(&mut self, block: Block, filled: usize) -> io::Result<()> {
        self.room(1, 1)?;
        let ticket = self.link.blocks.send(block);
        self.link.outgoing.splice(&self.link.segment, block, ticket);
        self.hidden += filled;
        self.put += 1;
        if self.put >= PIECE {
            self.publish()?;
        }
        Ok(())
    }
}

impl ShmLink {
    /// Publishes the octets put into the ring, from the one with the number `from` on, and wakes
    /// the peer.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] if the peer died before it read any of them.
    #[inline]
    pub(crate) fn publish(&self, from: u32) -> io::Result<()> {
        match self.outgoing.publish(&self.segment) {
            Told::Looks | Told::Woken => Ok(()),
            Told::Watched if socket::ring(&self.socket).is_ok() => Ok(()),
            told => self.nobody_told(told, from),
        }
    }

    /// Handles a failed wake-up: the peer may be dead, or about to sleep.
    #[cold]
    fn nobody_told(&self, told: Told, from: u32) -> io::Result<()> {
        if self.ended_by_peer() & CLOSED != 0 {
            // The peer has closed the connection itself, and may still take the octets. The next read returns the end.
            return Ok(());
        }
        if poll::is_hung_up(&self.socket) {
            self.peer_died();
            if self.outgoing.is_unread(&self.segment, from) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        } else if told == Told::Watched {
            self.state.make(Transition::PeerUnheard);
        }
        Ok(())
    }

    /// Continues a write that is large or did not find enough space at once.
    #[inline(never)]
    pub(crate) fn write_on(&self, slices: &[IoSlice<'_>]) -> Result<(), WriteError> {
        let mut message = Message::new(self);
        let failed = |written| move |error| WriteError { written, error };
        for octets in slices.iter().map(|slice| &**slice) {
            let put = match self.room_of(octets) {
                Some(block) => message.put_block(block, octets.len()),
                None => match self.block(octets.len()) {
                    Some(block) => message.splice(octets, block),
                    None => message.put(octets),
                },
            };
            put.map_err(failed(message.written))?;
        }
        message.publish().map_err(failed(message.written))
    }

    /// Returns the room whose contents are exactly these octets, if any.
    fn room_of(&self, octets: &[u8]) -> Option<Block> {
        self.rooms.as_ref()?.of(octets)
    }

    /// Returns a block for a payload that is large enough, if one is free. Returns `None` if its
    /// pieces exceed half of the ring, as a reader that lends waits for all of them.
    fn block(&self, octets: usize) -> Option<Block> {
        let octets = u32::try_from(octets).ok()?;
        if octets < LARGE as u32 || octets.div_ceil(splices::PIECE) > self.segment.ring() / 2 {
            return None;
        }
        self.blocks.take(&self.segment, octets)
    }

    /// Waits until the ring has space for `octets`, or half of it is free.
    fn wait_for_room(&self, octets: usize, clock: &mut Clock) -> io::Result<()> {
        let half = self.segment.ring() / 2;
        let wanted = u32::try_from(octets).map_or(half, |octets| octets.min(half));
        let enough = || self.outgoing.room(&self.segment, wanted);
        let spin = self.spin();
        // The clock measures the complete write, so a peer that reads slowly cannot extend the time-out.
        let until = clock.passed() + spin;
        while !spin.is_zero() && clock.left(until).is_some() {
            for _ in 0..LOOKS {
                if enough()? >= wanted {
                    return Ok(());
                }
                hint::spin_loop();
            }
        }
        loop {
            if self.is_refused() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let Some(left) = clock.left(Duration::MAX) else {
                return Err(io::ErrorKind::TimedOut.into());
            };
            if enough()? >= wanted {
                return Ok(());
            }
            let over = || self.is_refused();
            self.outgoing.sleep(&self.segment, wanted, left.min(SLICE), over)?;
            if enough()? < wanted && poll::is_hung_up(&self.socket) {
                self.peer_died();
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::thread;

    use oxorb_transport::Link as _;

    use super::*;
    use crate::shm::MIN_RING;
    use crate::shm::lend::pair;

    const BLOCKS: u32 = 1 << 20;

    /// Payloads whose pieces fill half of the ring, all of it, and more.
    #[test]
    fn a_payload_of_more_pieces_than_the_ring_has_octets_reaches_who_would_borrow_it() {
        let half = (MIN_RING / 2 * splices::PIECE) as usize;
        for octets in [half, half + 1, 2 * half + 1, 4 * half + 9] {
            let [client, server] = pair(BLOCKS, false);
            let late = Some(Duration::from_secs(20));
            client.set_write_timeout(late).unwrap();
            server.set_read_timeout(late).unwrap();
            let payload: Vec<u8> = (0..octets).map(|octet| (octet % 251) as u8).collect();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut slices = [b"head", &payload[..], b"end"].map(IoSlice::new);
                    client.write(&mut slices).unwrap();
                });
                let lender = server.lender().unwrap();
                let (mut read, mut leases) = (Vec::new(), 0);
                while read.len() < octets + 7 {
                    let left = octets + 7 - read.len();
                    match lender.lease(left, true).unwrap() {
                        Some(lease) => {
                            leases += 1;
                            read.extend(lease.to_vec());
                        }
                        None => assert_ne!(server.read(&mut read, left).unwrap(), 0),
                    }
                }
                assert!(read == [b"head", &payload[..], b"end"].concat(), "{octets}");
                assert_eq!(leases, u32::from(octets == half), "{octets}");
            });
        }
    }

    /// A reader that fell asleep after pieces were published quietly is woken before the writer
    /// waits for it.
    #[test]
    fn what_was_shown_quietly_is_told_of_before_a_wait() {
        let [client, server] = pair(BLOCKS, true);
        let mut message = Message::new(&client);
        message.put(b"head").unwrap();
        message.publish().unwrap();
        assert_eq!(server.read_now(&mut Vec::new(), 99).unwrap(), 4);
        let again = server.read_now(&mut Vec::new(), 99).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::WouldBlock);
        let descriptor = server.poll_fd().unwrap();
        let told = || poll::readable(descriptor, Some(Duration::ZERO)).unwrap();
        let room = client.outgoing.room(&client.segment, MIN_RING);
        assert_eq!(room.unwrap(), MIN_RING);
        client.outgoing.put(&client.segment, &[1; MIN_RING as usize]);
        message.publish_quietly();
        assert!(!told());
        client.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        let late = message.room(1, 1).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(told(), "both ends wait for each other");
    }
}
