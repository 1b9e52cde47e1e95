//! Descriptor of a connection whose octets bypass the kernel.
//!
//! Once requested, it is readable while octets wait and no thread reads them. If this end has asked for it, the peer
//! makes the descriptor readable by sending an octet over the socket; for octets that arrived without that, this end
//! raises the descriptor itself. A connection without a request for its descriptor pays nothing for it.
//!
//! The first request may come from another thread than the reading one, and both then set how this
//! end waits. So the first check after it trusts none of the state recorded here: see
//! [`Watch::joins`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::poll::Either;
use oxorb_sys::sync::Mutex;

/// State of this end's descriptor.
///
/// | flag | set | cleared | ordering |
/// |---|---|---|---|
/// | `armed` | `arm`, before the peer is asked | `disarm` | release in `arm`, with acquire in `disarm`, `settle` |
/// | `rung` | `disarm`, if the peer has sent | `hush` | relaxed: only the reading thread uses it |
/// | `raised` | `raise`, by one of two threads | `lower` | acquire and release: `raise` with `lower` |
/// | `joining` | `descriptor`, holding `making` | `join` | release, with the lock of `making` in `join` |
#[derive(Debug, Default)]
pub(crate) struct Watch {
    either: OnceLock<Either>,
    /// Whether this end has asked the peer to send an octet, which may have arrived since.
    pub(crate) armed: AtomicBool,
    /// Whether the peer has sent an octet that was not consumed, or is about to.
    pub(crate) rung: AtomicBool,
    raised: AtomicBool,
    /// Whether the descriptor was requested and the reading thread has not noticed it.
    joining: AtomicBool,
    /// Held while the descriptor is created and the peer is asked to send an octet.
    making: Mutex<()>,
}

impl Watch {
    /// Reports whether the descriptor was requested.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.either.get().is_some()
    }

    /// Returns the descriptor, if available; it follows `socket`. If it is new, calls `arm` for
    /// octets that wait already.
    pub(crate) fn descriptor(
        &self,
        socket: &OwnedFd,
        arm: impl FnOnce(),
    ) -> Option<BorrowedFd<'_>> {
        if self.either.get().is_none() {
            let _making = self.making.lock();
            if self.either.get().is_none() {
                let made = Either::new(socket).ok()?;
                // The flag is set before the descriptor, so that a thread that finds the descriptor finds the flag set.
                self.joining.store(true, Ordering::Release);
                let _ = self.either.set(made);
                arm();
            }
        }
        Some(self.either.get()?.as_fd())
    }

    /// Reports whether another thread may have requested the descriptor since this one, which
    /// reads, last checked: then `armed` and `rung` are unreliable. From then on only this thread
    /// changes them.
    #[inline]
    pub(crate) fn joins(&self) -> bool {
        self.joining.load(Ordering::Relaxed) && self.join()
    }

    #[cold]
    fn join(&self) -> bool {
        drop(self.making.lock());
        self.joining.store(false, Ordering::Relaxed);
        true
    }

    /// Makes the descriptor, which was created with `socket`, readable.
    pub(crate) fn raise(&self, socket: &OwnedFd) {
        if let Some(either) = self.either.get()
            && !self.raised.swap(true, Ordering::AcqRel)
        {
            either.raise(socket);
        }
    }

    /// Makes the descriptor readable only if the socket is.
    pub(crate) fn lower(&self, socket: &OwnedFd) {
        if let Some(either) = self.either.get()
            && self.raised.swap(false, Ordering::AcqRel)
        {
            either.lower(socket);
        }
    }
}
