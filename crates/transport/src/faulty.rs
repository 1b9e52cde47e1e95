//! Link with injected faults.

use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_sys::sync::Mutex;

use crate::{Link, WriteError};

/// Faults of a link. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Maximum number of octets that a read returns: 1 tests whether the layers above handle
    /// messages that arrive octet by octet.
    pub read_at_most: Option<usize>,
    /// Maximum size of a piece of a write, in octets.
    pub write_at_most: Option<usize>,
    /// Delay before each read.
    pub read_delay: Duration,
    /// Delay before each piece of a write.
    pub write_delay: Duration,
    /// Number of octets read after which the connection breaks.
    pub cut_after_read: Option<u64>,
    /// Number of octets written after which the connection breaks.
    pub cut_after_written: Option<u64>,
}

/// Link with injected [`Faults`]. It meets the obligations of [`Link`], except that a write may stop in the middle when
/// the connection is made to break, and that delays come on top of time-outs.
///
/// ```
/// use std::io::IoSlice;
/// use oxorb_transport::{Link, faulty::{Faults, Faulty}, mem};
///
/// let (client, _server) = mem::pair(64);
/// let client = Faulty::new(client, Faults { cut_after_written: Some(3), ..Faults::default() });
/// let failure = client.write(&mut [IoSlice::new(b"GIOP")]).unwrap_err();
/// assert_eq!(failure.written, 3);
/// ```
#[derive(Debug)]
pub struct Faulty<L> {
    inner: L,
    faults: Faults,
    read: AtomicU64,
    written: AtomicU64,
    /// Time-out of all pieces of a write together; the inner link bounds each piece.
    write_timeout: Mutex<Option<Duration>>,
}

impl<L: Link> Faulty<L> {
    /// Wraps a link.
    pub fn new(inner: L, faults: Faults) -> Self {
        Self {
            inner,
            faults,
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
            write_timeout: Mutex::new(None),
        }
    }

    /// Returns how many of the `wanted` octets may pass before the connection breaks.
    fn allowed(
        wanted: usize,
        at_most: Option<usize>,
        cut: Option<u64>,
        passed: &AtomicU64,
    ) -> usize {
        let left = cut.map_or(u64::MAX, |cut| cut.saturating_sub(passed.load(Ordering::Relaxed)));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        // A limit of 0 counts as 1, because no octet would ever pass otherwise.
        wanted.min(at_most.unwrap_or(usize::MAX).max(1)).min(left)
    }

    fn cut(&self) -> io::Error {
        self.inner.close();
        io::ErrorKind::ConnectionReset.into()
    }

    fn write_piece(&self, slice: &[u8]) -> Result<usize, WriteError> {
        let Faults { write_at_most, write_delay, cut_after_written, .. } = self.faults;
        let count = Self::allowed(slice.len(), write_at_most, cut_after_written, &self.written);
        if count == 0 {
            return Err(WriteError { written: 0, error: self.cut() });
        }
        wait(write_delay);
        self.inner.write(&mut [IoSlice::new(&slice[..count])])?;
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

fn wait(delay: Duration) {
    if !delay.is_zero() {
        thread::sleep(delay);
    }
}

impl<L: Link> Link for Faulty<L> {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 {
            return Ok(0);
        }
        let Faults { read_at_most, read_delay, cut_after_read, .. } = self.faults;
        let max = Self::allowed(max, read_at_most, cut_after_read, &self.read);
        if max == 0 {
            return Err(self.cut());
        }
        wait(read_delay);
        let count = self.inner.read(buffer, max)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let timeout = *self.write_timeout.lock();
        let start = Instant::now();
        let mut written = 0;
        for mut rest in slices.iter().map(|slice| &**slice) {
            while !rest.is_empty() {
                if timeout.is_some_and(|limit| written > 0 && start.elapsed() >= limit) {
                    return Err(WriteError { written, error: io::ErrorKind::TimedOut.into() });
                }
                let count = self.write_piece(rest).map_err(|failure| WriteError {
                    written: written + failure.written,
                    error: failure.error,
                })?;
                written += count;
                rest = &rest[count..];
            }
        }
        Ok(())
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.write_timeout.lock() = timeout;
        self.inner.set_write_timeout(timeout)
    }

    crate::forward_to_link!(inner);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem;

    #[test]
    fn octet_by_octet() {
        let faults = Faults { read_at_most: Some(1), write_at_most: Some(1), ..Faults::default() };
        let (a, b) = mem::pair(64);
        let (a, b) = (Faulty::new(a, faults), Faulty::new(b, faults));
        a.write(&mut [IoSlice::new(b"GI"), IoSlice::new(b"OP")]).unwrap();
        let mut buffer = Vec::new();
        for _ in 0..4 {
            assert_eq!(b.read(&mut buffer, 100).unwrap(), 1);
        }
        assert_eq!(buffer, b"GIOP");
    }

    #[test]
    fn a_cut_write_sends_what_it_says_and_breaks_the_link() {
        let (a, b) = mem::pair(64);
        let faults = Faults { cut_after_written: Some(3), ..Faults::default() };
        let a = Faulty::new(a, faults);
        let failure = a.write(&mut [IoSlice::new(b"GI"), IoSlice::new(b"OP")]).unwrap_err();
        assert_eq!((failure.written, failure.error.kind()), (3, io::ErrorKind::ConnectionReset));
        let mut buffer = Vec::new();
        assert_eq!(b.read(&mut buffer, 100).unwrap(), 3);
        assert_eq!(b.read(&mut buffer, 100).unwrap(), 0);
        assert_eq!(buffer, b"GIO");
    }

    #[test]
    fn a_cut_read_breaks_the_link() {
        let (a, b) = mem::pair(64);
        let b = Faulty::new(b, Faults { cut_after_read: Some(3), ..Faults::default() });
        a.write(&mut [IoSlice::new(b"GIOP")]).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(b.read(&mut buffer, 100).unwrap(), 3);
        let error = b.read(&mut buffer, 100).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert!(a.is_dead());
    }
}
