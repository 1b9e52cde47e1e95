//! Number of copies of a large sequence between the caller's memory and the servant, and back, not counting the
//! transport's own. A wrapped transport records where the octets lie in memory when they are written and read.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the tests run over all protocols.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::lite::{GIOP_LITE, GIOP_LITE_RT, Messaging};
use oxorb::protocol::{Placed, ProtocolStack};
use oxorb::transport::mem::{self, Memory};
use oxorb::transport::tcp::{self, Tcp};
use oxorb::transport::{
    Acceptor, Address, Connecting, Endpoint, EndpointError, Facts, Link, ListenError, Notation,
    Part, Publish, Resolve, Scheme, Start, Transport, WriteError,
};
use oxorb::{Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::watchdog;

use crate::common::LONG;

/// Size of the sequence, in octets.
const LARGE: usize = 1 << 20;

/// Position of octets in memory.
#[derive(Clone, Copy, Default)]
struct Place {
    start: usize,
    len: usize,
}

impl Place {
    fn of(octets: &[u8]) -> Place {
        Place { start: octets.as_ptr() as usize, len: octets.len() }
    }

    fn contains(self, other: Place) -> bool {
        self.start <= other.start && other.start + other.len <= self.start + self.len
    }
}

/// Observations on the links of one side.
#[derive(Default)]
struct Seen {
    /// Number of octets written.
    written: usize,
    /// Number of octets written directly from the sequence.
    lent: usize,
    /// Buffer of the last read, as the read left it.
    buffer: Place,
    /// Number of octets moved within the buffer or to a larger one, between reads or during one.
    moved: usize,
}

#[derive(Default)]
struct Sides {
    client: Mutex<Seen>,
    server: Mutex<Seen>,
}

/// Sequences that are sent.
struct Data {
    argument: Vec<u8>,
    result: Vec<u8>,
}

/// State shared by the wrappers.
#[derive(Clone)]
struct Watch {
    sides: Arc<Sides>,
    data: Arc<Data>,
}

#[derive(Clone)]
struct Watched {
    inner: Arc<dyn Transport>,
    watch: Watch,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl Watched {
    fn link(&self, inner: Box<dyn Link>, client: bool) -> Box<dyn Link> {
        let watch = self.watch.clone();
        Box::new(WatchedLink { inner, watch, client })
    }
}

impl Transport for Watched {
    fn scheme(&self) -> Scheme {
        self.inner.scheme()
    }

    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn endpoints(&self, as_: Notation, text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
        self.inner.endpoints(as_, text)
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        let inner = self.inner.listen(at)?;
        let transport = self.clone();
        Ok(Box::new(WatchedAcceptor { inner, transport }))
    }

    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>> {
        self.inner.published(at, rules)
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        self.inner.own_address(at)
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        self.inner.is_fixed(at)
    }

    fn is_local(&self, at: &Endpoint) -> bool {
        self.inner.is_local(at)
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        self.inner.following(at, number)
    }

    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        self.inner.resolve(to)
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        Ok(match self.inner.start(to)? {
            Start::Done(link) => Start::Done(self.link(link, true)),
            Start::Wait(inner) => {
                Start::Wait(Box::new(WatchedStart { inner, transport: self.clone() }))
            }
        })
    }
}

struct WatchedAcceptor {
    inner: Box<dyn Acceptor>,
    transport: Watched,
}

impl Acceptor for WatchedAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        Ok(self.transport.link(self.inner.accept()?, false))
    }

    fn close(&self) {
        self.inner.close();
    }

    fn endpoint(&self) -> &Endpoint {
        self.inner.endpoint()
    }
}

struct WatchedStart {
    inner: Box<dyn Connecting>,
    transport: Watched,
}

impl Connecting for WatchedStart {
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.poll_fd()
    }

    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>> {
        let link = self.inner.advance()?;
        Ok(link.map(|link| self.transport.link(link, true)))
    }
}

struct WatchedLink {
    inner: Box<dyn Link>,
    watch: Watch,
    client: bool,
}

impl WatchedLink {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        let Sides { client, server } = &*self.watch.sides;
        let side = if self.client { client } else { server };
        side.lock().unwrap()
    }

    fn look(
        &self,
        buffer: &mut Vec<u8>,
        read: impl FnOnce(&mut Vec<u8>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let before = Place::of(buffer);
        let count = read(buffer)?;
        let after = Place::of(buffer);
        let mut seen = self.seen();
        // Since the last read, the octets were moved to another buffer, or some at the front were removed and the rest
        // moved there.
        let last = seen.buffer;
        if before.start != last.start || before.len < last.len {
            seen.moved += before.len;
        }
        if after.start != before.start {
            seen.moved += before.len;
        }
        seen.buffer = after;
        Ok(count)
    }
}

impl Link for WatchedLink {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.look(buffer, |buffer| self.inner.read(buffer, max))
    }

    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.look(buffer, |buffer| self.inner.read_now(buffer, max))
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let Data { argument, result } = &*self.watch.data;
        let mut seen = self.seen();
        for slice in &*slices {
            let place = Place::of(slice);
            seen.written += place.len;
            if [argument, result].map(|data| Place::of(data).contains(place)) != [false; 2] {
                seen.lent += place.len;
            }
        }
        drop(seen);
        self.inner.write(slices)
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.inner.set_write_timeout(timeout)
    }

    oxorb::transport::forward_to_link!(inner);
}

static TAKE: Op = Op::twoway("take");
static GIVE: Op = Op::twoway("give");

/// Servant that takes a sequence and returns one.
struct Carrier(Watch);

impl Servant for Carrier {
    fn repository_id(&self) -> &str {
        "IDL:test/Carrier:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        if upcall.operation() == "give" {
            return upcall.reply(|e| {
                e.length(LARGE, None)?;
                e.octets(&self.0.data.result);
                Ok(())
            });
        }
        let taken = upcall.args(|d| {
            let length = d.length(None, 1)?;
            d.octets(length).map(Place::of)
        });
        match taken {
            Ok(place) => {
                arrived(&mut self.0.sides.server.lock().unwrap(), place);
                upcall.done()
            }
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

/// Counts octets that are not used in the buffer into which they were read.
fn arrived(seen: &mut Seen, place: Place) {
    if !seen.buffer.contains(place) {
        seen.moved += place.len;
    }
}

/// Part of the sequence that is copied for one call, in hundredths of its size, by the sending and by the receiving
/// side.
#[derive(Debug, PartialEq)]
struct Copied {
    sent: usize,
    received: usize,
}

fn copied(from: &Mutex<Seen>, to: &Mutex<Seen>) -> Copied {
    let (from, to) = (from.lock().unwrap(), to.lock().unwrap());
    assert!(from.written > LARGE, "it went over this link");
    Copied { sent: (LARGE - from.lent.min(LARGE)) * 100 / LARGE, received: to.moved * 100 / LARGE }
}

/// Measures the copies of an argument and of a result, once the buffers of the connection have
/// grown.
fn measure(
    endpoint: &str,
    protocol: impl Fn(Watched) -> ProtocolStack,
    inner: Arc<dyn Transport>,
) -> [Copied; 2] {
    let data = Data { argument: vec![3; LARGE], result: vec![5; LARGE] };
    let watch = Watch { sides: Arc::default(), data: Arc::new(data) };
    let transport = Watched { inner, watch: watch.clone() };
    let orb = || Orb::builder().protocol(protocol(transport.clone()));
    let server = orb().listen(endpoint).build().unwrap();
    let client = orb().build().unwrap();
    let carrier = server.root_poa().activate_servant(Arc::new(Carrier(watch.clone())));
    let object: ObjectRef = client.string_to_object(&carrier.unwrap().to_string()).unwrap();
    let Sides { client: here, server: there } = &*watch.sides;
    let begin = || {
        for side in [here, there] {
            let mut side = side.lock().unwrap();
            *side = Seen { buffer: side.buffer, ..Seen::default() };
        }
    };
    let mut counted = Vec::new();
    for round in 0..3 {
        let first = std::mem::take(&mut counted);
        begin();
        let sent: Result<(), SystemException> = object.reference().invoke(
            &TAKE,
            |e| {
                e.length(LARGE, None)?;
                e.octets(&watch.data.argument);
                Ok(())
            },
            |_| Ok(()),
        );
        assert_eq!(sent, Ok(()), "{endpoint}, round {round}");
        counted = vec![copied(here, there)];
        begin();
        let got: Result<Place, SystemException> = object.reference().invoke(
            &GIVE,
            |_| Ok(()),
            |d| {
                let length = d.length(None, 1)?;
                d.octets(length).map(Place::of)
            },
        );
        arrived(&mut here.lock().unwrap(), got.unwrap());
        counted.push(copied(there, here));
        for copied in first.iter().filter(|_| round == 1) {
            // The first message may be copied once by the receiver, whose buffer grows with the octets received and not
            // with the size announced.
            assert!(copied.sent == 0 && copied.received <= 100, "{endpoint}: {copied:?}");
        }
    }
    // Check that a copy would be detected.
    begin();
    let write = |e: &mut oxorb_cdr::Encoder<'_>| {
        e.length(LARGE, None)?;
        e.copy_octets(&watch.data.argument);
        Ok(())
    };
    let sent: Result<(), SystemException> = object.reference().invoke(&TAKE, write, |_| Ok(()));
    assert_eq!(sent, Ok(()));
    assert_eq!(copied(here, there).sent, 100);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    counted.try_into().unwrap_or_else(|_| unreachable!("two"))
}

/// Returns the part of an argument that the client copies with this value of CDRTradeoff, in hundredths.
fn copied_with(tradeoff: usize) -> usize {
    let data = Data { argument: vec![3; LARGE], result: Vec::new() };
    let watch = Watch { sides: Arc::default(), data: Arc::new(data) };
    let transport = Watched { inner: Arc::new(Memory::new()), watch: watch.clone() };
    let orb = || {
        let profile = Placed::new(0x4f58_4fff, "watched", mem::SCHEME);
        let stack = ProtocolStack::new("watched", profile, None, Arc::new(transport.clone()));
        Orb::builder().protocol(stack.unwrap())
    };
    let server = orb().listen("watched://").build().unwrap();
    let client = orb().setting("CDRTradeoff", &tradeoff.to_string()).build().unwrap();
    let carrier = server.root_poa().activate_servant(Arc::new(Carrier(watch.clone())));
    let object: ObjectRef = client.string_to_object(&carrier.unwrap().to_string()).unwrap();
    let sent: Result<(), SystemException> = object.reference().invoke(
        &TAKE,
        |e| {
            e.length(LARGE, None)?;
            e.octets(&watch.data.argument);
            Ok(())
        },
        |_| Ok(()),
    );
    assert_eq!(sent, Ok(()));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    copied(&watch.sides.client, &watch.sides.server).sent
}

#[test]
fn the_setting_decides_which_sequences_are_copied() {
    let _guard = watchdog(LONG);
    assert_eq!(copied_with(LARGE - 1), 0, "the sequence is above the value");
    assert_eq!(copied_with(LARGE), 100, "it is not above the value");
}

/// The numbers are quoted in docs/protocols.md.
#[test]
fn octets_of_a_large_sequence_are_not_copied_by_either_side() {
    let _guard = watchdog(LONG);
    let messagings: [Option<&'static dyn Messaging>; 3] =
        [None, Some(GIOP_LITE), Some(GIOP_LITE_RT)];
    for messaging in messagings {
        let over = |scheme, paths: bool| {
            move |transport: Watched| {
                let profile = Placed::new(0x4f58_4fff, "watched", scheme);
                let profile = if paths { profile.with_paths() } else { profile };
                ProtocolStack::new("watched", profile, messaging, Arc::new(transport)).unwrap()
            }
        };
        let all = [
            ("TCP", measure("watched://127.0.0.1:0", over(tcp::SCHEME, false), Arc::new(Tcp))),
            (
                "UNIX",
                measure(
                    "watched://",
                    over(oxorb_protocols::unix::SCHEME, true),
                    Arc::new(oxorb_protocols::unix::Unix),
                ),
            ),
            ("memory", measure("watched://", over(mem::SCHEME, false), Arc::new(Memory::new()))),
        ];
        for (transport, counted) in all {
            let name = messaging.map_or("GIOP", |other| other.name());
            println!("{name} over {transport}: {counted:?}");
            for copied in counted {
                let none = Copied { sent: 0, received: 0 };
                assert_eq!(copied, none, "{name} over {transport}");
            }
        }
    }
}
