//! Free ports, and connections from a chosen address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::path::Path;
use std::sync::Mutex;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, ipproto, listen,
    socket_with,
};

/// Ports that the system gives nobody who asks for any: below its range for outgoing connections, which begins at 32,768.
const OWN_PORTS: std::ops::Range<u16> = 10_000..32_000;

/// Ports of one block: the one that is given, and those that the lanes of a server take after it.
const BLOCK: u16 = 8;

/// Returns a TCP port on which nobody listens at the IPv4 loopback address, with seven free ones after it.
///
/// No other test that asks here is given it while this process lives: an abstract UNIX socket marks the block as taken. A
/// server that can choose its own port (port 0) needs none of this.
pub fn free_port() -> u16 {
    static TAKEN: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());
    let blocks = u32::from((OWN_PORTS.end - OWN_PORTS.start) / BLOCK);
    // Each process begins elsewhere.
    let first = std::process::id().wrapping_mul(61) % blocks;
    let mut taken = TAKEN.lock().expect("nobody panics while it is locked");
    for step in 0..blocks {
        let block = u16::try_from((first + step) % blocks).expect("fewer blocks than ports");
        let port = OWN_PORTS.start + block * BLOCK;
        let name = format!("oxorb-test-port-{port}");
        let name = UnixAddr::from_abstract_name(name).expect("a short name");
        let Ok(mark) = UnixDatagram::bind_addr(&name) else {
            continue;
        };
        taken.push(mark);
        if (port..port + BLOCK).all(is_free) {
            return port;
        }
    }
    panic!(
        "no free ports from {} to {}",
        OWN_PORTS.start, OWN_PORTS.end
    );
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Connects to `to` from a given address of this host, such as 127.0.0.2: to a server that looks
/// like another client.
///
/// # Errors
/// As the system gives them.
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

/// Ends a connection so that the other side sees a reset instead of its end.
///
/// # Errors
/// As the system gives them.
pub fn reset(stream: TcpStream) -> io::Result<()> {
    // Closing with a linger time of zero throws away what was not sent and resets.
    rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO))?;
    drop(stream);
    Ok(())
}

/// Shortens the queue of a listening socket to a handful of connections: [`fill`] takes thousands of descriptors else.
///
/// # Errors
/// As the system gives them.
pub fn shorten(listener: impl AsFd) -> io::Result<()> {
    Ok(listen(listener, 4)?)
}

/// Connects to the UNIX socket at `path` until the queue of its listener is full, and returns the
/// connections that are in it.
///
/// # Errors
/// As the system gives them, and when the queue has no end.
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
