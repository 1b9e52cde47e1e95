//! Peers that violate the protocol before and after the handshake. Other clients are not affected.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::{Builder, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::{until, watchdog};

static PING: Op = Op::twoway("ping");

struct Pinger;

impl Servant for Pinger {
    fn repository_id(&self) -> &str {
        "IDL:test/Pinger:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

struct Bench {
    authority: Authority,
    server: Orb,
    client: Orb,
    object: ObjectRef,
    address: SocketAddr,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        Self::with(|mut builder| {
            for (name, value) in settings {
                builder = builder.setting(name, value);
            }
            builder
        })
    }

    fn with(change: impl FnOnce(Builder) -> Builder) -> Self {
        let authority = Authority::new("Test CA");
        let roots = authority.roots().display().to_string();
        let own = authority.sign("server", &["127.0.0.1"]).display().to_string();
        let builder = Orb::builder()
            .setting("TlsRoots", &roots)
            .setting("TlsCertificate", &own)
            .setting("LogLevel", "error")
            .listen("iiops://127.0.0.1:0");
        let server = change(builder).build().unwrap();
        let client = Orb::builder().setting("TlsRoots", &roots);
        let client = client.setting("ConnectTimeout", "30000").build().unwrap();
        let local = server.root_poa().activate_servant(Arc::new(Pinger)).unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        let url = oxorb::ior::corbaloc(object.reference().ior()).unwrap();
        let place = url.strip_prefix("corbaloc:iiops:1.2@").unwrap();
        let address = place.split('/').next().unwrap().parse().unwrap();
        Self { authority, server, client, object, address }
    }

    fn ping(&self) -> Result<(), SystemException> {
        self.object.reference().invoke(&PING, |_| Ok(()), |_| Ok(()))
    }

    /// Calls over a new connection.
    fn ping_anew(&self) {
        let roots = self.authority.roots().display().to_string();
        let client = Orb::builder().setting("TlsRoots", &roots);
        let client = client.setting("ConnectTimeout", "30000").build().unwrap();
        let text = self.object.reference().ior().to_string();
        let object = client.string_to_object(&text).unwrap();
        let called: Result<(), SystemException> =
            object.reference().invoke(&PING, |_| Ok(()), |_| Ok(()));
        assert_eq!(called, Ok(()));
        client.shutdown(true).unwrap();
    }

    fn refused(&self) -> u64 {
        self.server.connection_statistics().count(Incident::HandshakeRefused)
    }

    fn end(self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

/// Returns the first message of an honest client.
fn hello() -> Vec<u8> {
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(oxorb::tls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

fn read_to_end(raw: &mut TcpStream) -> Vec<u8> {
    raw.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut all = Vec::new();
    match raw.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    all
}

#[test]
fn a_thousand_half_open_handshakes_keep_nobody_out() {
    let _bound = watchdog(Duration::from_secs(120));
    let bench = Bench::new(&[("TlsHandshakeTime", "60000"), ("TlsHandshakes", "64")]);
    bench.ping().unwrap();
    let hello = hello();
    let mut half_open = Vec::new();
    for number in 0..1000 {
        let mut raw = TcpStream::connect(bench.address).unwrap();
        // One half of the peers sends nothing. The other half begins a handshake and stops.
        if number % 2 == 0 {
            let _ = raw.write_all(&hello[..hello.len() / 2]);
        }
        half_open.push(raw);
        if number % 250 == 0 {
            bench.ping_anew();
            bench.ping().unwrap();
        }
    }
    bench.ping_anew();
    bench.ping().unwrap();
    // The greatest number is still in progress; others were removed to make space.
    while bench.refused() < 1000 - 64 {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(half_open);
    bench.ping_anew();
    bench.end();
}

#[test]
fn a_handshake_may_have_unlimited_time() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::with(|builder| {
        builder.configure(|options| options.security.handshake_time = Duration::MAX)
    });
    bench.ping().unwrap();
    bench.end();
}

#[test]
fn a_slow_handshake_ends() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[("TlsHandshakeTime", "300")]);
    let hello = hello();
    let mut raw = TcpStream::connect(bench.address).unwrap();
    let began = Instant::now();
    // One octet is sent from time to time. Each octet is progress, but all of them together are too slow.
    for octet in &hello {
        if raw.write_all(std::slice::from_ref(octet)).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        if began.elapsed() > Duration::from_secs(5) {
            break;
        }
    }
    while bench.refused() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(read_to_end(&mut raw), b"", "nobody answered");
    // On a loaded machine the handshake of a good client may take too long, too.
    until("a quick handshake is served", || bench.ping().is_ok());
    bench.end();
}

#[test]
fn metrics_count_finished_and_refused_handshakes() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[]);
    let count = |outcome: &str| {
        let name = format!("oxorb_handshakes_total{{outcome=\"{outcome}\"}} ");
        let page = bench.server.metrics();
        let found = page.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        found.expect("the page shows it")
    };
    assert_eq!((count("completed"), count("refused")), (0, 0));
    bench.ping().unwrap();
    assert_eq!((count("completed"), count("refused")), (1, 0));
    let mut raw = TcpStream::connect(bench.address).unwrap();
    let _ = raw.write_all(b"GARBAGE GARBAGE GARBAGE ");
    let _ = read_to_end(&mut raw);
    while count("refused") == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count("completed"), 1);
    bench.end();
}

#[test]
fn garbage_before_the_handshake_ends_is_refused() {
    let _bound = watchdog(Duration::from_secs(60));
    // One of the inputs is the beginning of a handshake, which the time limit ends.
    let bench = Bench::new(&[("TlsHandshakeTime", "1500")]);
    let hello = hello();
    let mut cut = hello.clone();
    cut.truncate(40);
    cut[3..5].copy_from_slice(&35_u16.to_be_bytes());
    let mut endless = Vec::new();
    // A message with a large announced length, in many records.
    endless.extend([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff]);
    for _ in 0..40 {
        endless.extend([22, 3, 1, 0x40, 0]);
        endless.extend([0; 0x4000]);
    }
    for octets in [&b"GIOP\x01\x02\x00\x00"[..], &[0; 64], &[0xff; 4096], &cut, &endless] {
        let before = bench.refused();
        let mut raw = TcpStream::connect(bench.address).unwrap();
        let _ = raw.write_all(octets);
        let answer = read_to_end(&mut raw);
        assert!(answer.is_empty() || answer[0] == 21, "an alert, or nothing: {answer:?}");
        assert!(answer.len() < octets.len(), "no more than was sent");
        while bench.refused() == before {
            std::thread::sleep(Duration::from_millis(5));
        }
        bench.ping_anew();
    }
    bench.end();
}

type Stream = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

/// Makes a connection over TLS by hand.
fn connected(bench: &Bench, old: bool) -> Stream {
    connected_by(bench, &config(bench, old))
}

fn config(bench: &Bench, old: bool) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    use rustls::pki_types::pem::PemObject as _;
    let file = bench.authority.roots();
    roots.add(rustls::pki_types::CertificateDer::from_pem_file(file).unwrap()).unwrap();
    let versions: &[_] = if old { &[&rustls::version::TLS12] } else { &[&rustls::version::TLS13] };
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(oxorb::tls::provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn connected_by(bench: &Bench, config: &Arc<rustls::ClientConfig>) -> Stream {
    let name = "127.0.0.1".try_into().unwrap();
    let client = rustls::ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, TcpStream::connect(bench.address).unwrap());
    stream.flush().unwrap();
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    stream
}

#[test]
fn a_connection_that_is_cut_off_without_a_word_is_no_orderly_end() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[]);
    for rest in [0, 5, 12] {
        let mut stream = connected(&bench, false);
        // The peer sends some octets of a message, and then closes without close_notify.
        stream.write_all(&b"GIOP\x01\x02\x01\x00\x40\x00\x00\x00"[..rest]).unwrap();
        stream.flush().unwrap();
        stream.sock.shutdown(std::net::Shutdown::Both).unwrap();
        bench.ping().unwrap();
        bench.ping_anew();
    }
    bench.end();
}

#[test]
fn a_record_that_was_changed_on_the_way_ends_the_connection() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[]);
    let mut stream = connected(&bench, false);
    stream.conn.writer().write_all(b"GIOP\x01\x02\x01\x00\x00\x00\x00\x00").unwrap();
    let mut records = Vec::new();
    stream.conn.write_tls(&mut records).unwrap();
    let last = records.len() - 1;
    records[last] ^= 1;
    stream.sock.write_all(&records).unwrap();
    let answer = read_to_end(&mut stream.sock);
    assert!(!answer.windows(4).any(|it| it == b"GIOP"), "nothing goes out in the clear");
    bench.ping_anew();
    bench.end();
}

#[test]
fn renegotiation_is_refused() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[("TlsOld", "yes")]);
    let mut stream = connected(&bench, true);
    assert_eq!(stream.conn.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_2));
    // Only TLS 1.2 has renegotiation. rustls never begins one, so this is a ClientHello in the clear, which no server
    // may accept.
    stream.sock.write_all(&hello()).unwrap();
    let answer = read_to_end(&mut stream.sock);
    assert!(answer.len() < 1024, "no second handshake: {} octets", answer.len());
    bench.ping_anew();
    bench.end();
}

#[test]
fn sessions_are_resumed_until_certificates_are_read_again() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[]);
    let config = config(&bench, false);
    let handshake = || {
        let mut stream = connected_by(&bench, &config);
        let kind = stream.conn.handshake_kind();
        // The ticket follows the handshake; a read receives it.
        stream.sock.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        assert!(stream.read(&mut [0]).is_err(), "nobody sent anything");
        kind
    };
    assert_eq!(handshake(), Some(rustls::HandshakeKind::Full));
    // On a loaded machine the first ticket may come later.
    until("a session is resumed", || handshake() == Some(rustls::HandshakeKind::Resumed));
    bench.server.reload_security().unwrap();
    assert_eq!(
        handshake(),
        Some(rustls::HandshakeKind::Full),
        "whoever was revoked meanwhile is seen"
    );
    bench.end();
}

/// A TLS 1.3 client may have sent its request before its server completes the handshake, and the server may close then.
#[test]
fn who_is_about_to_come_in_when_the_server_closes_is_told_that_nobody_read_its_request() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new(&[]);
    let name = "127.0.0.1".try_into().unwrap();
    let mut tls = rustls::ClientConnection::new(config(&bench, false), name).unwrap();
    let mut raw = TcpStream::connect(bench.address).unwrap();
    let hello = &mut Vec::new();
    tls.write_tls(hello).unwrap();
    raw.write_all(hello).unwrap();
    while tls.is_handshaking() {
        tls.read_tls(&mut raw).unwrap();
        tls.process_new_packets().unwrap();
    }
    let Bench { server, client, address, .. } = &bench;
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| server.shutdown(true).unwrap());
        while TcpStream::connect(address).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        tls.writer().write_all(b"GIOP\x01\x02\x01\x00\x40\x00\x00\x00").unwrap();
        let mut stream = rustls::StreamOwned::new(tls, raw);
        stream.flush().unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer[..4], b"GIOP");
        assert_eq!(answer[7], 5, "CloseConnection: {answer:?}");
        closing.join().unwrap();
    });
    client.shutdown(true).unwrap();
}
