//! Connecting.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use oxorb_sys::socket::Connecting;

use super::TcpLink;
use crate::{Link, endpoint::host_port};

/// How long an address has before the next one is tried beside it (RFC 8305, "Connection Attempt Delay").
const STAGGER: Duration = Duration::from_millis(250);

/// Most connections that are being made for one caller at one time.
const MAX_AT_ONCE: usize = 16;

/// How often a look at names takes place while connections are being made, too.
const NAME_TICK: Duration = Duration::from_millis(5);

/// Connects to `host` (a name, or an address without brackets): as [`connect_first`] with one target.
///
/// # Errors
/// [`ConnectError`]: every address tried, and what happened there.
pub fn connect(host: &str, port: u16, timeout: Duration) -> Result<Box<dyn Link>, ConnectError> {
    match connect_first(&[(host, port)], timeout) {
        Ok((_, link)) => Ok(link),
        Err(mut errors) => Err(errors.remove(0)),
    }
}

/// Connects to the first of several targets (host and port) that answers, and says which.
///
/// Every address of every host is tried, in the order given, each a quarter of a second after the one before it, or as
/// soon as that failed; the first that is connected wins and the others are given up ("happy eyeballs", RFC 8305). So one that
/// swallows packets costs the others a quarter of a second. All of it, looking up names included, takes at most `timeout`.
/// A lookup that the system does not answer in time goes on in a thread of its own, of which there are at most 64.
///
/// # Errors
/// One [`ConnectError`] for each target, in their order: every address tried, and what happened there.
pub fn connect_first(
    targets: &[(&str, u16)],
    timeout: Duration,
) -> Result<(usize, Box<dyn Link>), Vec<ConnectError>> {
    connect_first_with(targets, timeout, &|look_up| {
        let thread = std::thread::Builder::new().name("oxorb-lookup".to_owned());
        thread.spawn(look_up).map(drop)
    })
}

/// Starts a thread that looks up one name.
pub type LookUps<'l> = &'l dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

/// Connects as [`connect_first`], but has `look_ups` start the threads that look up names.
///
/// # Errors
/// Those of [`connect_first`].
pub fn connect_first_with(
    targets: &[(&str, u16)],
    timeout: Duration,
    look_ups: LookUps<'_>,
) -> Result<(usize, Box<dyn Link>), Vec<ConnectError>> {
    let deadline = Instant::now().checked_add(timeout);
    let mut race = Race::new(targets, look_ups);
    loop {
        race.take_names();
        let now = Instant::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Err(race.lost());
        }
        race.start_next(now);
        if race.is_over() {
            return Err(race.lost());
        }
        let left = deadline.map_or(Duration::MAX, |deadline| deadline - now);
        if let Some(won) = race.wait(left) {
            return Ok(won);
        }
    }
}

/// Connections to several targets while they are made.
struct Race<'t> {
    targets: &'t [(&'t str, u16)],
    /// What was learned about each.
    errors: Vec<ConnectError>,
    names: Names,
    /// Addresses not tried yet, and whose they are; those of earlier targets first.
    untried: Vec<(usize, SocketAddr)>,
    running: Vec<(usize, SocketAddr, Connecting)>,
    /// When the next address may be tried.
    next: Option<Instant>,
}

impl<'t> Race<'t> {
    fn new(targets: &'t [(&'t str, u16)], look_ups: LookUps<'_>) -> Self {
        let errors = targets.iter().map(|&(host, port)| ConnectError {
            host: host.to_owned(),
            port,
            attempts: Vec::new(),
            error: io::ErrorKind::TimedOut.into(),
        });
        let mut race = Race {
            targets,
            errors: errors.collect(),
            names: Names::new(),
            untried: Vec::new(),
            running: Vec::new(),
            next: None,
        };
        for (index, &(host, port)) in targets.iter().enumerate() {
            match host.parse::<IpAddr>() {
                Ok(ip) => race.untried.push((index, SocketAddr::new(ip, port))),
                Err(_) => {
                    if let Err(error) = race.names.look_up(index, host, port, look_ups) {
                        race.errors[index].error = error;
                    }
                }
            }
        }
        race
    }

    fn take_names(&mut self) {
        while let Some((index, found)) = self.names.take(None) {
            self.take_name(index, found);
        }
    }

    fn take_name(&mut self, index: usize, found: io::Result<Vec<SocketAddr>>) {
        match found {
            Ok(addresses) if addresses.is_empty() => {
                self.errors[index].error = io::ErrorKind::NotFound.into();
            }
            Ok(addresses) => {
                let at = self.untried.partition_point(|(other, _)| *other <= index);
                let found = addresses.into_iter().map(|address| (index, address));
                self.untried.splice(at..at, found);
            }
            Err(error) => self.errors[index].error = error,
        }
    }

    /// Tries the next address if it is its turn.
    fn start_next(&mut self, now: Instant) {
        while !self.untried.is_empty()
            && self.running.len() < MAX_AT_ONCE
            && (self.running.is_empty() || self.next.is_none_or(|next| next <= now))
        {
            let (index, address) = self.untried.remove(0);
            match Connecting::start(address) {
                Ok(connecting) => {
                    self.running.push((index, address, connecting));
                    self.next = Some(now + STAGGER);
                }
                Err(error) => self.note(index, address, error),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.running.is_empty() && self.untried.is_empty() && self.names.outstanding == 0
    }

    /// Waits until something has happened; the winner, if there is one.
    fn wait(&mut self, left: Duration) -> Option<(usize, Box<dyn Link>)> {
        if self.running.is_empty() {
            if let Some((index, found)) = self.names.take(Some(left)) {
                self.take_name(index, found);
            }
            return None;
        }
        let mut wait = left;
        if let Some(next) = self.next.filter(|_| !self.untried.is_empty()) {
            wait = wait.min(next.saturating_duration_since(Instant::now()));
        }
        if self.names.outstanding > 0 {
            wait = wait.min(NAME_TICK);
        }
        let connecting = self.running.iter().map(|(_, _, connecting)| connecting);
        let at = match Connecting::first(connecting, wait) {
            Ok(at) => at?,
            Err(error) => {
                let (index, address, _) = self.running.remove(0);
                self.note(index, address, error);
                return None;
            }
        };
        let (index, address, connecting) = self.running.remove(at);
        match connecting.finish().and_then(own_link) {
            Ok(link) => Some((index, Box::new(link))),
            Err(error) => {
                self.note(index, address, error);
                self.next = None;
                None
            }
        }
    }

    fn note(&mut self, index: usize, address: SocketAddr, error: io::Error) {
        self.errors[index].attempts.push(Attempt { address, error });
    }

    /// What happened to each target, now that none answered.
    fn lost(mut self) -> Vec<ConnectError> {
        for (index, address, _) in std::mem::take(&mut self.running) {
            self.note(index, address, io::ErrorKind::TimedOut.into());
        }
        for (index, address) in std::mem::take(&mut self.untried) {
            let untried = io::Error::new(io::ErrorKind::TimedOut, "not tried: time was over");
            self.note(index, address, untried);
        }
        for (error, &(host, _)) in self.errors.iter_mut().zip(self.targets) {
            if let Some(attempt) = error.attempts.last() {
                error.error = attempt.error.kind().into();
            } else if error.error.kind() == io::ErrorKind::TimedOut {
                error.error = io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("the system has not found {host:?} in time"),
                );
            }
        }
        self.errors
    }
}

/// Where nobody listens on a port of this host, TCP may join a socket to itself.
fn own_link(socket: OwnedFd) -> io::Result<TcpLink> {
    let link = TcpLink::new(socket)?;
    if link.local_address() == link.peer_address() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(link)
}

/// Looks up names of hosts in threads: the system's way of doing it knows no time limit.
struct Names {
    sender: Sender<Found>,
    receiver: Receiver<Found>,
    outstanding: usize,
}

/// Which target's addresses these are.
type Found = (usize, io::Result<Vec<SocketAddr>>);

/// Most names that the process looks up at one time; more are refused, as the system answers none.
const MAX_LOOKUPS: usize = 64;

static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

impl Names {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Names {
            sender,
            receiver,
            outstanding: 0,
        }
    }

    fn look_up(
        &mut self,
        index: usize,
        host: &str,
        port: u16,
        look_ups: LookUps<'_>,
    ) -> io::Result<()> {
        let running = LookUp::begin()?;
        let (host, sender) = (host.to_owned(), self.sender.clone());
        look_ups(Box::new(move || {
            let found = (host.as_str(), port)
                .to_socket_addrs()
                .map(Iterator::collect);
            drop(running);
            // Nobody waits any more: then it was for nothing.
            let _ = sender.send((index, found));
        }))?;
        self.outstanding += 1;
        Ok(())
    }

    /// The next name that was found, or not; waits for it if there is a time to wait.
    fn take(&mut self, wait: Option<Duration>) -> Option<Found> {
        if self.outstanding == 0 {
            return None;
        }
        let found = match wait {
            None => self.receiver.try_recv().ok(),
            Some(wait) => self.receiver.recv_timeout(wait).ok(),
        };
        self.outstanding -= usize::from(found.is_some());
        found
    }
}

/// Counts as one of [`MAX_LOOKUPS`].
struct LookUp;

impl LookUp {
    fn begin() -> io::Result<LookUp> {
        if LOOKUPS.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
            drop(LookUp);
            return Err(io::Error::other(format!(
                "{MAX_LOOKUPS} other names are being looked up and the system answers none"
            )));
        }
        Ok(LookUp)
    }
}

impl Drop for LookUp {
    fn drop(&mut self) {
        LOOKUPS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A host to which no connection could be made.
pub struct ConnectError {
    /// The host asked for.
    pub host: String,
    /// The port asked for.
    pub port: u16,
    /// What happened at each of its addresses; empty if it has none.
    pub attempts: Vec<Attempt>,
    /// Why the name could not be resolved or, if it could, the kind of the last failure.
    pub error: io::Error,
}

/// One address that was tried in vain.
#[derive(Debug)]
pub struct Attempt {
    /// The address.
    pub address: SocketAddr,
    /// What happened there.
    pub error: io::Error,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = host_port(&self.host, self.port);
        match self.attempts.as_slice() {
            [] => write!(f, "cannot resolve {:?}: {}", self.host, self.error),
            [only] if only.address.to_string() == target => {
                write!(f, "cannot connect to {target}: {}", only.error)
            }
            all => {
                write!(f, "cannot connect to {target}")?;
                let mut separator = ": ";
                for Attempt { address, error } in all {
                    write!(f, "{separator}{address}: {error}")?;
                    separator = "; ";
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
