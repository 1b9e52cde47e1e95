//! Peers that send octets which no correct client sends.
//!
//! A server must survive each of these peers, and serve other clients meanwhile.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Attack on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Connection without any octets.
    Silence,
    /// Many octets that are no message of any protocol.
    Garbage,
    /// First seven octets of a header.
    HalfHeader,
    /// Header that announces 100 octets, and ten of them.
    HalfMessage,
    /// Header that announces 4 GiB, and the beginning of them.
    HugeLength,
    /// Header of GIOP 9.9.
    UnknownVersion,
    /// Header with a nonexistent message type.
    UnknownType,
    /// Request with 2 GiB in every length field.
    HugeFields,
    /// Fragment of a message that never began.
    StrayFragment,
    /// Reply to a request that was never made.
    StrayReply,
    /// Request sent at one octet per second.
    Drip,
}

impl Attack {
    /// All attacks.
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

    /// Returns the octets that are sent at once to a GIOP server.
    pub fn octets(self) -> Vec<u8> {
        self.octets_in(Form::Giop)
    }

    /// Returns the octets that are sent at once.
    pub fn octets_in(self, form: Form) -> Vec<u8> {
        let half = form.message(0, 100, &[0; 10]);
        match self {
            Self::Silence | Self::Drip => Vec::new(),
            Self::Garbage => {
                (0..100_000u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
            }
            Self::HalfHeader => half[..form.header() / 2 + 1].to_vec(),
            Self::HalfMessage => half,
            Self::HugeLength => form.message(0, u32::MAX - 15, &[0; 4096]),
            Self::UnknownVersion => match form {
                Form::Giop => b"GIOP\x09\x09\x01\x00\x04\x00\x00\x00ABCD".to_vec(),
                // GIOPlite has no versions.
                Form::Lite => form.message(250, 4, b"ABCD"),
                Form::LiteRt => b"\x01\x90\x00\x00\x04\x00\x00\x00ABCD".to_vec(),
            },
            Self::UnknownType => form.message(form.unknown_type(), 4, &[0; 4]),
            Self::HugeFields => form.message(0, 64, &[0xff, 0xff, 0xff, 0x7f].repeat(16)),
            Self::StrayFragment => form.message(7, 8, &[9, 0, 0, 0, 1, 2, 3, 4]),
            Self::StrayReply => form.message(1, 12, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        }
    }
}

/// Header format of the messages that an [`Attack`] sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// GIOP 1.2, little-endian.
    Giop,
    /// GIOPlite, in the byte order of this machine.
    Lite,
    /// GIOPlite/RT, little-endian.
    LiteRt,
}

impl Form {
    /// Returns the octets of a header.
    pub fn header(self) -> usize {
        match self {
            Self::Giop => 12,
            Self::Lite => 5,
            Self::LiteRt => 8,
        }
    }

    /// Returns a message, possibly incomplete, from its type, the size that it announces, and the octets after the
    /// header.
    pub fn message(self, kind: u8, size: u32, body: &[u8]) -> Vec<u8> {
        let mut octets = Vec::new();
        match self {
            Self::Giop => {
                octets.extend(b"GIOP\x01\x02\x01");
                octets.push(kind);
                octets.extend(size.to_le_bytes());
            }
            Self::Lite => {
                octets.extend(size.to_ne_bytes());
                octets.push(kind);
            }
            Self::LiteRt => {
                octets.extend([1, 0x10 | kind, 0, 0]);
                octets.extend(size.to_le_bytes());
            }
        }
        octets.extend(body);
        octets
    }

    /// Returns a nonexistent message type.
    fn unknown_type(self) -> u8 {
        match self {
            Self::LiteRt => 15,
            _ => 200,
        }
    }
}

/// Connection to a server, over any transport.
pub trait Stream: Read + Write + Send {
    /// Returns the same connection, for another thread.
    fn again(&self) -> Box<dyn Stream>;

    /// Sets time-outs of reads and writes.
    ///
    /// # Errors
    /// Errors of the system.
    fn wait_at_most(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn again(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().expect("a descriptor for the thread"))
    }

    fn wait_at_most(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(read)?;
        self.set_write_timeout(write)
    }
}

/// Running [`Attack`]. Dropping it closes the connection.
pub struct Attacker {
    stream: Box<dyn Stream>,
    /// Sender whose drop stops the dripping thread.
    _drip: Option<Sender<()>>,
}

/// Reaction of a server to an [`Attack`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Connection closed, after these octets.
    Closed(Vec<u8>),
    /// Connection left open, after these octets.
    Open(Vec<u8>),
}

impl Attacker {
    /// Connects over TCP and starts the attack, with GIOP.
    ///
    /// # Panics
    /// If the server does not accept the connection.
    pub fn start(server: SocketAddr, attack: Attack) -> Self {
        let stream = TcpStream::connect_timeout(&server, PATIENCE)
            .unwrap_or_else(|error| panic!("the server at {server} takes no connection: {error}"));
        stream.set_nodelay(true).expect("a connected socket takes options");
        Self::over(Box::new(stream), attack, Form::Giop)
    }

    /// Starts the attack over a new connection.
    ///
    /// # Panics
    /// If the connection does not support time-outs.
    pub fn over(mut stream: Box<dyn Stream>, attack: Attack, form: Form) -> Self {
        let bound = Some(PATIENCE);
        stream.wait_at_most(bound, bound).expect("a connection takes time-outs");
        // A server may close early.
        let _ = stream.write_all(&attack.octets_in(form));
        let drip =
            (attack == Attack::Drip).then(|| drip(stream.again(), form, Duration::from_secs(1)));
        Self { stream, _drip: drip }
    }

    /// Returns the server's reaction within `limit`.
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
                .wait_at_most(Some(left), Some(PATIENCE))
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

impl fmt::Debug for Attacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attacker")
    }
}

/// Limit for immediate reactions: no machine, however loaded, takes that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a long request octet by octet, until the returned sender is dropped.
fn drip(mut stream: Box<dyn Stream>, form: Form, interval: Duration) -> Sender<()> {
    let (stop, stopped) = mpsc::channel();
    thread::spawn(move || {
        for octet in form.message(0, 4096, &[0; 4096]) {
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
            // The buffers of the system may hold only a part of what is sent at once.
            let (mut attacker, mut server) = thread::scope(|scope| {
                let starting = scope.spawn(|| Attacker::start(address, attack));
                let (mut server, _) = listener.accept().unwrap();
                let mut octets = attack.octets();
                if attack == Attack::Drip {
                    octets = b"GI".to_vec();
                }
                let expected = octets.clone();
                server.read_exact(&mut octets).unwrap();
                assert_eq!(octets, expected, "{attack:?}");
                (starting.join().unwrap(), server)
            });
            server.write_all(b"no").unwrap();
            let short = Duration::from_millis(1);
            assert!(matches!(attacker.reaction(short), Reaction::Open(_)), "{attack:?}");
            drop(server);
            assert!(matches!(attacker.reaction(Duration::from_secs(20)), Reaction::Closed(_)));
        }
    }
}
