//! How the sockets of connections that were just accepted are set up.

use std::io;
use std::time::Duration;

use oxorb_object::TcpProtocolProperties;
use oxorb_rt::Priority;
use oxorb_sys::socket;
use oxorb_transport::Link;

/// As ServerProtocolPolicy says, for a lane of this priority.
pub(super) fn apply(
    tcp: &TcpProtocolProperties,
    link: &dyn Link,
    priority: Option<Priority>,
) -> io::Result<()> {
    let Some(fd) = link.poll_fd() else {
        return Ok(());
    };
    let octets = |size: i32| usize::try_from(size).ok().filter(|size| *size > 0);
    let (send, receive) = (octets(tcp.send_buffer_size), octets(tcp.recv_buffer_size));
    socket::set_buffers(fd, send, receive)?;
    if tcp.dont_route {
        socket::set_dont_route(fd, true)?;
    }
    if !tcp.keep_alive {
        link.set_keep_alive(None)?;
    }
    if let (true, Some(priority)) = (tcp.enable_network_priority, priority) {
        socket::set_dscp(fd, oxorb_rt::dscp(priority))?;
        // 0 to 6 go without privilege.
        let queue = i32::from(priority.get()) * 7 / (i32::from(Priority::MAX.get()) + 1);
        socket::set_queue_priority(fd, queue)?;
    }
    Ok(())
}

/// Has reads look for packets in the device for so long; without the privilege they wait for its interrupt.
pub(super) fn busy_poll(link: &dyn Link, time: Duration) -> io::Result<()> {
    let Some(fd) = link.poll_fd() else {
        return Ok(());
    };
    match socket::set_busy_poll(fd, time) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    }
}

/// Has what is sent go to a queue of the network device.
pub(super) fn socket_priority(link: &dyn Link, priority: u8) -> io::Result<()> {
    match link.poll_fd() {
        Some(fd) => socket::set_queue_priority(fd, priority.into()),
        None => Ok(()),
    }
}
