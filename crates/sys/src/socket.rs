//! Stream sockets.
//!
//! [`receive`] and [`send`] are the steady path: one system call each, no allocation (but for
//! room the caller's buffer lacks), and no `SIGPIPE`. They report `EINTR` as
//! [`io::ErrorKind::Interrupted`] and leave trying again to the caller, who knows the deadline.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, ipproto,
};

pub use rustix::net::Shutdown;

/// The most slices the kernel takes in one call (`IOV_MAX`).
const MAX_SLICES: usize = 1024;

/// Appends what has arrived, at most `max` octets, and says how many; 0 is the end of the stream.
///
/// Blocks until there is something, or for the time given to [`set_receive_timeout`]: then the
/// error is [`io::ErrorKind::WouldBlock`]. Octets already in `buffer` stay as they are. Grows
/// `buffer` (allocates) only if it has less than `max` octets of room.
#[inline]
pub fn receive(socket: impl AsFd, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    buffer.reserve(max);
    let room = &mut buffer.spare_capacity_mut()[..max];
    let ((arrived, _), _) = rustix::net::recv(socket, room, RecvFlags::empty())?;
    let count = arrived.len();
    let length = buffer.len() + count;
    // SAFETY: the kernel has initialised `count` octets from the old length on, and `count` is at
    // most `max`, which `reserve` made sure of.
    unsafe { buffer.set_len(length) };
    Ok(count)
}

/// Sends the slices in order as if they were one, and says how many octets the kernel took.
///
/// On a blocking socket that is all of them, unless a signal came, the time given to
/// [`set_send_timeout`] passed, or there are more than 1024 slices. A broken connection is
/// [`io::ErrorKind::BrokenPipe`], never a signal.
#[inline]
pub fn send(socket: impl AsFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let sent = match slices {
        [one] => rustix::net::send(socket, one, SendFlags::NOSIGNAL),
        many => rustix::net::sendmsg(
            socket,
            &many[..many.len().min(MAX_SLICES)],
            &mut SendAncillaryBuffer::default(),
            SendFlags::NOSIGNAL,
        ),
    };
    Ok(sent?)
}

/// What waits at the receiving end of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing: [`receive`] would block.
    Nothing,
    /// Octets.
    Octets,
    /// The end of the stream: the peer has closed its sending side.
    End,
}

/// Looks, without blocking or taking anything, at what [`receive`] would give. One system call.
pub fn waiting(socket: impl AsFd) -> io::Result<Waiting> {
    let mut one = [MaybeUninit::<u8>::uninit()];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match rustix::net::recv(socket, one.as_mut_slice(), flags) {
        Ok((_, 0)) => Ok(Waiting::End),
        Ok(_) => Ok(Waiting::Octets),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Waiting::Nothing),
        Err(error) => Err(error.into()),
    }
}

/// Bounds how long [`receive`] blocks; `None` is for ever. Microsecond steps, at least one.
pub fn set_receive_timeout(socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    set_timeout(socket, Timeout::Recv, timeout)
}

/// Bounds how long [`send`] blocks; `None` is for ever. Microsecond steps, at least one.
pub fn set_send_timeout(socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    set_timeout(socket, Timeout::Send, timeout)
}

fn set_timeout(socket: impl AsFd, which: Timeout, timeout: Option<Duration>) -> io::Result<()> {
    // The kernel reads zero as "for ever", the opposite of what a deadline in the past means.
    let timeout = timeout.map(|time| time.max(Duration::from_micros(1)));
    Ok(sockopt::set_socket_timeout(socket, which, timeout)?)
}

/// Sends small writes at once instead of collecting them (`TCP_NODELAY`).
pub fn set_no_delay(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, true)?)
}

/// Has the kernel ask a peer that was silent for `idle` whether it is still there (`SO_KEEPALIVE`),
/// and end the connection when six questions, together as long as `idle`, are not answered.
/// Steps of a second. `None`: never.
pub fn set_keep_alive(socket: impl AsFd, idle: Option<Duration>) -> io::Result<()> {
    const QUESTIONS: u32 = 6;
    let Some(idle) = idle else {
        return Ok(sockopt::set_socket_keepalive(socket, false)?);
    };
    let second = Duration::from_secs(1);
    sockopt::set_tcp_keepidle(&socket, idle.max(second))?;
    sockopt::set_tcp_keepintvl(&socket, (idle / QUESTIONS).max(second))?;
    sockopt::set_tcp_keepcnt(&socket, QUESTIONS)?;
    Ok(sockopt::set_socket_keepalive(&socket, true)?)
}

/// Ends one or both directions, and wakes threads blocked there.
pub fn shutdown(socket: impl AsFd, directions: Shutdown) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket, directions)?)
}

/// The address of this end.
pub fn local_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(socket)?.try_into()?)
}

/// The address of the other end.
pub fn peer_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    let address = rustix::net::getpeername(socket)?.ok_or(io::ErrorKind::NotConnected)?;
    Ok(address.try_into()?)
}

/// A TCP connection that is being made. Dropping it gives up.
#[derive(Debug)]
pub struct Connecting(OwnedFd);

impl Connecting {
    /// Begins to connect, and does not wait.
    ///
    /// # Errors
    /// When the kernel refuses at once.
    pub fn start(address: SocketAddr) -> io::Result<Connecting> {
        let socket = stream_socket(address, SocketFlags::NONBLOCK)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(Connecting(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// The blocking socket, connected; to be called once [`Connecting::first`] said so.
    ///
    /// # Errors
    /// Why it could not be connected.
    pub fn finish(self) -> io::Result<OwnedFd> {
        sockopt::socket_error(&self.0)??;
        rustix::io::ioctl_fionbio(&self.0, false)?;
        Ok(self.0)
    }

    /// Waits until one of several is connected or has failed, and says which; `None` when `timeout` came first. One
    /// system call, and one more for each signal that interrupts it.
    ///
    /// # Errors
    /// None known; what `poll` reports.
    pub fn first<'c>(
        all: impl IntoIterator<Item = &'c Connecting>,
        timeout: Duration,
    ) -> io::Result<Option<usize>> {
        let mut polled: Vec<_> = all
            .into_iter()
            .map(|Connecting(socket)| PollFd::new(socket, PollFlags::OUT))
            .collect();
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let left = Timespec::try_from(left).ok(); // too far away to count is for ever
            match rustix::event::poll(&mut polled, left.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) => {
                    return Ok(polled
                        .iter()
                        .position(|polled| !polled.revents().is_empty()));
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// How to listen.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// Whether the address may be taken again while connections of a process that ended linger.
    pub reuse_address: bool,
    /// For an IPv6 address: whether IPv4 clients are served too.
    pub dual_stack: bool,
    /// How many connections may wait to be accepted; the kernel cuts it to `net.core.somaxconn`.
    pub backlog: i32,
}

/// Listens on `address`; port 0 lets the kernel choose one (see [`local_address`]).
pub fn listen(address: SocketAddr, how: Listen) -> io::Result<OwnedFd> {
    let socket = stream_socket(address, SocketFlags::empty())?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, !how.dual_stack)?;
    }
    sockopt::set_socket_reuseaddr(&socket, how.reuse_address)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, how.backlog)?;
    Ok(socket)
}

/// Waits for a connection. [`shutdown`] of the listening socket ends the wait.
///
/// [`io::ErrorKind::Interrupted`] asks to accept again: a signal came, or a peer was gone before
/// it could be accepted.
pub fn accept(listener: impl AsFd) -> io::Result<OwnedFd> {
    rustix::net::accept_with(listener, SocketFlags::CLOEXEC).map_err(|error| match error {
        // Linux hands out here what the network had to say about the peer: see accept(2).
        Errno::CONNABORTED
        | Errno::PROTO
        | Errno::NOPROTOOPT
        | Errno::OPNOTSUPP
        | Errno::NETDOWN
        | Errno::NETUNREACH
        | Errno::HOSTDOWN
        | Errno::HOSTUNREACH
        | Errno::NONET => io::ErrorKind::Interrupted.into(),
        error => error.into(),
    })
}

fn stream_socket(address: SocketAddr, flags: SocketFlags) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    Ok(rustix::net::socket_with(
        family,
        SocketType::STREAM,
        flags | SocketFlags::CLOEXEC,
        Some(ipproto::TCP),
    )?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_broken_connection_is_an_error_and_no_signal() {
        // SAFETY: sets a disposition that no other thread of this test binary depends on. Rust
        // programs ignore the signal, but OxORB may be loaded into one that does not.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        let one = IoSlice::new(b"x");
        for slices in [&[one][..], &[one, one]] {
            let error = send(&here, slices).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn waiting_tells_nothing_octets_and_the_end() {
        let (here, there) = UnixStream::pair().unwrap();
        assert_eq!(waiting(&there).unwrap(), Waiting::Nothing);
        send(&here, &[IoSlice::new(b"x")]).unwrap();
        assert_eq!(waiting(&there).unwrap(), Waiting::Octets);
        drop(here);
        let mut buffer = Vec::new();
        assert_eq!(receive(&there, &mut buffer, 10).unwrap(), 1);
        assert_eq!(waiting(&there).unwrap(), Waiting::End);
    }

    #[test]
    fn receive_uses_the_room_that_is_there() {
        let (here, there) = UnixStream::pair().unwrap();
        send(&here, &[IoSlice::new(b"GI"), IoSlice::new(b"OP")]).unwrap();
        let mut buffer = Vec::with_capacity(16);
        buffer.push(b'>');
        let memory = buffer.as_ptr();
        assert_eq!(receive(&there, &mut buffer, 15).unwrap(), 4);
        assert_eq!(buffer, b">GIOP");
        assert_eq!(buffer.as_ptr(), memory);
    }
}
