//! The descriptor of a connection whose octets no descriptor knows of.
//!
//! From the time that somebody asks for it, it is readable while octets wait that nobody reads. The peer
//! makes it so by an octet over the socket, if it was asked to; where octets came unasked, this end
//! raises it itself. A connection at which nobody but a reading thread waits pays nothing for it.
//!
//! Whoever asks first may be another thread than the one that reads, and both then tell the peer how they wait. So the
//! first look after that believes nothing of what is noted here: see [`Watch::joins`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use oxorb_sys::poll::{Either, Signal};

/// What this end knows of its descriptor.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    either: OnceLock<(Either, Arc<Signal>)>,
    /// The peer was asked for an octet; since then it may have sent one.
    pub(crate) armed: AtomicBool,
    /// The peer has sent one that was not taken, or is about to.
    pub(crate) rung: AtomicBool,
    raised: AtomicBool,
    /// Somebody has asked for the descriptor, and the thread that reads has not taken note of it.
    joining: AtomicBool,
    /// Held while the descriptor is made and the peer asked for an octet.
    making: Mutex<()>,
}

impl Watch {
    /// Whether somebody has asked for the descriptor.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.either.get().is_some()
    }

    /// Returns the descriptor, if there is one; it follows `socket`. Where it is new, `arm` sees to the octets that wait
    /// already.
    pub(crate) fn descriptor(
        &self,
        socket: &OwnedFd,
        arm: impl FnOnce(),
    ) -> Option<BorrowedFd<'_>> {
        if self.either.get().is_none() {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if self.either.get().is_none() {
                let always = always().ok()?;
                let made = Either::new(socket, &always).ok()?;
                // Before the descriptor: who knows of that knows of this.
                self.joining.store(true, Ordering::Release);
                let _ = self.either.set((made, always));
                arm();
            }
        }
        Some(self.either.get()?.0.as_fd())
    }

    /// Returns whether another thread may have asked for the descriptor since this one, which reads, looked last: then
    /// `armed` and `rung` say nothing. From then on this thread alone changes them.
    #[inline]
    pub(crate) fn joins(&self) -> bool {
        self.joining.load(Ordering::Relaxed) && self.join()
    }

    #[cold]
    fn join(&self) -> bool {
        drop(self.making.lock().unwrap_or_else(PoisonError::into_inner));
        self.joining.store(false, Ordering::Relaxed);
        true
    }

    /// Makes the descriptor readable.
    pub(crate) fn raise(&self) {
        if let Some((either, always)) = self.either.get()
            && !self.raised.swap(true, Ordering::AcqRel)
        {
            either.raise(always);
        }
    }

    /// Leaves it to the socket whether the descriptor is readable.
    pub(crate) fn lower(&self) {
        if let Some((either, always)) = self.either.get()
            && self.raised.swap(false, Ordering::AcqRel)
        {
            either.lower(always);
        }
    }
}

/// Descriptors that one signal is watched by, at most: Linux lets 500 of those that others watch in turn watch one
/// (`path_limits` of epoll), and refuses the next.
const MOST: usize = 256;

/// Returns a signal that is always raised, and that few enough others have.
fn always() -> io::Result<Arc<Signal>> {
    static ALWAYS: Mutex<Option<Arc<Signal>>> = Mutex::new(None);
    let mut always = ALWAYS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(signal) = &*always
        && Arc::strong_count(signal) <= MOST
    {
        return Ok(Arc::clone(signal));
    }
    let signal = Arc::new(Signal::new()?);
    signal.raise();
    *always = Some(Arc::clone(&signal));
    Ok(signal)
}
