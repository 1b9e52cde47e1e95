//! Acceptor of TLS.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oxorb_sys::clock::LONGEST_WAIT;
use oxorb_sys::socket;
use oxorb_sys::sync::Mutex;
use oxorb_transport::tcp::{TcpAcceptor, TcpLink};
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError, RefusedConnection};
use rustls::{Connection, ServerConnection};

use crate::tls::files::{Files, Loaded};
use crate::tls::handshake::{Half, Step};
use crate::tls::link::Side;

/// Time limit of handshakes in progress when the endpoint is closed.
const LAST: Duration = Duration::from_secs(1);

/// Time limit for a rejected client to read the reason.
const PARTING: Duration = Duration::from_secs(1);

/// Maximum number of octets that are read from such a client and discarded.
const PARTING_OCTETS: usize = 256 << 10;

/// Maximum number of rejected clients that are being notified, in addition to the handshakes in
/// progress.
const MAX_PARTING: usize = 64;

/// Listening TCP socket whose clients are links over TLS.
///
/// The thread in [`accept`](Acceptor::accept) advances all handshakes in progress in steps that
/// never wait: none of them delays another. Each is limited in time and octets, and their number is
/// limited: a further one replaces the oldest handshake of the address with the most handshakes.
pub struct TlsAcceptor {
    tcp: TcpAcceptor,
    endpoint: Endpoint,
    files: Arc<Files>,
    closed: AtomicBool,
    work: Mutex<Work>,
}

#[derive(Default)]
struct Work {
    /// Whether a client waits to be accepted, as far as known.
    client_waits: bool,
    under_way: Vec<UnderWay>,
    parting: Vec<Parting>,
    /// Time at which the last handshake must end; set once the endpoint is closed.
    ends: Option<Instant>,
}

struct UnderWay {
    half: Half,
    until: Instant,
    needs: Step,
}

struct Parting {
    tcp: TcpLink,
    until: Instant,
    octets: usize,
}

impl TlsAcceptor {
    /// Listens on the place of `endpoint`.
    ///
    /// # Errors
    /// [`ListenError`] with advice, for a missing certificate or an unavailable address.
    pub(crate) fn listen(endpoint: &Endpoint, files: Arc<Files>) -> Result<Self, ListenError> {
        let failed = |error, advice| ListenError {
            endpoint: Box::new(endpoint.clone()),
            address: endpoint.place.clone(),
            error,
            advice,
        };
        if let Err(why) = files.current().server {
            let advice = "`oxorb cert new` makes test certificates";
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, why), Some(advice)));
        }
        let tcp = TcpAcceptor::listen(endpoint)?;
        socket::set_blocking(&tcp, false).map_err(|error| failed(error, None))?;
        Ok(Self {
            endpoint: tcp.endpoint().clone(),
            tcp,
            files,
            closed: AtomicBool::new(false),
            work: Mutex::default(),
        })
    }

    /// Accepts a waiting client, if any, and advances the handshakes in progress until one may be
    /// finished.
    fn next(&self, work: &mut Work) -> io::Result<Option<Box<dyn Link>>> {
        let loaded = self.files.current();
        if let Some(why) = self.files.complaint() {
            let peer = "certificates".to_owned();
            return Err(RefusedConnection { peer, why }.into());
        }
        if std::mem::take(&mut work.client_waits)
            && let Some(evicted) = self.begin(work, &loaded)?
        {
            return Err(evicted.into());
        }
        self.turn(work, true)
    }

    /// Accepts a waiting client, if any, and begins its handshake. Returns the client that was refused, if any: one
    /// that was evicted to free a slot, or the new one if there is no configuration.
    fn begin(&self, work: &mut Work, loaded: &Loaded) -> io::Result<Option<RefusedConnection>> {
        let tcp = match self.tcp.accept_link() {
            Ok(tcp) => tcp,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let security = &loaded.security;
        let evicted = work.make_room(security.handshakes);
        let server = loaded.server.as_ref().map_err(Clone::clone);
        let made = server.and_then(|config| {
            ServerConnection::new(Arc::clone(config)).map_err(|error| error.to_string())
        });
        match made {
            Ok(tls) => work.under_way.push(UnderWay {
                half: Half::new(tcp, Connection::Server(tls), Side::Server),
                until: Instant::now() + security.handshake_time.min(LONGEST_WAIT),
                needs: Step::Input,
            }),
            Err(why) => return Ok(Some(refused(&tcp, why))),
        }
        Ok(evicted)
    }

    /// Continues the handshakes in progress for a while after the endpoint is closed. In TLS 1.3 a
    /// client finishes before its server, and may have sent a request. If its link is returned, the
    /// client can be notified that the request was not read; a broken connection would leave that
    /// uncertain.
    fn finish(&self, work: &mut Work) -> io::Result<Box<dyn Link>> {
        let ends = *work.ends.get_or_insert_with(|| Instant::now() + LAST);
        // Rejected clients get no more time to read the reason. A client that has sent nothing is dropped, too, because
        // it has sent no request.
        work.parting.clear();
        work.under_way.retain(|it| it.half.has_begun());
        for one in &mut work.under_way {
            one.until = one.until.min(ends);
        }
        while !work.under_way.is_empty() {
            // If a handshake fails now, its client is not told the reason.
            if let Ok(Some(link)) = self.turn(work, false) {
                return Ok(link);
            }
        }
        *work = Work::default();
        Err(io::ErrorKind::NotConnected.into())
    }

    /// Waits until a client waits, a handshake may advance, or the time of one is over, and
    /// advances the handshakes. `listening`: new clients are accepted.
    fn turn(&self, work: &mut Work, listening: bool) -> io::Result<Option<Box<dyn Link>>> {
        let now = Instant::now();
        if let Some(refused) = work.late(now) {
            return Err(refused.into());
        }
        let times = work.under_way.iter().map(|it| it.until);
        let times = times.chain(work.parting.iter().map(|it| it.until));
        let limit = times.min().map_or(Duration::MAX, |until| until.duration_since(now));
        let listener = listening.then(|| (self.tcp.as_fd(), true));
        let under_way = work.under_way.iter();
        let under_way = under_way.map(|it| (it.half.fd(), it.needs == Step::Input));
        let parting = work.parting.iter();
        let parting = parting.map(|it| (it.tcp.poll_fd().expect("TCP has a descriptor"), true));
        let all = listener.into_iter().chain(under_way).chain(parting);
        let Some(ready) = socket::all_ready(all, limit)? else {
            return Ok(None);
        };
        let (listener, ready) = ready.split_at(usize::from(listening));
        work.client_waits = listener.contains(&true);
        let (clients, parting) = ready.split_at(work.under_way.len());
        let mut ready = parting.iter();
        work.parting.retain_mut(|it| !*ready.next().unwrap_or(&false) || it.goes_on());
        // The oldest handshake comes first, so that younger ones do not keep it waiting.
        for at in (0..clients.len()).filter(|at| clients[*at]) {
            match work.under_way[at].half.step() {
                Ok(Step::Done) => {
                    let done = work.under_way.remove(at);
                    return Ok(Some(Box::new(done.half.into_link())));
                }
                Ok(needs) => work.under_way[at].needs = needs,
                Err(why) => {
                    let failed = work.under_way.remove(at);
                    let refused = refused(failed.half.tcp(), why);
                    work.part(failed.half, now);
                    return Err(refused.into());
                }
            }
        }
        Ok(None)
    }
}

impl Work {
    /// Evicts a handshake if the limit is reached: the oldest of the address with the most.
    fn make_room(&mut self, most: usize) -> Option<RefusedConnection> {
        if self.under_way.len() < most {
            return None;
        }
        let of = |it: &UnderWay| it.half.tcp().peer_address().ip();
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for one in &self.under_way {
            *counts.entry(of(one)).or_default() += 1;
        }
        // `max_by_key` returns the last of equal elements, which is the oldest handshake in reverse order.
        let at =
            (0..self.under_way.len()).rev().max_by_key(|at| counts[&of(&self.under_way[*at])])?;
        let evicted = self.under_way.remove(at);
        let why = "its handshake was ended in favor of another one: the maximum number of handshakes was running \
                   (-ORBTlsHandshakes)";
        Some(refused(evicted.half.tcp(), why.to_owned()))
    }

    /// Ends a handshake that exceeds its time limit.
    fn late(&mut self, now: Instant) -> Option<RefusedConnection> {
        self.parting.retain(|it| it.until > now);
        let at = self.under_way.iter().position(|it| it.until <= now)?;
        let late = self.under_way.remove(at);
        let why = "its handshake took too long (-ORBTlsHandshakeTime)";
        Some(refused(late.half.tcp(), why.to_owned()))
    }

    fn part(&mut self, half: Half, now: Instant) {
        if self.parting.len() == MAX_PARTING {
            self.parting.remove(0);
        }
        self.parting.push(Parting { tcp: half.part(), until: now + PARTING, octets: 0 });
    }
}

impl Parting {
    /// Discards received octets. Returns false if the client is gone, or its limit is reached.
    fn goes_on(&mut self) -> bool {
        let mut dropped = Vec::new();
        match self.tcp.read_now(&mut dropped, 16 << 10) {
            Ok(0) => false,
            Ok(octets) => {
                self.octets += octets;
                self.octets < PARTING_OCTETS
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

fn refused(tcp: &TcpLink, why: String) -> RefusedConnection {
    RefusedConnection { peer: tcp.peer(), why }
}

impl Acceptor for TlsAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let mut work = self.work.lock();
        loop {
            if self.closed.load(Ordering::Acquire) {
                return self.finish(&mut work);
            }
            match self.next(&mut work) {
                Ok(Some(link)) => return Ok(link),
                Ok(None) => {}
                // The endpoint was closed meanwhile. The next iteration finishes the handshakes in progress, because
                // the caller may not call again.
                Err(_) if self.closed.load(Ordering::Acquire) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.tcp.close();
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}
