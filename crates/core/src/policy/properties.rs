//! Protocol properties of policies, as connections use them.

use std::time::Duration;

use oxorb_object::{ProtocolProperties, TcpProtocolProperties};
use oxorb_transport::Properties;

/// Idle time after which the system probes the other side, if a policy enables it.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Returns the connection properties that a policy sets for a protocol; none by default.
pub(crate) fn properties(of: &ProtocolProperties) -> Properties {
    match of {
        ProtocolProperties::Tcp(tcp) => stream(tcp),
        ProtocolProperties::UnixDomain(unix) => {
            buffers(unix.send_buffer_size, unix.recv_buffer_size)
        }
        ProtocolProperties::SharedMemory(memory) => {
            buffers(memory.send_buffer_size, memory.recv_buffer_size)
        }
        _ => Properties::default(),
    }
}

fn stream(tcp: &TcpProtocolProperties) -> Properties {
    Properties {
        keep_alive: Some(tcp.keep_alive.then_some(KEEP_ALIVE)),
        delay: Some(!tcp.no_delay),
        dont_route: tcp.dont_route.then_some(true),
        ..buffers(tcp.send_buffer_size, tcp.recv_buffer_size)
    }
}

fn buffers(send: i32, receive: i32) -> Properties {
    let octets = |size: i32| usize::try_from(size).ok().filter(|size| *size > 0);
    Properties {
        send_buffer: octets(send),
        receive_buffer: octets(receive),
        ..Properties::default()
    }
}
