//! Connection to the first of several addresses that answers, over any transports.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use oxorb_sys::socket;

use crate::transport::{Connecting, LookUp as RunLookUp, Resolve, Start};
use crate::{Address, Link, Transport};

/// Head start of an address before the next one is tried in parallel (RFC 8305, "Connection Attempt
/// Delay").
const STAGGER: Duration = Duration::from_millis(250);

/// Maximum number of concurrent connection attempts of one caller.
const MAX_AT_ONCE: usize = 16;

/// Interval of polling for looked-up names, and for connections without a descriptor, while
/// connecting.
const TICK: Duration = Duration::from_millis(5);

/// Address, and the transport that reaches it.
pub type ConnectTarget<'t> = (&'t dyn Transport, &'t Address);

/// Connects to one address, as [`connect_first`] does with one target.
///
/// # Errors
/// [`ConnectError`] with every address tried and its failure.
pub fn connect(
    transport: &dyn Transport,
    to: &Address,
    timeout: Duration,
) -> Result<Box<dyn Link>, ConnectError> {
    match connect_first(&[(transport, to)], timeout) {
        Ok((_, link)) => Ok(link),
        Err(mut errors) => Err(errors.remove(0)),
    }
}

/// Connects to the first of several targets that answers, and returns its index.
///
/// Every address of every target is tried in the given order, each a quarter of a second after the
/// previous one, or as soon as that failed; the first that is connected wins and the others are
/// dropped ("happy eyeballs", RFC 8305). So an address that drops packets delays the others by a
/// quarter of a second. Everything, including the lookup of names, takes at most `timeout`. A
/// lookup that the system does not answer in time continues in a thread of its own, of which there
/// are at most 64.
///
/// # Errors
/// One [`ConnectError`] for each target, in order, with every address tried and its failure.
pub fn connect_first(
    targets: &[ConnectTarget<'_>],
    timeout: Duration,
) -> Result<(usize, Box<dyn Link>), Vec<ConnectError>> {
    connect_first_with(targets, timeout, &Unattached)
}

/// Environment of a connecting caller: threads, clock and packets.
pub trait Surroundings {
    /// Starts a thread that looks up one name.
    ///
    /// # Errors
    /// The system provides no thread.
    fn look_up(&self, run: Box<dyn FnOnce() + Send>) -> io::Result<()>;

    /// Returns the DSCP of all packets from the first one on, if set.
    fn mark(&self) -> Option<u8> {
        None
    }

    /// Returns the current time.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// Waits until one of the descriptors is writable, or readable if paired with `true`, and
    /// returns its index; `None` after `limit`.
    ///
    /// # Errors
    /// The system cannot wait for them.
    fn first_ready(
        &self,
        descriptors: &mut dyn Iterator<Item = (BorrowedFd<'_>, bool)>,
        limit: Duration,
    ) -> io::Result<Option<usize>> {
        socket::first_ready(descriptors, limit)
    }
}

/// Default surroundings of a caller without its own threads.
struct Unattached;

impl Surroundings for Unattached {
    fn look_up(&self, run: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("oxorb-lookup".to_owned());
        thread.spawn(run).map(drop)
    }
}

/// Connects as [`connect_first`] does, with the threads and the clock of `around`.
///
/// # Errors
/// Those of [`connect_first`].
pub fn connect_first_with(
    targets: &[ConnectTarget<'_>],
    timeout: Duration,
    around: &dyn Surroundings,
) -> Result<(usize, Box<dyn Link>), Vec<ConnectError>> {
    let deadline = around.now().checked_add(timeout);
    let mut race = Race::new(targets, around);
    loop {
        race.take_names();
        let now = around.now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Err(race.lost());
        }
        if let Some(won) = race.start_next(now) {
            return Ok(won);
        }
        if race.is_over() {
            return Err(race.lost());
        }
        let left = deadline.map_or(Duration::MAX, |deadline| deadline - now);
        if let Some(won) = race.wait(left) {
            return Ok(won);
        }
    }
}

/// Index of the target that was reached, and the connection.
type Won = (usize, Box<dyn Link>);

/// Concurrent connection attempts to several targets.
struct Race<'t> {
    targets: &'t [ConnectTarget<'t>],
    around: &'t dyn Surroundings,
    /// Failures of each target so far.
    errors: Vec<ConnectError>,
    names: Names,
    /// Addresses not tried yet, each with the index of its target; those of earlier targets first.
    untried: Vec<(usize, Address)>,
    running: Vec<Running>,
    /// Time at which the next address may be tried.
    next: Option<Instant>,
}

struct Running {
    target: usize,
    address: Address,
    connecting: Box<dyn Connecting>,
}

impl<'t> Race<'t> {
    fn new(targets: &'t [ConnectTarget<'t>], around: &'t dyn Surroundings) -> Self {
        let errors = targets.iter().map(|(_, address)| ConnectError {
            target: (*address).clone(),
            name: None,
            attempts: Vec::new(),
            error: io::ErrorKind::TimedOut.into(),
        });
        let mut race = Race {
            targets,
            around,
            errors: errors.collect(),
            names: Names::new(),
            untried: Vec::new(),
            running: Vec::new(),
            next: None,
        };
        for (index, (transport, address)) in targets.iter().enumerate() {
            match transport.resolve(address) {
                Ok(Resolve::Now(found)) => {
                    race.untried.extend(found.into_iter().map(|address| (index, address)));
                }
                Ok(Resolve::LookUp { name, run }) => {
                    race.errors[index].name = Some(name);
                    if let Err(error) = race.names.look_up(index, run, around) {
                        race.errors[index].error = error;
                    }
                }
                Err(error) => race.errors[index].error = error,
            }
        }
        race
    }

    fn take_names(&mut self) {
        while let Some((index, found)) = self.names.take(None) {
            self.take_name(index, found);
        }
    }

    fn take_name(&mut self, index: usize, found: io::Result<Vec<Address>>) {
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

    /// Starts the next attempt if it is due; returns the winner if it is connected at once.
    fn start_next(&mut self, now: Instant) -> Option<Won> {
        while !self.untried.is_empty()
            && self.running.len() < MAX_AT_ONCE
            && (self.running.is_empty() || self.next.is_none_or(|next| next <= now))
        {
            let (target, address) = self.untried.remove(0);
            let transport = self.targets[target].0;
            let started = match self.around.mark() {
                Some(dscp) => transport.start_marked(&address, dscp),
                None => transport.start(&address),
            };
            match started {
                Ok(Start::Done(link)) => return Some((target, link)),
                Ok(Start::Wait(connecting)) => {
                    self.running.push(Running { target, address, connecting });
                    self.next = Some(now + STAGGER);
                }
                Err(error) => self.note(target, address, error),
            }
        }
        None
    }

    fn is_over(&self) -> bool {
        self.running.is_empty() && self.untried.is_empty() && self.names.outstanding == 0
    }

    /// Waits for an event; returns the winner, if there is one.
    fn wait(&mut self, left: Duration) -> Option<Won> {
        if self.running.is_empty() {
            if let Some((index, found)) = self.names.take(Some(left)) {
                self.take_name(index, found);
            }
            return None;
        }
        let mut wait = left;
        if let Some(next) = self.next.filter(|_| !self.untried.is_empty()) {
            wait = wait.min(next.saturating_duration_since(self.around.now()));
        }
        let has_descriptor = |running: &Running| running.connecting.poll_fd().is_some();
        if self.names.outstanding > 0 || !self.running.iter().all(has_descriptor) {
            wait = wait.min(TICK);
        }
        let descriptors = self.running.iter();
        let mut descriptors = descriptors.filter_map(|running| {
            let connecting = &running.connecting;
            Some((connecting.poll_fd()?, connecting.wants_input()))
        });
        let ready = match self.around.first_ready(&mut descriptors, wait) {
            Ok(ready) => ready,
            Err(error) => {
                let lost = self.running.remove(0);
                self.note(lost.target, lost.address, error);
                return None;
            }
        };
        // The attempt whose descriptor is ready and all attempts without a descriptor take their next step. The order
        // is reversed, so that removing an attempt does not change the indices of those still to come.
        let mut with = self.running.iter().filter(|it| has_descriptor(it)).count();
        for at in (0..self.running.len()).rev() {
            if has_descriptor(&self.running[at]) {
                with -= 1;
                if ready != Some(with) {
                    continue;
                }
            }
            match self.running[at].connecting.advance() {
                Ok(None) => {}
                Ok(Some(link)) => return Some((self.running[at].target, link)),
                Err(error) => {
                    let lost = self.running.remove(at);
                    self.note(lost.target, lost.address, error);
                    self.next = None;
                }
            }
        }
        None
    }

    fn note(&mut self, target: usize, address: Address, error: io::Error) {
        self.errors[target].attempts.push(AddressAttempt { address, error });
    }

    /// Returns the failure of each target after none was reached.
    fn lost(mut self) -> Vec<ConnectError> {
        for running in std::mem::take(&mut self.running) {
            let late = io::ErrorKind::TimedOut.into();
            self.note(running.target, running.address, late);
        }
        for (target, address) in std::mem::take(&mut self.untried) {
            let untried =
                io::Error::new(io::ErrorKind::TimedOut, "not tried: the time limit was reached");
            self.note(target, address, untried);
        }
        for error in &mut self.errors {
            if let Some(attempt) = error.attempts.last() {
                error.error = attempt.error.kind().into();
            } else if error.error.kind() == io::ErrorKind::TimedOut {
                let name = error.name.as_deref();
                error.error = io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!(
                        "the system has not resolved {:?} in time",
                        name.unwrap_or(error.target.place())
                    ),
                );
            }
        }
        self.errors
    }
}

/// Lookups of names, in threads because the system's resolver has no time limit.
struct Names {
    sender: Sender<Found>,
    receiver: Receiver<Found>,
    outstanding: usize,
}

/// Index of a target, and its addresses.
type Found = (usize, io::Result<Vec<Address>>);

/// Maximum number of concurrent lookups in the process; more are refused.
const MAX_LOOKUPS: usize = 64;

static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

impl Names {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Names { sender, receiver, outstanding: 0 }
    }

    fn look_up(
        &mut self,
        index: usize,
        run: RunLookUp,
        around: &dyn Surroundings,
    ) -> io::Result<()> {
        let running = LookUp::begin()?;
        let sender = self.sender.clone();
        around.look_up(Box::new(move || {
            let found = run();
            drop(running);
            // If the caller no longer waits, sending fails and the result is discarded.
            let _ = sender.send((index, found));
        }))?;
        self.outstanding += 1;
        Ok(())
    }

    /// Returns the next finished lookup; waits for it if `wait` is set.
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

/// Guard that counts one running lookup towards [`MAX_LOOKUPS`].
struct LookUp;

impl LookUp {
    fn begin() -> io::Result<LookUp> {
        if LOOKUPS.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
            drop(LookUp);
            return Err(io::Error::other(format!(
                "{MAX_LOOKUPS} other names are being resolved, and the system answers none of them"
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

/// Error of connecting to a target.
pub struct ConnectError {
    /// Requested address.
    pub target: Address,
    /// Name that was looked up, if any.
    pub name: Option<String>,
    /// Failures at the addresses of the target; empty if the target has none.
    pub attempts: Vec<AddressAttempt>,
    /// Reason why the name could not be resolved or, if it could, the last failure's kind.
    pub error: io::Error,
}

/// Failed attempt at an address.
#[derive(Debug)]
pub struct AddressAttempt {
    /// Address.
    pub address: Address,
    /// Failure.
    pub error: io::Error,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target.for_people();
        match (self.attempts.as_slice(), &self.name) {
            ([], Some(name)) => write!(f, "cannot resolve {name:?}: {}", self.error),
            ([], None) => write!(f, "cannot connect to {target}: {}", self.error),
            ([only], _) if only.address == self.target => {
                write!(f, "cannot connect to {target}: {}", only.error)
            }
            (all, _) => {
                write!(f, "cannot connect to {target}")?;
                let mut separator = ": ";
                for AddressAttempt { address, error } in all {
                    write!(f, "{separator}{}: {error}", address.for_people())?;
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
