//! Takeover of connections whose threads run long requests.
//!
//! A thread that runs a request does not notice further input of its connection, and a check before each request would
//! cost a system call. Therefore one thread periodically looks for connections that are still in the same request as at
//! its last check, and watches those: input wakes this thread, and the connection is taken over at once. From then on
//! the connection counts as one that carries several requests at a time (`side_by_side.rs`). While all connections are
//! idle, the thread sleeps.
//!
//! | a further request comes | and is read by another thread |
//! |---|---|
//! | in the first milliseconds of the one that runs | after [`SELDOM`] and [`OFTEN`] at most |
//! | so, and all clients called back to back until then | after [`RARELY`] and [`OFTEN`] at most |
//! | later | at once |
//!
//! A call over a connection of a lane may be outstanding when the last thread of the lane begins a long request. The
//! watching thread then has the connection read by a takeover thread, too.
//!
//! If threads have native priorities, each lane has a watching thread of its own, as urgent as the lane: other lanes
//! that use up the processor do not delay its takeovers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::thread::ThreadPurpose;

use super::connection::{Connection, ConnectionShared};
use super::connection_owner::ConnectionOwner;
use super::lane::Lane;
use super::registry::{LongRunning, Look};
use super::status::ConnectionOrigin;
use super::takeover::Takeover;
use crate::Orb;
use crate::threads::clock;
use crate::threads::sync::thread;

/// Pause between two looks while connections are busy, and none is known to carry several requests at a time.
const SELDOM: Duration = Duration::from_millis(10);

/// Longest pause between two looks while all busy connections carry a stream of short requests.
const RARELY: Duration = Duration::from_millis(100);

/// Pause between two looks while a request runs that may be long.
const OFTEN: Duration = Duration::from_millis(5);

/// Smallest pause after a look, as a multiple of the look's duration: looks take at most a hundredth of a processor.
const REST: u32 = 100;

/// Longest sleep of the watching thread of a lane or an ORB that is about to end.
const LAST: Duration = Duration::from_millis(500);

/// Name of watching threads.
const NAME: &str = "oxorb-takeover";

impl Connection {
    /// Permits other threads to take the connection over while a request runs; the connection then
    /// belongs to `owner`.
    pub(super) fn can_be_taken_over(&self, orb: &Orb, owner: &ConnectionOwner) {
        if orb.options().max_requests_per_connection > 1 {
            let watched = owner.watched_lane(orb.shared());
            self.common.status.set_origin(ConnectionOrigin {
                pool: self.common.pool,
                owner: owner.downgrade(),
                watched: watched.map(Arc::downgrade),
            });
            start(orb, watched);
        }
    }
}

/// Starts the watching thread of a lane, or the ORB's, unless it runs already, or requests of one connection run one
/// after another. Without the thread, connections are handed on only if requests are buffered behind each other.
fn start(orb: &Orb, lane: Option<&Arc<Lane>>) {
    // In a model, the test itself calls `look`.
    if cfg!(all(test, feature = "model")) || orb.options().max_requests_per_connection <= 1 {
        return;
    }
    let takeover = takeover_of(orb, lane);
    if takeover.begins() && spawn(orb, takeover, lane).is_err() {
        takeover.not_begun();
    }
}

fn spawn(orb: &Orb, takeover: &Takeover, lane: Option<&Arc<Lane>>) -> io::Result<()> {
    takeover.prepare()?;
    let builder = match lane {
        Some(lane) => lane.builder(orb.shared(), ThreadPurpose::Takeover, NAME),
        None => orb.shared().threads.builder(ThreadPurpose::Takeover, NAME, None),
    };
    let (orb, lane) = (orb.clone(), lane.cloned());
    let work = move || {
        if let Some(lane) = &lane {
            lane.enter_unreserved(orb.shared());
        }
        watch(&orb, lane.as_ref());
    };
    builder.spawn(work).map(drop)
}

/// Returns the takeover of a lane's connections, or that of all others.
fn takeover_of<'o>(orb: &'o Orb, lane: Option<&'o Arc<Lane>>) -> &'o Takeover {
    lane.map_or(&orb.server().takeover, |lane| &lane.takeover)
}

/// Checks connections periodically, and hands them on, until the ORB or the lane ends.
fn watch(orb: &Orb, lane: Option<&Arc<Lane>>) {
    let takeover = takeover_of(orb, lane);
    let Some(reactor) = takeover.reactor() else {
        return;
    };
    let is_over =
        || orb.registry().reads_no_more() || lane.is_some_and(|lane| lane.is_over(orb.server()));
    let (mut seldom, mut found) = (SELDOM, Look::default());
    while !is_over() {
        let began = clock::now();
        let next = look(orb, lane, &mut found);
        seldom = match next {
            NextLook::Stream => RARELY.min(seldom * 2),
            _ => SELDOM,
        };
        let pause = match next {
            NextLook::Often => OFTEN.max(clock::since(began) * REST),
            NextLook::Seldom | NextLook::Stream => seldom.max(clock::since(began) * REST),
            NextLook::Silence => {
                takeover.set_sleeps(true);
                orb.registry().long_running(lane, &mut found);
                let busy = is_over() || found.busy;
                found.long.clear();
                let ends = orb.is_closing() || lane.is_some_and(|lane| lane.is_stopping());
                match (busy, ends) {
                    (true, _) => OFTEN,
                    (false, true) => LAST,
                    (false, false) => Duration::MAX,
                }
            }
        };
        // The token is ignored, because the next look finds the connection with input.
        if reactor.wait_one(pause).is_err() {
            thread::sleep(SELDOM);
        }
        takeover.set_sleeps(false);
    }
}

/// Time of the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextLook {
    /// Soon: requests run that may be long.
    Often,
    /// Later: some connections are busy.
    Seldom,
    /// Later still: all busy connections have carried many requests since the last check.
    Stream,
    /// Once a connection has input.
    Silence,
}

/// Lets takeover threads read connections over which answers are awaited, if all threads of their lane run requests and
/// one of these is long. The calls may have been made while a thread of the lane still waited for input.
fn read_answers_of_busy_lanes(orb: &Orb, found: &Look) {
    let mut before: Option<Arc<Lane>> = None;
    for one in &found.long {
        let owner = one.status.origin().and_then(|origin| origin.owner.upgrade());
        if let Some(ConnectionOwner::Lane(lane)) = owner
            && before.as_ref().is_none_or(|before| !Arc::ptr_eq(before, &lane))
            && lane.has_no_reader()
        {
            lane.read_answers(orb);
            before = Some(lane);
        }
    }
}

/// Checks the connections of a lane with its own watching thread, or all others, once. Returns the time of the next
/// check.
pub(crate) fn look(orb: &Orb, lane: Option<&Arc<Lane>>, found: &mut Look) -> NextLook {
    orb.registry().long_running(lane, found);
    let takeover = takeover_of(orb, lane);
    let often = found.running || found.shared || !found.long.is_empty();
    read_answers_of_busy_lanes(orb, found);
    for one in found.long.drain(..) {
        // While the ORB ends, only connections that bring replies to calls of this side are read.
        if orb.is_closing() && orb.registry().is_unread(&one.status) {
            continue;
        }
        let waits = one.status.behind.lock().is_some();
        let in_order = one.status.session.lock().in_order;
        if in_order || !one.status.may_go_beside(orb.options()) {
            continue;
        }
        if !waits && !one.link.has_input().unwrap_or(true) {
            if one.status.is_watched_first(one.request) {
                takeover.arm(&one);
            }
            continue;
        }
        let LongRunning { id, link, status, request } = one;
        let Some((owner, pool)) =
            status.origin().and_then(|origin| Some((origin.owner.upgrade()?, origin.pool)))
        else {
            continue;
        };
        let buffering = match &owner {
            ConnectionOwner::Lane(lane) if lane.buffers() => Some(lane),
            _ => None,
        };
        let reserved = owner.reserve_thread(orb);
        if !reserved && buffering.is_none() {
            continue;
        }
        status.share();
        let taken = status.take_over(request);
        let inbox = match taken {
            true => status.behind.lock().take(),
            false => None,
        };
        let inbox = inbox.unwrap_or_else(|| status.inbox(&orb.options().limits));
        let session = *status.session.lock();
        let payloads = status.payloads(orb.options());
        let common = ConnectionShared { status, pool, payloads };
        let connection = Connection::of(id, link, inbox, session, common, false);
        match (taken, buffering) {
            (true, Some(lane)) if !reserved => lane.buffer_taken(orb, connection),
            (true, _) => owner.hand_on(orb.server(), connection),
            (false, _) => {
                if reserved {
                    owner.release_thread(orb.server());
                }
                connection.leave(orb.server());
            }
        }
    }
    match (often, found.busy, found.stream) {
        (true, ..) => NextLook::Often,
        (false, true, true) => NextLook::Stream,
        (false, true, false) => NextLook::Seldom,
        (false, false, _) => NextLook::Silence,
    }
}
