//! Network of a world: addresses at which servers listen, and links that the weather makes late, slow, stalled or cut.
//!
//! A link is a stream in each direction: octets arrive in order and once, or the connection is lost.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use oxorb_transport::{
    Acceptor, Address, Connecting, Endpoint, EndpointError, Facts, Link, ListenError, Notation,
    Part, PeerId, Properties, Publish, Scheme, Start, Transport, WriteError, mem,
};

use super::Random;
use super::sync::{Condvar, Mutex, MutexGuard};
use super::world::here;
use crate::protocol::{Placed, ProtocolStack, Protocols};

/// Behaviour of the network from now on. Octets in transit are not affected.
#[derive(Clone)]
pub(crate) struct Weather {
    /// Transit time of octets.
    pub(crate) latency: Duration,
    /// Largest additional transit time, random for each write.
    pub(crate) jitter: Duration,
    /// Octets that arrive at a time; the next ones arrive `pace` later.
    pub(crate) piece: usize,
    pub(crate) pace: Duration,
    /// Octets in transit or unread at which a write waits.
    pub(crate) window: usize,
    /// Result of connection attempts.
    pub(crate) connect: Connect,
    /// Faults to inject into the next connections, in order; the last one applies to all later connections.
    pub(crate) faults: VecDeque<ConnectionFaults>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Connect {
    /// Connected after a round trip, if a server listens.
    Made,
    /// Refused after a round trip for this number of times, then connected.
    Refused(u32),
    /// Silence of the server.
    Silent,
}

/// Faults of a connection, in each direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionFaults {
    pub(crate) to_server: Trouble,
    pub(crate) to_client: Trouble,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// Reset of the connection after this number of octets.
    Cut(u64),
    /// Silence of the connection after this number of octets.
    Stall(u64),
}

impl Default for Weather {
    fn default() -> Self {
        Weather {
            latency: Duration::from_millis(1),
            jitter: Duration::ZERO,
            piece: usize::MAX,
            pace: Duration::ZERO,
            window: 64 << 10,
            connect: Connect::Made,
            faults: VecDeque::from([ConnectionFaults::default()]),
        }
    }
}

/// All links of a world.
pub(crate) struct Wire {
    state: Mutex<NetworkState>,
    changed: Condvar,
}

#[derive(Default)]
struct NetworkState {
    weather: Weather,
    pipes: BTreeMap<u64, SimulatedPipe>,
    numbered: u64,
    places: BTreeMap<String, VecDeque<SimulatedLink>>,
    changes: u64,
    attempts: u64,
    random: Option<Random>,
}

/// Direction of a connection.
#[derive(Default)]
struct SimulatedPipe {
    /// Octets in transit or unread, by the time of their arrival.
    under_way: VecDeque<(u64, VecDeque<u8>)>,
    /// Arrival time of the last octets.
    last: u64,
    written: u64,
    trouble: Trouble,
    /// Time at which the reader detects the end.
    end: Option<u64>,
    /// Time at which both sides detect the reset.
    reset: Option<u64>,
    /// Whether no further octet is read.
    deaf: bool,
    /// Whether the writer has closed.
    closed: bool,
    /// Number of dropped ends.
    dropped: u8,
}

/// Time beyond all others.
const NEVER: u64 = u64::MAX;

impl SimulatedPipe {
    fn octets(&self) -> usize {
        self.under_way.iter().map(|(_, octets)| octets.len()).sum()
    }

    fn is_lost(&self, now: u64) -> bool {
        self.reset.is_some_and(|at| at <= now)
    }

    /// Reports whether a read would return at once.
    fn is_ready(&self, now: u64) -> bool {
        let arrived = self.under_way.front().is_some_and(|(at, _)| *at <= now);
        let ended = self.under_way.is_empty() && self.end.is_some_and(|at| at <= now);
        self.deaf || arrived || ended || self.is_lost(now)
    }

    /// Returns the next time at which [`is_ready`](Self::is_ready) changes.
    fn next(&self, now: u64) -> Option<u64> {
        let first = self.under_way.front().map(|(at, _)| *at);
        let moments = [first, self.end, self.reset].into_iter().flatten();
        moments.filter(|at| *at > now && *at != NEVER).min()
    }

    fn take(&mut self, now: u64, buffer: &mut Vec<u8>, max: usize) -> usize {
        let mut taken = 0;
        while taken < max {
            let Some((_, octets)) = self.under_way.front_mut().filter(|(at, _)| *at <= now) else {
                break;
            };
            let count = octets.len().min(max - taken);
            buffer.extend(octets.drain(..count));
            taken += count;
            if octets.is_empty() {
                self.under_way.pop_front();
            }
        }
        taken
    }
}

/// Returns the network of the current thread's world.
pub(crate) fn wire() -> Arc<Wire> {
    Arc::clone(here().expect("a thread of a simulation").world.wire())
}

/// Wakes all waiting threads after a change.
pub(crate) fn touch() {
    wire().touch();
}

/// Polls until `look` returns a value or the limit expires; sleeps between two polls until something changes or
/// arrives.
pub(crate) fn wait_for<T>(limit: Duration, look: impl Fn() -> Option<T>) -> Option<T> {
    let wire = wire();
    let until = after(limit);
    loop {
        let seen = wire.state().changes;
        if let Some(found) = look() {
            return Some(found);
        }
        if limit.is_zero() || until.is_some_and(|until| until <= now()) {
            return None;
        }
        wire.wait(seen, until);
    }
}

/// Returns the time at which `limit` expires, if it ever does.
fn after(limit: Duration) -> Option<u64> {
    here().expect("a thread of a simulation").after(limit)
}

fn now() -> u64 {
    here().map_or(0, |here| here.now())
}

impl Wire {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Wire { state: Mutex::new(NetworkState::default()), changed: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, NetworkState> {
        self.state.lock()
    }

    fn change(&self, mut state: MutexGuard<'_, NetworkState>) {
        state.changes += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the number of directions of connections with an end that is not dropped.
    pub(crate) fn pipes(&self) -> usize {
        self.state().pipes.len()
    }

    fn touch(&self) {
        self.change(self.state());
    }

    /// Waits for a change since `seen`, for an arrival, or until `until`.
    fn wait(&self, seen: u64, until: Option<u64>) {
        let state = self.state();
        if state.changes == seen {
            let now = now();
            let arrival = state.pipes.values().filter_map(|pipe| pipe.next(now)).min();
            self.sleep(state, now, [arrival, until]);
        }
    }

    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, NetworkState>,
        now: u64,
        until: [Option<u64>; 2],
    ) -> MutexGuard<'a, NetworkState> {
        match until.into_iter().flatten().min() {
            None => self.changed.wait(state),
            Some(until) => {
                let limit = Duration::from_nanos(until.saturating_sub(now));
                self.changed.wait_timeout(state, limit).0
            }
        }
    }
}

/// The network as a transport.
#[derive(Clone)]
pub(crate) struct SimulatedNetwork(Arc<Wire>);

impl std::fmt::Debug for SimulatedNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Network")
    }
}

/// Returns the network of this world.
pub(crate) fn network() -> SimulatedNetwork {
    SimulatedNetwork(wire())
}

impl SimulatedNetwork {
    pub(crate) fn protocols(&self) -> Protocols {
        let transport = Arc::new(self.clone());
        let protocol = ProtocolStack::new("mem", Placed::MEMORY, None, transport);
        Protocols::of([protocol.expect("a stream")]).expect("one protocol")
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.0.state().weather);
    }

    /// Resets all present connections, as if a cable was cut and both sides detected it.
    pub(crate) fn reset_all(&self) {
        let now = now();
        let mut state = self.0.state();
        for pipe in state.pipes.values_mut() {
            pipe.reset.get_or_insert(now);
        }
        self.0.change(state);
    }

    /// Stalls all present connections: nothing arrives over them any more.
    pub(crate) fn stall_all(&self) {
        let mut state = self.0.state();
        for pipe in state.pipes.values_mut() {
            pipe.trouble = Trouble::Stall(pipe.written);
        }
        self.0.change(state);
    }

    /// Returns the number of connection attempts so far.
    pub(crate) fn attempts(&self) -> u64 {
        self.0.state().attempts
    }

    /// Returns the number of directions of connections with an end that is not dropped.
    pub(crate) fn pipes(&self) -> usize {
        self.0.pipes()
    }
}

impl NetworkState {
    fn connect(&mut self) -> (SimulatedLink, SimulatedLink) {
        let fault = match self.weather.faults.len() {
            2.. => self.weather.faults.pop_front(),
            _ => self.weather.faults.front().copied(),
        };
        let fault = fault.unwrap_or_default();
        let [up, down] = [fault.to_server, fault.to_client].map(|trouble| {
            self.numbered += 1;
            let pipe = SimulatedPipe { trouble, ..SimulatedPipe::default() };
            self.pipes.insert(self.numbered, pipe);
            self.numbered
        });
        let link = |incoming, outgoing| SimulatedLink {
            wire: wire(),
            incoming,
            outgoing,
            limits: Mutex::default(),
        };
        (link(down, up), link(up, down))
    }

    fn pipe(&mut self, number: u64) -> &mut SimulatedPipe {
        self.pipes.get_mut(&number).expect("a link holds it")
    }

    fn delay(&mut self) -> u64 {
        let jitter = self.weather.jitter.as_nanos() as u64;
        let random = self.random.get_or_insert_with(super::random);
        let more = random.below(jitter + 1);
        self.weather.latency.as_nanos() as u64 + more
    }

    /// Sends octets up to the window, and returns their number.
    fn send(&mut self, outgoing: u64, incoming: u64, octets: &[u8]) -> usize {
        let now = now();
        let delay = self.delay();
        let Weather { piece, pace, window, .. } = self.weather;
        let pace = pace.as_nanos() as u64;
        let pipe = self.pipe(outgoing);
        let count = octets.len().min(window.saturating_sub(pipe.octets()));
        let mut at = pipe.last.max(now + delay);
        let mut lost = None;
        for octets in octets[..count].chunks(piece) {
            let gone = match pipe.trouble {
                Trouble::None => None,
                Trouble::Cut(after) | Trouble::Stall(after) => {
                    Some(after.saturating_sub(pipe.written) as usize)
                }
            };
            pipe.written += octets.len() as u64;
            let arrive = gone.map_or(octets.len(), |gone| gone.min(octets.len()));
            if arrive > 0 {
                let arrived = octets[..arrive].iter().copied().collect();
                pipe.under_way.push_back((at, arrived));
                pipe.last = at;
                at += pace;
            }
            if arrive < octets.len() {
                match pipe.trouble {
                    Trouble::Cut(_) => lost = Some(at),
                    _ => {
                        let stuck = octets[arrive..].iter().copied().collect();
                        pipe.under_way.push_back((NEVER, stuck));
                        pipe.last = NEVER;
                        at = NEVER;
                    }
                }
            }
        }
        if let Some(at) = lost {
            for number in [outgoing, incoming] {
                if let Some(pipe) = self.pipes.get_mut(&number) {
                    pipe.reset.get_or_insert(at);
                }
            }
        }
        count
    }
}

impl Transport for SimulatedNetwork {
    fn scheme(&self) -> Scheme {
        mem::SCHEME
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn endpoints(&self, _: Notation, text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
        Ok(vec![Endpoint::new(mem::SCHEME, text.text())])
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        let mut state = self.0.state();
        let taken = state.places.insert(at.place.clone(), VecDeque::new());
        assert!(taken.is_none(), "{:?} is taken", at.place);
        Ok(Box::new(SimulatedAcceptor(self.clone(), at.clone())))
    }

    fn published(&self, at: &Endpoint, _: &[Publish]) -> io::Result<Vec<Address>> {
        Ok(vec![self.own_address(at)])
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        Address::new(mem::SCHEME, &at.place)
    }

    fn is_fixed(&self, _: &Endpoint) -> bool {
        true
    }

    fn is_local(&self, _: &Endpoint) -> bool {
        true
    }

    fn following(&self, _: &Endpoint, _: u32) -> Option<Endpoint> {
        None
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        let place = to.of(mem::SCHEME).ok_or(io::ErrorKind::InvalidInput)?;
        let mut state = self.0.state();
        state.attempts += 1;
        let round_trip = state.delay() + state.delay();
        let done = match &mut state.weather.connect {
            Connect::Made => Ok(now() + round_trip),
            Connect::Refused(0) => {
                state.weather.connect = Connect::Made;
                Ok(now() + round_trip)
            }
            Connect::Refused(times) => {
                *times -= 1;
                Err(now() + round_trip)
            }
            Connect::Silent => Ok(NEVER),
        };
        Ok(Start::Wait(Box::new(ConnectAttempt {
            network: self.clone(),
            place: place.to_owned(),
            done,
        })))
    }
}

/// A connection attempt, and the time of its result.
struct ConnectAttempt {
    network: SimulatedNetwork,
    place: String,
    done: Result<u64, u64>,
}

impl Connecting for ConnectAttempt {
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>> {
        let (Ok(at) | Err(at)) = self.done;
        if at > now() {
            return Ok(None);
        }
        let mut state = self.network.0.state();
        if self.done.is_err() || !state.places.contains_key(&self.place) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (here, there) = state.connect();
        let waiting = state.places.get_mut(&self.place).expect("as seen");
        waiting.push_back(there);
        self.network.0.change(state);
        Ok(Some(Box::new(here)))
    }
}

struct SimulatedAcceptor(SimulatedNetwork, Endpoint);

impl Acceptor for SimulatedAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let wire = &self.0.0;
        let mut state = wire.state();
        loop {
            let waiting = state.places.get_mut(&self.1.place);
            let waiting = waiting.ok_or(io::ErrorKind::NotConnected)?;
            if let Some(link) = waiting.pop_front() {
                return Ok(Box::new(link));
            }
            state = wire.sleep(state, 0, [None, None]);
        }
    }

    fn close(&self) {
        let mut state = self.0.0.state();
        let refused = state.places.remove(&self.1.place);
        self.0.0.change(state);
        drop(refused);
    }

    fn endpoint(&self) -> &Endpoint {
        &self.1
    }
}

impl Drop for SimulatedAcceptor {
    fn drop(&mut self) {
        self.close();
    }
}

/// End of a simulated connection.
pub(crate) struct SimulatedLink {
    wire: Arc<Wire>,
    incoming: u64,
    outgoing: u64,
    limits: Mutex<SimulatedTimeouts>,
}

#[derive(Default, Clone, Copy)]
struct SimulatedTimeouts {
    read: Option<Duration>,
    write: Option<Duration>,
}

impl SimulatedLink {
    /// Reads, up to the time `until` if there is one.
    fn read_until(
        &self,
        buffer: &mut Vec<u8>,
        max: usize,
        until: Option<u64>,
    ) -> io::Result<usize> {
        let mut state = self.wire.state();
        loop {
            let now = now();
            let window = state.weather.window;
            let pipe = state.pipe(self.incoming);
            if pipe.deaf || max == 0 {
                return Ok(0);
            }
            let full = pipe.octets() >= window;
            let taken = pipe.take(now, buffer, max);
            if taken > 0 {
                if full {
                    self.wire.change(state);
                }
                return Ok(taken);
            }
            if pipe.is_lost(now) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if pipe.is_ready(now) {
                return Ok(0);
            }
            if until.is_some_and(|until| until <= now) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let next = pipe.next(now);
            state = self.wire.sleep(state, now, [next, until]);
        }
    }
}

impl Link for SimulatedLink {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        let limit = self.limits.lock().read;
        self.read_until(buffer, max, limit.and_then(after))
    }

    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.read_until(buffer, max, Some(0))
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let octets: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let limit = self.limits.lock().write;
        let until = limit.and_then(after);
        let mut written = 0;
        let mut state = self.wire.state();
        loop {
            let now = now();
            let lost = state.pipe(self.incoming).is_lost(now);
            let delay = state.delay();
            let pipe = state.pipe(self.outgoing);
            let failed = |kind: io::ErrorKind, written| WriteError { written, error: kind.into() };
            if pipe.closed {
                return Err(failed(io::ErrorKind::NotConnected, written));
            }
            if lost || pipe.is_lost(now) {
                return Err(failed(io::ErrorKind::ConnectionReset, written));
            }
            if pipe.deaf {
                // The system accepts the octets, and detects later that they are not read.
                pipe.reset.get_or_insert(now + 2 * delay);
                return Ok(());
            }
            let sent = state.send(self.outgoing, self.incoming, &octets[written..]);
            if sent > 0 {
                written += sent;
                self.wire.change(state);
                state = self.wire.state();
            }
            if written == octets.len() {
                return Ok(());
            }
            if until.is_some_and(|until| until <= now) {
                return Err(failed(io::ErrorKind::TimedOut, written));
            }
            let reset = state.pipe(self.outgoing).next(now);
            state = self.wire.sleep(state, now, [until, reset]);
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.limits.lock().read = timeout;
        Ok(())
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.limits.lock().write = timeout;
        Ok(())
    }

    fn close(&self) {
        let now = now();
        let mut state = self.wire.state();
        let delay = state.delay();
        let incoming = state.pipe(self.incoming);
        incoming.deaf = true;
        incoming.under_way.clear();
        let outgoing = state.pipe(self.outgoing);
        outgoing.closed = true;
        let last = outgoing.last;
        outgoing.end.get_or_insert(last.max(now + delay));
        self.wire.change(state);
    }

    fn close_read(&self) {
        let mut state = self.wire.state();
        let incoming = state.pipe(self.incoming);
        incoming.deaf = true;
        incoming.under_way.clear();
        self.wire.change(state);
    }

    fn is_dead(&self) -> bool {
        let now = now();
        let mut state = self.wire.state();
        let pipe = state.pipe(self.incoming);
        let ended = pipe.under_way.is_empty() && pipe.end.is_some_and(|at| at <= now);
        ended || pipe.is_lost(now)
    }

    fn has_input(&self) -> io::Result<bool> {
        let now = now();
        Ok(self.wire.state().pipe(self.incoming).is_ready(now))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn peer(&self) -> String {
        "the other side".to_owned()
    }

    fn identity(&self) -> PeerId {
        PeerId::Process
    }

    fn apply(&self, _: &Properties) -> io::Result<()> {
        Ok(())
    }

    fn local(&self) -> String {
        "this side".to_owned()
    }
}

impl Drop for SimulatedLink {
    fn drop(&mut self) {
        if here().is_none() {
            return;
        }
        self.close();
        let mut state = self.wire.state();
        // A direction is removed when its second end is dropped.
        for number in [self.incoming, self.outgoing] {
            let pipe = state.pipe(number);
            pipe.dropped += 1;
            if pipe.dropped == 2 {
                state.pipes.remove(&number);
            }
        }
        self.wire.change(state);
    }
}
