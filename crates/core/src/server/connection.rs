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
    /// The time the client has for its next octets of a message in pieces.
    pace: Option<Pace>,
}

/// How a message that arrives in pieces gets on.
struct Pace {
    since: Instant,
    /// Octets since then.
    octets: usize,
}

/// So many octets of a message are due in each `stall_timeout`: one that comes
/// octet by octet stalls, too.
const PACE: usize = 1024;

/// So many reads from one connection, then it is the others' turn, if there
/// are any and no other worker looks after them.
const TURN: usize = 32;

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
            pace: None,
            link,
        }
    }

    /// Serves requests until none comes within the link's read timeout. While
    /// `may_wait` says no, until none is there or it had its turn.
    pub(crate) fn serve(&mut self, orb: &Orb, may_wait: impl Fn() -> bool) -> Served {
        let mut reads = 0;
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
            if self.stalled(orb.options().stall_timeout) {
                return Served::Ended;
            }
            if !may_wait() && (reads >= TURN || !self.link.has_input().unwrap_or(true)) {
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
                Ok(octets) => {
                    reads += 1;
                    if let Some(pace) = &mut self.pace {
                        pace.octets += octets;
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Served::Idle,
                    _ => return Served::Ended,
                },
            }
        }
    }

    /// Whether a message in pieces has not got on for `limit`. To be asked also
    /// while the connection waits. Costs nothing while messages come whole.
    pub(crate) fn stalled(&mut self, limit: Duration) -> bool {
        if !self.inbox.mid_message() {
            self.pace = None;
            return false;
        }
        match &mut self.pace {
            Some(pace) if pace.octets < PACE => pace.since.elapsed() >= limit,
            pace => {
                *pace = Some(Pace {
                    since: Instant::now(),
                    octets: 0,
                });
                false
            }
        }
    }

    /// Tells the client that nothing it sent from now on was run.
    fn part(&mut self) {
        self.sink.send_octets(&oxorb_giop::close_connection(
            self.version,
            ByteOrder::NATIVE,
        ));
    }
}
