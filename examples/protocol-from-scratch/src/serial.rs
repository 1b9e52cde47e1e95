//! A transport: serial lines between the parts of one machine, each as slow as its baud rate.
//!
//! A line is a pair of connected sockets, for which [`Stream`] meets nearly all obligations of a [`Link`]; this file
//! adds the pace. Ports have names, and every clone of [`Serial`] reaches all of them.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, IoSlice};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use oxorb::transport::stream::Stream;
use oxorb::transport::{
    Acceptor, Address, Endpoint, EndpointError, Facts, Link, ListenError, Notation, Part, PeerId,
    Properties, Publish, Scheme, Start, Transport, WriteError,
};

/// Scheme of addresses: `serial:gauge`.
pub const SCHEME: Scheme = Scheme::new("serial");

/// Maximum number of lines that wait at one port to be accepted.
const BACKLOG: usize = 1024;

/// Bits on the line per octet: a start bit, eight data bits, a stop bit.
const BITS: u64 = 10;

/// Serial ports by name, and the speed of their lines.
#[derive(Clone)]
pub struct Serial {
    ports: Arc<Mutex<HashMap<String, Weak<Port>>>>,
    baud: u32,
    handshake: bool,
}

/// Port with a listener.
struct Port {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<dyn Link>>,
    closed: bool,
}

impl Serial {
    /// Returns lines of this speed, without any ports.
    pub fn new(baud: u32) -> Self {
        Self { ports: Arc::default(), baud: baud.max(1), handshake: true }
    }

    /// Returns lines without a handshake: an octet that arrives while the receiver is busy is lost. No messaging of
    /// CORBA can use them.
    #[must_use]
    pub fn without_handshake(self) -> Self {
        Self { handshake: false, ..self }
    }

    fn port(&self, name: &str) -> Option<Arc<Port>> {
        lock(&self.ports).get(name)?.upgrade()
    }
}

impl Transport for Serial {
    fn scheme(&self) -> Scheme {
        SCHEME
    }

    fn facts(&self) -> Facts {
        Facts { reliable: self.handshake, ..Facts::RELIABLE_STREAM }
    }

    /// Parses `NAME[/allow=..&deny=..]`; an empty name requests a new one.
    fn endpoints(
        &self,
        _notation: Notation,
        text: Part<'_>,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        let (name, options) = text.split('/');
        let (version, name) = name.version()?;
        let in_name = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
        if !name.text().chars().all(in_name) {
            return Err(name.error("a port is named by letters, digits, - and ."));
        }
        let mut endpoint = Endpoint::new(SCHEME, name.text());
        endpoint.version = version;
        let mut rest = options.filter(|options| !options.text().is_empty());
        while let Some(part) = rest {
            let (option, more) = part.split('&');
            rest = more;
            let (word, Some(value)) = option.split('=') else {
                return Err(option.error("an option is written name=value"));
            };
            if !endpoint.common_option(word, value)? {
                return Err(word.error("the options are allow and deny"));
            }
        }
        Ok(vec![endpoint])
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        let mut ports = lock(&self.ports);
        ports.retain(|_, port| port.strong_count() > 0);
        let mut endpoint = at.clone();
        let mut number = 0;
        while endpoint.place.is_empty() || (number > 0 && ports.contains_key(&endpoint.place)) {
            number += 1;
            endpoint.place = format!("tty{number}");
        }
        if ports.contains_key(&endpoint.place) {
            return Err(ListenError {
                endpoint: Box::new(at.clone()),
                address: endpoint.place,
                error: io::ErrorKind::AddrInUse.into(),
                advice: Some("one line goes into a port: choose another"),
            });
        }
        let port = Arc::new(Port { queue: Mutex::default(), changed: Condvar::new() });
        ports.insert(endpoint.place.clone(), Arc::downgrade(&port));
        Ok(Box::new(Listening { lines: self.clone(), port, endpoint }))
    }

    fn published(&self, at: &Endpoint, _rules: &[Publish]) -> io::Result<Vec<Address>> {
        Ok(vec![self.own_address(at)])
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        Address::new(SCHEME, &at.place)
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        !at.place.is_empty()
    }

    fn is_local(&self, _at: &Endpoint) -> bool {
        true
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        let mut next = at.clone();
        if !next.place.is_empty() {
            next.place = format!("{}.{number}", next.place);
        }
        Some(next)
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        let refused = io::ErrorKind::ConnectionRefused;
        let name = to.of(SCHEME).ok_or(io::ErrorKind::InvalidInput)?;
        let port = self.port(name).ok_or(refused)?;
        let mut queue = lock(&port.queue);
        if queue.closed || queue.waiting.len() >= BACKLOG {
            return Err(refused.into());
        }
        let (here, there) = UnixStream::pair()?;
        let end = |socket: UnixStream, [local, peer]: [&str; 2]| Line {
            stream: Stream::new(socket.into()),
            local: format!("{name}, {local} end"),
            peer: format!("{name}, {peer} end"),
            facts: self.facts(),
            baud: self.baud,
            owed: AtomicU64::new(0),
        };
        queue.waiting.push_back(Box::new(end(there, ["answering", "calling"])));
        drop(queue);
        port.changed.notify_one();
        Ok(Start::Done(Box::new(end(here, ["calling", "answering"]))))
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = lock(&self.ports).len();
        write!(f, "Serial({} baud, {ports} ports)", self.baud)
    }
}

/// Listener at a port.
struct Listening {
    lines: Serial,
    port: Arc<Port>,
    endpoint: Endpoint,
}

impl Acceptor for Listening {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let mut queue = lock(&self.port.queue);
        loop {
            if queue.closed {
                return Err(io::ErrorKind::NotConnected.into());
            }
            if let Some(line) = queue.waiting.pop_front() {
                return Ok(line);
            }
            let changed = self.port.changed.wait(queue);
            queue = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        let mut ports = lock(&self.lines.ports);
        let ours = |port: &Weak<Port>| port.as_ptr() == Arc::as_ptr(&self.port);
        if ports.get(&self.endpoint.place).is_some_and(ours) {
            ports.remove(&self.endpoint.place);
        }
        drop(ports);
        let mut queue = lock(&self.port.queue);
        queue.closed = true;
        let refused = std::mem::take(&mut queue.waiting);
        drop(queue);
        drop(refused);
        self.port.changed.notify_all();
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.close();
    }
}

/// End of a line.
struct Line {
    stream: Stream,
    local: String,
    peer: String,
    facts: Facts,
    baud: u32,
    /// Time that the line still needs for the octets written, in nanoseconds, while it is too short to sleep for.
    owed: AtomicU64,
}

/// Shortest time to sleep for, in nanoseconds.
const NAP: u64 = 100_000;

impl Line {
    /// Delays the writer for the line's time for `octets` octets.
    fn pace(&self, octets: usize) {
        let time = octets as u64 * BITS * 1_000_000_000 / u64::from(self.baud);
        let owed = self.owed.load(Ordering::Relaxed) + time;
        if owed >= NAP {
            thread::sleep(Duration::from_nanos(owed));
        }
        self.owed.store(if owed >= NAP { 0 } else { owed }, Ordering::Relaxed);
    }
}

impl Link for Line {
    oxorb::transport::forward_to_stream!(stream);

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let octets = slices.iter().map(|slice| slice.len()).sum();
        self.stream.write(slices)?;
        self.pace(octets);
        Ok(())
    }

    fn facts(&self) -> Facts {
        self.facts
    }

    fn peer(&self) -> String {
        self.peer.clone()
    }

    fn identity(&self) -> PeerId {
        PeerId::Process
    }

    /// Ignores all properties: a serial line has none of those of network connections.
    fn apply(&self, _properties: &Properties) -> io::Result<()> {
        Ok(())
    }

    fn local(&self) -> String {
        self.local.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
