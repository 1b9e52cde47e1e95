//! Certificates that are renewed while a server runs: by a call, by SIGHUP, and automatically.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb::Orb;
use oxorb::settings::LogLevel;
use oxorb_testkit::authority::Authority;
use oxorb_testkit::process::{rerun, test_name};
use oxorb_testkit::watchdog;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Variable with the certificate of the server process.
const OWN: &str = "OXORB_TEST_RELOAD";

/// Returns the certificate that a server shows.
fn shown(authority: &Authority, address: &str) -> CertificateDer<'static> {
    let mut roots = rustls::RootCertStore::empty();
    let root = CertificateDer::from_pem_file(authority.roots()).unwrap();
    roots.add(root).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(oxorb::tls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "127.0.0.1".try_into().unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let tcp = TcpStream::connect(address).unwrap();
    let mut stream = rustls::StreamOwned::new(client, tcp);
    stream.flush().unwrap();
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

/// Waits until a server shows another certificate than `before`.
fn until_another(authority: &Authority, address: &str, before: &CertificateDer<'_>) {
    let began = Instant::now();
    while shown(authority, address) == *before {
        assert!(began.elapsed() < Duration::from_secs(30), "the old one is still shown");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn address(orb: &Orb) -> String {
    let object = orb.root_poa().activate_servant(Arc::new(Nobody)).unwrap();
    let url = oxorb::ior::corbaloc(object.ior()).unwrap();
    let place = url.strip_prefix("corbaloc:iiops:1.2@").unwrap();
    place.split('/').next().unwrap().to_owned()
}

struct Nobody;

impl oxorb::Servant for Nobody {
    fn repository_id(&self) -> &str {
        "IDL:test/Nobody:1.0"
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn a_call_reads_them_again_and_a_file_that_is_none_changes_nothing() {
    let _bound = watchdog(Duration::from_secs(60));
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1"]);
    let server = Orb::builder()
        .setting("TlsCertificate", &own.display().to_string())
        .setting("LogLevel", "info")
        .listen("iiops://127.0.0.1:0")
        .build()
        .unwrap();
    let said = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&said);
    server.log_to(move |level, line| log.lock().unwrap().push((level, line.to_owned())));
    let address = address(&server);
    let first = shown(&authority, &address);
    let renewed = authority.sign("server", &["127.0.0.1"]);
    assert_eq!(renewed, own, "the file has another content");
    server.reload_security().unwrap();
    let second = shown(&authority, &address);
    assert_ne!(first, second);
    fs::write(&own, "no certificate").unwrap();
    let refused = server.reload_security().unwrap_err();
    assert!(refused.to_string().contains("contains no CERTIFICATE"), "{refused}");
    assert_eq!(shown(&authority, &address), second, "what was read before stays");
    let said = said.lock().unwrap().clone();
    let has = |level, text: &str| said.iter().any(|(at, line)| *at == level && line.contains(text));
    assert!(has(LogLevel::Info, "read again"), "{said:?}");
    assert!(has(LogLevel::Error, "contains no CERTIFICATE"), "{said:?}");
    server.shutdown(true).unwrap();
}

#[test]
fn changed_files_are_noticed() {
    let _bound = watchdog(Duration::from_secs(60));
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1"]);
    let server = Orb::builder()
        .setting("TlsCertificate", &own.display().to_string())
        .listen("iiops://127.0.0.1:0")
        .build()
        .unwrap();
    let address = address(&server);
    let first = shown(&authority, &address);
    authority.sign("server", &["127.0.0.1"]);
    until_another(&authority, &address, &first);
    server.shutdown(true).unwrap();
}

/// Server process: prints its address, and serves until its input ends.
#[test]
#[ignore = "played by the other test, in a process of its own"]
fn server_process() {
    let Ok(own) = std::env::var(OWN) else {
        return;
    };
    let server = Orb::builder()
        .setting("TlsCertificate", &own)
        .setting("LogLevel", "info")
        .listen("iiops://127.0.0.1:0")
        .build()
        .unwrap();
    server.log_to(|_, line| println!("LOG {line}"));
    server.reload_security_on_signal().unwrap();
    println!("LISTENS {}", address(&server));
    let _ = std::io::stdin().read(&mut [0]);
    server.shutdown(true).unwrap();
}

#[test]
fn sighup_reads_them_again() {
    let _bound = watchdog(Duration::from_secs(60));
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1"]);
    let mut server = rerun(test_name(server_process))
        .env(OWN, &own)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| Some(line.split_once("LISTENS ")?.1.to_owned())).unwrap();
    let first = shown(&authority, &address);
    authority.sign("server", &["127.0.0.1"]);
    let sent = Command::new("kill").args(["-HUP", &server.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert!(lines.any(|line| line.contains("LOG ") && line.contains("read again")));
    assert_ne!(shown(&authority, &address), first);
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success(), "the signal did not end it");
}
