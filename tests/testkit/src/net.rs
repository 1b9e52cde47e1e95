//! Free ports, folders for UNIX sockets, and connections from a chosen address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, ipproto, listen,
    socket_with,
};

use crate::peers::missing;

/// Lowest port to return: lower ones belong to well-known services.
const FIRST: u16 = 10_000;

/// Number of ports that one mark reserves: the returned port, and the following ones, which a server's lanes use.
const BLOCK: u16 = 8;

/// Returns the first of eight consecutive ports that are unused at all addresses of this host, for TCP and UDP.
///
/// The ports are reserved until this process ends, even while no server listens on them: no other caller gets them, in
/// any process of any user, and the kernel assigns them to no socket that requests any port. A program that binds one
/// of them by its number can still take it.
///
/// A server that can choose its own port (port 0) and is never restarted needs no such port.
///
/// # Panics
/// If all ports are in use or reserved.
pub fn free_port() -> u16 {
    // The kernel removes the marks when the process ends, however it ends.
    static MARKS: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());
    let ports = own_ports();
    let blocks = u32::from((ports.end - ports.start) / BLOCK);
    // Concurrent processes begin at different ports.
    let first = std::process::id().wrapping_mul(61) % blocks;
    for step in 0..blocks {
        let block = u16::try_from((first + step) % blocks).expect("fewer blocks than ports");
        let port = ports.start + block * BLOCK;
        if let Some(mark) = reserve(port) {
            MARKS.lock().expect("nothing panics").push(mark);
            return port;
        }
    }
    panic!("no ports of {ports:?} are free");
}

/// Returns a range of ports, outside the kernel's ephemeral range if possible; both ends are multiples of [`BLOCK`].
///
/// The ports are below the ephemeral range, which begins at 32,768 by default, or else above it. If neither is
/// possible, the ports are in the ephemeral range, and only the marks protect them.
fn own_ports() -> Range<u16> {
    const ENOUGH: u16 = 4_000;
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let text = text.unwrap_or_default();
    let mut bounds = text.split_whitespace().map(str::parse::<u16>);
    let (Some(Ok(lowest)), Some(Ok(highest))) = (bounds.next(), bounds.next()) else {
        return FIRST..32_000;
    };
    let below = FIRST..lowest / BLOCK * BLOCK;
    let above = (highest / BLOCK + 1).saturating_mul(BLOCK)..u16::MAX / BLOCK * BLOCK;
    [below, above]
        .into_iter()
        .find(|ports| ports.end.saturating_sub(ports.start) >= ENOUGH)
        .unwrap_or(FIRST..32_000)
}

/// Marks the block of ports that begins at `port` as reserved by this process. Returns `None` if it
/// is marked already or one of its ports is in use.
///
/// A mark is an abstract UNIX socket named after the block. Ports and abstract names have the same
/// scope, the network namespace.
fn reserve(port: u16) -> Option<UnixDatagram> {
    let name = UnixAddr::from_abstract_name(format!("oxorb-test-port-{port}"));
    let mark = UnixDatagram::bind_addr(&name.expect("a short name")).ok()?;
    (port..port + BLOCK).all(is_free).then_some(mark)
}

/// Reports whether a port can be bound at all IPv4 addresses at once.
///
/// The TCP socket does not have the SO_REUSEADDR that `TcpListener` sets, so that a port whose connections are still
/// closing counts as used.
fn is_free(port: u16) -> bool {
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    let tcp = socket_with(AddressFamily::INET, kind, flags, Some(ipproto::TCP));
    tcp.is_ok_and(|tcp| bind(&tcp, &everywhere).is_ok()) && UdpSocket::bind(everywhere).is_ok()
}

/// Reports whether the loopback interface has an IPv6 address; calls [`missing`] if it has none.
///
/// # Panics
/// If `OXORB_REQUIRE_TOOLS` requires it and there is none.
#[must_use = "a test without IPv6 ends here"]
pub fn has_ipv6() -> bool {
    let tried = TcpListener::bind((Ipv6Addr::LOCALHOST, 0));
    tried
        .inspect_err(|error| missing("IPv6", &format!("nothing can listen at ::1: {error}")))
        .is_ok()
}

/// Returns a folder for UNIX sockets: the one for temporary files, or another world-writable one if its path leaves
/// less than [`NAME`] octets for the name.
///
/// # Panics
/// If there is none.
pub fn socket_folder() -> PathBuf {
    let mut folders = [std::env::temp_dir(), "/tmp".into(), "/dev/shm".into()].into_iter();
    let found = folders.find(|folder| leaves_room(folder) && folder.is_dir());
    found.expect("a folder with a short path")
}

/// Number of octets that [`socket_folder`] leaves for the name of a socket.
pub const NAME: usize = 60;

/// Reports whether the folder's path is short enough: the path of a UNIX socket has at most 107 octets (`sun_path`),
/// including the slash.
fn leaves_room(folder: &Path) -> bool {
    folder.as_os_str().len() <= 107 - 1 - NAME
}

/// Connects to `to` from a given address of this host, such as 127.0.0.2, so that the server sees another client.
///
/// # Errors
/// Errors of the system.
pub fn connect_from(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let family = match from {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let tcp = Some(ipproto::TCP);
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, tcp)?;
    bind(&socket, &SocketAddr::new(from, 0))?;
    connect(&socket, &to)?;
    Ok(TcpStream::from(socket))
}

/// Closes a connection so that the other side sees a reset instead of its end.
///
/// # Errors
/// Errors of the system.
pub fn reset(stream: TcpStream) -> io::Result<()> {
    // Closing with a linger time of zero discards unsent octets and resets the connection.
    rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO))?;
    drop(stream);
    Ok(())
}

/// Shortens the queue of a listening socket to a few connections: otherwise [`fill`] needs thousands of descriptors.
///
/// # Errors
/// Errors of the system.
pub fn shorten(listener: impl AsFd) -> io::Result<()> {
    Ok(listen(listener, 4)?)
}

/// Connects to the UNIX socket at `path` until the queue of its listener is full, and returns the queued connections.
///
/// # Errors
/// Errors of the system, or a queue without a limit.
pub fn fill(path: &Path) -> io::Result<Vec<OwnedFd>> {
    const MOST: usize = 10_000;
    let address = SocketAddrUnix::new(path)?;
    let mut queued = Vec::new();
    while queued.len() < MOST {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) => queued.push(socket),
            Err(Errno::AGAIN) => return Ok(queued),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("the queue has no end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_given_once_and_not_by_the_kernel() {
        let (ports, one, other) = (own_ports(), free_port(), free_port());
        assert!(one.abs_diff(other) >= BLOCK);
        for port in [one, other] {
            assert!(ports.contains(&port), "{port} of {ports:?}");
            assert!(reserve(port).is_none());
        }
    }

    #[test]
    fn a_socket_folder_has_room_for_a_name() {
        let folder = socket_folder();
        let name = "x".repeat(NAME);
        assert!(SocketAddrUnix::new(folder.join(&name)).is_ok());
        assert!(!leaves_room(&Path::new("/").join("x".repeat(150))));
    }

    #[test]
    fn a_port_in_use_is_not_free() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!is_free(tcp.local_addr().unwrap().port()));
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(!is_free(udp.local_addr().unwrap().port()));
    }
}
