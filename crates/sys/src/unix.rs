//! UNIX stream sockets: names, connecting, listening, and peer credentials.
//!
//! Once connected, they behave as any other stream socket: see [`socket`](crate::socket).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// Maximum length of the path of a socket, in octets: `sun_path` holds one more, for the
/// terminating NUL.
pub const MAX_PATH: usize = 107;

/// Maximum length of an abstract name, in octets: it is preceded by a NUL and needs none at its
/// end.
pub const MAX_ABSTRACT: usize = 107;

/// Name of a UNIX socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'n> {
    /// Path of a file, relative to the working directory unless it begins with `/`.
    Path(&'n Path),
    /// Name in a table of the network namespace (Linux): no file, no access rights, and removed
    /// with the last socket of that name.
    Abstract(&'n [u8]),
}

impl Name<'_> {
    fn address(self) -> io::Result<SocketAddrUnix> {
        match self {
            // Linux would accept a path of one more octet, but without the terminating NUL that other systems require.
            Self::Path(path) if path.as_os_str().len() > MAX_PATH => Err(Errno::NAMETOOLONG),
            Self::Path(path) => SocketAddrUnix::new(path),
            Self::Abstract(name) => SocketAddrUnix::new_abstract_name(name),
        }
        .map_err(io::Error::from)
    }
}

/// Connects without waiting. The returned socket is blocking, and the server cannot send
/// descriptors over it ([`refuse_descriptors`]).
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when the queue of clients waiting to be accepted is full: retry
/// later, since no descriptor signals when. [`io::ErrorKind::ConnectionRefused`] when no socket
/// listens on the file.
pub fn connect(name: Name<'_>) -> io::Result<OwnedFd> {
    let address = name.address()?;
    let socket = stream_socket(SocketFlags::NONBLOCK)?;
    let _ = refuse_descriptors(&socket);
    rustix::net::connect(&socket, &address)?;
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(socket)
}

/// Creates a socket with a name, and the file if the name is a path. No client can connect before
/// [`listen`]: until then the caller may change the access rights of the file.
///
/// # Errors
/// [`io::ErrorKind::AddrInUse`] when the name is taken; for a file, even if no socket listens on
/// it.
pub fn bind(name: Name<'_>) -> io::Result<OwnedFd> {
    let address = name.address()?;
    let socket = stream_socket(SocketFlags::empty())?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// Reports whether a process has a socket bound to a file; `false` for a file that an ended process
/// left behind. The process that has the socket does not notice. Takes two system calls.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] when there is no file; others when this process lacks write access
/// to it, which connecting requires.
pub fn is_bound(path: &Path) -> io::Result<bool> {
    let address = Name::Path(path).address()?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    // A stream socket would enter the queue of clients. For a datagram socket, the kernel only finds the bound socket
    // and reports that its type differs.
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::PROTOTYPE) => Ok(true),
        Err(Errno::CONNREFUSED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Starts to accept clients; at most `backlog` may wait to be accepted, which the kernel cuts to
/// `net.core.somaxconn`. [`accept`](crate::socket::accept) returns them.
pub fn listen(socket: impl AsFd, backlog: i32) -> io::Result<()> {
    Ok(rustix::net::listen(socket, backlog)?)
}

/// Credentials that the process at the other end of a connection had when it connected or started to
/// listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// Process id; 0 if it has none in the PID namespace of this process.
    pub pid: u32,
}

/// Returns the credentials of the peer, which the kernel has recorded (`SO_PEERCRED`). One system call.
pub fn peer_credentials(socket: impl AsFd) -> io::Result<Credentials> {
    // `rustix` is not used here, because its type cannot represent process id 0.
    let mut raw = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor lives as long as the borrow; the kernel writes at most `size` octets,
    // the size of `raw`, and the number of octets it wrote.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut raw).cast(),
            &raw mut size,
        )
    };
    match result {
        0 => {
            Ok(Credentials { uid: raw.uid, gid: raw.gid, pid: u32::try_from(raw.pid).unwrap_or(0) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the [`Credentials`] of this process as its peers see them.
pub fn own_credentials() -> Credentials {
    Credentials {
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        pid: std::process::id(),
    }
}

/// Enlarges the send buffer, if necessary, to accept a write of `octets` in one piece.
///
/// A piece fills at most half of the buffer; a write of several pieces waits for free space several
/// times, each for as long as [`set_send_timeout`](crate::socket::set_send_timeout) allows.
pub fn send_buffer(socket: impl AsFd, octets: usize) -> io::Result<()> {
    // The kernel doubles the requested size, and a piece may take half of the buffer less 64 octets.
    let least = octets + 64;
    if sockopt::socket_send_buffer_size(&socket)? < 2 * least {
        sockopt::set_socket_send_buffer_size(&socket, least)?;
    }
    Ok(())
}

/// Makes the system refuse descriptors that peers send over a socket from now on (EPERM at the
/// sender), and over sockets accepted from it. A received descriptor has to be closed, which can
/// take as long as its sender chooses (a TCP socket with a long SO_LINGER), and a plain read of the
/// octets that it came with closes it implicitly. Returns whether the system supports this, as
/// Linux 6.16 does. One system call.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// let (socket, _) = UnixStream::pair()?;
/// let _refused = oxorb_sys::unix::refuse_descriptors(&socket);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn refuse_descriptors(socket: impl AsFd) -> bool {
    let off: libc::c_int = 0;
    // SAFETY: the descriptor lives as long as the borrow; the kernel reads as many octets as `off` has.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    result == 0
}

/// Linux option that `libc` does not define on all targets.
const SO_PASSRIGHTS: libc::c_int = match cfg!(any(target_arch = "sparc", target_arch = "sparc64")) {
    true => 0x5c,
    false => 83,
};

/// Delivers out-of-band octets (MSG_OOB) in line with all others. Otherwise, an out-of-band octet makes a
/// socket readable although a read then finds nothing. One system call.
pub fn take_urgent_octets(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_oobinline(socket, true)?)
}

/// Returns the number of octets that wait to be read (FIONREAD). One system call.
pub fn octets_waiting(socket: impl AsFd) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(socket)?)
}

/// Maximum number of descriptors sent with octets.
const DESCRIPTORS: usize = 2;

/// Sends some octets with one or two descriptors, without waiting: for the first octets of a
/// connection, which the send buffer can hold. The descriptors stay open in this process.
///
/// # Errors
/// [`io::ErrorKind::WriteZero`] when the system did not accept all octets.
pub fn send_descriptors(
    socket: impl AsFd,
    octets: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fits = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    debug_assert!(fits, "the space is for two");
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(octets)], &mut ancillary, flags)?;
    match sent == octets.len() {
        true => Ok(()),
        false => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives at most `buffer.len()` octets, and the one or two descriptors sent with them, without
/// waiting. Returns the number of octets, 0 at the end of the stream. If more descriptors arrive,
/// all are closed.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when nothing has arrived; EMFILE when this process is out of
/// descriptors, so that those sent are lost.
pub fn receive_descriptors(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, [Option<OwnedFd>; DESCRIPTORS])> {
    receive_descriptors_with(socket, buffer, RecvFlags::empty())
}

/// Returns copies of what [`receive_descriptors`] would return, without consuming it: closing the
/// copies does not close the files, so this never waits, whatever was sent.
///
/// # Errors
/// Those of [`receive_descriptors`].
pub fn peek_descriptors(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, [Option<OwnedFd>; DESCRIPTORS])> {
    receive_descriptors_with(socket, buffer, RecvFlags::PEEK)
}

fn receive_descriptors_with(
    socket: impl AsFd,
    buffer: &mut [u8],
    peek: RecvFlags,
) -> io::Result<(usize, [Option<OwnedFd>; DESCRIPTORS])> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC | peek;
    let mut slices = [IoSliceMut::new(buffer)];
    let received = rustix::net::recvmsg(socket, &mut slices, &mut ancillary, flags)?;
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let mut descriptors = descriptors.flatten();
    let found = [descriptors.next(), descriptors.next()];
    let more = descriptors.count() > 0;
    // CTRUNC reports that descriptors were lost. If fewer than two arrived, this process could open no more; otherwise,
    // there were more than the space above holds.
    if received.flags.contains(ReturnFlags::CTRUNC) && found[1].is_none() {
        return Err(Errno::MFILE.into());
    }
    let cut = more || received.flags.contains(ReturnFlags::CTRUNC);
    let found = if cut { [None, None] } else { found };
    Ok((received.bytes, found))
}

fn stream_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    socket.map_err(|error: Errno| error.into())
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::*;
    use crate::socket;

    fn abstract_name(test: &str) -> String {
        format!("oxorb-sys-{test}-{}", std::process::id())
    }

    #[test]
    fn both_ends_know_who_the_other_is() {
        let name = abstract_name("who");
        let name = Name::Abstract(name.as_bytes());
        let listener = bind(name).unwrap();
        listen(&listener, 1).unwrap();
        let here = connect(name).unwrap();
        let there = socket::accept(&listener).unwrap();
        let own = own_credentials();
        assert_eq!(peer_credentials(&here).unwrap(), own);
        assert_eq!(peer_credentials(&there).unwrap(), own);
        socket::send(&here, &[IoSlice::new(b"GIOP")]).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(socket::receive(&there, &mut buffer, 9).unwrap(), 4);
        assert_eq!(buffer, b"GIOP");
    }

    #[test]
    fn a_descriptor_comes_with_the_octets() {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut buffer = [0; 9];
        let nothing = receive_descriptors(&there, &mut buffer).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        let (mine, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        send_descriptors(&here, b"GIOP", &[theirs.as_fd()]).unwrap();
        drop(theirs);
        let (octets, [descriptor, none]) = receive_descriptors(&there, &mut buffer).unwrap();
        assert_eq!(&buffer[..octets], b"GIOP");
        let descriptor = descriptor.unwrap();
        assert!(none.is_none());
        socket::send(&mine, &[IoSlice::new(b"x")]).unwrap();
        assert_eq!(socket::receive(&descriptor, &mut Vec::new(), 9).unwrap(), 1);
        socket::send(&here, &[IoSlice::new(b"y")]).unwrap();
        assert!(matches!(receive_descriptors(&there, &mut buffer), Ok((1, [None, None]))));
        // Two descriptors are accepted. If three arrive, all of them are closed.
        let descriptor = descriptor.as_fd();
        send_descriptors(&here, b"two", &[descriptor; 2]).unwrap();
        let (_, two) = receive_descriptors(&there, &mut buffer).unwrap();
        assert!(two.iter().all(Option::is_some));
        let three = [descriptor; 3];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&three)));
        let slices = [IoSlice::new(b"three")];
        rustix::net::sendmsg(&here, &slices, &mut ancillary, SendFlags::NOSIGNAL).unwrap();
        assert!(matches!(receive_descriptors(&there, &mut buffer), Ok((5, [None, None]))));
        drop(here);
        assert!(matches!(receive_descriptors(&there, &mut buffer), Ok((0, [None, None]))));
    }

    /// Refusing descriptors requires Linux 6.16; on earlier systems this test passes without checking it.
    #[test]
    fn descriptors_that_are_refused_stay_with_the_sender() {
        let name = abstract_name("refused");
        let name = Name::Abstract(name.as_bytes());
        let listener = bind(name).unwrap();
        let refuses = refuse_descriptors(&listener);
        listen(&listener, 1).unwrap();
        let here = connect(name).unwrap();
        let there = socket::accept(&listener).unwrap();
        if !refuses {
            return eprintln!("this system has no SO_PASSRIGHTS");
        }
        for (from, to) in [(&here, &there), (&there, &here)] {
            let refused = send_descriptors(from, b"one", &[listener.as_fd()]).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
            assert_eq!(octets_waiting(to).unwrap(), 0);
            socket::send(from, &[IoSlice::new(b"GIOP")]).unwrap();
            assert_eq!(octets_waiting(to).unwrap(), 4);
        }
    }

    /// Sends 253 descriptors, the maximum of one message, most of which the receiver never opens.
    #[test]
    fn a_look_at_descriptors_takes_none_of_them() {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        let (pipe, other) = std::io::pipe().unwrap();
        let all = [pipe.as_fd(); 253];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&all)));
        let slices = [IoSlice::new(b"many")];
        rustix::net::sendmsg(&here, &slices, &mut ancillary, SendFlags::NOSIGNAL).unwrap();
        drop(pipe);
        let is_open = || {
            let mut octet = [0];
            rustix::io::ioctl_fionbio(&other, true).unwrap();
            rustix::io::write(&other, &octet).is_ok_and(|count| {
                octet[0] = 1;
                count == 1
            })
        };
        let mut buffer = [0; 9];
        for _ in 0..3 {
            let looked = peek_descriptors(&there, &mut buffer).unwrap();
            assert!(matches!(looked, (4, [None, None])), "more than two");
            assert!(is_open(), "the reading end waits in the socket");
        }
        assert_eq!(octets_waiting(&there).unwrap(), 4);
        assert_eq!(receive_descriptors(&there, &mut buffer).unwrap().0, 4);
        assert!(!is_open(), "all were closed");
    }

    #[test]
    fn an_octet_out_of_band_is_one_as_all_others() {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        take_urgent_octets(&there).unwrap();
        for _ in 0..3 {
            rustix::net::send(&here, b"x", SendFlags::OOB).unwrap();
            assert_eq!(socket::hush(&there).unwrap(), 1);
        }
        let none = socket::hush(&there).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn what_there_is_room_for_is_sent_at_once() {
        let name = abstract_name("room");
        let name = Name::Abstract(name.as_bytes());
        let listener = bind(name).unwrap();
        listen(&listener, 1).unwrap();
        let here = connect(name).unwrap();
        let there = socket::accept(&listener).unwrap();
        let large = vec![7; 4 << 20];
        let sent = socket::send_now(&here, &[IoSlice::new(&large)]).unwrap();
        assert!((1..large.len()).contains(&sent), "{sent}");
        let full = socket::send_now(&here, &[IoSlice::new(&large)]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        let mut buffer = Vec::new();
        while buffer.len() < sent {
            socket::receive(&there, &mut buffer, sent).unwrap();
        }
        socket::send_now(&here, &[IoSlice::new(b"GI"), IoSlice::new(b"OP")]).unwrap();
    }

    #[test]
    fn a_name_is_taken_once() {
        let name = abstract_name("taken");
        let name = Name::Abstract(name.as_bytes());
        let first = bind(name).unwrap();
        assert_eq!(bind(name).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        bind(name).unwrap();
    }

    #[test]
    fn nobody_connects_before_listening_and_nobody_waits() {
        let name = abstract_name("backlog");
        let name = Name::Abstract(name.as_bytes());
        let refused = io::ErrorKind::ConnectionRefused;
        assert_eq!(connect(name).unwrap_err().kind(), refused);
        let listener = bind(name).unwrap();
        assert_eq!(connect(name).unwrap_err().kind(), refused);
        listen(&listener, 0).unwrap();
        let mut waiting = Vec::new();
        let full = (0..10).find_map(|_| connect(name).map(|it| waiting.push(it)).err());
        assert_eq!(full.unwrap().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_bound_file_is_told_from_one_left_behind_and_nobody_notices() {
        let path = oxorb_testkit::net::socket_folder()
            .join(format!("oxorb-sys-bound-{}", std::process::id()));
        assert_eq!(is_bound(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = bind(Name::Path(&path)).unwrap();
        assert!(is_bound(&path).unwrap(), "before it listens, too");
        listen(&listener, 5).unwrap();
        assert!(is_bound(&path).unwrap());
        rustix::io::ioctl_fionbio(&listener, true).unwrap();
        let nobody = socket::accept(&listener).unwrap_err();
        assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock);
        drop(listener);
        assert!(!is_bound(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let long = "x".repeat(MAX_PATH + 1);
        let too_long = io::ErrorKind::InvalidFilename;
        for name in [Name::Path(Path::new(&long)), Name::Abstract(long.as_bytes())] {
            assert_eq!(bind(name).unwrap_err().kind(), too_long);
            assert_eq!(connect(name).unwrap_err().kind(), too_long);
        }
        assert!(bind(Name::Abstract(&long.as_bytes()[1..])).is_ok());
    }

    #[test]
    fn a_send_buffer_holds_a_piece() {
        let name = abstract_name("buffer");
        let listener = bind(Name::Abstract(name.as_bytes())).unwrap();
        socket::set_buffers(&listener, Some(5_000), None).unwrap();
        send_buffer(&listener, 32 << 10).unwrap();
        assert!(sockopt::socket_send_buffer_size(&listener).unwrap() >= 65_536);
    }
}
