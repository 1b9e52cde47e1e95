//! Earlier connections, from which the server may still read requests.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_transport::Link;

use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicUsize, Ordering};

/// Connections on which a request was cut off. Each is kept until its server has read it to the end and closed it, or
/// until a time limit. Oneways before the cut-off request may still wait there for the server, and oneways over another
/// connection would overtake them. Usually there is one such connection, and more only if two threads opened
/// connections at the same time.
#[derive(Default)]
pub(super) struct GivenUp {
    kept: Mutex<Vec<GivenUpLink>>,
    /// Number of callers that wait for an answer, one of which may read.
    waiting: AtomicUsize,
}

struct GivenUpLink {
    link: Arc<dyn Link>,
    since: Instant,
}

/// State of the earlier connections.
#[derive(Default)]
pub(super) struct Before {
    /// Whether the server may still have to read requests from one of them.
    pub(super) unread: bool,
    /// Peers that did not read in time. Their connections were closed, so the order of the oneways is lost.
    pub(super) overdue: Vec<String>,
}

/// Guard of a waiting caller.
pub(super) struct Waits<'g>(&'g GivenUp);

/// Maximum number of connections that are kept; for a further one the oldest is closed.
const MOST: usize = 8;

/// Maximum number of octets of late replies that one check reads.
const LOOK: usize = 64 << 10;

impl GivenUp {
    /// Ends a connection for writing, and keeps it; `fail` ends its calls. From then on no caller begins to read it.
    pub(super) fn keep(&self, link: &Arc<dyn Link>, fail: impl FnOnce()) {
        // The lock is held until the connection is kept, because a caller that finds the connection unusable checks
        // this list next.
        let mut kept = self.kept.lock();
        fail();
        link.close_write();
        if kept.len() == MOST {
            kept.remove(0).link.close();
        }
        kept.push(GivenUpLink { link: Arc::clone(link), since: clock::now() });
    }

    /// Counts a caller that waits for its answer.
    pub(super) fn waits(&self) -> Waits<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waits(self)
    }

    /// Checks whether servers have read everything and closed the connections, or no longer exist. A connection that
    /// has waited for `limit` is closed. Makes a few system calls at most while there is such a connection.
    pub(super) fn look(&self, limit: Duration) -> Before {
        let mut kept = self.kept.lock();
        // While a caller may read a connection, it is not read here, because each reader would get a part of a reply.
        let may_read = self.waiting.load(Ordering::SeqCst) == 0;
        let mut overdue = Vec::new();
        kept.retain(|one| {
            let ended = may_read && has_ended(&*one.link);
            let late = !ended && clock::since(one.since) >= limit;
            if late {
                overdue.push(one.link.peer());
            }
            if ended || late {
                one.link.close();
            }
            !ended && !late
        });
        Before { unread: !kept.is_empty(), overdue }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Reports whether a connection has ended. Reads late replies, which come before the end.
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

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use oxorb_transport::Transport;
    use oxorb_transport::tcp::{Place, Tcp};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Returns both ends of a connection.
    fn connection() -> (Arc<dyn Link>, Arc<dyn Link>) {
        let acceptor = Tcp.listen(&Place::new("127.0.0.1", 0).into()).unwrap();
        let address = Tcp.own_address(acceptor.endpoint());
        let ours = oxorb_transport::connect(&Tcp, &address, LONG).unwrap();
        (ours.into(), acceptor.accept().unwrap().into())
    }

    #[test]
    fn none_of_several_connections_is_forgotten_before_it_was_read() {
        let (given_up, ends) = (GivenUp::default(), [connection(), connection()]);
        for (ours, _) in &ends {
            given_up.keep(ours, || {});
        }
        assert!(given_up.look(LONG).unread);
        ends[1].1.close();
        assert!(given_up.look(LONG).unread);
        ends[0].1.close();
        while given_up.look(LONG).unread {
            std::thread::yield_now();
        }
        assert_eq!(given_up.kept.lock().len(), 0);
    }

    #[test]
    fn a_connection_that_nobody_reads_is_closed_when_its_time_is_over() {
        let given_up = GivenUp::default();
        let (ours, theirs) = connection();
        given_up.keep(&ours, || {});
        let waits = given_up.waits();
        let before = given_up.look(Duration::ZERO);
        assert!(!before.unread);
        assert_eq!(before.overdue, [ours.peer()]);
        drop(waits);
        assert!(given_up.look(Duration::ZERO).overdue.is_empty());
        assert!(ours.write(&mut [IoSlice::new(b"GIOP")]).is_err());
        theirs.close();
    }

    #[test]
    fn no_more_than_a_few_connections_are_kept() {
        let given_up = GivenUp::default();
        let ends: Vec<_> = (0..=MOST).map(|_| connection()).collect();
        for (ours, _) in &ends {
            given_up.keep(ours, || {});
        }
        assert_eq!(given_up.kept.lock().len(), MOST);
        assert!(ends[0].0.is_dead());
    }
}
