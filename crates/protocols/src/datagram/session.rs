//! End of an exchange of datagrams, without I/O: which received datagrams are messages, and which
//! messages may be sent.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb_sys::sync::Mutex;

use crate::datagram::message::{Header, Kind};
use crate::datagram::window::{Seen, Window};

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Client, which sends requests.
    Client,
    /// Server, which answers requests and verifies the addresses of its sources.
    Server,
}

/// Size in octets of a challenge, and of its answer: `OXDG`, the kind in one octet, three zero octets,
/// and a number known only to a receiver at the challenged address.
pub const CHALLENGE: usize = 16;

const MAGIC: [u8; 4] = *b"OXDG";
const ASKED: u8 = 1;
const ANSWERED: u8 = 2;

/// Maximum number of octets credited to an unverified source.
const MOST_CREDIT: u64 = 64 << 10;

/// Time for which a source sends only old request ids before it counts as a new client, whose system gave it the port
/// of an earlier one. Duplicates that a network makes arrive much earlier.
const OLD_IDS: Duration = Duration::from_secs(5);

/// State of one end. The reader and the writer may be different threads.
#[derive(Debug)]
pub struct Session {
    role: Role,
    /// Largest datagram in octets.
    most: usize,
    window: Window,
    /// Server: first request with an old id since the highest one.
    old: Mutex<Option<OldRequest>>,
    /// Server: octets received from an unverified source, minus those sent to it.
    credit: AtomicU64,
    verified: AtomicBool,
    /// Number of the challenge.
    nonce: u64,
    /// Replies that are held until the source is verified, concatenated.
    held: Mutex<Vec<u8>>,
    dropped: AtomicU64,
}

/// Request that was dropped because its id was old.
#[derive(Debug)]
struct OldRequest {
    id: u32,
    /// Highest id at that time.
    highest: u64,
    at: Instant,
}

/// Result of receiving a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A message, for the layer above.
    Message,
    /// The datagram is dropped.
    Dropped(Reason),
    /// The datagram is a challenge, and this answer to it is to be sent.
    Respond([u8; CHALLENGE]),
    /// The datagram verifies the source. These held messages, possibly none, are to be sent.
    Release(Vec<u8>),
}

/// Reason why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Datagram that is not a message of GIOP 1.0 to 1.2, or whose size differs from that in its
    /// header.
    Malformed,
    /// Datagram larger than this end accepts.
    TooLong,
    /// Message that the other role never sends, or a fragment.
    Unexpected,
    /// Request or reply received before.
    Duplicate,
    /// Request or reply too old to tell whether it was received before.
    TooOld,
    /// Wrong answer to a challenge, or an answer without one.
    Unasked,
}

/// Treatment of a message to send.
#[derive(Debug, PartialEq, Eq)]
pub enum Departure {
    /// The message is to be sent.
    Send,
    /// The message does not exist over datagrams: nothing is to be sent.
    Skip,
    /// The message is held until the source is verified; the challenge, if any, is to be sent.
    Hold(Option<[u8; CHALLENGE]>),
    /// The message is larger than a datagram, or a fragment.
    Refuse,
}

impl Session {
    /// Returns a new session. A server's `nonce` must be unpredictable.
    pub fn new(role: Role, most: usize, nonce: u64) -> Self {
        Self {
            role,
            most,
            window: Window::default(),
            old: Mutex::default(),
            credit: AtomicU64::new(0),
            verified: AtomicBool::new(false),
            nonce,
            held: Mutex::default(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Returns the role of this end.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the size of the largest datagram, in octets.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of dropped datagrams.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Processes a received datagram. Allocates nothing; released messages were allocated when
    /// held.
    #[inline]
    pub fn arrived(&self, datagram: &[u8]) -> Arrival {
        let Some(header) = Header::read(datagram).filter(|it| it.octets == datagram.len()) else {
            return self.unusual(datagram);
        };
        if datagram.len() > self.most {
            return self.drop(Reason::TooLong);
        }
        let counts = match (self.role, header.kind) {
            (Role::Server, Kind::Request | Kind::LocateRequest)
            | (Role::Client, Kind::Reply | Kind::LocateReply) => true,
            // A cancel may arrive twice, because cancelling a request again changes nothing.
            (Role::Server, Kind::Cancel) => false,
            _ => return self.drop(Reason::Unexpected),
        };
        let Some(id) = header.request_id(datagram) else {
            return self.drop(Reason::Malformed);
        };
        if counts {
            match self.window.note(id) {
                Seen::New => {}
                _ if self.is_of_new_client(id, Instant::now()) => self.window.begin_again(id),
                Seen::Twice => return self.drop(Reason::Duplicate),
                Seen::TooOld => return self.drop(Reason::TooOld),
            }
        }
        if self.role == Role::Server && !self.verified.load(Relaxed) {
            let credit = |credit: u64| Some((credit + datagram.len() as u64).min(MOST_CREDIT));
            let _ = self.credit.fetch_update(Relaxed, Relaxed, credit);
        }
        Arrival::Message
    }

    /// Reports whether a request with an old id comes from a new client at the address of an earlier one: for
    /// [`OLD_IDS`], only old ids have arrived, and this is not a duplicate of the first of them.
    #[cold]
    fn is_of_new_client(&self, id: u32, now: Instant) -> bool {
        if self.role == Role::Client {
            return false;
        }
        let highest = self.window.highest();
        let mut old = self.old.lock();
        match &*old {
            Some(first) if first.highest == highest => {
                first.id != id && now.saturating_duration_since(first.at) >= OLD_IDS
            }
            _ => {
                *old = Some(OldRequest { id, highest, at: now });
                false
            }
        }
    }

    /// Returns the treatment of a message to send; `parts` are its octets. Allocates only to hold
    /// it.
    #[inline]
    pub(crate) fn departs(&self, header: Header, parts: &[IoSlice<'_>]) -> Departure {
        match (self.role, header.kind) {
            (_, Kind::Close | Kind::Error) => return Departure::Skip,
            _ if header.octets > self.most => return Departure::Refuse,
            (Role::Client, Kind::Request | Kind::Cancel | Kind::LocateRequest) => {
                return Departure::Send;
            }
            (Role::Server, Kind::Reply | Kind::LocateReply) => {}
            _ => return Departure::Refuse,
        }
        if self.verified.load(Relaxed) || self.pay(header.octets) {
            return Departure::Send;
        }
        self.hold(header.octets, parts)
    }

    /// Subtracts the octets of an answer from the credit; returns false if the credit is too small.
    fn pay(&self, octets: usize) -> bool {
        let less = |credit: u64| credit.checked_sub(octets as u64);
        self.credit.fetch_update(Relaxed, Relaxed, less).is_ok()
    }

    #[cold]
    fn hold(&self, octets: usize, parts: &[IoSlice<'_>]) -> Departure {
        let mut held = self.held.lock();
        if self.verified.load(Relaxed) {
            return Departure::Send;
        }
        if held.len() + octets <= self.most {
            for part in parts {
                held.extend_from_slice(part);
            }
        }
        Departure::Hold(self.pay(CHALLENGE).then(|| word(ASKED, self.nonce)))
    }

    /// Processes a datagram that is not a message.
    #[cold]
    fn unusual(&self, datagram: &[u8]) -> Arrival {
        let Ok(octets) = <&[u8; CHALLENGE]>::try_from(datagram) else {
            return self.drop(Reason::Malformed);
        };
        let [b'O', b'X', b'D', b'G', kind, 0, 0, 0, nonce @ ..] = octets else {
            return self.drop(Reason::Malformed);
        };
        let nonce = u64::from_be_bytes(*nonce);
        match (self.role, *kind) {
            (Role::Client, ASKED) => Arrival::Respond(word(ANSWERED, nonce)),
            (Role::Server, ANSWERED) if nonce == self.nonce => {
                let mut held = self.held.lock();
                self.verified.store(true, Relaxed);
                Arrival::Release(std::mem::take(&mut *held))
            }
            (Role::Server, ANSWERED) => self.drop(Reason::Unasked),
            _ => self.drop(Reason::Unexpected),
        }
    }

    #[cold]
    fn drop(&self, reason: Reason) -> Arrival {
        self.dropped.fetch_add(1, Relaxed);
        Arrival::Dropped(reason)
    }
}

fn word(kind: u8, nonce: u64) -> [u8; CHALLENGE] {
    let mut octets = [0; CHALLENGE];
    octets[..4].copy_from_slice(&MAGIC);
    octets[4] = kind;
    octets[8..].copy_from_slice(&nonce.to_be_bytes());
    octets
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
