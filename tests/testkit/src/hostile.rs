//! Peers that send what no client should.
//!
//! A server must outlive every one of them, and go on serving others meanwhile.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// What to do to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Connect, and send nothing at all.
    Silence,
    /// Octets that are no message of any protocol, and many of them.
    Garbage,
    /// The first seven octets of a header.
    HalfHeader,
    /// A header that announces 100 octets, and ten of them.
    HalfMessage,
    /// A header that announces 4 GiB, and the beginning of them.
    HugeLength,
    /// A header of GIOP 9.9.
    UnknownVersion,
    /// A header with a message type that does not exist.
    UnknownType,
    /// A request whose every length field says 2 GiB.
    HugeFields,
    /// A fragment of a message that never began.
    StrayFragment,
    /// A reply to a request that nobody made.
    StrayReply,
    /// A request, one octet each second.
    Drip,
}

impl Attack {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Silence,
        Self::Garbage,
        Self::HalfHeader,
        Self::HalfMessage,
        Self::HugeLength,
        Self::UnknownVersion,
        Self::UnknownType,
        Self::HugeFields,
        Self::StrayFragment,
        Self::StrayReply,
        Self::Drip,
    ];

    /// The octets it sends at once.
    pub fn octets(self) -> Vec<u8> {
        let message = |kind: u8, size: u32, body: &[u8]| {
            let mut octets = b"GIOP\x01\x02\x01".to_vec(); // 1.2, little-endian, whole
            octets.push(kind);
            octets.extend(size.to_le_bytes());
            octets.extend(body);
            octets
        };
        match self {
            Self::Silence | Self::Drip => Vec::new(),
            Self::Garbage => (0..100_000u32)
                .map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8)
                .collect(),
            Self::HalfHeader => b"GIOP\x01\x02\x01".to_vec(),
            Self::HalfMessage => message(0, 100, &[0; 10]),
            Self::HugeLength => message(0, u32::MAX - 15, &[0; 4096]),
            Self::UnknownVersion => b"GIOP\x09\x09\x01\x00\x04\x00\x00\x00ABCD".to_vec(),
            Self::UnknownType => message(200, 4, &[0; 4]),
            Self::HugeFields => message(0, 64, &[0xff, 0xff, 0xff, 0x7f].repeat(16)),
            Self::StrayFragment => message(7, 8, &[9, 0, 0, 0, 1, 2, 3, 4]),
            Self::StrayReply => message(1, 12, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        }
    }
}

/// An [`Attack`] under way. Dropping it closes the connection.
#[derive(Debug)]
pub struct Attacker {
    stream: TcpStream,
    /// Hanging up stops the thread that drips.
    _drip: Option<Sender<()>>,
}

/// How a server answered an [`Attack`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It closed the connection, having sent these octets.
    Closed(Vec<u8>),
    /// It left the connection open, having sent these octets.
    Open(Vec<u8>),
}

impl Attacker {
    /// Connects and begins.
    ///
    /// # Panics
    /// If the server does not take the connection.
    pub fn start(server: SocketAddr, attack: Attack) -> Self {
        let stream = TcpStream::connect_timeout(&server, Duration::from_secs(20))
            .unwrap_or_else(|error| panic!("the server at {server} takes no connection: {error}"));
        stream
            .set_nodelay(true)
            .expect("a connected socket takes options");
        let bound = Some(Duration::from_secs(20));
        stream
            .set_write_timeout(bound)
            .expect("a connected socket takes options");
        // A server that closes early is within its rights.
        let _ = (&stream).write_all(&attack.octets());
        let drip = (attack == Attack::Drip).then(|| {
            drip(
                stream.try_clone().expect("a descriptor for the thread"),
                Duration::from_secs(1),
            )
        });
        Self {
            stream,
            _drip: drip,
        }
    }

    /// What the server does about it within `limit`.
    pub fn reaction(&mut self, limit: Duration) -> Reaction {
        let end = Instant::now() + limit;
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Reaction::Open(answer);
            }
            self.stream
                .set_read_timeout(Some(left))
                .expect("a time above zero is legal");
            match self.stream.read(&mut buffer) {
                Ok(0) => return Reaction::Closed(answer),
                Ok(count) => answer.extend(&buffer[..count]),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => return Reaction::Closed(answer),
                },
            }
        }
    }
}

/// Sends a long request octet by octet, until hung up on.
fn drip(mut stream: TcpStream, interval: Duration) -> Sender<()> {
    let (stop, stopped) = mpsc::channel();
    thread::spawn(move || {
        let header = b"GIOP\x01\x02\x01\x00\x00\x10\x00\x00";
        for octet in header.iter().copied().chain([0; 4096]) {
            if stream.write_all(&[octet]).is_err()
                || stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout)
            {
                return;
            }
        }
    });
    stop
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn octets_arrive_and_the_reaction_is_seen() {
        let _guard = crate::watchdog(Duration::from_secs(60));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for attack in Attack::ALL {
            let mut attacker = Attacker::start(address, attack);
            let (mut server, _) = listener.accept().unwrap();
            let mut octets = attack.octets();
            if attack == Attack::Drip {
                octets = b"GI".to_vec();
            }
            let expected = octets.clone();
            server.read_exact(&mut octets).unwrap();
            assert_eq!(octets, expected, "{attack:?}");
            server.write_all(b"no").unwrap();
            let short = Duration::from_millis(1);
            assert!(
                matches!(attacker.reaction(short), Reaction::Open(_)),
                "{attack:?}"
            );
            drop(server);
            assert!(matches!(
                attacker.reaction(Duration::from_secs(20)),
                Reaction::Closed(_)
            ));
        }
    }
}
