//! Reception of connections at ports that all lanes share: the first message of a connection selects its lane.
//!
//! ```text
//! acceptor thread (accept.rs)     accepts a connection, reads what has arrived
//! thread of the reception         reads on, whenever octets arrive
//!   first message names an object   -> lane of the object at the priority of the caller
//!   any other first message         -> the ORB's own threads
//!   slow, long, or one too many     -> least urgent lane
//! ```
//!
//! No step waits for a client. A connection over which nothing has arrived stays here, at the cost of its entry,
//! because a client may connect long before it calls. The threads have the priority of the most urgent lane for a
//! limited number of steps per second, and that of the least urgent lane beyond this number: an urgent client thus does
//! not wait for other lanes until it is connected, and a flood of connections does not delay all lanes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_giop::{FirstMessage, Wire};
use oxorb_rt::Priority;
use oxorb_sys::poll::Token;
use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::{Endpoint, Link, PeerId};

use super::accept::{admit, serve, turn_away};
use super::lane::Lane;
use super::reactor::{self, Armed, Reactor};
use super::registry::AdmittedConnection;
use crate::reference::LaneOf;
use crate::scheduler::budget::Bucket;
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::thread;
use crate::{Incident, Options, Orb, ReactorChoice};

const NAME: &str = "oxorb-reception";

/// Maximum number of connections in reception.
const MOST_CONNECTIONS: usize = 256;

/// Maximum number of octets that are read from a connection in reception. The header fields of usual requests, service
/// contexts included, are much shorter.
const MOST_OCTETS: usize = 8 << 10;

/// Maximum number of reads from a connection in reception, so that a client that sends single octets costs little.
const MOST_READS: usize = 64;

/// Longest time from the first octet of a connection until its first message selects a lane, unless a message may stall
/// for less.
const LONGEST: Duration = Duration::from_secs(5);

/// Time between two checks of the connections in reception.
const TICK: Duration = Duration::from_millis(500);

/// Number of steps per second at the priority of the most urgent lane.
const URGENT_PER_SECOND: u64 = 1000;

/// Number of such steps that may follow each other immediately.
const URGENT_AT_ONCE: u64 = 100;

/// Cost of a step, in nanoseconds of the bucket.
const STEP: u64 = 1_000_000_000 / URGENT_PER_SECOND;

/// Connections whose first message has not arrived.
pub(super) struct Reception {
    reactor: Arc<dyn Reactor>,
    waiting: Mutex<HashMap<u64, Newcomer>>,
    /// Lane of the ORB's own threads; `None` if each connection has a thread.
    own: Option<Arc<Lane>>,
    /// Steps at the priority of the most urgent lane that are left.
    urgent: Bucket,
}

/// Connection in reception.
struct Newcomer {
    admitted: AdmittedConnection,
    link: Arc<dyn Link>,
    client: PeerId,
    wire: Wire,
    /// Tag of the profiles of its protocol.
    tag: u32,
    /// Octets that were read.
    octets: Vec<u8>,
    /// Time of the first read that its client caused.
    since: Option<Instant>,
    /// Number of such reads.
    reads: usize,
    /// Whether the reactor knows the link.
    is_watched: bool,
}

/// Threads that a connection is passed to.
#[derive(Clone, Copy)]
enum Recipient {
    Lane(LaneOf),
    /// Least urgent lane of all threadpools.
    LeastUrgent,
    /// The ORB's own threads.
    Orb,
}

impl Reception {
    /// Starts the thread of a reception. `own` is the lane of the ORB's own threads, if they share connections.
    pub(super) fn start(orb: &Orb, own: Option<&Arc<Lane>>) -> io::Result<Arc<Reception>> {
        let reception = Arc::new(Reception {
            reactor: Arc::from(reactor::make(ReactorChoice::Epoll)?),
            waiting: Mutex::default(),
            own: own.cloned(),
            urgent: urgent_steps(),
        });
        let (orb, receiving) = (orb.clone(), Arc::clone(&reception));
        let threads = Arc::clone(&orb.shared().threads);
        threads.spawn(ThreadPurpose::Acceptor, NAME, None, move || receiving.work(&orb))?;
        Ok(reception)
    }

    /// Reports whether octets of a link can be read before its lane is known.
    pub(super) fn suits(link: &dyn Link, wire: Wire) -> bool {
        wire.messaging().is_none()
            && link.facts().stream
            && link.poll_fd().is_some()
            && link.lender().is_none()
    }

    /// Receives a new connection of the protocol whose profiles have this tag.
    pub(super) fn welcome(
        &self,
        orb: &Orb,
        endpoint: &Endpoint,
        link: Arc<dyn Link>,
        tag: u32,
        wire: Wire,
    ) {
        let Some(admitted) = admit(orb, endpoint, &link, wire) else {
            return;
        };
        let client = link.identity().client();
        let newcomer = Newcomer {
            admitted,
            link,
            client,
            wire,
            tag,
            octets: Vec::new(),
            since: None,
            reads: 0,
            is_watched: false,
        };
        self.receive(orb, newcomer);
    }

    /// Sets the priority of the calling thread for its next step: that of the most urgent lane or, if the number of
    /// such steps is used up, that of the least urgent lane.
    pub(super) fn take_turn(&self, orb: &Orb) {
        let is_urgent = self.urgent.take(clock::monotonic_nanoseconds(), STEP);
        self.set_priority(orb, is_urgent);
    }

    /// Sets the priority of the calling thread before it waits: that of the most urgent lane if its next step may have
    /// it. If the thread runs `handshakes` of clients meanwhile, it has the priority of the least urgent lane, because
    /// handshakes are not counted as steps.
    pub(super) fn expect_client(&self, orb: &Orb, handshakes: bool) {
        let is_urgent = !handshakes && !self.urgent.lacks(clock::monotonic_nanoseconds(), STEP);
        self.set_priority(orb, is_urgent);
    }

    fn set_priority(&self, orb: &Orb, is_urgent: bool) {
        let Some((least, most)) = orb.pools().extremes() else {
            return;
        };
        let lane = if is_urgent { most } else { least };
        if let Some(priority) = lane.priority() {
            // A missing native priority was reported when the lane was created, so the error is ignored here.
            let _ = orb.shared().priorities().set(priority);
        }
    }

    /// Returns the reactor at which the thread of the reception waits; to wake it there makes it notice the end of the
    /// ORB.
    pub(super) fn reactor(&self) -> Arc<dyn Reactor> {
        Arc::clone(&self.reactor)
    }

    /// Runs the thread of the reception, until the last connection of the ORB has ended.
    fn work(&self, orb: &Orb) {
        let mut looked = clock::now();
        while !orb.registry().has_ended() {
            self.expect_client(orb, false);
            match self.reactor.wait_one(TICK) {
                Ok(Some(Token(id))) => {
                    self.take_turn(orb);
                    if let Some(newcomer) = self.take(id) {
                        self.receive(orb, newcomer);
                    }
                }
                Ok(None) => {}
                Err(_) => thread::sleep(TICK),
            }
            if clock::since(looked) >= TICK {
                looked = clock::now();
                self.look_after_waiting(orb);
            }
        }
    }

    /// Reads what has arrived over a connection, and passes the connection on if that selects its threads.
    fn receive(&self, orb: &Orb, mut newcomer: Newcomer) {
        let room = MOST_OCTETS - newcomer.octets.len();
        let read = newcomer.link.read_now(&mut newcomer.octets, room);
        match &read {
            Ok(0) => return self.end(orb, newcomer),
            Ok(_) => {}
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => {}
                _ => return self.end(orb, newcomer),
            },
        }
        // A report without octets counts, too: over TLS, a client can send a record octet by octet, and nothing can be
        // read before the record is complete.
        if read.is_ok() || newcomer.is_watched {
            newcomer.reads += 1;
            newcomer.since.get_or_insert_with(clock::now);
        }
        let recipient = match FirstMessage::parse(&newcomer.octets) {
            FirstMessage::Request { key, priority } => {
                let priority = priority.and_then(|priority| Priority::new(priority).ok());
                let lane = orb.lane_of(key, priority);
                Some(lane.map_or(Recipient::Orb, Recipient::Lane))
            }
            FirstMessage::Other => Some(Recipient::Orb),
            FirstMessage::Incomplete => {
                let over = newcomer.octets.len() >= MOST_OCTETS || newcomer.reads >= MOST_READS;
                over.then_some(Recipient::LeastUrgent)
            }
        };
        match recipient {
            Some(recipient) => self.pass_on(orb, newcomer, recipient),
            None => self.wait(orb, newcomer),
        }
    }

    /// Keeps a connection until more octets arrive. If there are too many, one of them makes room.
    fn wait(&self, orb: &Orb, mut newcomer: Newcomer) {
        if newcomer.octets.is_empty() {
            newcomer.octets = Vec::new(); // a read reserves memory even if no octets have arrived
        }
        let (id, link) = (newcomer.admitted.id, Arc::clone(&newcomer.link));
        let was_watched = std::mem::replace(&mut newcomer.is_watched, true);
        let displaced = {
            let mut waiting = self.waiting.lock();
            let displaced = match waiting.len() < MOST_CONNECTIONS {
                true => None,
                false => displaced(waiting.iter().map(|(id, one)| (*id, &one.client))),
            };
            let displaced = displaced.and_then(|id| waiting.remove(&id));
            waiting.insert(id, newcomer);
            displaced
        };
        if let Some(displaced) = displaced {
            self.pass_on(orb, displaced, Recipient::LeastUrgent);
        }
        let armed = match was_watched {
            true => self.reactor.rearm(&link, Token(id), Armed::Once),
            false => self.reactor.add(&link, Token(id), Armed::Once),
        };
        if armed.is_err()
            && let Some(newcomer) = self.take(id)
        {
            self.pass_on(orb, newcomer, Recipient::LeastUrgent);
        }
    }

    /// Passes a connection on to the threads that serve it.
    fn pass_on(&self, orb: &Orb, newcomer: Newcomer, to: Recipient) {
        let Newcomer { admitted, link, wire, tag, octets, is_watched, .. } = newcomer;
        if is_watched {
            let _ = self.reactor.remove(&link);
        }
        let lane = match to {
            Recipient::Lane(name) => orb.pools().named(name),
            Recipient::LeastUrgent => orb.pools().extremes().map(|(least, _)| least),
            Recipient::Orb => None,
        };
        if let Some(lane) = &lane {
            orb.pools().set_up(lane, &*link, tag);
        }
        serve(orb, admitted, link, &octets, lane.as_ref().or(self.own.as_ref()), wire);
    }

    /// Passes on connections whose first message takes too long, and ends those that were idle for too long.
    fn look_after_waiting(&self, orb: &Orb) {
        let limit = orb.options().idle_timeout;
        let longest = longest(orb.options());
        let is_slow = |newcomer: &Newcomer| {
            newcomer.since.is_some_and(|since| clock::since(since) >= longest)
        };
        let is_idle =
            |newcomer: &Newcomer| orb.registry().is_overdue(&newcomer.admitted.status, limit);
        let mut waiting = self.waiting.lock();
        let slow: Vec<Newcomer> =
            waiting.extract_if(|_, newcomer| is_slow(newcomer)).map(|(_, one)| one).collect();
        let idle: Vec<Newcomer> =
            waiting.extract_if(|_, newcomer| is_idle(newcomer)).map(|(_, one)| one).collect();
        drop(waiting);
        for newcomer in slow {
            self.pass_on(orb, newcomer, Recipient::LeastUrgent);
        }
        for newcomer in idle {
            let link = &newcomer.link;
            orb.shared().note(Incident::IdleClosed, || link.peer(), String::new);
            self.end(orb, newcomer);
        }
    }

    /// Ends a connection that its client or this side has closed.
    fn end(&self, orb: &Orb, newcomer: Newcomer) {
        let Newcomer { admitted, link, wire, is_watched, .. } = newcomer;
        if is_watched {
            let _ = self.reactor.remove(&link);
        }
        match orb.is_closing() || admitted.status.was_told_to_end() {
            true => turn_away(link, wire),
            false => link.close(),
        }
        orb.registry().remove(admitted.id);
    }

    fn take(&self, id: u64) -> Option<Newcomer> {
        self.waiting.lock().remove(&id)
    }
}

/// Returns the longest time for the first message of a connection. The reception thus at most doubles the time after
/// which a connection is closed that stalls within a message.
fn longest(options: &Options) -> Duration {
    LONGEST.min(options.stall_timeout)
}

/// Returns the bucket of the steps at the priority of the most urgent lane, full.
fn urgent_steps() -> Bucket {
    let steps = Bucket::default();
    steps.set_depth(URGENT_AT_ONCE * STEP);
    steps
}

/// Returns the connection that makes room for another one: the oldest of the client that has the most. Each is given by
/// its number, which increases, and its client.
fn displaced<'n>(waiting: impl Iterator<Item = (u64, &'n PeerId)>) -> Option<u64> {
    let mut clients: HashMap<&PeerId, (usize, u64)> = HashMap::new();
    for (id, client) in waiting {
        let (count, oldest) = clients.entry(client).or_insert((0, id));
        *count += 1;
        *oldest = id.min(*oldest);
    }
    let most = clients.into_values().max_by_key(|(count, oldest)| (*count, Reverse(*oldest)));
    most.map(|(_, oldest)| oldest)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn the_oldest_connection_of_the_client_with_the_most_makes_room() {
        let [one, two] = [1, 2].map(|last| PeerId::Ip(IpAddr::from([192, 0, 2, last])));
        let of = |waiting: &[(u64, &PeerId)]| displaced(waiting.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(7, &one)]), Some(7));
        assert_eq!(of(&[(3, &two), (9, &one), (5, &one), (7, &one), (4, &two)]), Some(5));
        assert_eq!(of(&[(8, &one), (6, &two)]), Some(6), "the oldest of equals");
    }

    #[test]
    fn a_first_message_takes_no_longer_than_a_message_may_stall() {
        let longest_of = |stall_timeout| longest(&Options { stall_timeout, ..Options::default() });
        assert_eq!(longest_of(Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(longest_of(Duration::from_secs(60)), LONGEST);
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod link_tests {
    use std::io::IoSlice;
    use std::sync::atomic::{AtomicBool, Ordering};

    use oxorb_object::Version;
    use oxorb_testkit::until;
    use oxorb_transport::WriteError;
    use oxorb_transport::mem::{self, MemLink};

    use super::*;
    use crate::Orb;

    /// Link that has input, but returns no octets without waiting, as TLS does after a part of a record.
    struct PartOfRecord {
        inner: MemLink,
        /// Whether a thread that serves the connection has read.
        served: Arc<AtomicBool>,
    }

    impl Link for PartOfRecord {
        fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
            self.served.store(true, Ordering::SeqCst);
            self.inner.read(buffer, max)
        }

        fn read_now(&self, _: &mut Vec<u8>, _: usize) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
            self.inner.write(slices)
        }

        fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
            self.inner.set_write_timeout(timeout)
        }

        oxorb_transport::forward_to_link!(inner);
    }

    #[test]
    fn urgent_steps_are_limited_at_once_and_in_each_second() {
        let (steps, now) = (urgent_steps(), 1_000_000_000);
        let at_once = (0..2 * URGENT_AT_ONCE).filter(|_| steps.take(now, STEP));
        assert_eq!(at_once.count() as u64, URGENT_AT_ONCE);
        // Ten attempts for each step that the next second permits.
        let later = (1..=10 * URGENT_PER_SECOND).map(|attempt| now + attempt * STEP / 10);
        let taken = later.filter(|time| steps.take(*time, STEP));
        assert_eq!(taken.count() as u64, URGENT_PER_SECOND);
    }

    #[test]
    fn a_client_that_sends_a_record_in_many_parts_leaves_the_reception() {
        let orb = Orb::new(Options::default());
        let reception = Reception::start(&orb, None).unwrap();
        let (server, client) = mem::pair(64);
        client.write(&mut [IoSlice::new(b"x")]).unwrap();
        let served = Arc::new(AtomicBool::new(false));
        let link = Arc::new(PartOfRecord { inner: server, served: Arc::clone(&served) });
        let wire = Wire::of(None, Version::V1_0);
        reception.welcome(&orb, &Endpoint::new(mem::SCHEME, ""), link, 0, wire);
        until("a thread serves the connection", || served.load(Ordering::SeqCst));
        drop(client);
        orb.shutdown(true).unwrap();
    }
}
