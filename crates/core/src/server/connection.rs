//! One client's connection: octets in, answered messages out.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_cdr::ByteOrder;
use oxorb_giop::{Inbox, Version};
use oxorb_transport::Link;

use super::Sink;
use super::dispatch::{Next, Session, dispatch, refuse};
use crate::Orb;

/// A connection that was accepted, and what belongs to it alone.
pub(crate) struct Connection {
    pub(crate) link: Arc<dyn Link>,
    inbox: Inbox,
    sink: Sink,
    session: Session,
    /// Of the last message; what the client certainly understands.
    version: Version,
    /// When the message that is still incomplete began to stall.
    stalled_since: Option<Instant>,
}

/// Why [`Connection::serve`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// Nothing more to read within the read timeout.
    Idle,
    /// The connection is at its end, in order or not.
    Ended,
}

impl Connection {
    pub(crate) fn new(orb: &Orb, link: Arc<dyn Link>) -> Connection {
        Connection {
            inbox: Inbox::new(&orb.options().limits),
            sink: Sink::to_link(Arc::clone(&link)),
            session: Session::default(),
            version: Version::V1_0,
            stalled_since: None,
            link,
        }
    }

    /// Serves requests until none comes within the link's read timeout, or at
    /// once none is there while `may_wait` says no.
    pub(crate) fn serve(&mut self, orb: &Orb, may_wait: impl Fn() -> bool) -> Served {
        loop {
            loop {
                match self.inbox.poll() {
                    Ok(None) => break,
                    Ok(Some(header)) => {
                        self.version = header.version;
                        let frame = self.inbox.frame();
                        if dispatch(orb, frame, &mut self.session, &mut self.sink) == Next::Close {
                            return Served::Ended;
                        }
                    }
                    Err(violation) => {
                        refuse(&violation, self.version, &mut self.sink);
                        return Served::Ended;
                    }
                }
                if orb.is_closing() {
                    break;
                }
            }
            if orb.is_closing() {
                self.part();
                return Served::Ended;
            }
            if !may_wait() && !self.link.has_input().unwrap_or(true) {
                return Served::Idle;
            }
            let (buffer, room) = self.inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => {
                    if orb.is_closing() {
                        self.part();
                    }
                    return Served::Ended;
                }
                Ok(_) => self.stalled_since = None,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Served::Idle,
                    _ => return Served::Ended,
                },
            }
        }
    }

    /// Whether a half message has waited for its rest longer than `limit`.
    /// To be asked each time [`serve`](Self::serve) found nothing to read.
    pub(crate) fn stalled(&mut self, limit: Duration) -> bool {
        if !self.inbox.mid_message() {
            self.stalled_since = None;
            return false;
        }
        self.stalled_since
            .get_or_insert_with(Instant::now)
            .elapsed()
            >= limit
    }

    /// Tells the client that nothing it sent from now on was run.
    fn part(&mut self) {
        self.sink.send_octets(&oxorb_giop::close_connection(
            self.version,
            ByteOrder::NATIVE,
        ));
    }
}
