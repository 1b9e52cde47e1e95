//! Free ports, and connections from a chosen address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, ipproto, listen,
    socket_with,
};

/// A TCP port of the IPv4 loopback address on which nobody listens now.
///
/// Another process might take it before the caller does; where the server can choose its own port
/// (port 0), that is better.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
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
