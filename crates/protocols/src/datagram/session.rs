//! End of an exchange of datagrams, without I/O: which received datagrams are messages, and which
//! of its own may leave.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use oxorb_sys::sync::Mutex;

use crate::datagram::message::{Header, Kind};
use crate::datagram::window::{Seen, Window};

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends requests.
    Client,
    /// Answers them, and takes no sender's word for its address.
    Server,
}

/// Octets of a challenge, and of the answer to one: `OXDG`, the kind in one octet, three of zero, and a number that only
/// who gets what is sent to an address can know.
pub const CHALLENGE: usize = 16;

const MAGIC: [u8; 4] = *b"OXDG";
const ASKED: u8 = 1;
const ANSWERED: u8 = 2;

/// Most octets that an unverified source may have sent on account.
const MOST_CREDIT: u64 = 64 << 10;

/// State of one end. Whoever reads and whoever writes may be two threads.
#[derive(Debug)]
pub struct Session {
    role: Role,
    /// Most octets of a datagram.
    most: usize,
    window: Window,
    /// Server: octets that came from an unverified source, less those that were sent there.
    credit: AtomicU64,
    verified: AtomicBool,
    /// Number of the challenge.
    nonce: u64,
    /// Replies that wait for the source to be verified, one behind another.
    held: Mutex<Vec<u8>>,
    dropped: AtomicU64,
}

/// Meaning of a datagram that came.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A message, for the layer above.
    Message,
    /// The datagram is dropped.
    Dropped(Reason),
    /// A challenge: this is to be sent back.
    Respond([u8; CHALLENGE]),
    /// The source is who it says: these messages, which may be none, are to be sent.
    Release(Vec<u8>),
}

/// Reason why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The datagram is no message of GIOP 1.0 to 1.2, or is shorter or longer than the message
    /// says.
    Malformed,
    /// More octets than this end takes.
    TooLong,
    /// A message that the other side never sends, or a part of one.
    Unexpected,
    /// A request or reply that came before.
    Duplicate,
    /// A request or reply that may have come before: nobody knows any more.
    TooOld,
    /// A wrong answer to a challenge, or one to none.
    Unasked,
}

/// Fate of a message that is to leave.
#[derive(Debug, PartialEq, Eq)]
pub enum Departure {
    /// The message is to be sent.
    Send,
    /// Datagrams have no such message: nothing is to be sent.
    Skip,
    /// The message was kept until the source is verified; the challenge is to be sent, if there is
    /// one.
    Hold(Option<[u8; CHALLENGE]>),
    /// The message is larger than a datagram, or a part of a message.
    Refuse,
}

impl Session {
    /// Begins one. `nonce`: a number that nobody can guess, for a server.
    pub fn new(role: Role, most: usize, nonce: u64) -> Self {
        Self {
            role,
            most,
            window: Window::default(),
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

    /// Returns the most octets of a datagram.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns how many datagrams were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Takes a datagram. Allocates nothing; what is released was allocated when it was kept.
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
            // A request that is cancelled again is cancelled.
            (Role::Server, Kind::Cancel) => false,
            _ => return self.drop(Reason::Unexpected),
        };
        let Some(id) = header.request_id(datagram) else {
            return self.drop(Reason::Malformed);
        };
        if counts {
            match self.window.note(id) {
                Seen::New => {}
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

    /// Returns what becomes of a message that is to leave; `parts` are its octets. Allocates only where it keeps one.
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

    /// Takes the octets of an answer off what came. `false`: fewer came.
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

    /// Takes a datagram that is no message.
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
