//! Stream sockets.
//!
//! [`receive`] and [`send`] are the steady path: one system call each, no allocation (but for
//! room the caller's buffer lacks), and no `SIGPIPE`. They report `EINTR` as
//! [`io::ErrorKind::Interrupted`] and leave trying again to the caller, who knows the deadline.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
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
    receive_with(socket, buffer, max, RecvFlags::empty())
}

/// Receives like [`receive`], but never blocks: [`io::ErrorKind::WouldBlock`] when nothing has
/// arrived.
#[inline]
pub fn receive_now(socket: impl AsFd, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    receive_with(socket, buffer, max, RecvFlags::DONTWAIT)
}

#[inline]
fn receive_with(
    socket: impl AsFd,
    buffer: &mut Vec<u8>,
    max: usize,
    flags: RecvFlags,
) -> io::Result<usize> {
    buffer.reserve(max);
    let room = &mut buffer.spare_capacity_mut()[..max];
    let ((arrived, _), _) = rustix::net::recv(socket, room, flags)?;
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
    send_with(socket, slices, SendFlags::NOSIGNAL)
}

/// Sends as much of the slices as there is room for, and does not wait for more.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when there is none.
pub fn send_now(socket: impl AsFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    send_with(socket, slices, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

#[inline]
fn send_with(socket: impl AsFd, slices: &[IoSlice<'_>], flags: SendFlags) -> io::Result<usize> {
    let sent = match slices {
        [one] => rustix::net::send(socket, one, flags),
        many => rustix::net::sendmsg(
            socket,
            &many[..many.len().min(MAX_SLICES)],
            &mut SendAncillaryBuffer::default(),
            flags,
        ),
    };
    Ok(sent?)
}

/// State of the receiving end of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The socket is empty: [`receive`] would block.
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

/// Sends small writes at once (`TCP_NODELAY`), or collects them.
pub fn set_no_delay(socket: impl AsFd, on: bool) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, on)?)
}

/// Lets octets leave as soon as the peer has room for them, for a TCP connection within one host:
/// the kernel's congestion control is Reno from now on, which every system has and allows.
///
/// Others measure a path and space what they send by a timer (BBR, the default of some systems): within a host there is
/// nothing to measure but the scheduler, and a megabyte takes 270 or 700 us, as the estimate happens to be.
///
/// # Errors
/// Where the system does not allow it (`net.ipv4.tcp_allowed_congestion_control`).
pub fn send_unpaced(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, "reno")?)
}

/// Marks what is sent over an IPv4 or IPv6 socket with a DSCP, 0 to 63, for the network to tell urgent from other
/// packets (`IP_TOS`, `IPV6_TCLASS`). Needs no privilege; what networks make of it is theirs.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a number above 63.
pub fn set_dscp(socket: impl AsFd, dscp: u8) -> io::Result<()> {
    let is_ipv6 = local_address(&socket)?.is_ipv6();
    set_dscp_of(&socket, is_ipv6, dscp)
}

pub(crate) fn set_dscp_of(socket: &impl AsFd, is_ipv6: bool, dscp: u8) -> io::Result<()> {
    if dscp > 63 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let octet = dscp << 2; // the rest is congestion notification
    if is_ipv6 {
        sockopt::set_ipv6_tclass(socket, u32::from(octet))?;
        // What goes to IPv4 peers over a socket of both kinds; others do not have it.
        let _ = sockopt::set_ip_tos(socket, octet);
        return Ok(());
    }
    Ok(sockopt::set_ip_tos(socket, octet)?)
}

/// The DSCP of what is sent.
pub fn dscp(socket: impl AsFd) -> io::Result<u8> {
    Ok(match local_address(&socket)?.is_ipv6() {
        true => (sockopt::ipv6_tclass(&socket)? >> 2) as u8,
        false => sockopt::ip_tos(&socket)? >> 2,
    })
}

/// Puts what is sent into a queue of this host's network devices, 0 to 6 without privilege (`SO_PRIORITY`); above that
/// `CAP_NET_ADMIN`.
pub fn set_queue_priority(socket: impl AsFd, priority: i32) -> io::Result<()> {
    set_option(&socket, libc::SO_PRIORITY, priority)
}

/// Makes reads look for packets in the device for up to `time`, instead of waiting for its
/// interrupt (`SO_BUSY_POLL`). Microsecond steps. More than `net.core.busy_read` needs
/// `CAP_NET_ADMIN`; drivers that cannot do it wait as before.
pub fn set_busy_poll(socket: impl AsFd, time: Duration) -> io::Result<()> {
    let microseconds = i32::try_from(time.as_micros()).unwrap_or(i32::MAX);
    set_option(&socket, libc::SO_BUSY_POLL, microseconds)
}

/// Paces what is sent: at most `rate` octets leave in a second (`SO_MAX_PACING_RATE`); `None`: no bound. Needs no
/// privilege. TCP spaces its packets by a timer of its own; a socket without packets ignores the rate.
pub fn set_pacing_rate(socket: impl AsFd, rate: Option<u64>) -> io::Result<()> {
    let rate = rate.map_or(UNPACED, |rate| libc::c_ulong::try_from(rate).unwrap_or(UNPACED));
    set_option(&socket, libc::SO_MAX_PACING_RATE, rate)
}

/// Returns the rate at which octets leave, in a second; `None`: no bound is set.
pub fn pacing_rate(socket: impl AsFd) -> io::Result<Option<u64>> {
    let (mut rate, mut size) = (UNPACED, size_of::<libc::c_ulong>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `size` octets to `rate`, which has that size, and the size that it wrote.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw mut rate).cast(),
            &raw mut size,
        )
    };
    // On machines of 32 bits a long has as many.
    #[allow(clippy::useless_conversion)]
    match result {
        0 => Ok((rate != UNPACED).then(|| u64::from(rate))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Pacing rate that stands for no bound.
const UNPACED: libc::c_ulong = libc::c_ulong::MAX;

/// Sizes the buffers of the kernel, in octets (`SO_SNDBUF`, `SO_RCVBUF`); `None`: as the system does. It may double or
/// cut what it is told (`net.core.wmem_max`, `net.core.rmem_max`).
pub fn set_buffers(
    socket: impl AsFd,
    send: Option<usize>,
    receive: Option<usize>,
) -> io::Result<()> {
    if let Some(octets) = send {
        sockopt::set_socket_send_buffer_size(&socket, octets)?;
    }
    if let Some(octets) = receive {
        sockopt::set_socket_recv_buffer_size(&socket, octets)?;
    }
    Ok(())
}

/// Sends to hosts on the same network only, past all routers (`SO_DONTROUTE`).
pub fn set_dont_route(socket: impl AsFd, on: bool) -> io::Result<()> {
    set_option(&socket, libc::SO_DONTROUTE, i32::from(on))
}

pub(crate) fn set_option<N: Copy>(socket: &impl AsFd, option: i32, value: N) -> io::Result<()> {
    // SAFETY: the descriptor lives as long as the borrow; the kernel reads the octets of `value`, a number.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of::<N>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the kernel ask a peer that was silent for `idle` whether it is still there
/// (`SO_KEEPALIVE`), and end the connection when six questions, together as long as `idle`, are not
/// answered. Steps of a second. `None`: never.
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

/// Makes calls on a socket wait, or report [`io::ErrorKind::WouldBlock`] instead. On a listening
/// socket, [`accept`] alone; the sockets that it gives are blocking ones.
pub fn set_blocking(socket: impl AsFd, on: bool) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(socket, !on)?)
}

/// Sends an octet, without waiting for room: to a peer that looks whether there is something to
/// read, and not what. No octet is sent where so many wait to be read that there is no room.
///
/// # Errors
/// [`io::ErrorKind::BrokenPipe`], [`io::ErrorKind::ConnectionReset`]: the peer is gone.
pub fn ring(socket: impl AsFd) -> io::Result<()> {
    match rustix::net::send(socket, &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(_) | Err(Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Takes the octets of [`ring`], and never waits. Returns their number, as far as one call takes them;
/// 0 when the peer has closed or this end reads no more.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when there are none.
pub fn hush(socket: impl AsFd) -> io::Result<usize> {
    let mut octets = [MaybeUninit::<u8>::uninit(); 64];
    let ((rung, _), _) = rustix::net::recv(socket, octets.as_mut_slice(), RecvFlags::DONTWAIT)?;
    Ok(rung.len())
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
        Self::start_marked(address, None)
    }

    /// Begins to connect with packets that have a DSCP from the first one on, and does not wait.
    ///
    /// # Errors
    /// When the kernel refuses at once, or there is no such DSCP.
    pub fn start_marked(address: SocketAddr, dscp: Option<u8>) -> io::Result<Connecting> {
        let socket = stream_socket(address, SocketFlags::NONBLOCK)?;
        if let Some(dscp) = dscp {
            set_dscp_of(&socket, address.is_ipv6(), dscp)?;
        }
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(Connecting(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// The blocking socket, connected; to be called once [`first_ready`] said so.
    ///
    /// # Errors
    /// Why it could not be connected.
    pub fn finish(self) -> io::Result<OwnedFd> {
        sockopt::socket_error(&self.0)??;
        rustix::io::ioctl_fionbio(&self.0, false)?;
        Ok(self.0)
    }
}

impl AsFd for Connecting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of several descriptors is writable or has failed, as a socket is that has connected or cannot, or readable
/// where `true` stands beside it, and returns its index; `None` when `timeout` came first. One system call, and one more for each
/// signal that interrupts it.
///
/// # Errors
/// None known; what `poll` reports.
pub fn first_ready<'f>(
    all: impl IntoIterator<Item = (BorrowedFd<'f>, bool)>,
    timeout: Duration,
) -> io::Result<Option<usize>> {
    let mut polled: Vec<_> =
        all.into_iter().map(|(fd, input)| PollFd::from_borrowed_fd(fd, waits_for(input))).collect();
    let start = Instant::now();
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        let left = Timespec::try_from(left).ok(); // too far away to count is for ever
        match rustix::event::poll(&mut polled, left.as_ref()) {
            Ok(0) => return Ok(None),
            Ok(_) => {
                return Ok(polled.iter().position(|polled| !polled.revents().is_empty()));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until one of several descriptors is writable or has failed, or readable where `true` stands beside it, and tells of
/// each whether it is; `None` when `timeout` came first, or a signal. One system call. Allocates.
///
/// # Errors
/// None known; what `poll` reports.
pub fn all_ready<'f>(
    all: impl IntoIterator<Item = (BorrowedFd<'f>, bool)>,
    timeout: Duration,
) -> io::Result<Option<Vec<bool>>> {
    let all = all.into_iter();
    let mut polled: Vec<_> =
        all.map(|(fd, input)| PollFd::from_borrowed_fd(fd, waits_for(input))).collect();
    let limit = Timespec::try_from(timeout).ok(); // too far away to count is for ever
    match rustix::event::poll(&mut polled, limit.as_ref()) {
        Ok(0) | Err(Errno::INTR) => Ok(None),
        Ok(_) => {
            let ready = polled.iter().map(|polled| !polled.revents().is_empty());
            Ok(Some(ready.collect()))
        }
        Err(error) => Err(error.into()),
    }
}

fn waits_for(input: bool) -> PollFlags {
    match input {
        true => PollFlags::IN,
        false => PollFlags::OUT,
    }
}

/// Options of a listening socket.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// Whether the address may be taken again while connections of a process that ended linger.
    pub reuse_address: bool,
    /// Whether IPv4 clients are served too, for an IPv6 address.
    pub dual_stack: bool,
    /// Number of connections that may wait to be accepted; the kernel cuts it to
    /// `net.core.somaxconn`.
    pub backlog: i32,
}

/// Reports whether the kernel does not know the address's family, as one that was built without IPv6.
pub fn is_unknown_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Listens on `address`; port 0 lets the kernel choose one (see [`local_address`]).
pub fn listen(address: SocketAddr, how: Listen) -> io::Result<OwnedFd> {
    listen_with(address, how, |_| Ok(()))
}

/// Listens on `address` with a socket that `prepare` gave options before it had the address.
pub(crate) fn listen_with(
    address: SocketAddr,
    how: Listen,
    prepare: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    let socket = stream_socket(address, SocketFlags::empty())?;
    prepare(&socket)?;
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
        // Rust programs ignore the signal, but OxORB may be loaded into one that does not. A blocked signal stays pending,
        // ignored or not; and the mask is this thread's alone, where a disposition would be every test's.
        // SAFETY: both functions write to sets that live here.
        let pending = || unsafe {
            let mut set = std::mem::zeroed();
            assert_eq!(libc::sigpending(&raw mut set), 0);
            libc::sigismember(&raw const set, libc::SIGPIPE) == 1
        };
        // SAFETY: as above; no null pointer but the one that stands for no old mask.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGPIPE);
            let blocked =
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            assert_eq!(blocked, 0);
        }
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        let one = IoSlice::new(b"x");
        for slices in [&[one][..], &[one, one]] {
            let error = send(&here, slices).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
        assert!(!pending());
        let error = rustix::io::write(&here, b"x").unwrap_err();
        assert!(error == Errno::PIPE && pending(), "the signal of others is seen");
    }

    #[test]
    fn packets_are_marked_in_either_family() {
        let how = Listen { reuse_address: true, dual_stack: true, backlog: 1 };
        let mut families = 0;
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // A host may lack one of them.
            let Ok(socket) = listen(address.parse().unwrap(), how) else {
                continue;
            };
            families += 1;
            set_dscp(&socket, 46).unwrap();
            assert_eq!(dscp(&socket).unwrap(), 46);
            assert!(set_dscp(&socket, 64).is_err());
            set_queue_priority(&socket, 5).unwrap();
            set_dont_route(&socket, true).unwrap();
            set_buffers(&socket, Some(50_000), Some(60_000)).unwrap();
            assert!(sockopt::socket_send_buffer_size(&socket).unwrap() >= 50_000);
            assert_eq!(pacing_rate(&socket).unwrap(), None);
            set_pacing_rate(&socket, Some(5_000_000_000)).unwrap();
            assert_eq!(pacing_rate(&socket).unwrap(), Some(5_000_000_000));
            set_pacing_rate(&socket, None).unwrap();
            assert_eq!(pacing_rate(&socket).unwrap(), None);
        }
        assert!(families > 0);
    }

    fn busy_poll(socket: &impl AsFd) -> io::Result<Duration> {
        let (mut value, mut size) = (0_i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: the kernel writes one `int`, which `value` is, and the size it wrote.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_BUSY_POLL,
                (&raw mut value).cast(),
                &raw mut size,
            )
        };
        match result {
            0 => Ok(Duration::from_micros(value as u64)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[test]
    fn a_connection_that_is_not_paced_is_controlled_by_reno() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        send_unpaced(&socket).unwrap();
        assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), "reno");
    }

    #[test]
    fn the_time_of_busy_polling_is_what_the_socket_has() {
        let (socket, _there) = UnixStream::pair().unwrap();
        if let Err(error) = set_busy_poll(&socket, Duration::from_micros(50)) {
            oxorb_testkit::peers::missing("SO_BUSY_POLL (CAP_NET_ADMIN)", &error.to_string());
            return;
        }
        assert_eq!(busy_poll(&socket).unwrap(), Duration::from_micros(50));
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
