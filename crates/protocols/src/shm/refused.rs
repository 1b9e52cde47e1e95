//! Rejected clients and the descriptors that they sent.
//!
//! Closing a socket closes the descriptors in its queue, up to 253 with each message, and that may
//! take time: a TCP socket with a long SO_LINGER blocks the closing thread. So one thread of the
//! process closes them, and no other thread waits for it. It ends when none are left.

use std::os::fd::OwnedFd;

use oxorb_sys::schedule::ThreadPriority;
use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::sync::{Mutex, MutexGuard};
use oxorb_sys::{thread, unix};

/// Maximum number of sockets that wait to be closed. Beyond it, accepting threads close them
/// themselves, and wait.
const MOST: usize = 64;

#[derive(Default)]
struct Refused {
    waiting: Vec<OwnedFd>,
    /// Whether the thread runs.
    runs: bool,
}

static REFUSED: Mutex<Refused> = Mutex::new(Refused { waiting: Vec::new(), runs: false });

fn refused() -> MutexGuard<'static, Refused> {
    REFUSED.lock()
}

/// Closes the socket of a client with its queued descriptors. Waits for descriptors to be closed
/// only if [`MOST`] others wait as well, or the system provides no thread.
pub(crate) fn close(client: OwnedFd) {
    let _ = socket::shutdown(&client, Shutdown::Both);
    if matches!(unix::octets_waiting(&client), Ok(0)) {
        return;
    }
    let mut refused = refused();
    if refused.waiting.len() >= MOST {
        drop(refused);
        return drop(client);
    }
    refused.waiting.push(client);
    if !refused.runs {
        let started = thread::Builder::new("oxorb-shm-refused")
            .schedule(ThreadPriority::default())
            .spawn(run);
        refused.runs = started.is_ok();
        if started.is_err() {
            let waiting = std::mem::take(&mut refused.waiting);
            drop(refused);
            drop(waiting);
        }
    }
}

fn run() {
    loop {
        let mut refused = refused();
        let Some(client) = refused.waiting.pop() else {
            refused.runs = false;
            return;
        };
        drop(refused);
        drop(client);
    }
}
