//! The descriptor of a connection whose octets no descriptor knows of.
//!
//! From the time that somebody asks for it, it is readable while octets wait that nobody reads. The peer
//! makes it so by an octet over the socket, if it was asked to; where octets came unasked, this end
//! raises it itself. A connection at which nobody but a reading thread waits pays nothing for it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::poll::{Either, Signal};

/// What this end knows of its descriptor.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    either: OnceLock<Either>,
    /// The peer was asked for an octet; since then it may have sent one.
    pub(crate) armed: AtomicBool,
    /// The peer has sent one that was not taken, or is about to.
    pub(crate) rung: AtomicBool,
    raised: AtomicBool,
}

impl Watch {
    /// Whether somebody has asked for the descriptor.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.either.get().is_some()
    }

    /// Returns the descriptor, if there is one; it follows `socket`. The caller sees to the octets that
    /// wait already if it is `new`.
    pub(crate) fn descriptor(&self, socket: &OwnedFd) -> Option<(BorrowedFd<'_>, bool)> {
        if let Some(either) = self.either.get() {
            return Some((either.as_fd(), false));
        }
        let made = Either::new(socket, always().ok()?).ok()?;
        let new = self.either.set(made).is_ok();
        Some((self.either.get()?.as_fd(), new))
    }

    /// Makes the descriptor readable.
    pub(crate) fn raise(&self) {
        if let (Some(either), Ok(always)) = (self.either.get(), always())
            && !self.raised.swap(true, Ordering::AcqRel)
        {
            either.raise(always);
        }
    }

    /// Leaves it to the socket whether the descriptor is readable.
    pub(crate) fn lower(&self) {
        if let (Some(either), Ok(always)) = (self.either.get(), always())
            && self.raised.swap(false, Ordering::AcqRel)
        {
            either.lower(always);
        }
    }
}

/// Returns the signal of the process that is always raised.
fn always() -> io::Result<&'static Signal> {
    static ALWAYS: OnceLock<Signal> = OnceLock::new();
    if let Some(signal) = ALWAYS.get() {
        return Ok(signal);
    }
    let signal = Signal::new()?;
    signal.raise();
    Ok(ALWAYS.get_or_init(|| signal))
}
