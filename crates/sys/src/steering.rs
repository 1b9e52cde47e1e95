//! Groups of listening sockets at one port, and the kernel's choice of one of them for each
//! connection.
//!
//! All sockets of a group have SO_REUSEPORT. By default the kernel selects one by a hash of both
//! addresses. A classic BPF program ([`by_mark`]) selects by the DSCP of the packet that requests
//! the connection; SO_INCOMING_CPU ([`listen_shared`]) prefers the socket whose processor handles
//! that packet.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::net::sockopt;

use crate::socket::{self, Listen};

/// Largest DSCP.
pub const MOST_DSCP: u8 = 63;

/// Maximum number of DSCPs that [`by_mark`] distinguishes.
pub const MOST_MARKS: usize = 64;

/// Listens on `address` as a member of a group. The sockets of a group are numbered in the order in
/// which they start to listen; when one is closed, the last one takes its number. `cpu`: the
/// processor whose packets this socket prefers (SO_INCOMING_CPU).
///
/// All sockets of the group belong to one user, and any process of that user may join it:
/// [`is_free`] reports, before the first one listens, whether other sockets exist.
///
/// # Errors
/// Those of [`socket::listen`]; [`io::ErrorKind::InvalidInput`] for a processor number out of
/// range.
pub fn listen_shared(address: SocketAddr, how: Listen, cpu: Option<usize>) -> io::Result<OwnedFd> {
    socket::listen_with(address, how, |socket| {
        sockopt::set_socket_reuseport(socket, true)?;
        let Some(cpu) = cpu else {
            return Ok(());
        };
        let cpu = i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
        socket::set_option(&socket, libc::SO_INCOMING_CPU, cpu)
    })
}

/// Reports whether no socket listens at an address with a port, by listening there for a moment.
///
/// # Errors
/// Those of [`socket::listen`] other than [`io::ErrorKind::AddrInUse`].
pub fn is_free(address: SocketAddr, how: Listen) -> io::Result<bool> {
    match socket::listen(address, how) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes the kernel select the socket of a group by the DSCP of the packet that requests a
/// connection. `marks` are pairs of a DSCP and a socket number, of which the first match counts;
/// `otherwise` is the number of the socket for all other packets. `socket` may be any socket of the group.
///
/// Applies to IPv4 and IPv6, until the last socket of the group is closed. Needs no privilege.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a DSCP above 63 or more than [`MOST_MARKS`] pairs; others as
/// the kernel reports.
pub fn by_mark(socket: impl AsFd, marks: &[(u8, u32)], otherwise: u32) -> io::Result<()> {
    if marks.len() > MOST_MARKS || marks.iter().any(|(mark, _)| *mark > MOST_DSCP) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    attach(socket, &program(marks, otherwise))
}

/// Base offset of the network-layer header in a BPF program (`SKF_NET_OFF`).
const NETWORK: u32 = (-0x10_0000_i32).cast_unsigned();

/// Returns the BPF program of [`by_mark`], which reads the DSCP according to the IP version, and
/// compares it with that of each pair.
fn program(marks: &[(u8, u32)], otherwise: u32) -> Vec<libc::sock_filter> {
    use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET};
    const BPF_RSH: u32 = 0x70;
    let step = |code: u32, jump_true: u8, jump_false: u8, number: u32| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k: number,
    };
    let shift = |bits| step(BPF_ALU | BPF_RSH | BPF_K, 0, 0, bits);
    let mut program = vec![
        // The IP version is the upper half of the first octet.
        step(BPF_LD | BPF_B | BPF_ABS, 0, 0, NETWORK),
        shift(4),
        step(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 6),
        // In IPv4, the DSCP is the upper six bits of the second octet.
        step(BPF_LD | BPF_B | BPF_ABS, 0, 0, NETWORK + 1),
        shift(2),
        step(BPF_JMP | BPF_K, 0, 0, 3), // BPF_JA
        // In IPv6, the DSCP is the six bits after the version.
        step(BPF_LD | BPF_H | BPF_ABS, 0, 0, NETWORK),
        shift(6),
        step(BPF_ALU | BPF_AND | BPF_K, 0, 0, u32::from(MOST_DSCP)),
    ];
    for (mark, number) in marks {
        program.push(step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, u32::from(*mark)));
        program.push(step(BPF_RET | BPF_K, 0, 0, *number));
    }
    program.push(step(BPF_RET | BPF_K, 0, 0, otherwise));
    program
}

fn attach(socket: impl AsFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads `len` instructions at `filter` and keeps a copy; both live until the
    // call returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::socket::{Connecting, first_ready, local_address};
    use crate::thread::{allowed_cpus, pin_current_thread};

    const LONG: Duration = Duration::from_secs(10);

    const HOW: Listen = Listen { reuse_address: true, dual_stack: true, backlog: 16 };

    /// Returns sockets of one group at a free port, one for each processor named.
    fn group(host: &str, cpus: &[Option<usize>]) -> io::Result<(SocketAddr, Vec<OwnedFd>)> {
        let mut at: SocketAddr = host.parse().unwrap();
        let mut sockets = Vec::new();
        for cpu in cpus {
            let socket = listen_shared(at, HOW, *cpu)?;
            at.set_port(local_address(&socket)?.port());
            sockets.push(socket);
        }
        Ok((at, sockets))
    }

    /// Connects, and returns which socket of a group received the connection.
    fn taken_by(at: SocketAddr, mark: Option<u8>, sockets: &[OwnedFd]) -> usize {
        let connecting = Connecting::start_marked(at, mark).unwrap();
        let made = first_ready([(connecting.as_fd(), false)], LONG).unwrap();
        assert_eq!(made, Some(0), "the connection is made");
        let _connected = connecting.finish().unwrap();
        crate::poll::any_readable(sockets.iter().map(AsFd::as_fd), Some(LONG)).unwrap();
        let has = |socket: &OwnedFd| crate::poll::readable(socket, Some(Duration::ZERO)).unwrap();
        let number = sockets.iter().position(has).expect("one has the connection");
        drop(socket::accept(&sockets[number]).unwrap());
        number
    }

    #[test]
    fn the_mark_of_the_first_packet_decides_in_either_family() {
        let marks = [(46, 2), (10, 1)];
        let mut families = 0;
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // The host may not support one of the two address families.
            let Ok((at, sockets)) = group(host, &[None; 3]) else {
                continue;
            };
            families += 1;
            by_mark(&sockets[1], &marks, 0).unwrap();
            for _ in 0..8 {
                assert_eq!(taken_by(at, Some(46), &sockets), 2, "{host}");
                assert_eq!(taken_by(at, Some(10), &sockets), 1, "{host}");
                assert_eq!(taken_by(at, Some(8), &sockets), 0, "{host}");
                assert_eq!(taken_by(at, None, &sockets), 0, "{host}");
            }
        }
        assert!(families > 0);
    }

    /// Packets over loopback are handled by the processor that sends them.
    #[test]
    fn a_socket_takes_the_connections_of_its_processor() {
        let cpus = allowed_cpus().unwrap();
        let wanted: Vec<_> = cpus.iter().map(|&cpu| Some(cpu)).collect();
        let (at, sockets) = group("127.0.0.1:0", &wanted).unwrap();
        std::thread::spawn(move || {
            for (number, cpu) in cpus.into_iter().enumerate() {
                pin_current_thread(cpu).unwrap();
                for _ in 0..8 {
                    assert_eq!(taken_by(at, None, &sockets), number, "processor {cpu}");
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_port_is_free_until_somebody_listens() {
        let (at, sockets) = group("127.0.0.1:0", &[None; 2]).unwrap();
        assert!(!is_free(at, HOW).unwrap());
        drop(sockets);
        assert!(is_free(at, HOW).unwrap());
    }

    #[test]
    fn marks_that_packets_cannot_have_are_refused() {
        let (_, sockets) = group("127.0.0.1:0", &[None]).unwrap();
        for marks in [&[(64, 0)][..], &[(1, 0); MOST_MARKS + 1]] {
            let error = by_mark(&sockets[0], marks, 0).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
