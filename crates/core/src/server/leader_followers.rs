//! A few workers for all connections; a worker stays with its connection while it is busy.
//!
//! Every worker waits at the same poller and the kernel wakes one for each
//! connection that has something to read: it leads, the others follow. It then
//! reads, serves and writes in the same thread (A5.9) and, instead of going
//! back after each request, waits a moment on the connection itself. A request
//! on a busy connection so costs one read and one write, like a thread of its own.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_sys::poll::{Poller, Token};
use oxorb_transport::Link;

use super::connection::{Connection, Served};
use super::per_connection::leave;
use super::registry::Admitted;
use super::stand_in::Home;
use crate::Orb;
use crate::lock::Mutex;
use crate::sync::{
    MutexGuard,
    atomic::{AtomicUsize, Ordering},
    thread,
};

/// How often workers look for connections that stall in mid-message.
const TICK: Duration = Duration::from_millis(500);

/// The workers of one ORB and the connections none of them serves at the moment.
pub(crate) struct Workers {
    poller: Poller,
    /// Connections that wait at the poller; a worker takes out the one it serves.
    parked: Mutex<HashMap<u64, Connection>>,
    /// Workers that wait at the poller, too: while there is one, others may stay.
    waiting: AtomicUsize,
    /// When stalled connections were last looked for.
    last_look: Mutex<Instant>,
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn start(orb: &Orb, threads: usize) -> io::Result<Arc<Workers>> {
        let workers = Arc::new(Workers {
            poller: Poller::new()?,
            parked: Mutex::default(),
            waiting: AtomicUsize::new(0),
            last_look: Mutex::new(Instant::now()),
        });
        for _ in 0..threads.max(1) {
            let (orb, workers) = (orb.clone(), Arc::clone(&workers));
            thread::Builder::new()
                .name("oxorb-worker".to_owned())
                .spawn(move || workers.work(&orb))?;
        }
        Ok(workers)
    }

    /// Takes a new connection.
    pub(crate) fn adopt(
        &self,
        orb: &Orb,
        admitted: Admitted,
        link: Arc<dyn Link>,
    ) -> io::Result<()> {
        let id = admitted.id;
        link.set_read_timeout(Some(orb.options().worker_stay))?;
        link.set_write_timeout(Some(orb.options().stall_timeout))?;
        let connection = Connection::new(orb, admitted, Arc::clone(&link));
        self.parked().insert(id, connection);
        let added = watched(&link, |fd| self.poller.add(fd, Token(id)));
        if added.is_err() {
            self.parked().remove(&id);
        }
        added
    }

    fn work(self: &Arc<Self>, orb: &Orb) {
        crate::orb::mark_server_thread();
        let home = Home::Workers(Arc::clone(self));
        self.waiting.fetch_add(1, Ordering::Relaxed);
        while !(orb.is_closing() && orb.registry().is_empty()) {
            match self.poller.wait_one(Some(TICK)) {
                Ok(Some(Token(id))) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.serve(orb, &home, id);
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                }
                Ok(None) => {}
                Err(_) => thread::sleep(TICK),
            }
            // A poller that always has something must not keep stalled ones alive.
            if self.is_time_to_look() {
                self.look_after_parked(orb);
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn serve(&self, orb: &Orb, home: &Home, id: u64) {
        let Some(mut connection) = self.parked().remove(&id) else {
            return;
        };
        // Staying is for quiet times: with nobody left to lead, other
        // connections must not wait for this one's next request.
        let may_stay = || self.waiting.load(Ordering::Relaxed) > 0;
        // A panic outside a servant is a fault of ours; it costs the one
        // connection, not the worker.
        let served =
            panic::catch_unwind(AssertUnwindSafe(|| connection.serve(orb, home, may_stay)));
        match served {
            Ok(Served::Idle) => self.park(orb, connection),
            Ok(Served::Throttled) => self.put_off(connection),
            Ok(Served::HandedOver) => leave(orb, connection),
            Ok(Served::Ended) | Err(_) => self.end(orb, connection),
        }
    }

    /// Lets a connection wait for its next request and a worker.
    pub(super) fn park(&self, orb: &Orb, connection: Connection) {
        let id = connection.id;
        let link = Arc::clone(&connection.link);
        self.parked().insert(id, connection);
        if watched(&link, |fd| self.poller.rearm(fd, Token(id))).is_err()
            && let Some(connection) = self.parked().remove(&id)
        {
            self.end(orb, connection);
        }
    }

    /// For one worker in each tick.
    fn is_time_to_look(&self) -> bool {
        let mut last_look = self.last_look.lock().expect(UNPOISONED);
        let due = last_look.elapsed() >= TICK;
        if due {
            *last_look = Instant::now();
        }
        due
    }

    /// Lets a connection wait that must not be read, though there may be
    /// something: it gets another chance with the next look.
    pub(super) fn put_off(&self, connection: Connection) {
        self.parked().insert(connection.id, connection);
    }

    fn look_after_parked(&self, orb: &Orb) {
        let mut parked = self.parked();
        let ended: Vec<Connection> = parked
            .extract_if(|_, connection| connection.is_overdue(orb))
            .map(|(_, connection)| connection)
            .collect();
        let put_off: Vec<Connection> = parked
            .extract_if(|_, connection| connection.throttled)
            .map(|(_, connection)| connection)
            .collect();
        drop(parked);
        for connection in ended {
            self.end(orb, connection);
        }
        for connection in put_off {
            self.park(orb, connection);
        }
    }

    fn end(&self, orb: &Orb, connection: Connection) {
        let _ = watched(&connection.link, |fd| self.poller.remove(fd));
        leave(orb, connection);
    }

    fn parked(&self) -> MutexGuard<'_, HashMap<u64, Connection>> {
        self.parked.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

/// Does something at the poller with the descriptor of a link that has one.
fn watched(
    link: &Arc<dyn Link>,
    act: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
) -> io::Result<()> {
    match link.poll_fd() {
        Some(fd) => act(fd),
        None => Err(io::ErrorKind::Unsupported.into()),
    }
}
