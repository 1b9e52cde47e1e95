//! UDP sockets: a listening one that receives from any source, and connected ones at the same port,
//! each of which receives the datagrams of one source only.
//!
//! [`socket::receive`] and [`socket::send`] read and write connected sockets, with one system call
//! each. [`listen`] reserves a port, which only sockets of the same user may join later;
//! [`connected_at`] joins one. A joining socket is bound to all addresses until it is connected, so
//! that the kernel meanwhile prefers the listening socket for datagrams of other sources. If the
//! listening socket is bound to all addresses as well, a BPF program of the group selects it.

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};

use crate::socket::{self, set_option};
use crate::steering;

/// Largest payload of a datagram over UDP and IPv4, in octets.
pub const MOST_OCTETS: usize = 65_507;

/// Reserves a port and receives from any source; port 0 lets the kernel choose a free one. `dual_stack` determines
/// whether an IPv6 socket also receives from IPv4 sources.
///
/// # Errors
/// [`io::ErrorKind::AddrInUse`] where another socket has the port; others as the kernel reports.
pub fn listen(address: SocketAddr, dual_stack: bool) -> io::Result<OwnedFd> {
    let socket = open(address, dual_stack)?;
    rustix::net::bind(&socket, &address)?;
    // Set only after `bind`, so that `bind` fails if another socket has the port. From here on, sockets of the same
    // user may join.
    sockopt::set_socket_reuseport(&socket, true)?;
    let own = socket::local_address(&socket)?;
    // The kernel attaches a BPF program only to a group, and creates the group when a second socket joins. The program
    // stays attached when that socket is closed.
    let first = join(own, own.is_ipv6() && dual_stack)?;
    steering::by_mark(&socket, &[], 0)?;
    drop(first);
    // Makes the kernel report the destination address of each datagram, because this host may have several. If an IPv6
    // socket does not support the option for IPv4, the error is ignored.
    set_level(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1_i32).or_else(|error| match own {
        SocketAddr::V4(_) => Err(error),
        SocketAddr::V6(_) => Ok(()),
    })?;
    if own.is_ipv6() {
        set_level(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1_i32)?;
    }
    Ok(socket)
}

/// Connects to a server without sending anything: `send` then sends to the server, and only its datagrams are received.
/// If no socket receives at its address, the kernel reports [`io::ErrorKind::ConnectionRefused`] at a later call.
///
/// # Errors
/// As the kernel reports: no route, no such DSCP.
pub fn connect(server: SocketAddr, dscp: Option<u8>) -> io::Result<OwnedFd> {
    let socket = open(server, false)?;
    if let Some(dscp) = dscp {
        socket::set_dscp_of(&socket, server.is_ipv6(), dscp)?;
    }
    rustix::net::connect(&socket, &server)?;
    Ok(socket)
}

/// Joins a socket to the port of a [listening](listen) one at `own`. The socket receives the datagrams from `source` to
/// the address `at` that arrive from now on; earlier ones, even those in transit, stay with the listening socket.
///
/// # Errors
/// As the kernel reports: no descriptor, no route.
pub fn connected_at(
    own: SocketAddr,
    dual_stack: bool,
    source: SocketAddr,
    at: Option<IpAddr>,
) -> io::Result<OwnedFd> {
    let everywhere: IpAddr = match own {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let wanted = at.or_else(|| Some(own.ip()).filter(|ip| !ip.is_unspecified()));
    let socket = connect_from(SocketAddr::new(everywhere, own.port()), dual_stack, source)?;
    let local = socket::local_address(&socket)?.ip();
    match wanted {
        // The kernel chose another local address than the one that the source uses, so the source would not accept the
        // replies.
        Some(wanted) if local.to_canonical() != wanted.to_canonical() => {
            let wanted = in_family(wanted, own);
            connect_from(SocketAddr::new(wanted, own.port()), dual_stack, source)
        }
        _ => Ok(socket),
    }
}

fn connect_from(from: SocketAddr, dual_stack: bool, source: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(from, dual_stack)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    only_from(&socket, source)?;
    rustix::net::bind(&socket, &from)?;
    rustix::net::connect(&socket, &source)?;
    Ok(socket)
}

/// Returns an IPv4 address in its IPv6-mapped form if `own` is an IPv6 address.
fn in_family(ip: IpAddr, own: SocketAddr) -> IpAddr {
    match (ip, own) {
        (IpAddr::V4(v4), SocketAddr::V6(_)) => v4.to_ipv6_mapped().into(),
        (ip, _) => ip,
    }
}

fn join(own: SocketAddr, dual_stack: bool) -> io::Result<OwnedFd> {
    let socket = open(own, dual_stack)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &own)?;
    Ok(socket)
}

pub(crate) fn open(address: SocketAddr, dual_stack: bool) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = rustix::net::socket_with(
        family,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(ipproto::UDP),
    )?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, !dual_stack)?;
    }
    Ok(socket)
}

pub(crate) fn set_level<N: Copy>(
    socket: &impl AsFd,
    level: i32,
    option: i32,
    value: N,
) -> io::Result<()> {
    // SAFETY: the descriptor lives as long as the borrow; the kernel reads the octets of `value`, a number.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
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

/// Reports whether a datagram was not sent because it exceeds the maximum size.
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Makes the kernel drop everything that arrives at a socket except datagrams from `source`, even
/// before the socket is connected.
fn only_from(socket: &OwnedFd, source: SocketAddr) -> io::Result<()> {
    let program = program(source);
    let program = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_ptr().cast_mut(),
    };
    // `filter` may dangle after the call, because the kernel copies the instructions during the call.
    set_option(socket, libc::SO_ATTACH_FILTER, program)
}

/// Base offset of the network-layer header in a BPF program (`SKF_NET_OFF`).
const NETWORK: u32 = (-0x10_0000_i32).cast_unsigned();

/// Returns the BPF program of [`only_from`], which compares the port in the UDP header and the
/// address in the IP header.
fn program(source: SocketAddr) -> Vec<libc::sock_filter> {
    use libc::{BPF_ABS, BPF_H, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W};
    let step = |code: u32, jump_true: u8, jump_false: u8, number: u32| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k: number,
    };
    let words: Vec<(u32, u32)> = match source.ip().to_canonical() {
        IpAddr::V4(ip) => vec![(NETWORK.wrapping_add(12), u32::from(ip))],
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let words = octets.chunks_exact(4).zip(0_u32..);
            let word = |word: &[u8]| word.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet));
            words.map(|(octets, at)| (NETWORK.wrapping_add(8 + 4 * at), word(octets))).collect()
        }
    };
    let mut program = vec![
        step(BPF_LD | BPF_H | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, u32::from(source.port())),
        step(BPF_RET | BPF_K, 0, 0, 0),
    ];
    for (offset, word) in words {
        program.push(step(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset));
        program.push(step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, word));
        program.push(step(BPF_RET | BPF_K, 0, 0, 0));
    }
    program.push(step(BPF_RET | BPF_K, 0, 0, u32::MAX));
    program
}

/// Size and addresses of a datagram that an unconnected socket received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Number of octets stored in the buffer.
    pub octets: usize,
    /// Address of the sender.
    pub source: SocketAddr,
    /// Address of this host to which it was sent, where the kernel reports one.
    pub at: Option<IpAddr>,
}

/// Appends the next datagram to `buffer`; octets beyond `max` are lost. If `waits` is set, the call waits for a
/// datagram. Returns `None` if the socket was shut down. Takes one system call, and allocates only if the spare
/// capacity of `buffer` is less than `max`.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] where no datagram is queued; others as the kernel reports, even about datagrams that
/// other sockets sent.
pub fn receive_from(
    socket: impl AsFd,
    buffer: &mut Vec<u8>,
    max: usize,
    waits: bool,
) -> io::Result<Option<Came>> {
    buffer.reserve(max);
    // SAFETY: all-zero octets are a value of each of these structures of the kernel's.
    let (mut name, mut message): (libc::sockaddr_storage, libc::msghdr) = unsafe { zeroed() };
    let mut part =
        libc::iovec { iov_base: buffer.spare_capacity_mut().as_mut_ptr().cast(), iov_len: max };
    let mut control = Control([MaybeUninit::uninit(); CONTROL]);
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
    // SAFETY: the message refers to memory that lives here with the stated size: `reserve` ensured capacity for `max` octets.
    let octets = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    let Ok(octets) = usize::try_from(octets) else {
        return Err(io::Error::last_os_error());
    };
    if message.msg_namelen == 0 {
        return Ok(None);
    }
    let length = buffer.len() + octets;
    // SAFETY: the kernel has initialised `octets` octets from the old length on, at most `max`.
    unsafe { buffer.set_len(length) };
    let source = address(&name).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(Came { octets, source, at: destination(&message) }))
}

/// Buffer for the kernel's control messages about a datagram, aligned as their headers are.
#[repr(align(8))]
struct Control([MaybeUninit<u8>; CONTROL]);

const CONTROL: usize = 128;

fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: storage is as large and as aligned as any address, and the family identifies the type.
            let name = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddr::new(ip.into(), u16::from_be(name.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            let port = u16::from_be(name.sin6_port);
            let address = std::net::SocketAddrV6::new(ip, port, 0, name.sin6_scope_id);
            Some(address.into())
        }
        _ => None,
    }
}

/// Returns the address to which a datagram was sent, if the kernel reported it.
fn destination(message: &libc::msghdr) -> Option<IpAddr> {
    let mut found = None;
    // SAFETY: the kernel has filled the control memory of `message`, which lives here, and set its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: the macros of the system yield headers within that memory, with all of their data or null.
        unsafe {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info: libc::in_pktinfo = data.cast::<libc::in_pktinfo>().read_unaligned();
                    found = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info: libc::in6_pktinfo = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    found = found.or(Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into()));
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::*;

    /// Receives all datagrams, of which at least `least` come.
    fn everything(socket: &OwnedFd, least: usize) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut buffer = Vec::new();
        oxorb_testkit::until("the datagrams come", || {
            while socket::receive_now(socket, &mut buffer, 100).is_ok() {
                all.push(std::mem::take(&mut buffer));
            }
            all.len() >= least
        });
        all
    }

    fn client(to: SocketAddr) -> UdpSocket {
        let from: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((from, 0)).unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket
    }

    #[test]
    fn each_source_has_a_socket_of_its_own_and_the_others_are_heard_meanwhile() {
        let v6: &[_] = match oxorb_testkit::net::has_ipv6() {
            true => &[("[::]:0", "127.0.0.1"), ("[::]:0", "::1"), ("[::1]:0", "::1")],
            false => &[],
        };
        let v4 = [("127.0.0.1:0", "127.0.0.1"), ("0.0.0.0:0", "127.0.0.1")];
        for &(listens, to) in v4.iter().chain(v6) {
            let listens: SocketAddr = listens.parse().unwrap();
            let dual = listens.ip().is_unspecified();
            let listener = listen(listens, dual).unwrap();
            let own = socket::local_address(&listener).unwrap();
            let to = SocketAddr::new(to.parse().unwrap(), own.port());
            let clients: Vec<_> = (0..8).map(|_| client(to)).collect();
            let mut sockets = Vec::new();
            for client in &clients {
                client.send(b"first").unwrap();
                let mut buffer = Vec::new();
                let came = receive_from(&listener, &mut buffer, 100, true).unwrap().unwrap();
                assert_eq!((came.octets, &*buffer), (5, &b"first"[..]));
                assert_eq!(came.at.map(|ip| ip.to_canonical()), Some(to.ip()));
                sockets.push(connected_at(own, dual, came.source, came.at).unwrap());
                for stranger in &clients[sockets.len()..] {
                    stranger.send(b"another").unwrap();
                }
                let strangers = clients.len() - sockets.len();
                let heard = everything(&listener, strangers);
                assert_eq!(heard, vec![b"another"; strangers], "{listens}");
            }
            for (client, socket) in clients.iter().zip(&sockets) {
                client.send(b"own").unwrap();
                assert_eq!(everything(socket, 1), [b"own"], "{listens}");
                socket::send(socket, &[IoSlice::new(b"answer")]).unwrap();
                let mut buffer = [0; 100];
                assert_eq!(client.recv(&mut buffer).unwrap(), 6);
            }
            drop(sockets);
            clients[0].send(b"again").unwrap();
            assert_eq!(everything(&listener, 1), [b"again"]);
            assert_eq!(listen(own, dual).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn to_shut_a_socket_down_ends_the_wait() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| receive_from(&listener, &mut Vec::new(), 100, true));
            while !waits.is_finished() {
                // On an unconnected socket `shutdown` fails, but it still ends the wait.
                let _ = socket::shutdown(&listener, socket::Shutdown::Both);
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(waits.join().unwrap().unwrap(), None);
        });
    }

    #[test]
    fn nobody_at_the_port_is_reported_later() {
        let at = SocketAddr::from(([127, 0, 0, 1], oxorb_testkit::net::free_port()));
        let client = connect(at, Some(46)).unwrap();
        socket::send(&client, &[IoSlice::new(b"hello")]).unwrap();
        let refused = socket::receive(&client, &mut Vec::new(), 100).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
