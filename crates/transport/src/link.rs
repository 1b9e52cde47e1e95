//! Contract of links.

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use oxorb_lend::{Lease, Room};

use crate::{PeerId, Properties};

/// Connected pipe of octets to one peer.
///
/// # Obligations of an implementation
///
/// The conformance suite (`tests/conformance`) checks every one of these.
///
/// 1. **Order.** Octets arrive in the order written, each exactly once, and no others arrive.
/// 2. **All or an error.** [`write`](Link::write) accepts all octets of all slices, in order, or
///    reports how many it accepted. A write larger than any buffer underneath blocks until the peer
///    reads, without giving up early.
/// 3. **Reads append.** [`read`](Link::read) leaves the octets already in the buffer unchanged and
///    never adds more than allowed.
/// 4. **Bounded waiting.** With a time-out set, a read or write that cannot proceed returns
///    [`io::ErrorKind::WouldBlock`] or [`io::ErrorKind::TimedOut`] (both mean that *the time has
///    passed*; the system decides which). A read that timed out consumed nothing: the link stays
///    usable.
/// 5. **Closing wakes.** [`close`](Link::close) and [`close_read`](Link::close_read) wake a reader
///    blocked in another thread, which then reads 0. Both may be called any number of times.
/// 6. **The peer learns.** After `close`, the peer reads the octets in transit, then 0; its writes
///    fail eventually, and never by a signal.
/// 7. **Threads.** One reader and one writer may work at the same time. The caller ensures that two
///    readers or two writers take turns.
///
/// # Real-time cost
///
/// A read with enough capacity in the buffer and a write do not allocate. Over a stream socket each
/// is one system call, unless the kernel accepts a write in parts. Setting a time-out to its
/// current value costs no system call.
pub trait Link: Send + Sync {
    /// Appends between 1 and `max` octets to `buffer`, blocking until there are some.
    ///
    /// Returns their number; 0 if the peer closed, this end closed, or `max` is 0. Grows `buffer`
    /// only if its spare capacity is less than `max`; never zeroes it.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` if the read time-out passed; the link stays usable. Any other
    /// error means that the connection is lost. If it contains a [`RefusedConnection`](crate::RefusedConnection), the
    /// peer never admitted this end, and processed nothing of what this end sent.
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize>;

    /// Reads like [`read`](Self::read), but never blocks. Over a stream socket it is one system
    /// call.
    ///
    /// # Errors
    /// `WouldBlock` if no octets are available, otherwise as for [`read`](Self::read).
    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        match self.has_input() {
            Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
            _ => self.read(buffer, max),
        }
    }

    /// Writes all octets of all slices, in order, blocking while the peer does not accept them.
    ///
    /// The slices are consumed: their contents are unspecified afterwards.
    ///
    /// # Errors
    /// [`WriteError`] with the number of octets sent. If it is 0, the peer saw nothing and the link
    /// may be used again; otherwise the stream is cut in the middle of a message, and the link can
    /// only be closed.
    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError>;

    /// Sets how long a read may block; `None`, the initial value, is forever.
    ///
    /// For the reading thread; applies from the next read on. Zero counts as the shortest possible
    /// time.
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// Sets how long a write may wait for a peer that accepts nothing; `None`, the initial value,
    /// is forever.
    ///
    /// For the writing thread; applies from the next write on. A peer that accepts octets very
    /// slowly cannot stretch a write beyond three times this value.
    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// Closes both directions permanently.
    ///
    /// Unread octets of the peer are lost. The descriptor itself stays open until the link is
    /// dropped, so that no other thread ever accesses one that was reused.
    fn close(&self);

    /// Stops reading; writing remains possible. Later reads return 0.
    ///
    /// Octets that the peer sends afterwards are lost, and its writes may fail.
    fn close_read(&self);

    /// Stops writing; reading remains possible. The peer reads the octets in transit, then 0. A
    /// transport that cannot close one direction alone closes both, as [`close`](Self::close) does.
    fn close_write(&self) {
        self.close();
    }

    /// Reports whether the peer has closed or reset the connection, as far as known now.
    ///
    /// For an idle link that is about to be reused: returns false while octets of the peer wait to
    /// be read. Never blocks; one system call.
    fn is_dead(&self) -> bool;

    /// Reports whether a read would return at once, with octets or with 0. Never blocks; one system
    /// call.
    fn has_input(&self) -> io::Result<bool>;

    /// Returns the descriptor that becomes readable when a read would not block, if there is one.
    /// It does not reflect [`pending`](Self::pending) octets.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Reports whether the link holds octets, or parts of some, that it read from its descriptor
    /// and has not returned: a read may then return at once although the descriptor is not
    /// readable. To be called before waiting for the descriptor. After a read that returned less
    /// than allowed there are none. Never blocks, no system call.
    fn pending(&self) -> bool {
        false
    }

    /// Reports whether the link protects its octets from being read or changed in transit.
    fn is_protected(&self) -> bool {
        false
    }

    /// Reports whether the peer has presented a verified certificate that names `host`, as a server
    /// at that host would. May allocate; no system call.
    fn is_certified(&self, host: &str) -> bool {
        let _ = host;
        false
    }

    /// Reports whether the peer has certainly received none of the octets that this end wrote:
    /// after the end of the connection, nothing sent over it was served. Returns false if the
    /// transport does not know, as over sockets. Never blocks; at most one system call.
    fn took_nothing(&self) -> bool {
        false
    }

    /// Reports whether the peer has certainly ended without receiving any octet of the last
    /// [`write`](Self::write): the message that ended there was not served. Returns false if the
    /// transport does not know, as over sockets. For the writing thread. Never blocks; one system
    /// call.
    fn left_last(&self) -> bool {
        false
    }

    /// Returns the properties on which the layers above may rely.
    fn facts(&self) -> Facts;

    /// Returns the other end as text for users: `192.168.1.7:2809`. Allocates.
    fn peer(&self) -> String;

    /// Returns the identity of the other end, for access rules, limits for each client and request
    /// filters.
    fn identity(&self) -> PeerId;

    /// Sets properties of the connection, and ignores those that its transport does not have. One
    /// or two system calls for each that it has.
    ///
    /// # Errors
    /// The system's refusal of a property; earlier ones in [`Properties`] are set then.
    fn apply(&self, properties: &Properties) -> io::Result<()>;

    /// Returns the address of this end as text for users. Allocates.
    fn local(&self) -> String;

    /// Returns the interface for reading the peer's octets without a copy, if the link has one and
    /// may use it with this peer. For the reading thread.
    fn lender(&self) -> Option<&dyn Lender> {
        None
    }

    /// Returns the memory that the link lends for payloads to send, if any. For any thread.
    fn rooms(&self) -> Option<&dyn Rooms> {
        None
    }
}

/// Link that sends octets in place if they lie in memory that it lent.
pub trait Rooms {
    /// Returns a room of `octets` octets; `None` if none is free now, or the number is too small or
    /// too large. Never waits.
    fn room(&self, octets: usize) -> Option<Room>;
}

/// Link that lends the peer's octets in memory which both ends share.
pub trait Lender {
    /// Takes the octets that a read would return next, at least one and at most `max`, without a
    /// copy. Returns `None` if they must be read instead, because they lie elsewhere, exceed `max`,
    /// have not arrived, or were read in part. Waits only for the rest of octets that the peer is
    /// writing to that memory, for at most the time-out of a read, and only if `waits` is set.
    ///
    /// A link that lends ends its reads where lendable octets begin.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while the peer is still writing; errors of [`Link::read`].
    fn lease(&self, max: usize, waits: bool) -> io::Result<Option<Lease>>;
}

/// Properties of a link, as data: the layers above derive framing and batching from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether octets flow without boundaries, so that the reader must find the ends of messages.
    pub stream: bool,
    /// Whether octets that were written arrive, or the link reports an error.
    pub reliable: bool,
    /// Maximum size of one write in octets, if limited.
    pub mtu: Option<usize>,
    /// Whether the link carries a priority to the network.
    pub priorities: bool,
}

impl Facts {
    /// Properties of a reliable stream without priorities, such as TCP.
    pub const RELIABLE_STREAM: Self =
        Self { stream: true, reliable: true, mtu: None, priorities: false };
}

/// Error of a write that did not accept everything.
#[derive(thiserror::Error)]
#[error("write failed after {written} octets: {error}")]
pub struct WriteError {
    /// Number of octets sent before the failure. 0 proves that the peer saw nothing.
    pub written: usize,
    /// Cause.
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

/// Forwards the methods of [`Link`] that wrappers leave unchanged to a field that is a link: all
/// but `read`, `read_now`, `write` and `set_write_timeout`. To be used as a line in the wrapper's
/// `impl Link`.
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
