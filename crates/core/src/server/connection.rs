//! One client's connection: octets in, answered messages out.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_cdr::ByteOrder;
use oxorb_giop::{Inbox, Version};
use oxorb_transport::Link;

use super::Sink;
use super::dispatch::{Next, Session, refuse};
use super::stand_in::{self, Desk, Home};
use crate::Orb;
use crate::lock::Mutex;

/// A connection that was accepted, and what belongs to it alone.
pub(crate) struct Connection {
    /// Its number in the registry.
    pub(super) id: u64,
    pub(crate) link: Arc<dyn Link>,
    /// On the desk of the thread that serves it, while one does.
    pub(super) inbox: Option<Inbox>,
    sink: Sink,
    pub(super) session: Session,
    /// Who may write, once several threads have served it.
    pub(super) turn: Option<Arc<Mutex<()>>>,
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
const TURN: usize = 4;

/// Why [`Connection::serve`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// Nothing more to read within the read timeout.
    Idle,
    /// The connection is at its end, in order or not.
    Ended,
    /// A stand-in has taken it over.
    HandedOver,
}

impl Connection {
    pub(crate) fn new(orb: &Orb, id: u64, link: Arc<dyn Link>) -> Connection {
        let inbox = Inbox::new(&orb.options().limits);
        Connection::of(id, link, inbox, Session::default(), None)
    }

    /// A connection that somebody has served before.
    pub(super) fn of(
        id: u64,
        link: Arc<dyn Link>,
        inbox: Inbox,
        session: Session,
        turn: Option<Arc<Mutex<()>>>,
    ) -> Connection {
        Connection {
            id,
            inbox: Some(inbox),
            sink: Sink::to_link(Arc::clone(&link)),
            session,
            turn,
            version: Version::V1_0,
            pace: None,
            link,
        }
    }

    /// Serves requests until none comes within the link's read timeout. While
    /// `may_wait` says no, until none is there or it had its turn.
    pub(crate) fn serve(&mut self, orb: &Orb, home: &Home, may_wait: impl Fn() -> bool) -> Served {
        let (served, handed_over) = stand_in::at_desk(orb, home, self, |desk, connection| {
            connection.serve_at(desk, orb, may_wait)
        });
        if handed_over {
            Served::HandedOver
        } else {
            served
        }
    }

    fn serve_at(&mut self, desk: &Desk, orb: &Orb, may_wait: impl Fn() -> bool) -> Served {
        let mut reads = 0;
        loop {
            loop {
                let polled = desk.inbox().poll();
                match polled {
                    Ok(None) => break,
                    Ok(Some(header)) => {
                        self.version = header.version;
                        if desk.run(orb, &mut self.sink) == Next::Close {
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
            if orb.is_closing() || self.has_stalled(&desk.inbox(), orb.options().stall_timeout) {
                return Served::Ended;
            }
            if !may_wait() && (reads >= TURN || !self.link.has_input().unwrap_or(true)) {
                return Served::Idle;
            }
            let mut inbox = desk.inbox();
            let (buffer, room) = inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => return Served::Ended,
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
        let Some(inbox) = self.inbox.take() else {
            return false;
        };
        let stalled = self.has_stalled(&inbox, limit);
        self.inbox = Some(inbox);
        stalled
    }

    fn has_stalled(&mut self, inbox: &Inbox, limit: Duration) -> bool {
        if !inbox.mid_message() {
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

    /// For the last thread that served it: closes it. A client that is left by
    /// an ORB that ends is told that nothing it sent since was run.
    pub(crate) fn close(mut self, orb: &Orb) {
        if orb.is_closing() {
            self.part();
        }
        self.link.close();
    }

    fn part(&mut self) {
        self.sink.send_octets(&oxorb_giop::close_connection(
            self.version,
            ByteOrder::NATIVE,
        ));
    }
}
