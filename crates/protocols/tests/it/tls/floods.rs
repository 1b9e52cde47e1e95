//! Peers that send records without content.

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use oxorb_protocols::tls::provider;
use oxorb_testkit::watchdog;
use oxorb_transport::*;
use rustix::event::{PollFd, PollFlags, poll};
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    Connection, ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig,
    ServerConnection,
};

use crate::tls::common::{Authority, prepared};

const LONG: Duration = Duration::from_secs(30);

/// Number of records of a flood: some hundred KiB.
const MANY: usize = 10_000;

/// Session ticket with a nonce of one octet, a ticket of eight, and no extensions (RFC 8446, 4.6.1). Its record has 48
/// octets.
const TICKET: [u8; 26] =
    [4, 0, 0, 22, 0, 0, 1, 0, 0, 0, 0, 7, 1, 9, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0];

/// Server that writes records of its own after the handshake.
struct Writer {
    stream: TcpStream,
    encrypter: Box<dyn MessageEncrypter>,
    sequence: u64,
}

impl Writer {
    /// Accepts a client, and makes the handshake.
    fn accept(listener: &TcpListener, config: Arc<ServerConfig>) -> Writer {
        let (mut stream, _) = listener.accept().unwrap();
        let mut tls = ServerConnection::new(config).unwrap();
        while tls.is_handshaking() || tls.wants_write() {
            tls.complete_io(&mut stream).unwrap();
        }
        let suite = tls.negotiated_cipher_suite().unwrap().tls13().unwrap();
        let secrets = Connection::Server(tls).dangerous_extract_secrets().unwrap();
        let (sequence, secret) = secrets.tx;
        let (ConnectionTrafficSecrets::Aes128Gcm { key, iv }
        | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
        | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = secret
        else {
            panic!("no secrets of a known cipher");
        };
        Writer { stream, encrypter: suite.aead_alg.encrypter(key, iv), sequence }
    }

    /// Returns the next record.
    fn record(&mut self, typ: ContentType, content: &[u8]) -> Vec<u8> {
        let version = ProtocolVersion::TLSv1_3;
        let payload = OutboundChunks::Single(content);
        let plain = OutboundPlainMessage { typ, version, payload };
        let sealed = self.encrypter.encrypt(plain, self.sequence).unwrap();
        self.sequence += 1;
        sealed.encode()
    }

    /// Sends records with a ticket each, then one with `content`.
    fn send(&mut self, tickets: usize, content: &[u8]) -> io::Result<()> {
        let mut octets = Vec::new();
        for _ in 0..tickets {
            octets.extend(self.record(ContentType::Handshake, &TICKET));
        }
        octets.extend(self.record(ContentType::ApplicationData, content));
        self.stream.write_all(&octets)
    }
}

/// Lets a server send what it likes, and returns what `meet` makes of the link to it.
fn call<T>(
    send: impl FnOnce(&mut Writer) -> io::Result<()> + Send,
    meet: impl FnOnce(&dyn Link) -> T,
) -> T {
    let _bound = watchdog(Duration::from_secs(120));
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1"]);
    let mut config = ServerConfig::builder_with_provider(Arc::clone(provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&own).unwrap()],
            PrivateKeyDer::from_pem_file(&own).unwrap(),
        )
        .unwrap();
    config.send_tls13_tickets = 0;
    config.enable_secret_extraction = true;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut writer = Writer::accept(&listener, Arc::new(config));
            // A link that has found the fault is closed, perhaps before all is sent.
            let _ = send(&mut writer);
            writer
        });
        let client = prepared(Security { roots: Some(authority.roots()), ..Security::default() });
        let link = connect(&client, &Address::new(client.scheme(), &place), LONG).unwrap();
        link.set_read_timeout(Some(LONG)).unwrap();
        let met = meet(&*link);
        drop(link);
        drop(writer.join().unwrap());
        met
    })
}

/// Waits until octets arrived.
fn wait(link: &dyn Link) {
    let fd = link.poll_fd().unwrap();
    let timeout = rustix::time::Timespec { tv_sec: 30, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).unwrap(), 1);
}

#[track_caller]
fn is_fault(read: io::Result<usize>) {
    let error = read.expect_err("the flood was read");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    let why = "the server sent more than 65536 octets of TLS records without content";
    assert_eq!(error.to_string(), why);
}

#[test]
fn a_read_that_finds_tickets_only_ends() {
    is_fault(call(|writer| writer.send(MANY, b"x"), |link| link.read(&mut Vec::new(), 1)));
}

#[test]
fn so_does_a_read_that_does_not_wait() {
    let read = |link: &dyn Link| {
        loop {
            match link.read_now(&mut Vec::new(), 1) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(link),
                read => return read,
            }
        }
    };
    is_fault(call(|writer| writer.send(MANY, b"x"), read));
}

#[test]
fn so_does_the_question_whether_there_is_input() {
    let read = |link: &dyn Link| {
        while !link.has_input().unwrap() {
            wait(link);
        }
        link.read_now(&mut Vec::new(), 1)
    };
    is_fault(call(|writer| writer.send(MANY, b"x"), read));
}

#[test]
fn empty_records_between_tickets_are_no_content() {
    let send = |writer: &mut Writer| {
        for _ in 0..MANY / 10 {
            writer.send(10, b"")?;
        }
        writer.send(0, b"x")
    };
    is_fault(call(send, |link| link.read(&mut Vec::new(), 1)));
}

#[test]
fn content_may_follow_tickets() {
    let send = |writer: &mut Writer| {
        writer.send(1_000, b"a")?;
        writer.send(1_000, b"b")?;
        writer.send(1_000, b"c")
    };
    let read = call(send, |link| {
        let mut octets = Vec::new();
        while octets.len() < 3 {
            link.read(&mut octets, 1).unwrap();
        }
        octets
    });
    assert_eq!(read, b"abc");
}

/// The rest of a record may never come.
#[test]
fn a_part_of_a_record_holds_a_thread_no_longer_than_it_may_wait() {
    const CONTENT: [u8; 1_000] = [7; 1_000];
    let (go, rest_may_come) = mpsc::channel();
    let send = move |writer: &mut Writer| {
        let record = writer.record(ContentType::ApplicationData, &CONTENT);
        let (first, rest) = record.split_at(500);
        writer.stream.write_all(first)?;
        rest_may_come.recv().unwrap();
        writer.stream.write_all(rest)
    };
    let read = call(send, |link| {
        wait(link);
        let mut octets = Vec::new();
        let now = link.read_now(&mut octets, 1).unwrap_err();
        assert_eq!(now.kind(), io::ErrorKind::WouldBlock, "{now}");
        assert!(!link.has_input().unwrap() && !link.pending() && !link.is_dead());
        link.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let late = link.read(&mut octets, 1).unwrap_err();
        let over = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
        assert!(over.contains(&late.kind()), "{late}");
        go.send(()).unwrap();
        link.set_read_timeout(Some(LONG)).unwrap();
        while octets.len() < CONTENT.len() {
            link.read(&mut octets, CONTENT.len()).unwrap();
        }
        octets
    });
    assert_eq!(read, CONTENT);
}
