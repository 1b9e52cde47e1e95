//! Address servers: CORBA objects that return the host or multicast group for events of a type and source.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use oxorb::{CompletionStatus, Interface as _, SystemException, SystemExceptionKind};
use oxorb_sys::sync::Mutex;

use super::Destinations;
use crate::rtec_event_comm::EventHeader;
use crate::rtec_udp_admin::{AddrServer, AddrServerRef, UdpAddr, UdpAddrV6, UdpAddress};

/// Maximum number of cached addresses. When the cache is full, it is cleared.
const KEPT: usize = 1_024;

/// Minimum time for which a server that did not answer is not called.
const SILENCE: Duration = Duration::from_secs(1);

/// Addresses from an address server of any ORB, including TAO's (`RtecUDPAdmin::AddrServer`).
///
/// The server is called once for each type and source, and again when the answer is older than [`keep`](Self::keep). If
/// the server does not answer, one event is delayed by the time limit of a call. The server is then not called for the
/// time `keep`, but at least for a second. During this time, the last known address is used; if there is none, the
/// event has no address.
#[derive(Debug)]
pub struct AskedAddresses {
    server: AddrServerRef,
    keep: Duration,
    known: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    answers: HashMap<(i32, i32), Known>,
    /// Time at which the server last failed to answer; `None` if it answered the last call.
    silent: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    address: Option<SocketAddr>,
    asked: Instant,
}

impl AskedAddresses {
    /// Creates addresses that are valid for 10 s. Calls take at most 1 s.
    pub fn new(server: AddrServerRef) -> Self {
        Self { server, keep: Duration::ZERO, known: Mutex::default() }
            .timeout(Duration::from_secs(1))
            .keep(Duration::from_secs(10))
    }

    /// Sets the time for which an answer is valid. If it is zero, the server is called for each event, like TAO's
    /// gateways do, as long as it answers.
    pub fn keep(self, keep: Duration) -> Self {
        Self { keep, ..self }
    }

    /// Sets the time limit of a call. It is also the maximum delay of an event whose address is not known.
    pub fn timeout(self, timeout: Duration) -> Self {
        let server = self.server.reference().with_timeout(timeout);
        Self { server: AddrServerRef::from_ref(server), ..self }
    }

    pub(super) fn of(&self, header: &EventHeader) -> Option<SocketAddr> {
        let key = (header.r#type, header.source);
        let all = self.known.lock();
        let (known, silent) = (all.answers.get(&key).copied(), all.silent);
        drop(all);
        let asked = Instant::now();
        if let Some(known) = known
            && asked.duration_since(known.asked) < self.keep
        {
            return known.address;
        }
        let before = known.and_then(|known| known.address);
        if silent.is_some_and(|since| since.elapsed() < self.keep.max(SILENCE)) {
            return before;
        }
        let answer = self.ask(header);
        let mut all = self.known.lock();
        all.silent = match &answer {
            Err(why) if is_silence(why.kind) => Some(Instant::now()),
            _ => None,
        };
        if all.silent.is_some() {
            return before;
        }
        let address = answer.unwrap_or(before);
        if all.answers.len() >= KEPT {
            all.answers.clear();
        }
        all.answers.insert(key, Known { address, asked });
        address
    }

    /// Calls the server like TAO's gateways: with the ttl that the event will have. If the server does not know the
    /// operation for IPv6 addresses, calls the older one.
    fn ask(&self, header: &EventHeader) -> Result<Option<SocketAddr>, SystemException> {
        let mut header = *header;
        header.ttl = header.ttl.saturating_sub(1);
        match self.server.get_address(&header) {
            Ok(address) => Ok(address_of(&address)),
            Err(why) if why.kind == SystemExceptionKind::BadOperation => {
                let address = self.server.get_addr(&header)?;
                Ok(address_of(&UdpAddress::V4Addr(address)))
            }
            Err(why) => Err(why),
        }
    }
}

/// Reports whether a call failed without an answer. In this case the next call would probably take as long.
fn is_silence(kind: SystemExceptionKind) -> bool {
    use SystemExceptionKind::{CommFailure, NoResponse, Timeout, Transient};
    matches!(kind, CommFailure | NoResponse | Timeout | Transient)
}

/// Replies like those of TAO's address servers, for remote gateways. Address 0.0.0.0 with port 0 means no address.
impl AddrServer for Destinations {
    /// # Errors
    /// DATA_CONVERSION if the address is an IPv6 address.
    fn get_addr(&self, header: &EventHeader) -> Result<UdpAddr, SystemException> {
        match told(self.of(header)) {
            UdpAddress::V4Addr(address) => Ok(address),
            UdpAddress::V6Addr(_) => Err(SystemException::new(
                SystemExceptionKind::DataConversion,
                0,
                CompletionStatus::Yes,
            )),
        }
    }

    fn get_address(&self, header: &EventHeader) -> Result<UdpAddress, SystemException> {
        Ok(told(self.of(header)))
    }
}

fn told(address: Option<SocketAddr>) -> UdpAddress {
    let address = address.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
    let port = address.port();
    match address.ip() {
        IpAddr::V4(ip) => UdpAddress::V4Addr(UdpAddr { ipaddr: ip.to_bits(), port }),
        IpAddr::V6(ip) => UdpAddress::V6Addr(UdpAddrV6 { ipaddr: ip.octets(), port }),
    }
}

fn address_of(told: &UdpAddress) -> Option<SocketAddr> {
    let (ip, port) = match told {
        UdpAddress::V4Addr(address) => (Ipv4Addr::from_bits(address.ipaddr).into(), address.port),
        UdpAddress::V6Addr(address) => (IpAddr::V6(Ipv6Addr::from(address.ipaddr)), address.port),
    };
    (port != 0).then(|| SocketAddr::new(ip, port))
}
