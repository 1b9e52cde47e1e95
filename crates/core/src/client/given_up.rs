//! The connection before the present one, while its server may still read requests from it.

use std::io::ErrorKind;
use std::sync::Arc;

use oxorb_transport::Link;

use crate::lock::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A connection on which a request was cut off, until its server has read it to the end and closed it. Oneways before the
/// one that was cut off may wait there for their server: others that went over another connection would overtake them.
#[derive(Default)]
pub(super) struct GivenUp {
    link: Mutex<Option<Arc<dyn Link>>>,
    /// Callers that wait for an answer, one of whom may read.
    waiting: AtomicUsize,
}

/// One of the callers that wait.
pub(super) struct Waits<'g>(&'g GivenUp);

/// Octets of late replies that one look takes.
const LOOK: usize = 64 << 10;

impl GivenUp {
    /// Ends a connection for writing, and remembers it; `fail` ends its calls. From then on no caller begins to read it.
    pub(super) fn keep(&self, link: &Arc<dyn Link>, fail: impl FnOnce()) {
        // Held until it is remembered: whoever finds the connection of no use looks here next.
        let mut kept = self.link.lock().expect(UNPOISONED);
        fail();
        link.close_write();
        *kept = Some(Arc::clone(link));
    }

    /// Notes that a caller waits for its answer.
    pub(super) fn waits(&self) -> Waits<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waits(self)
    }

    /// Whether the server has read everything and closed the connection, or is gone. A few system calls at most while there
    /// is such a connection.
    pub(super) fn was_read(&self) -> bool {
        let mut kept = self.link.lock().expect(UNPOISONED);
        let Some(link) = &*kept else {
            return true;
        };
        // Two that read would each have a part of a reply.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return false;
        }
        let ended = has_ended(&**link);
        if ended {
            link.close();
            *kept = None;
        }
        ended
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether a connection has come to its end. Takes late replies, which come before it.
fn has_ended(link: &dyn Link) -> bool {
    let mut replies = Vec::new();
    while replies.len() < LOOK {
        let room = LOOK - replies.len();
        match link.read_now(&mut replies, room) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
    false
}

const UNPOISONED: &str = "no panic while the lock is held";
