//! Links over shared memory.

use std::hint;
use std::io::{self, IoSlice};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use oxorb_sys::poll;
use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::unix::{self, Credentials};
use oxorb_transport::{Facts, Lender, Link, PeerId, Properties, Rooms, WriteError};

use crate::shm::blocks::Blocks;
use crate::shm::greeting::{Greeting, Received};
use crate::shm::lend::Lent;
use crate::shm::page_reclaim::Gate;
use crate::shm::ring::{ASLEEP, AWAKE, Direction, Reader, WATCHED, Writer, broken};
use crate::shm::room::Lending;
use crate::shm::segment::Segment;
use crate::shm::state::{self, LinkState, Transition};
use crate::shm::time::{Clock, Timeout};
use crate::shm::watch::Watch;
use crate::shm::write::MANY;

/// Longest time that a thread spins before it sleeps.
pub const MAX_SPIN: Duration = Duration::from_millis(5);

/// Time that a thread sleeps on a word of the memory before it checks its peer, whose death does
/// not wake it.
pub(crate) const SLICE: Duration = Duration::from_millis(5);

/// Number of octets over the socket, also out of band, that the peer may send without writing octets into the ring. If
/// it sends more, it counts as hostile. Single ones are normal: they arrive while this end already reads the octets
/// that they announce.
const MAX_VAIN: u32 = 1000;

/// Number of checks of the memory between two readings of the clock, while a thread spins.
pub(crate) const LOOKS: u32 = 64;

/// Connection over shared memory.
///
/// # Real-time cost
///
/// A read that finds octets and a write that finds space are a copy and a fence each, and no system
/// call, unless the peer sleeps: then one to wake it. This includes large payloads, which are
/// placed in a block while one is free. A read that finds no octets spins for the time of
/// [`Properties::busy_poll`] (0 by default), then sleeps on a word of the memory, and after 5 ms at
/// the socket. Nothing allocates.
#[derive(Debug)]
pub struct ShmLink {
    pub(crate) segment: Arc<Segment>,
    /// Lender of payloads in place, in the segment.
    pub(crate) lent: Option<Arc<Lent>>,
    /// Rooms for payloads that this end sends in place.
    pub(crate) rooms: Option<Arc<Lending>>,
    pub(crate) incoming: Reader,
    pub(crate) outgoing: Writer,
    /// Blocks of the outgoing direction.
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) socket: OwnedFd,
    watch: Watch,
    pub(crate) gate: Gate,
    pub(crate) read_timeout: Timeout,
    pub(crate) write_timeout: Timeout,
    /// Spinning time in nanoseconds.
    spin: AtomicU64,
    pub(crate) state: LinkState,
    /// Number of octets over the socket without octets in the ring, since the last octets were
    /// read.
    vain: AtomicU32,
    peer: PeerId,
    /// Address of the server, for users.
    server: Arc<str>,
}

/// Flags in a word of the segment for the directions that a peer has ended: both (closed), or its
/// reading (deaf).
pub(crate) const CLOSED: u32 = 1;
const DEAF: u32 = 2;

impl ShmLink {
    /// Wraps the memory sent to a server, and the socket.
    ///
    /// # Errors
    /// The system does not report who listens at the socket.
    pub(crate) fn connected(
        socket: OwnedFd,
        greeting: Greeting,
        server: Arc<str>,
    ) -> io::Result<Self> {
        let segment = Segment::new(greeting.memory, greeting.sizes);
        let mut link = Self::new(socket, segment, server, Direction::ToClient)?;
        let room = |sheet| Lending::new(sheet, &link.segment, &link.blocks);
        link.rooms = greeting.rooms.map(room);
        Ok(link)
    }

    /// Wraps the memory received from a client, and the socket.
    ///
    /// # Errors
    /// The system does not report who connected.
    pub(crate) fn accepted(
        socket: OwnedFd,
        received: Received,
        server: Arc<str>,
    ) -> io::Result<Self> {
        let segment = Segment::new(received.memory, received.sizes);
        let segment = segment.with_rooms(received.rooms);
        Self::new(socket, segment, server, Direction::ToServer)
    }

    /// Returns the end that reads a direction.
    pub(crate) fn new(
        socket: OwnedFd,
        segment: Segment,
        server: Arc<str>,
        reads: Direction,
    ) -> io::Result<Self> {
        let peer = unix::peer_credentials(&socket)?;
        unix::take_urgent_octets(&socket)?;
        let segment = Arc::new(segment);
        let lends = segment.blocks() > 0 && peer.uid == unix::own_credentials().uid;
        let lent = || Arc::new(Lent::new(Arc::clone(&segment), reads));
        Ok(Self {
            peer: identity(peer),
            lent: lends.then(lent),
            rooms: None,
            segment,
            incoming: Reader::new(reads),
            outgoing: Writer::new(reads.other()),
            blocks: Arc::new(Blocks::new(reads.other())),
            socket,
            watch: Watch::default(),
            gate: Gate::default(),
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
            spin: AtomicU64::new(0),
            state: LinkState::new(),
            vain: AtomicU32::new(0),
            server,
        })
    }

    /// Returns the maximum size in octets of the memory that the connection uses: its pages are
    /// allocated when first written.
    pub fn memory(&self) -> usize {
        self.segment.octets()
    }

    pub(crate) fn spin(&self) -> Duration {
        Duration::from_nanos(self.spin.load(Ordering::Relaxed))
    }

    /// Returns the flags of the directions that the peer has ended.
    #[inline]
    pub(crate) fn ended_by_peer(&self) -> u32 {
        // The peer reads the outgoing direction, so the word of that direction's reader contains its flags.
        let word = self.outgoing.at.ended_by_reader();
        self.segment.word(word).load(Ordering::Acquire)
    }

    /// Reports whether nothing more will arrive.
    #[inline]
    fn is_over(&self) -> bool {
        self.ended_by_peer() & CLOSED != 0 || self.state.has(state::GONE)
    }

    /// Reports whether this end reads no more.
    #[inline]
    pub(crate) fn is_deaf(&self) -> bool {
        self.state.has(state::DEAF)
    }

    /// Reports whether nothing more will arrive, as far as known now; a watched descriptor has
    /// reported the peer's death already.
    #[cold]
    pub(crate) fn stays_as_it_is(&self) -> bool {
        let told = self.is_deaf() || self.is_over();
        told || !self.watch.is_watched() && poll::is_hung_up(&self.socket)
    }

    /// Reports whether written octets will never be read.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.state.has(state::CLOSED | state::GONE | state::UNHEARD)
            || self.ended_by_peer() & (CLOSED | DEAF) != 0
    }

    /// Checks whether a read need not wait, as there are octets or the end has come.
    #[inline]
    fn look(&self) -> io::Result<Option<Found>> {
        if self.is_deaf() {
            return Ok(Some(Found::End));
        }
        // The end is checked before the octets, so that octets which were written before the end are found.
        let over = self.is_over();
        Ok(match self.incoming.waiting(&self.segment)? {
            0 => over.then_some(Found::End),
            _ => Some(Found::Octets),
        })
    }

    /// Continues a read that found nothing.
    #[inline(never)]
    fn read_on(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if self.wait(&Clock::new(&self.read_timeout))? == Found::End {
            return Ok(0);
        }
        match self.take(buffer, max)? {
            // `wait` found octets that are gone now, so the peer has changed the memory against the rules.
            0 => Err(broken()),
            octets => Ok(octets),
        }
    }

    /// Waits for octets or the end.
    pub(crate) fn wait(&self, clock: &Clock) -> io::Result<Found> {
        self.disarm();
        let spin = self.spin();
        while !spin.is_zero() {
            for _ in 0..LOOKS {
                if let Some(found) = self.look()? {
                    return Ok(found);
                }
                hint::spin_loop();
            }
            if clock.left(spin).is_none() {
                break;
            }
        }
        while let Some(left) = clock.left(SLICE) {
            if let Some(found) = self.look()? {
                return Ok(found);
            }
            let over = || self.is_deaf() || self.is_over();
            self.incoming.sleep(&self.segment, left, over)?;
        }
        let word = self.incoming.at.reader();
        loop {
            self.segment.post(word, WATCHED);
            let found = self.look();
            let left = match clock.left(Duration::MAX) {
                Some(left) if matches!(found, Ok(None)) => left,
                left => {
                    self.segment.post(word, AWAKE);
                    debug_assert!(left.is_none() || !matches!(found, Ok(None)));
                    return match found? {
                        Some(found) => Ok(found),
                        None => self.time_is_over(),
                    };
                }
            };
            let limit = (left < Duration::MAX).then_some(left);
            let waited = poll::readable(&self.socket, limit);
            self.segment.post(word, AWAKE);
            waited?;
            self.hush();
        }
    }

    /// Ends a wait whose time is over. Detects the peer's death, which a wait shorter than [`SLICE`] would never do.
    #[cold]
    fn time_is_over(&self) -> io::Result<Found> {
        if !self.is_deserted() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.peer_died();
        // The peer may have written octets before it died.
        Ok(self.look()?.unwrap_or(Found::End))
    }

    /// Records that the peer ended without closing the connection.
    pub(crate) fn peer_died(&self) {
        self.state.make(Transition::PeerDied);
    }

    /// Consumes the octets that the peer has sent over the socket, and detects its death.
    fn hush(&self) {
        self.watch.rung.store(false, Ordering::Relaxed);
        match socket::hush(&self.socket) {
            // This end's own `close_read` causes this result, which therefore says nothing about the peer.
            Ok(0) if self.is_deaf() => {}
            Ok(0) => self.peer_died(),
            Ok(_) => {
                if self.vain.fetch_add(1, Ordering::Relaxed) >= MAX_VAIN {
                    self.state.make(Transition::PeerHostile);
                    self.close();
                }
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                _ => self.peer_died(),
            },
        }
    }

    /// Makes the peer send no octets over the socket.
    #[inline]
    fn disarm(&self) {
        if self.watch.armed.swap(false, Ordering::AcqRel)
            && self.segment.post(self.incoming.at.reader(), AWAKE) == AWAKE
        {
            self.watch.rung.store(true, Ordering::Relaxed);
        }
    }

    /// Updates the descriptor for threads that wait there, when a thread stops reading.
    fn settle(&self, found: bool) {
        let word = self.incoming.at.reader();
        let unsure = self.watch.joins();
        if !matches!(self.incoming.waiting(&self.segment), Ok(0)) {
            let rung = self.watch.rung.load(Ordering::Relaxed)
                || self.watch.armed.load(Ordering::Acquire)
                    && self.segment.word(word).load(Ordering::Relaxed) == AWAKE;
            if unsure || !rung {
                self.watch.raise(&self.socket);
            }
            return;
        }
        self.disarm();
        if unsure || !found || self.watch.rung.load(Ordering::Relaxed) {
            self.hush();
        }
        self.watch.lower(&self.socket);
        self.arm();
    }

    /// Makes the peer send an octet over the socket at its next write.
    fn arm(&self) {
        let word = self.incoming.at.reader();
        self.watch.armed.store(true, Ordering::Release);
        if self.segment.post(word, WATCHED) == ASLEEP {
            // A thread has fallen asleep meanwhile, and the peer would no longer wake it. It is woken, so that it
            // checks again.
            self.segment.wake(word);
        }
        if !matches!(self.incoming.waiting(&self.segment), Ok(0)) {
            self.watch.raise(&self.socket);
        }
    }

    /// Publishes that this end has ended something, and wakes waiting threads.
    fn end(&self, what: u32) {
        let word = self.incoming.at.ended_by_reader();
        self.segment.word(word).fetch_or(what, Ordering::AcqRel);
        let (incoming, outgoing) = (self.incoming.at, self.outgoing.at);
        // If only reading has ended, the peer still reads the outgoing direction, so the words of that direction keep
        // their states.
        let all = [incoming.reader(), incoming.writer(), outgoing.reader(), outgoing.writer()];
        let ended = if what == CLOSED { &all[..] } else { &all[..2] };
        for &word in ended {
            if self.segment.post(word, AWAKE) == ASLEEP {
                self.segment.wake(word);
            }
        }
    }
}

/// Reason why a read need not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Octets,
    End,
}

impl Link for ShmLink {
    #[inline]
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 || self.is_deaf() {
            return self.unless_noisy(Ok(0));
        }
        let mut read = self.take(buffer, max);
        if matches!(read, Ok(0)) {
            read = self.read_on(buffer, max);
        }
        self.has_read(&read);
        self.unless_noisy(read)
    }

    #[inline]
    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 || self.is_deaf() {
            return self.unless_noisy(Ok(0));
        }
        let over = self.is_over();
        let mut read = self.take(buffer, max);
        if matches!(read, Ok(0)) && !over {
            read = self.read_the_last(buffer, max);
        }
        self.has_read(&read);
        self.unless_noisy(read)
    }

    #[inline]
    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if total == 0 {
            return Ok(());
        }
        let failed = |error| WriteError { written: 0, error };
        if self.is_refused() {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        }
        let _passing = self.gate.pass();
        self.outgoing.begin();
        if total >= MANY {
            return self.write_on(slices);
        }
        let room = self.outgoing.room(&self.segment, total as u32);
        if room.map_err(failed)? < total as u32 {
            return self.write_on(slices);
        }
        let from = self.outgoing.tail();
        for slice in slices {
            self.outgoing.put(&self.segment, slice);
        }
        self.publish(from).map_err(failed)
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.read_timeout.set(timeout);
        Ok(())
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.write_timeout.set(timeout);
        Ok(())
    }

    fn close(&self) {
        if !self.state.make(Transition::Close) {
            return;
        }
        self.end(CLOSED);
        // The call fails only if the connection is closed already.
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    fn close_read(&self) {
        if !self.state.make(Transition::CloseRead) {
            return;
        }
        self.end(DEAF);
        let _ = socket::shutdown(&self.socket, Shutdown::Read);
    }

    fn is_dead(&self) -> bool {
        let empty = || matches!(self.incoming.waiting(&self.segment), Ok(0));
        let over = self.state.has(state::CLOSED) || self.is_over();
        let over = over || empty() && poll::is_hung_up(&self.socket);
        over && empty()
    }

    fn has_input(&self) -> io::Result<bool> {
        Ok(!matches!(self.look(), Ok(None)) || poll::is_hung_up(&self.socket))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.descriptor(&self.socket, || self.arm())
    }

    fn took_nothing(&self) -> bool {
        // A peer that has closed the connection itself may still process octets that it has copied, so the peer must
        // have died.
        self.ended_by_peer() & CLOSED == 0
            && self.is_deserted()
            && self.outgoing.is_unheard(&self.segment)
    }

    fn left_last(&self) -> bool {
        // The peer must have died, because one that has closed the connection itself may still process octets that it
        // has copied. The number of octets read that a dead peer has published includes all that it took.
        self.ended_by_peer() & (CLOSED | DEAF) == 0
            && self.is_deserted()
            && self.outgoing.left_last(&self.segment)
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn peer(&self) -> String {
        match self.incoming.at {
            Direction::ToClient => self.server.to_string(),
            Direction::ToServer => self.peer.to_string(),
        }
    }

    fn identity(&self) -> PeerId {
        self.peer.clone()
    }

    /// Sets the time that reads and writes spin before they sleep, at most [`MAX_SPIN`]. The server
    /// decides the sizes of the rings, and the other properties need a network.
    fn apply(&self, properties: &Properties) -> io::Result<()> {
        if let Some(time) = properties.busy_poll {
            let nanos = time.min(MAX_SPIN).as_nanos() as u64;
            self.spin.store(nanos, Ordering::Relaxed);
        }
        properties.pages.map_or(Ok(()), |pages| self.set_pages(pages))
    }

    fn lender(&self) -> Option<&dyn Lender> {
        self.lent.as_ref()?;
        Some(self)
    }

    fn rooms(&self) -> Option<&dyn Rooms> {
        self.rooms.as_ref()?;
        Some(self)
    }

    fn local(&self) -> String {
        match self.incoming.at {
            Direction::ToClient => identity(unix::own_credentials()).to_string(),
            Direction::ToServer => self.server.to_string(),
        }
    }
}

impl ShmLink {
    /// Reports whether the peer has closed its socket. Returns false for a connection that this end
    /// has closed: the peer may be alive and read the ring.
    fn is_deserted(&self) -> bool {
        // The flags of this end are checked after the socket: this end sets them before it shuts the socket down, so a
        // hang-up that it has caused itself does not count.
        poll::is_hung_up(&self.socket) && !self.state.has(state::CLOSED | state::DEAF)
    }

    /// Takes available octets; if this end lends blocks, up to the first one.
    #[inline]
    fn take(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        match &self.lent {
            Some(_) => self.incoming.take_before(&self.segment, buffer, max),
            None => self.incoming.take(&self.segment, buffer, max),
        }
    }

    /// Updates the descriptor, if there is one, after a read.
    #[inline]
    pub(crate) fn has_read(&self, read: &io::Result<usize>) {
        let found = matches!(read, Ok(1..));
        self.blocks.expect(&self.segment);
        if found && self.vain.load(Ordering::Relaxed) != 0 {
            self.vain.store(0, Ordering::Relaxed);
        }
        if self.watch.is_watched() {
            self.settle(found);
        }
    }

    /// Returns the result of a read, or the reason if this end has closed the connection because of
    /// a hostile peer.
    #[inline]
    fn unless_noisy(&self, read: io::Result<usize>) -> io::Result<usize> {
        match read {
            Ok(1..) => read,
            _ if self.state.has(state::NOISY) => Err(noisy()),
            _ => read,
        }
    }

    /// Finishes a non-blocking read that found nothing: returns 0 only if the peer has ended.
    #[cold]
    fn read_the_last(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if !poll::is_hung_up(&self.socket) && !self.is_over() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // The peer is gone. All octets that it wrote are visible by now.
        self.take(buffer, max)
    }
}

/// Returns the error for a peer that wakes this end repeatedly for nothing.
#[cold]
fn noisy() -> io::Error {
    let text = format!(
        "the peer woke this end {MAX_VAIN} times over the socket of the connection, and wrote nothing"
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl Drop for ShmLink {
    fn drop(&mut self) {
        self.close();
    }
}

fn identity(Credentials { uid, gid, pid }: Credentials) -> PeerId {
    PeerId::User { uid, gid, pid }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::shm::lend::pair;

    /// A wait shorter than [`SLICE`] ends before the socket is checked, however often it is repeated.
    #[test]
    fn a_read_with_a_short_time_limit_finds_that_the_peer_has_died() {
        for written in [&b""[..], b"last words"] {
            let [client, server] = pair(0, false);
            server.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            let mut buffer = Vec::new();
            let late = server.read(&mut buffer, 64).unwrap_err();
            assert_eq!(late.kind(), io::ErrorKind::TimedOut);
            client.write(&mut [IoSlice::new(written)]).unwrap();
            // This is the state in which the system leaves the connection of a killed process.
            socket::shutdown(&client.socket, Shutdown::Both).unwrap();
            while server.read(&mut buffer, 64).unwrap() != 0 {}
            assert_eq!(buffer, written);
        }
    }
}
