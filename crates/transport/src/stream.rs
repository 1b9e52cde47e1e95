//! Connected stream sockets: the common part of TCP and UNIX sockets.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxorb_sys::socket::{self, Shutdown, Waiting};

use crate::WriteError;

/// Connected stream socket that reads, writes and closes as [`Link`](crate::Link) requires.
///
/// A transport over stream sockets owns one and forwards to it. The socket is blocking, and
/// time-outs are the kernel's (`SO_RCVTIMEO`, `SO_SNDTIMEO`): so a read is one `recvfrom` and
/// nothing else, and a write one `sendto` (one slice) or `sendmsg` (several).
///
/// The kernel counts time-outs in its own ticks (1 to 10 ms) and rounds up, so a time-out shorter
/// than a tick lasts one or two ticks.
///
/// `PIECE` is the maximum number of octets passed to one blocking system call of a write. It must be so small that the
/// kernel applies the time-out to such a call as a whole. If it is less than [`DEFAULT_PIECE`], a non-blocking call
/// first sends as much as the peer has space for. This saves system calls, after each of which the kernel may let the
/// peer run, which would then read little at a time.
#[derive(Debug)]
pub struct Stream<const PIECE: usize = DEFAULT_PIECE> {
    socket: OwnedFd,
    read_timeout: Timeout,
    write_timeout: Timeout,
    /// Set by `close` and `close_read`, so that later reads return 0: after `shutdown` the kernel
    /// would still return arriving octets.
    deaf: AtomicBool,
}

impl<const PIECE: usize> Stream<PIECE> {
    /// Wraps a connected, blocking stream socket.
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
            deaf: AtomicBool::new(false),
        }
    }

    /// Returns the socket, for its options.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads as [`Link::read`](crate::Link::read) does: one system call.
    #[inline]
    pub fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 || self.deaf.load(Ordering::Relaxed) {
            return Ok(0);
        }
        match socket::receive(&self.socket, buffer, max) {
            Ok(octets) => Ok(octets),
            Err(error) => self.read_on(error, buffer, max),
        }
    }

    /// Reads as [`Link::read_now`](crate::Link::read_now) does: one system call.
    #[inline]
    pub fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 || self.deaf.load(Ordering::Relaxed) {
            return Ok(0);
        }
        socket::receive_now(&self.socket, buffer, max)
    }

    /// Writes as [`Link::write`](crate::Link::write) does: one system call, unless the write is
    /// large.
    #[inline]
    pub fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        // Nearly every message is a single slice, so it takes the short way: one system call, and no sum of lengths.
        if let [one] = slices
            && (1..=PIECE).contains(&one.len())
        {
            let length = one.len();
            return match socket::send(&self.socket, slices) {
                Ok(sent) if sent == length => Ok(()),
                other => self.write_on(slices, other),
            };
        }
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if total == 0 {
            return Ok(());
        }
        if total > PIECE {
            return self.write_large(slices);
        }
        match socket::send(&self.socket, slices) {
            Ok(sent) if sent == total => Ok(()),
            other => self.write_on(slices, other),
        }
    }

    /// Bounds reads as [`Link::set_read_timeout`](crate::Link::set_read_timeout) does.
    #[inline]
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.read_timeout
            .change(timeout, |timeout| socket::set_receive_timeout(&self.socket, timeout))
    }

    /// Bounds writes as [`Link::set_write_timeout`](crate::Link::set_write_timeout) does.
    #[inline]
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.write_timeout
            .change(timeout, |timeout| socket::set_send_timeout(&self.socket, timeout))
    }

    /// Closes as [`Link::close`](crate::Link::close) does.
    pub fn close(&self) {
        self.deaf.store(true, Ordering::Relaxed);
        // The call fails only if the connection is closed already.
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    /// Stops reading as [`Link::close_read`](crate::Link::close_read) does.
    pub fn close_read(&self) {
        self.deaf.store(true, Ordering::Relaxed);
        let _ = socket::shutdown(&self.socket, Shutdown::Read);
    }

    /// Stops writing as [`Link::close_write`](crate::Link::close_write) does.
    pub fn close_write(&self) {
        let _ = socket::shutdown(&self.socket, Shutdown::Write);
    }

    /// Reports whether the peer has ended, as [`Link::is_dead`](crate::Link::is_dead) does.
    #[inline]
    pub fn is_dead(&self) -> bool {
        !matches!(socket::waiting(&self.socket), Ok(Waiting::Nothing | Waiting::Octets))
    }

    /// Reports whether a read would return at once, as [`Link::has_input`](crate::Link::has_input)
    /// does.
    #[inline]
    pub fn has_input(&self) -> io::Result<bool> {
        Ok(socket::waiting(&self.socket)? != Waiting::Nothing)
    }

    /// Continues a read after an error, such as a signal, which must not extend the time-out.
    #[cold]
    fn read_on(&self, error: io::Error, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        let mut patience = Patience::new(&self.read_timeout);
        let mut read = Err(error);
        loop {
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    if patience.is_over() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                done => return done,
            }
            if self.deaf.load(Ordering::Relaxed) {
                return Ok(0);
            }
            read = socket::receive(&self.socket, buffer, max);
        }
    }

    #[cold]
    fn write_large(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let first = self.write_piece(slices, &mut false);
        self.write_on(slices, first)
    }

    /// Continues a write that takes several system calls, because it is large or the kernel did not
    /// accept everything at once. `first` is the result of the first of them.
    #[cold]
    fn write_on(
        &self,
        slices: &mut [IoSlice<'_>],
        first: io::Result<usize>,
    ) -> Result<(), WriteError> {
        let mut rest = slices;
        let mut written = 0;
        let mut patience = Patience::new(&self.write_timeout);
        let mut is_full = false;
        let mut sent = first;
        loop {
            match sent {
                Ok(0) => {
                    return Err(WriteError { written, error: io::ErrorKind::WriteZero.into() });
                }
                Ok(count) => {
                    written += count;
                    IoSlice::advance_slices(&mut rest, count);
                    if rest.is_empty() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(WriteError { written, error }),
            }
            if patience.is_over() {
                return Err(WriteError { written, error: io::ErrorKind::TimedOut.into() });
            }
            sent = self.write_piece(rest, &mut is_full);
        }
    }

    /// Writes one piece of the slices. `is_full`: whether the last system call showed that the peer
    /// has no space left.
    fn write_piece(&self, slices: &[IoSlice<'_>], is_full: &mut bool) -> io::Result<usize> {
        let mut piece = [IoSlice::new(&[]); PIECE_SLICES];
        if PIECE < DEFAULT_PIECE && !*is_full {
            let (count, octets) = cut(slices, DEFAULT_PIECE, &mut piece);
            match socket::send_now(&self.socket, &piece[..count]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => {
                    *is_full = sent.as_ref().is_ok_and(|sent| *sent < octets);
                    return sent;
                }
            }
        }
        *is_full = false;
        let (count, _) = cut(slices, PIECE, &mut piece);
        socket::send(&self.socket, &piece[..count])
    }
}

impl<const PIECE: usize> Drop for Stream<PIECE> {
    /// Ends the connection now. To close the descriptor is not enough: a child that this process is starting has a copy
    /// of it until it executes its program, and the peer would see the end only then.
    fn drop(&mut self) {
        self.close();
    }
}

/// Copies up to `most` octets of the slices into a piece, and returns its numbers of slices and
/// octets.
fn cut<'s>(
    slices: &'s [IoSlice<'_>],
    most: usize,
    piece: &mut [IoSlice<'s>; PIECE_SLICES],
) -> (usize, usize) {
    let (mut room, mut count) = (most, 0);
    for (place, slice) in piece.iter_mut().zip(slices) {
        let octets = slice.len().min(room);
        *place = IoSlice::new(&slice[..octets]);
        count += 1;
        room -= octets;
        if room == 0 {
            break;
        }
    }
    (count, most - room)
}

/// Maximum number of octets passed to one system call of a write, unless the transport specifies another limit.
///
/// The caches of a processor hold a piece until the peer reads it (`docs/experiments/large-messages.md`).
pub const DEFAULT_PIECE: usize = 256 << 10;

/// Maximum number of slices of a piece.
const PIECE_SLICES: usize = 16;

/// Time-out set in the kernel, remembered so that setting it again costs no system call.
#[derive(Debug)]
struct Timeout(AtomicU64);

impl Timeout {
    const NONE: u64 = u64::MAX;

    fn change(
        &self,
        timeout: Option<Duration>,
        tell_kernel: impl FnOnce(Option<Duration>) -> io::Result<()>,
    ) -> io::Result<()> {
        let nanos =
            timeout.map_or(Self::NONE, |time| u64::try_from(time.as_nanos()).unwrap_or(Self::NONE));
        if self.0.load(Ordering::Relaxed) == nanos {
            return Ok(());
        }
        tell_kernel((nanos != Self::NONE).then(|| Duration::from_nanos(nanos)))?;
        self.0.store(nanos, Ordering::Relaxed);
        Ok(())
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Self(AtomicU64::new(Self::NONE))
    }
}

/// Time limit of an operation that signals or a slow peer split into several system calls, each of
/// which the kernel bounds separately. Reads the clock only in that case.
struct Patience {
    limit: u64,
    since: Option<Instant>,
}

impl Patience {
    fn new(timeout: &Timeout) -> Self {
        Self { limit: timeout.0.load(Ordering::Relaxed), since: None }
    }

    /// Reports whether the time is over; called before each further system call.
    fn is_over(&mut self) -> bool {
        if self.limit == Timeout::NONE {
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() >= Duration::from_nanos(self.limit)
    }
}

/// Forwards the methods of [`Link`](crate::Link) that a [`Stream`] has, except `write`, to a field
/// of that type. To be used as a line in the `impl Link` of a transport over stream sockets.
#[macro_export]
macro_rules! forward_to_stream {
    ($stream:ident) => {
        #[inline]
        fn read(&self, buffer: &mut ::std::vec::Vec<u8>, max: usize) -> ::std::io::Result<usize> {
            self.$stream.read(buffer, max)
        }
        fn read_now(
            &self,
            buffer: &mut ::std::vec::Vec<u8>,
            max: usize,
        ) -> ::std::io::Result<usize> {
            self.$stream.read_now(buffer, max)
        }
        fn set_read_timeout(
            &self,
            timeout: ::std::option::Option<::std::time::Duration>,
        ) -> ::std::io::Result<()> {
            self.$stream.set_read_timeout(timeout)
        }
        fn set_write_timeout(
            &self,
            timeout: ::std::option::Option<::std::time::Duration>,
        ) -> ::std::io::Result<()> {
            self.$stream.set_write_timeout(timeout)
        }
        fn close(&self) {
            self.$stream.close();
        }
        fn close_read(&self) {
            self.$stream.close_read();
        }
        fn close_write(&self) {
            self.$stream.close_write();
        }
        fn is_dead(&self) -> bool {
            self.$stream.is_dead()
        }
        fn has_input(&self) -> ::std::io::Result<bool> {
            self.$stream.has_input()
        }
        fn poll_fd(&self) -> ::std::option::Option<::std::os::fd::BorrowedFd<'_>> {
            ::std::option::Option::Some(self.$stream.socket())
        }
    };
}
