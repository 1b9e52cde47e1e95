//! Contract of links.

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use oxorb_lend::{Lease, Room};

use crate::{PeerId, Properties};

/// A connected pipe of octets to one peer.
///
/// # Obligations of an implementation
///
/// The conformance suite (`tests/conformance`) checks every one of these.
///
/// 1. **Order.** Octets arrive in the order written, each exactly once, none invented.
/// 2. **All or an error.** [`write`](Link::write) takes all octets of all slices, in order, or
///    says how many it took. A write larger than any buffer underneath blocks until the peer
///    reads; it does not give up early.
/// 3. **Reads append.** [`read`](Link::read) leaves the octets already in the buffer alone and
///    never adds more than it was allowed.
/// 4. **Bounded waiting.** With a time-out set, a read or write that cannot proceed returns
///    [`io::ErrorKind::WouldBlock`] or [`io::ErrorKind::TimedOut`] (both mean the same: *the time
///    passed*; which one, the system decides). A read that timed out took nothing: the link is as
///    good as before.
/// 5. **Closing wakes.** [`close`](Link::close) and [`close_read`](Link::close_read) wake a reader
///    blocked in another thread, which then reads 0. Both may be called any number of times.
/// 6. **The peer learns.** After `close`, the peer reads what was still under way, then 0; its
///    writes fail sooner or later, and never by a signal.
/// 7. **Threads.** One reader and one writer may work at the same time. Two readers or two writers
///    must take turns: the caller sees to that.
///
/// # Real-time cost
///
/// A read with room in the buffer and a write do not allocate. Over a stream socket each is one
/// system call, unless the kernel takes a write in parts. Setting a time-out to the value it has
/// costs no system call.
pub trait Link: Send + Sync {
    /// Appends between 1 and `max` octets to `buffer`, blocking until there are some.
    ///
    /// Returns how many; 0 when the peer closed, when this end closed, or when `max` is 0. Grows
    /// `buffer` only when its spare capacity is less than `max`; never zeroes it.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` when the read time-out passed; the link stays usable. Anything
    /// else means that the connection is lost; with [`Refused`](crate::Refused) inside, the peer never let this end in, and
    /// took nothing of what it sent.
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize>;

    /// Reads like [`read`](Self::read), but never blocks. Over a stream socket it is one system
    /// call.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there, otherwise as [`read`](Self::read).
    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        match self.has_input() {
            Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
            _ => self.read(buffer, max),
        }
    }

    /// Writes all octets of all slices, in order, blocking while the peer does not take them.
    ///
    /// The slices are consumed: their content is unspecified afterwards.
    ///
    /// # Errors
    /// [`WriteError`] tells how many octets went out. If none did, the peer saw nothing and the
    /// link may be used again; otherwise the stream is cut in the middle of a message, and the
    /// link is good for nothing but closing.
    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError>;

    /// Bounds how long a read blocks; `None`, as at the start, is for ever.
    ///
    /// For the thread that reads; applies from the next read on. Zero is taken as the shortest
    /// time there is.
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// Bounds how long a write waits for a peer that takes nothing; `None`, as at the start, is
    /// for ever.
    ///
    /// For the thread that writes; applies from the next write on. A peer that takes octets very
    /// slowly cannot stretch a write beyond three times this.
    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// Closes both directions for good.
    ///
    /// Octets the peer sent and nobody read are lost. The descriptor itself lives until the link
    /// is dropped, so that no other thread ever touches one that was given to somebody else.
    fn close(&self);

    /// Stops reading; writing goes on. Reads that start later return 0.
    ///
    /// What the peer sends from then on is lost, and its writes may fail.
    fn close_read(&self);

    /// Stops writing; reading goes on. The peer reads what was still under way, then 0. A transport that cannot close one
    /// direction alone closes both, as [`close`](Self::close).
    fn close_write(&self) {
        self.close();
    }

    /// Whether the peer has closed or reset the connection, as far as this end knows now.
    ///
    /// For an idle link that is about to be used again: while octets of the peer wait to be read
    /// the answer is no. Never blocks; one system call.
    fn is_dead(&self) -> bool;

    /// Whether a read would return at once, with octets or with 0. Never blocks; one system call.
    fn has_input(&self) -> io::Result<bool>;

    /// The descriptor that becomes readable when a read would not block, if there is one. It tells nothing of octets that
    /// are [`pending`](Self::pending).
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Reports whether the link holds octets, or parts of some, that it took from its descriptor and gave to nobody: a
    /// read may return at once though the descriptor is quiet. To be asked before somebody waits for the descriptor. A read that
    /// returned less than it was allowed left none. Never blocks, no system call.
    fn pending(&self) -> bool {
        false
    }

    /// Reports whether nobody on the way reads or changes what the link carries.
    fn is_protected(&self) -> bool {
        false
    }

    /// Reports whether the peer has shown a certificate that was verified and names `host`: as good as that of a server
    /// there. May allocate; no system call.
    fn is_certified(&self, host: &str) -> bool {
        let _ = host;
        false
    }

    /// Reports whether the peer has certainly taken none of the octets that this end wrote since the connection began: of a
    /// connection that has ended, nothing that was sent over it was served. False where the transport does not know, as
    /// over sockets. Never blocks; a system call at most.
    fn took_nothing(&self) -> bool {
        false
    }

    /// Reports whether the peer has certainly gone without taking any octet of the last [`write`](Self::write): the
    /// message that ended there was not served. False where the transport does not know, as over sockets. For the thread
    /// that writes. Never blocks; one system call.
    fn left_last(&self) -> bool {
        false
    }

    /// Returns the properties on which the layers above may rely.
    fn facts(&self) -> Facts;

    /// The other end, for people: `192.168.1.7:2809`. Allocates.
    fn peer(&self) -> String;

    /// Returns who the other end is: access rules, limits for each client and request filters
    /// decide by it.
    fn identity(&self) -> PeerId;

    /// Sets properties of the connection, and ignores those that its transport does not have. A
    /// system call or two for each that it has.
    ///
    /// # Errors
    /// When the system refuses one; those before it in [`Properties`] are set then.
    fn apply(&self, properties: &Properties) -> io::Result<()>;

    /// Returns the address of this end, for people. Allocates.
    fn local(&self) -> String;

    /// Returns the way to octets of the peer without a copy, if the link has one and may use it with this peer. For the
    /// thread that reads.
    fn lender(&self) -> Option<&dyn Lender> {
        None
    }

    /// Returns the memory that the link has for payloads to be written into, if it has some: for any thread.
    fn rooms(&self) -> Option<&dyn Rooms> {
        None
    }
}

/// A link that sends octets from where they lie, if that is memory which it lent before.
pub trait Rooms {
    /// Returns room for so many octets. `None`: none is free now, or they are too few or too many. Never waits.
    fn room(&self, octets: usize) -> Option<Room>;
}

/// A link that lends what its peer wrote, where that lies in memory which both share.
pub trait Lender {
    /// Takes the octets that a read would return next, at least one and at most `max`, without a copy. `None`: they are to
    /// be read, because they lie elsewhere, are more, have not come, or some of them were read before. Waits only for the rest
    /// of octets that the peer is writing there, as long as a read, and only if it `waits`.
    ///
    /// A link that lends ends its reads where what it could lend begins.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while the peer is still writing; those of [`Link::read`].
    fn lease(&self, max: usize, waits: bool) -> io::Result<Option<Lease>>;
}

/// Properties of a link, as data: the layers above decide from them how to frame and batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Octets flow without boundaries: the reader must find the end of a message itself.
    pub stream: bool,
    /// Whether octets that were written arrive, or the link reports an error.
    pub reliable: bool,
    /// The most octets one write may hold, if there is a limit.
    pub mtu: Option<usize>,
    /// The link carries a priority to the network.
    pub priorities: bool,
}

impl Facts {
    /// A reliable stream without priorities, such as TCP.
    pub const RELIABLE_STREAM: Self =
        Self { stream: true, reliable: true, mtu: None, priorities: false };
}

/// A write that did not take everything.
#[derive(thiserror::Error)]
#[error("write failed after {written} octets: {error}")]
pub struct WriteError {
    /// Number of octets that went out before the failure. 0 proves that the peer saw nothing.
    pub written: usize,
    /// Why it failed.
    #[source]
    pub error: io::Error,
}

impl fmt::Debug for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<WriteError> for io::Error {
    fn from(failure: WriteError) -> Self {
        failure.error
    }
}

macro_rules! forward {
    ($pointer:ident) => {
        impl<L: Link + ?Sized> Link for $pointer<L> {
            fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
                (**self).read(buffer, max)
            }
            fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
                (**self).write(slices)
            }
            fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                (**self).set_read_timeout(timeout)
            }
            fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
                (**self).read_now(buffer, max)
            }
            fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                (**self).set_write_timeout(timeout)
            }
            fn close(&self) {
                (**self).close();
            }
            fn close_read(&self) {
                (**self).close_read();
            }
            fn close_write(&self) {
                (**self).close_write();
            }
            fn is_dead(&self) -> bool {
                (**self).is_dead()
            }
            fn has_input(&self) -> io::Result<bool> {
                (**self).has_input()
            }
            fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
                (**self).poll_fd()
            }
            fn pending(&self) -> bool {
                (**self).pending()
            }
            fn is_protected(&self) -> bool {
                (**self).is_protected()
            }
            fn is_certified(&self, host: &str) -> bool {
                (**self).is_certified(host)
            }
            fn took_nothing(&self) -> bool {
                (**self).took_nothing()
            }
            fn left_last(&self) -> bool {
                (**self).left_last()
            }
            fn facts(&self) -> Facts {
                (**self).facts()
            }
            fn peer(&self) -> String {
                (**self).peer()
            }
            fn identity(&self) -> PeerId {
                (**self).identity()
            }
            fn apply(&self, properties: &Properties) -> io::Result<()> {
                (**self).apply(properties)
            }
            fn local(&self) -> String {
                (**self).local()
            }
            fn lender(&self) -> Option<&dyn Lender> {
                (**self).lender()
            }
            fn rooms(&self) -> Option<&dyn Rooms> {
                (**self).rooms()
            }
        }
    };
}
forward!(Box);
forward!(Arc);

/// Forwards to a field that is a [`Link`] the methods that links which watch or disturb another one leave as they are:
/// all but `read`, `read_now`, `write` and `set_write_timeout`. A line in their `impl Link`.
#[macro_export]
macro_rules! forward_to_link {
    ($link:ident) => {
        fn set_read_timeout(
            &self,
            timeout: ::std::option::Option<::std::time::Duration>,
        ) -> ::std::io::Result<()> {
            self.$link.set_read_timeout(timeout)
        }
        fn close(&self) {
            self.$link.close();
        }
        fn close_read(&self) {
            self.$link.close_read();
        }
        fn close_write(&self) {
            self.$link.close_write();
        }
        fn is_dead(&self) -> bool {
            self.$link.is_dead()
        }
        fn has_input(&self) -> ::std::io::Result<bool> {
            self.$link.has_input()
        }
        fn poll_fd(&self) -> ::std::option::Option<::std::os::fd::BorrowedFd<'_>> {
            self.$link.poll_fd()
        }
        fn pending(&self) -> bool {
            self.$link.pending()
        }
        fn is_protected(&self) -> bool {
            self.$link.is_protected()
        }
        fn is_certified(&self, host: &str) -> bool {
            self.$link.is_certified(host)
        }
        fn took_nothing(&self) -> bool {
            self.$link.took_nothing()
        }
        fn left_last(&self) -> bool {
            self.$link.left_last()
        }
        fn facts(&self) -> $crate::Facts {
            self.$link.facts()
        }
        fn peer(&self) -> ::std::string::String {
            self.$link.peer()
        }
        fn identity(&self) -> $crate::PeerId {
            self.$link.identity()
        }
        fn apply(&self, properties: &$crate::Properties) -> ::std::io::Result<()> {
            self.$link.apply(properties)
        }
        fn local(&self) -> ::std::string::String {
            self.$link.local()
        }
    };
}
