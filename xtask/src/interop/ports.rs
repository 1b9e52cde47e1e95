//! Ports of servers that receive their ports before they start.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Mutex;

/// Number of ports that one mark reserves.
const BLOCK: u16 = 8;

/// Returns the first of `count` neighbouring free ports, below those that the kernel assigns by
/// default, and reserves them until this process ends.
///
/// The marks are those of `oxorb_testkit::net::free_port`, a crate that xtask must not depend on.
pub(super) fn reserve(count: u16) -> Result<u16, String> {
    static MARKS: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());
    for first in (21_000..32_000_u16.saturating_sub(count)).step_by(usize::from(BLOCK)) {
        let mut ports = first..first + count;
        let marks: Option<Vec<_>> = ports.clone().step_by(usize::from(BLOCK)).map(mark).collect();
        let Some(marks) = marks else { continue };
        if ports.all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            MARKS.lock().expect("nothing panics").extend(marks);
            return Ok(first);
        }
    }
    Err(format!("no {count} neighbouring free ports between 21000 and 32000"))
}

/// Marks the block of ports that begins at `port`, unless another process has marked it.
fn mark(port: u16) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("oxorb-test-port-{port}"));
    UnixDatagram::bind_addr(&name.expect("a short name")).ok()
}
