//! The descriptor of a connection whose octets no descriptor knows of.
//!
//! From the time that somebody asks for it, it is readable while octets wait that nobody reads. The peer
//! makes it so by an octet over the socket, if it was asked to; where octets came unasked, this end
//! raises it itself. A connection at which nobody but a reading thread waits pays nothing for it.
//!
//! Whoever asks first may be another thread than the one that reads, and both then tell the peer how they wait. So the
//! first look after that believes nothing of what is noted here: see [`Watch::joins`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::poll::Either;
use oxorb_sys::sync::Mutex;

/// State of this end's descriptor.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    either: OnceLock<Either>,
    /// The peer was asked for an octet; since then it may have sent one.
    pub(crate) armed: AtomicBool,
    /// The peer has sent one that was not taken, or is about to.
    pub(crate) rung: AtomicBool,
    raised: AtomicBool,
    /// Whether the descriptor was asked for, and the thread that reads has not taken note of it.
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
            let _making = self.making.lock();
            if self.either.get().is_none() {
                let made = Either::new(socket).ok()?;
                // Before the descriptor: who knows of that knows of this.
                self.joining.store(true, Ordering::Release);
                let _ = self.either.set(made);
                arm();
            }
        }
        Some(self.either.get()?.as_fd())
    }

    /// Returns whether another thread may have asked for the descriptor since this one, which reads, looked last: then
    /// `armed` and `rung` say nothing. From then on this thread alone changes them.
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

    /// Makes the descriptor, which was made with `socket`, readable.
    pub(crate) fn raise(&self, socket: &OwnedFd) {
        if let Some(either) = self.either.get()
            && !self.raised.swap(true, Ordering::AcqRel)
        {
            either.raise(socket);
        }
    }

    /// Leaves it to the socket whether the descriptor is readable.
    pub(crate) fn lower(&self, socket: &OwnedFd) {
        if let Some(either) = self.either.get()
            && self.raised.swap(false, Ordering::AcqRel)
        {
            either.lower(socket);
        }
    }
}
