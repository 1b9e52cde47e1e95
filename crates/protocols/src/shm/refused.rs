//! Clients that are refused, and what they sent.
//!
//! Closing a socket closes the descriptors that wait there, up to 253 with each message, and files may take their time: a TCP
//! socket with a long SO_LINGER holds the thread that closes it. So one thread of the process closes them, and nobody waits
//! for it. It ends when there are none.

use std::os::fd::OwnedFd;

use oxorb_sys::schedule::Schedule;
use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::sync::{Mutex, MutexGuard};
use oxorb_sys::{thread, unix};

/// Most sockets that wait to be closed. With more, those who accept close them, and wait.
const MOST: usize = 64;

#[derive(Default)]
struct Refused {
    waiting: Vec<OwnedFd>,
    /// The thread runs.
    runs: bool,
}

static REFUSED: Mutex<Refused> = Mutex::new(Refused { waiting: Vec::new(), runs: false });

fn refused() -> MutexGuard<'static, Refused> {
    REFUSED.lock()
}

/// Closes the socket of a client, and what waits there. Waits for files to be closed only where [`MOST`] others wait as well,
/// or the system has no thread.
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
        let started =
            thread::Builder::new("oxorb-shm-refused").schedule(Schedule::default()).spawn(run);
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
