//! Transport in memory: places by name.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};

use oxorb_sys::sync::{Condvar, Mutex};

use super::pair;
use crate::transport::{Notation, Start};
use crate::{
    Acceptor, Address, Endpoint, EndpointError, Facts, Link, ListenError, Part, PeerId, Publish,
    Scheme, Transport,
};

/// Scheme of addresses in memory.
pub const SCHEME: Scheme = Scheme::new("mem");

/// Capacity of a link each way, in octets.
const CAPACITY: usize = 64 << 10;

/// Maximum number of connections that wait at one place to be accepted.
const BACKLOG: usize = 4096;

/// Network within the process: holders of clones listen at its places and connect to them.
///
/// A place is any name of letters, digits, `.`, `-` and `_`. An empty name and `*` request a new
/// one, as port 0 does with TCP.
///
/// ```
/// use oxorb_transport::{Link, Notation, Part, Transport, mem::Memory};
/// use std::{io::IoSlice, time::Duration};
///
/// let memory = Memory::default();
/// let bank = memory.endpoints(Notation::Url, Part::new("bank"))?.remove(0);
/// let acceptor = memory.listen(&bank)?;
/// let client = oxorb_transport::connect(&memory, &"mem:bank".parse()?, Duration::ZERO);
/// assert!(client.is_err(), "no time to do anything");
/// let client = oxorb_transport::connect(&memory, &"mem:bank".parse()?, Duration::from_secs(5))?;
/// client.write(&mut [IoSlice::new(b"hello")])?;
/// let mut buffer = Vec::new();
/// acceptor.accept()?.read(&mut buffer, 16)?;
/// assert_eq!(buffer, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Places>>);

#[derive(Default)]
struct Places {
    open: HashMap<String, Weak<Place>>,
    /// Number of generated names.
    named: u64,
}

/// Place at which an acceptor listens.
struct Place {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<dyn Link>>,
    closed: bool,
}

impl Memory {
    /// Returns a network without places.
    pub fn new() -> Self {
        Self::default()
    }

    fn open(&self, name: &str) -> Option<Arc<Place>> {
        self.0.lock().open.get(name)?.upgrade()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} places)", self.0.lock().open.len())
    }
}

impl Transport for Memory {
    fn scheme(&self) -> Scheme {
        SCHEME
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn endpoints(
        &self,
        _notation: Notation,
        text: Part<'_>,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        let (place, options) = text.split('/');
        let mut model = Endpoint::new(SCHEME, "");
        let mut rest = options.filter(|options| !options.text().is_empty());
        while let Some(part) = rest {
            let (one, more) = part.split('&');
            rest = more;
            let (name, Some(value)) = one.split('=') else {
                return Err(one.error("an option must have the form NAME=VALUE"));
            };
            if !model.common_option(name, value)? {
                return Err(name.error("the options are allow and deny"));
            }
        }
        let mut endpoints = Vec::new();
        let mut rest = Some(place);
        while let Some(part) = rest {
            let (one, more) = part.split(',');
            rest = more;
            let (version, name) = one.version()?;
            let place = match name.text() {
                "*" => "",
                text if text.chars().all(in_name) => text,
                _ => {
                    return Err(
                        name.error("a name can contain only letters, digits, dots, - and _")
                    );
                }
            };
            endpoints.push(Endpoint { version, place: place.to_owned(), ..model.clone() });
        }
        Ok(endpoints)
    }

    fn verify_offer(&self, address: &Address, client: PeerId) -> Result<Vec<Address>, String> {
        match client {
            PeerId::Process => Ok(vec![address.clone()]),
            client => Err(format!("{client} is another process")),
        }
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        let mut places = self.0.lock();
        places.open.retain(|_, place| place.strong_count() > 0);
        let mut endpoint = at.clone();
        while endpoint.place.is_empty() {
            places.named += 1;
            let name = format!("place-{}", places.named);
            if !places.open.contains_key(&name) {
                endpoint.place = name;
            }
        }
        if places.open.contains_key(&endpoint.place) {
            return Err(ListenError {
                endpoint: Box::new(at.clone()),
                address: endpoint.place,
                error: io::ErrorKind::AddrInUse.into(),
                advice: Some("another listener in this process uses this name: choose another one"),
            });
        }
        let place = Arc::new(Place { queue: Mutex::default(), changed: Condvar::new() });
        places.open.insert(endpoint.place.clone(), Arc::downgrade(&place));
        Ok(Box::new(MemAcceptor { memory: self.clone(), place, endpoint }))
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
        let place = self.open(name).ok_or(refused)?;
        let mut queue = place.queue.lock();
        if queue.closed || queue.waiting.len() >= BACKLOG {
            return Err(refused.into());
        }
        let (mut here, mut there) = pair(CAPACITY);
        let name: Arc<str> = to.for_people().into();
        here.places = [None, Some(Arc::clone(&name))];
        there.places = [Some(name), None];
        queue.waiting.push_back(Box::new(there));
        drop(queue);
        place.changed.notify_one();
        Ok(Start::Done(Box::new(here)))
    }
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// Acceptor at an open place.
struct MemAcceptor {
    memory: Memory,
    place: Arc<Place>,
    endpoint: Endpoint,
}

impl Acceptor for MemAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let mut queue = self.place.queue.lock();
        loop {
            if let Some(link) = queue.waiting.pop_front() {
                return Ok(link);
            }
            if queue.closed {
                return Err(io::ErrorKind::NotConnected.into());
            }
            queue = self.place.changed.wait(queue);
        }
    }

    fn close(&self) {
        let mut places = self.memory.0.lock();
        let name = &self.endpoint.place;
        let ours = |place: &Weak<Place>| place.as_ptr() == Arc::as_ptr(&self.place);
        if places.open.get(name).is_some_and(ours) {
            places.open.remove(name);
        }
        drop(places);
        self.place.queue.lock().closed = true;
        self.place.changed.notify_all();
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Drop for MemAcceptor {
    fn drop(&mut self) {
        self.close();
    }
}
