//! Launch times of datagrams (SO_TXTIME).
//!
//! The queueing discipline `fq` holds a datagram until its launch time, by the monotonic clock. A device without this
//! discipline sends the datagram immediately. No privilege is required.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, TxTimeFlags, sendmsg_addr, sockopt,
};
use rustix::time::{ClockId, clock_gettime};

/// Enables launch times on a socket.
pub(super) fn prepare(socket: &UdpSocket) -> io::Result<()> {
    let flags = TxTimeFlags::empty();
    Ok(sockopt::set_txtime(socket, ClockId::Monotonic, flags)?)
}

/// Returns the launch time for a delay from now, in nanoseconds of the monotonic clock.
pub(super) fn moment(after: Duration) -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = now.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000);
    let now = seconds.wrapping_add(now.tv_nsec.cast_unsigned());
    now.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
}

/// Sends a datagram with a launch time. Makes one system call and allocates no memory.
pub(super) fn send_at(
    socket: &UdpSocket,
    octets: &[u8],
    to: SocketAddr,
    moment: u64,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(TxTime(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::TxTime(moment));
    let octets = [IoSlice::new(octets)];
    sendmsg_addr(socket, &to, &octets, &mut control, SendFlags::empty())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_the_clock_and_takes_the_moment() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let limit = Some(Duration::from_secs(30));
        receiver.set_read_timeout(limit).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        prepare(&sender).unwrap();
        let (clock, flags) = sockopt::get_txtime(&sender).unwrap();
        assert!(matches!(clock, ClockId::Monotonic) && flags.is_empty());
        let begun = moment(Duration::from_millis(2));
        send_at(&sender, b"event", receiver.local_addr().unwrap(), begun).unwrap();
        let mut octets = [0; 16];
        assert_eq!(receiver.recv(&mut octets).unwrap(), 5);
        assert!(moment(Duration::MAX) > begun);
    }
}
