//! Connections.

use std::hint;
use std::io::{self, IoSlice};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use oxorb_sys::poll;
use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::unix::{self, Credentials};
use oxorb_transport::{Facts, Lender, Link, PeerId, Properties, Rooms, WriteError};

use crate::shm::blocks::Blocks;
use crate::shm::greeting::{Greeting, Received};
use crate::shm::lend::Lent;
use crate::shm::rest::Gate;
use crate::shm::ring::{ASLEEP, AWAKE, Direction, Reader, WATCHED, Writer, broken};
use crate::shm::room::Lending;
use crate::shm::segment::Segment;
use crate::shm::time::{Clock, Timeout};
use crate::shm::watch::Watch;
use crate::shm::write::MANY;

/// Longest time that a thread spins before it sleeps.
pub const MAX_SPIN: Duration = Duration::from_millis(5);

/// Time that a thread sleeps on a word of the memory before it looks after its peer, whose death wakes
/// nobody there.
pub(crate) const SLICE: Duration = Duration::from_millis(5);

/// Octets over the socket, with nothing behind them, after which the peer is taken for a hostile one: also those out of band.
/// One now and then is ordinary: it came while the octets that it told of were read.
const MAX_VAIN: u32 = 1000;

/// Number of looks at the memory between two at the clock, while a thread spins.
pub(crate) const LOOKS: u32 = 64;

/// A connection over shared memory.
///
/// # Real-time cost
///
/// A read that finds octets and a write that finds room are a copy and a fence each, and no system
/// call, unless the peer sleeps: then one to wake it, also for a large payload, which lies in a block beside
/// the ring while one is free. A read that finds none spins for the time
/// that [`Properties::busy_poll`] says (not at all unless told), then sleeps on a word of the memory,
/// and after 5 ms at the socket. Nothing allocates.
#[derive(Debug)]
pub struct ShmLink {
    pub(crate) segment: Arc<Segment>,
    /// Payloads are read where the peer wrote them, in the segment.
    pub(crate) lent: Option<Arc<Lent>>,
    /// Memory for payloads that this end sends as they lie there.
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
    /// Nanoseconds.
    spin: AtomicU64,
    closed: AtomicBool,
    /// Whether this end reads no more.
    deaf: AtomicBool,
    /// The peer is gone without having said so.
    pub(crate) gone: AtomicBool,
    /// The peer does not want to be woken any more: it reads no more.
    pub(crate) unheard: AtomicBool,
    /// Octets over the socket with nothing behind them, since octets came last.
    vain: AtomicU32,
    /// Whether there were too many of them.
    pub(crate) noisy: AtomicBool,
    peer: PeerId,
    /// Address where the server listens, for people.
    server: Arc<str>,
}

/// Ends that a peer has put to the directions of a connection, in a word of the segment.
pub(crate) const CLOSED: u32 = 1;
const DEAF: u32 = 2;

impl ShmLink {
    /// Takes over memory that was sent to a server, and the socket.
    ///
    /// # Errors
    /// When the system does not tell who listens there.
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

    /// Takes over memory that came from a client, and the socket.
    ///
    /// # Errors
    /// When the system does not tell who connected.
    pub(crate) fn accepted(
        socket: OwnedFd,
        received: Received,
        server: Arc<str>,
    ) -> io::Result<Self> {
        let segment = Segment::new(received.memory, received.sizes);
        let segment = segment.with_rooms(received.rooms);
        Self::new(socket, segment, server, Direction::ToServer)
    }

    /// An end that reads what goes in a direction.
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
            closed: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            unheard: AtomicBool::new(false),
            vain: AtomicU32::new(0),
            noisy: AtomicBool::new(false),
            server,
        })
    }

    /// Returns the octets of memory that the connection takes, at most: its pages are taken from the
    /// system when octets come there for the first time.
    pub fn memory(&self) -> usize {
        self.segment.octets()
    }

    pub(crate) fn spin(&self) -> Duration {
        Duration::from_nanos(self.spin.load(Ordering::Relaxed))
    }

    /// Returns the ends that the peer has put to the connection.
    #[inline]
    pub(crate) fn ended_by_peer(&self) -> u32 {
        // The peer reads what goes out.
        let word = self.outgoing.at.ended_by_reader();
        self.segment.word(word).load(Ordering::Acquire)
    }

    /// Whether nothing will come any more but what is there.
    #[inline]
    fn is_over(&self) -> bool {
        self.ended_by_peer() & CLOSED != 0 || self.gone.load(Ordering::Acquire)
    }

    /// Whether this end reads no more.
    #[inline]
    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    /// Whether nothing comes any more, as far as this end knows by now: what it waits for at a descriptor has told it when
    /// it saw to that.
    #[cold]
    pub(crate) fn stays_as_it_is(&self) -> bool {
        let told = self.deaf.load(Ordering::Acquire) || self.is_over();
        told || !self.watch.is_watched() && poll::is_hung_up(&self.socket)
    }

    /// Whether nobody will read what is written.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
            || self.ended_by_peer() & (CLOSED | DEAF) != 0
            || self.gone.load(Ordering::Relaxed)
            || self.unheard.load(Ordering::Relaxed)
    }

    /// Looks whether a read need not wait: for octets, or because the end has come.
    #[inline]
    fn look(&self) -> io::Result<Option<Found>> {
        if self.deaf.load(Ordering::Acquire) {
            return Ok(Some(Found::End));
        }
        // Before the octets: those that were written before the end are seen then.
        let over = self.is_over();
        Ok(match self.incoming.waiting(&self.segment)? {
            0 => over.then_some(Found::End),
            _ => Some(Found::Octets),
        })
    }

    /// A read that found nothing.
    #[inline(never)]
    fn read_on(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if self.wait(&Clock::new(&self.read_timeout))? == Found::End {
            return Ok(0);
        }
        match self.take(buffer, max)? {
            // The peer takes octets back.
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
            let over = || self.deaf.load(Ordering::Acquire) || self.is_over();
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
                    return found?.ok_or_else(|| io::ErrorKind::TimedOut.into());
                }
            };
            let limit = (left < Duration::MAX).then_some(left);
            let waited = poll::readable(&self.socket, limit);
            self.segment.post(word, AWAKE);
            waited?;
            self.hush();
        }
    }

    /// Takes the octets that the peer has sent over the socket, and notices that it is gone.
    fn hush(&self) {
        self.watch.rung.store(false, Ordering::Relaxed);
        match socket::hush(&self.socket) {
            // The end of what this end stopped reading says nothing about the peer.
            Ok(0) if self.deaf.load(Ordering::Acquire) => {}
            Ok(0) => self.gone.store(true, Ordering::Release),
            Ok(_) => {
                if self.vain.fetch_add(1, Ordering::Relaxed) >= MAX_VAIN {
                    self.noisy.store(true, Ordering::Release);
                    self.close();
                }
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                _ => self.gone.store(true, Ordering::Release),
            },
        }
    }

    /// Tells the peer not to send octets over the socket.
    #[inline]
    fn disarm(&self) {
        if self.watch.armed.swap(false, Ordering::AcqRel)
            && self.segment.post(self.incoming.at.reader(), AWAKE) == AWAKE
        {
            self.watch.rung.store(true, Ordering::Relaxed);
        }
    }

    /// Leaves the descriptor as those who wait there need it, when a thread ceases to read.
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

    /// Asks the peer for an octet over the socket when it writes next.
    fn arm(&self) {
        let word = self.incoming.at.reader();
        self.watch.armed.store(true, Ordering::Release);
        if self.segment.post(word, WATCHED) == ASLEEP {
            // A thread that has gone to sleep meanwhile looks again.
            self.segment.wake(word);
        }
        if !matches!(self.incoming.waiting(&self.segment), Ok(0)) {
            self.watch.raise(&self.socket);
        }
    }

    /// Says that this end has ended something, and wakes who waits for it.
    fn end(&self, what: u32) {
        let word = self.incoming.at.ended_by_reader();
        self.segment.word(word).fetch_or(what, Ordering::AcqRel);
        let (incoming, outgoing) = (self.incoming.at, self.outgoing.at);
        // The peer still reads what goes out unless all is closed: it keeps waiting as it does, and a word that
        // says so stays.
        let all = [incoming.reader(), incoming.writer(), outgoing.reader(), outgoing.writer()];
        let ended = if what == CLOSED { &all[..] } else { &all[..2] };
        for &word in ended {
            if self.segment.post(word, AWAKE) == ASLEEP {
                self.segment.wake(word);
            }
        }
    }
}

/// Reason why a read need not wait any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Octets,
    End,
}

impl Link for ShmLink {
    #[inline]
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 || self.deaf.load(Ordering::Relaxed) {
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
        if max == 0 || self.deaf.load(Ordering::Relaxed) {
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
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.deaf.store(true, Ordering::Release);
        self.end(CLOSED);
        // Fails only if the connection is gone already.
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    fn close_read(&self) {
        if self.deaf.swap(true, Ordering::AcqRel) {
            return;
        }
        self.end(DEAF);
        let _ = socket::shutdown(&self.socket, Shutdown::Read);
    }

    fn is_dead(&self) -> bool {
        let empty = || matches!(self.incoming.waiting(&self.segment), Ok(0));
        let over = self.closed.load(Ordering::Relaxed) || self.is_over();
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
        // A peer that has closed it in order may still be at what it copied out.
        self.ended_by_peer() & CLOSED == 0
            && self.is_deserted()
            && self.outgoing.is_unheard(&self.segment)
    }

    fn left_last(&self) -> bool {
        // Without a word, that is, killed: one that ends in order may still be at what it copied out. Who is gone
        // has told of all that it took.
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

    /// Sets the time that reads and writes spin before they sleep, at most [`MAX_SPIN`]. The size of the
    /// rings is the server's to say, and there is no network for the other properties.
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
    /// Whether the peer has closed its socket. A connection that this end has closed says nothing: the peer may live, and read
    /// what is in the ring.
    fn is_deserted(&self) -> bool {
        // Looked at last: this end says that it closes before it shuts the socket down.
        poll::is_hung_up(&self.socket)
            && !self.closed.load(Ordering::Acquire)
            && !self.deaf.load(Ordering::Acquire)
    }

    /// Takes octets that are there; where this end lends blocks, up to the first one.
    #[inline]
    fn take(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        match &self.lent {
            Some(_) => self.incoming.take_before(&self.segment, buffer, max),
            None => self.incoming.take(&self.segment, buffer, max),
        }
    }

    /// Sees to the descriptor, if there is one.
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

    /// Returns the result of a read, unless this end has closed the connection because of its peer: then the reason.
    #[inline]
    fn unless_noisy(&self, read: io::Result<usize>) -> io::Result<usize> {
        match read {
            Ok(1..) => read,
            _ if self.noisy.load(Ordering::Acquire) => Err(noisy()),
            _ => read,
        }
    }

    /// A read that must not wait, and found nothing: 0 only if the peer is gone.
    #[cold]
    fn read_the_last(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if !poll::is_hung_up(&self.socket) && !self.is_over() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // What it wrote before it went is there by now.
        self.take(buffer, max)
    }
}

/// The error of a peer that wakes this end again and again for nothing.
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
