//! How the sockets that a lane accepts are set up.

use std::io;
use std::time::Duration;

use oxorb_giop::TcpProtocolProperties;
use oxorb_rt::Priority;
use oxorb_sys::socket;
use oxorb_transport::Link;

/// Of one lane; the default leaves sockets as they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SocketPlan {
    /// What ServerProtocolPolicy says of TCP.
    pub(crate) tcp: Option<TcpProtocolProperties>,
    /// How long reads look for packets in the device before they wait for its interrupt.
    pub(crate) busy_poll: Option<Duration>,
}

impl SocketPlan {
    /// For a connection that was just accepted by a lane of this priority. What needs a privilege that is missing is
    /// left out.
    pub(super) fn apply(&self, link: &dyn Link, priority: Option<Priority>) -> io::Result<()> {
        let Some(fd) = link.poll_fd() else {
            return Ok(());
        };
        if let Some(tcp) = self.tcp {
            let octets = |size: i32| usize::try_from(size).ok().filter(|size| *size > 0);
            socket::set_buffers(
                fd,
                octets(tcp.send_buffer_size),
                octets(tcp.recv_buffer_size),
            )?;
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
        }
        if let Some(time) = self.busy_poll {
            match socket::set_busy_poll(fd, time) {
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
