//! Links within one process, and a transport of them.
//!
//! A link behaves like a connected stream socket with a small buffer each way, but makes no system
//! call unless a thread must wait. Its descriptor is created on demand; from then on each write
//! into an empty pipe and each read that empties it makes a system call. For tests, and for
//! calls within the process.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use oxorb_sys::poll::Signal;
use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

use crate::{Facts, Link, PeerId, Properties, WriteError};

mod transport;

pub use transport::{Memory, SCHEME};

/// Returns two connected links with a capacity of `capacity` octets (at least one) each way.
///
/// Allocates the memory of both directions at once, and nothing later.
///
/// ```
/// use std::io::IoSlice;
/// use oxorb_transport::{Link, mem};
///
/// let (client, server) = mem::pair(64);
/// client.write(&mut [IoSlice::new(b"GIOP")])?;
/// let mut buffer = Vec::new();
/// server.read(&mut buffer, 64)?;
/// assert_eq!(buffer, b"GIOP");
/// # std::io::Result::Ok(())
/// ```
pub fn pair(capacity: usize) -> (MemLink, MemLink) {
    let pipes = [(); 2].map(|()| Arc::new(Shared::new(capacity.max(1))));
    let [there, back] = &pipes;
    (MemLink::new(back.clone(), there.clone()), MemLink::new(there.clone(), back.clone()))
}

/// End of a [`pair`]. Dropping it closes the link.
#[derive(Debug)]
pub struct MemLink {
    incoming: Arc<Shared>,
    outgoing: Arc<Shared>,
    read_timeout: Mutex<Option<Duration>>,
    write_timeout: Mutex<Option<Duration>>,
    /// Names of the places of this end and of its peer, for display. Only the place of an acceptor
    /// has a name.
    places: [Option<Arc<str>>; 2],
}

impl MemLink {
    fn new(incoming: Arc<Shared>, outgoing: Arc<Shared>) -> Self {
        Self {
            incoming,
            outgoing,
            places: [None, None],
            read_timeout: Mutex::new(None),
            write_timeout: Mutex::new(None),
        }
    }
}

impl Link for MemLink {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if max == 0 {
            return Ok(0);
        }
        let deadline = Deadline::after(*self.read_timeout.lock());
        let mut pipe = self.incoming.wait(deadline, |state| !state.is_silent())?;
        let count = pipe.take(buffer, max);
        self.incoming.show(&pipe, true);
        drop(pipe);
        self.incoming.changed.notify_all();
        Ok(count)
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let deadline = Deadline::after(*self.write_timeout.lock());
        let mut written = 0;
        for mut rest in slices.iter().map(|slice| &**slice) {
            while !rest.is_empty() {
                let taken = self.outgoing.wait(deadline, |state| !state.is_full());
                let taken = taken.and_then(|mut pipe| {
                    let was_readable = !pipe.is_silent();
                    let count = pipe.put(rest)?;
                    self.outgoing.show(&pipe, was_readable);
                    Ok(count)
                });
                let count = taken.map_err(|error| WriteError { written, error })?;
                self.outgoing.changed.notify_all();
                written += count;
                rest = &rest[count..];
            }
        }
        Ok(())
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.read_timeout.lock() = timeout;
        Ok(())
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.write_timeout.lock() = timeout;
        Ok(())
    }

    fn close(&self) {
        self.incoming.change(Pipe::stop_reading);
        self.outgoing.change(|pipe| pipe.ended = true);
    }

    fn close_read(&self) {
        self.incoming.change(Pipe::stop_reading);
    }

    fn is_dead(&self) -> bool {
        let pipe = self.incoming.pipe.lock();
        pipe.octets.is_empty() && pipe.ended
    }

    fn has_input(&self) -> io::Result<bool> {
        Ok(!self.incoming.pipe.lock().is_silent())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.incoming.watched().map(AsFd::as_fd)
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn identity(&self) -> PeerId {
        PeerId::Process
    }

    fn apply(&self, _properties: &Properties) -> io::Result<()> {
        Ok(())
    }

    fn peer(&self) -> String {
        let [_, other] = &self.places;
        other.as_deref().unwrap_or("memory").to_owned()
    }

    fn local(&self) -> String {
        let [own, _] = &self.places;
        own.as_deref().unwrap_or("memory").to_owned()
    }
}

impl Drop for MemLink {
    fn drop(&mut self) {
        self.close();
    }
}

/// One direction of a pair: a bounded queue of octets, and whether its two ends still use it.
#[derive(Debug)]
struct Pipe {
    octets: VecDeque<u8>,
    capacity: usize,
    /// Whether the writer has closed: nothing will follow.
    ended: bool,
    /// Whether the reader has stopped: nothing will be consumed.
    unread: bool,
}

impl Pipe {
    /// Reports whether a read would have to wait.
    fn is_silent(&self) -> bool {
        self.octets.is_empty() && !self.ended && !self.unread
    }

    /// Reports whether a write would have to wait.
    fn is_full(&self) -> bool {
        self.octets.len() == self.capacity && !self.ended && !self.unread
    }

    fn stop_reading(&mut self) {
        self.unread = true;
        self.octets.clear();
    }

    fn take(&mut self, buffer: &mut Vec<u8>, max: usize) -> usize {
        let count = self.octets.len().min(max);
        let (front, back) = self.octets.as_slices();
        let in_front = front.len().min(count);
        buffer.extend_from_slice(&front[..in_front]);
        buffer.extend_from_slice(&back[..count - in_front]);
        self.octets.drain(..count);
        count
    }

    fn put(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.ended || self.unread {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = octets.len().min(self.capacity - self.octets.len());
        self.octets.extend(&octets[..count]);
        Ok(count)
    }
}

/// Pipe shared by two threads.
#[derive(Debug)]
struct Shared {
    pipe: Mutex<Pipe>,
    /// Signalled at every change of the pipe.
    changed: Condvar,
    /// Signal that is raised while a read would not wait, created on demand. The inner `None` means
    /// that no descriptor was available.
    readable: OnceLock<Option<Signal>>,
}

impl Shared {
    fn new(capacity: usize) -> Self {
        Self {
            pipe: Mutex::new(Pipe {
                octets: VecDeque::with_capacity(capacity),
                capacity,
                ended: false,
                unread: false,
            }),
            changed: Condvar::new(),
            readable: OnceLock::new(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Pipe)) {
        let mut pipe = self.pipe.lock();
        let was_readable = !pipe.is_silent();
        change(&mut pipe);
        self.show(&pipe, was_readable);
        drop(pipe);
        self.changed.notify_all();
    }

    /// Updates the signal, if there is one, after a change of the pipe: raises it if a read would no
    /// longer wait, and lowers it if a read would wait again. The caller holds the lock of the pipe.
    fn show(&self, pipe: &Pipe, was_readable: bool) {
        let Some(Some(signal)) = self.readable.get() else {
            return;
        };
        match (was_readable, !pipe.is_silent()) {
            (false, true) => signal.raise(),
            (true, false) => signal.lower(),
            _ => {}
        }
    }

    /// Returns the signal, which is kept up to date from now on.
    fn watched(&self) -> Option<&Signal> {
        if let Some(signal) = self.readable.get() {
            return signal.as_ref();
        }
        let pipe = self.pipe.lock();
        let signal = self.readable.get_or_init(|| {
            let signal = Signal::new().ok()?;
            if !pipe.is_silent() {
                signal.raise();
            }
            Some(signal)
        });
        drop(pipe);
        signal.as_ref()
    }

    /// Waits until `wanted` holds for the pipe.
    fn wait(
        &self,
        deadline: Deadline,
        wanted: impl Fn(&Pipe) -> bool,
    ) -> io::Result<MutexGuard<'_, Pipe>> {
        let mut pipe = self.pipe.lock();
        while !wanted(&pipe) {
            pipe = match deadline.left() {
                None => self.changed.wait(pipe),
                Some(Duration::ZERO) => return Err(io::ErrorKind::TimedOut.into()),
                Some(left) => self.changed.wait_timeout(pipe, left).0,
            };
        }
        Ok(pipe)
    }
}

/// Time at which a wait ends; `None` means never.
#[derive(Clone, Copy)]
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|time| Instant::now().checked_add(time)))
    }

    fn left(self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }
}
