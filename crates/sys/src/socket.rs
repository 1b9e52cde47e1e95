//! Stream sockets.
//!
//! [`receive`] and [`send`] serve calls in steady state: one system call each, no allocation (unless the caller's
//! buffer lacks capacity), and no `SIGPIPE`. They report `EINTR` as [`io::ErrorKind::Interrupted`] and leave the retry
//! to the caller, which knows the deadline.

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

/// Maximum number of slices that the kernel accepts in one call (`IOV_MAX`).
const MAX_SLICES: usize = 1024;

/// Appends the octets that have arrived, at most `max`, and returns their number; 0 at the end of
/// the stream.
///
/// Blocks until octets arrive. If the time set by [`set_receive_timeout`] passes first, the error is
/// [`io::ErrorKind::WouldBlock`]. Octets already in `buffer` are unchanged. Allocates only if the spare
/// capacity of `buffer` is less than `max` octets.
#[inline]
pub fn receive(socket: impl AsFd, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    receive_with(socket, buffer, max, RecvFlags::empty())
}

/// Receives as [`receive`], but never blocks: returns [`io::ErrorKind::WouldBlock`] when nothing
/// has arrived.
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

/// Sends the slices in order as if they were one, and returns how many octets the kernel accepted.
///
/// On a blocking socket these are all octets, unless a signal arrived, the time set by
/// [`set_send_timeout`] passed, or there are more than 1024 slices. A broken connection is reported
/// as [`io::ErrorKind::BrokenPipe`], never as a signal.
#[inline]
pub fn send(socket: impl AsFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    send_with(socket, slices, SendFlags::NOSIGNAL)
}

/// Sends as many octets of the slices as the socket buffer accepts, without waiting.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when the buffer is full.
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
    /// Octets have arrived.
    Octets,
    /// The end of the stream: the peer has closed its sending side.
    End,
}

/// Reports, without blocking or consuming anything, what [`receive`] would return. One system call.
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

/// Limits how long [`receive`] blocks; `None` means no limit. Resolution and minimum are 1 us.
pub fn set_receive_timeout(socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    set_timeout(socket, Timeout::Recv, timeout)
}

/// Limits how long [`send`] blocks; `None` means no limit. Resolution and minimum are 1 us.
pub fn set_send_timeout(socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    set_timeout(socket, Timeout::Send, timeout)
}

fn set_timeout(socket: impl AsFd, which: Timeout, timeout: Option<Duration>) -> io::Result<()> {
    // The kernel treats zero as no limit. A caller whose deadline has passed needs the shortest time-out instead.
    let timeout = timeout.map(|time| time.max(Duration::from_micros(1)));
    Ok(sockopt::set_socket_timeout(socket, which, timeout)?)
}

/// Disables (`TCP_NODELAY`) or enables the collection of small writes.
pub fn set_no_delay(socket: impl AsFd, on: bool) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, on)?)
}

/// Sends as soon as the peer's window allows, for a TCP connection within one host: selects the
/// Reno congestion control, which every system has and allows.
///
/// Some algorithms, such as BBR, the default of some systems, estimate the bandwidth of a path and
/// pace packets by a timer. Within one host the estimate depends only on how threads are scheduled,
/// and a megabyte takes between 270 and 700 us, depending on the estimate.
///
/// # Errors
/// When the system does not allow it (`net.ipv4.tcp_allowed_congestion_control`).
pub fn send_unpaced(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, "reno")?)
}

/// Sets the DSCP, 0 to 63, of packets of an IPv4 or IPv6 socket, by which networks distinguish urgent packets
/// (`IP_TOS`, `IPV6_TCLASS`). Needs no privilege; networks may ignore it.
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
        // A dual-stack socket uses this option for IPv4 peers. If the socket does not support it, the error is ignored.
        let _ = sockopt::set_ip_tos(socket, octet);
        return Ok(());
    }
    Ok(sockopt::set_ip_tos(socket, octet)?)
}

/// Returns the DSCP of sent packets.
pub fn dscp(socket: impl AsFd) -> io::Result<u8> {
    Ok(match local_address(&socket)?.is_ipv6() {
        true => (sockopt::ipv6_tclass(&socket)? >> 2) as u8,
        false => sockopt::ip_tos(&socket)? >> 2,
    })
}

/// Selects the queue of this host's network devices for sent packets, 0 to 6 without privilege
/// (`SO_PRIORITY`); higher ones need `CAP_NET_ADMIN`.
pub fn set_queue_priority(socket: impl AsFd, priority: i32) -> io::Result<()> {
    set_option(&socket, libc::SO_PRIORITY, priority)
}

/// Makes reads poll the device for packets for up to `time`, instead of waiting for its interrupt
/// (`SO_BUSY_POLL`). Resolution 1 us. More than `net.core.busy_read` needs `CAP_NET_ADMIN`; with
/// drivers that lack support, reads wait as before.
pub fn set_busy_poll(socket: impl AsFd, time: Duration) -> io::Result<()> {
    let microseconds = i32::try_from(time.as_micros()).unwrap_or(i32::MAX);
    set_option(&socket, libc::SO_BUSY_POLL, microseconds)
}

/// Limits the send rate to `rate` octets per second (`SO_MAX_PACING_RATE`); `None`: no limit. Needs
/// no privilege. TCP paces its packets by an internal timer; a socket that sends no packets, such as
/// a UNIX socket, ignores the rate.
pub fn set_pacing_rate(socket: impl AsFd, rate: Option<u64>) -> io::Result<()> {
    let rate = rate.map_or(UNPACED, |rate| libc::c_ulong::try_from(rate).unwrap_or(UNPACED));
    set_option(&socket, libc::SO_MAX_PACING_RATE, rate)
}

/// Returns the limit of the send rate, in octets per second; `None` if no limit is set.
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
    // The conversion is needed on 32-bit machines, where `c_ulong` has 32 bits.
    #[allow(clippy::useless_conversion)]
    match result {
        0 => Ok((rate != UNPACED).then(|| u64::from(rate))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Pacing rate that means no limit.
const UNPACED: libc::c_ulong = libc::c_ulong::MAX;

/// Sets the sizes of the kernel's buffers, in octets (`SO_SNDBUF`, `SO_RCVBUF`); `None`: the
/// system's default. The kernel may double or cut the values (`net.core.wmem_max`,
/// `net.core.rmem_max`).
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

/// Restricts sending to hosts on directly connected networks, without routers (`SO_DONTROUTE`).
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

/// Makes the kernel probe a peer that was silent for `idle` (`SO_KEEPALIVE`), and end the
/// connection when six probes, spread over another `idle`, remain unanswered. Resolution 1 s.
/// `None`: never.
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

/// Makes calls on a socket block, or report [`io::ErrorKind::WouldBlock`] instead. On a listening
/// socket this applies to [`accept`] only; accepted sockets are blocking ones.
pub fn set_blocking(socket: impl AsFd, on: bool) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(socket, !on)?)
}

/// Sends one octet without blocking, to a peer that only checks whether there is something to read.
/// If the buffer is full of unread octets, nothing is sent, since the peer has something to read then.
///
/// # Errors
/// [`io::ErrorKind::BrokenPipe`], [`io::ErrorKind::ConnectionReset`]: the peer is gone.
pub fn ring(socket: impl AsFd) -> io::Result<()> {
    match rustix::net::send(socket, &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(_) | Err(Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Consumes the octets of [`ring`], without blocking. Returns the number that one call consumed; 0
/// when the peer has closed or this end is shut down for reading.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when there are none.
pub fn hush(socket: impl AsFd) -> io::Result<usize> {
    let mut octets = [MaybeUninit::<u8>::uninit(); 64];
    let ((rung, _), _) = rustix::net::recv(socket, octets.as_mut_slice(), RecvFlags::DONTWAIT)?;
    Ok(rung.len())
}

/// Shuts down one or both directions, and wakes threads blocked in them.
pub fn shutdown(socket: impl AsFd, directions: Shutdown) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket, directions)?)
}

/// Returns the address of this end.
pub fn local_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(socket)?.try_into()?)
}

/// Returns the address of the other end.
pub fn peer_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    let address = rustix::net::getpeername(socket)?.ok_or(io::ErrorKind::NotConnected)?;
    Ok(address.try_into()?)
}

/// TCP connection in progress. Dropping it aborts the attempt.
#[derive(Debug)]
pub struct Connecting(OwnedFd);

impl Connecting {
    /// Starts to connect, without waiting.
    ///
    /// # Errors
    /// When the kernel refuses at once.
    pub fn start(address: SocketAddr) -> io::Result<Connecting> {
        Self::start_marked(address, None)
    }

    /// Starts to connect, with a DSCP on all packets from the first one on, without waiting.
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

    /// Returns the connected, blocking socket; to be called once [`first_ready`] has reported it.
    ///
    /// # Errors
    /// The reason why the connection failed.
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

/// Waits until one of several descriptors is ready, and returns its index, or `None` if `timeout` passed first. A
/// descriptor paired with `true` is ready when it is readable, others when they are writable, and each when it has
/// failed. A connecting socket becomes ready when the attempt has succeeded or failed. Takes one system call, and one
/// more for each signal that interrupts it.
///
/// # Errors
/// None known; those of `poll`.
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

/// Waits until one of several descriptors is ready, as [`first_ready`] does. Returns for each whether it is ready, or
/// `None` if `timeout` passed or a signal arrived first. Takes one system call, and allocates.
///
/// # Errors
/// None known; those of `poll`.
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
    /// Whether the address may be reused while connections of an ended process linger.
    pub reuse_address: bool,
    /// Whether a socket of an IPv6 address also accepts IPv4 clients.
    pub dual_stack: bool,
    /// Maximum number of connections waiting to be accepted; the kernel cuts it to
    /// `net.core.somaxconn`.
    pub backlog: i32,
}

/// Reports whether a call failed because the kernel does not support the address family, for example without IPv6.
pub fn is_unknown_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Listens on `address`; port 0 lets the kernel choose one (see [`local_address`]).
pub fn listen(address: SocketAddr, how: Listen) -> io::Result<OwnedFd> {
    listen_with(address, how, |_| Ok(()))
}

/// Listens on `address` with a socket on which `prepare` set options before it was bound.
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
/// [`io::ErrorKind::Interrupted`] requests a retry: a signal arrived, or the peer was gone before
/// it could be accepted.
pub fn accept(listener: impl AsFd) -> io::Result<OwnedFd> {
    rustix::net::accept_with(listener, SocketFlags::CLOEXEC).map_err(|error| match error {
        // On Linux, accept(2) passes on network errors that are already pending on the new connection. They do not
        // concern the listening socket, so the caller tries again.
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
        // Rust programs ignore SIGPIPE, but OxORB may be loaded into a program that does not. The test blocks the
        // signal: a blocked signal stays pending even if it is ignored, and the signal mask applies to this thread
        // only, whereas a signal disposition would apply to all tests.
        // SAFETY: both functions write to sets that live here.
        let pending = || unsafe {
            let mut set = std::mem::zeroed();
            assert_eq!(libc::sigpending(&raw mut set), 0);
            libc::sigismember(&raw const set, libc::SIGPIPE) == 1
        };
        // SAFETY: as above; the only null pointer stands for no old mask.
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
            // The host may not support one of the two address families.
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
