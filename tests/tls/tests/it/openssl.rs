//! OpenSSL on the other side: `openssl s_client` calls servers of OxORB, and clients of OxORB call `openssl s_server`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::{
    CompletionStatus, Interface as _, Orb, Outcome, Servant, SystemException, SystemExceptionKind,
    Upcall,
};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::net::free_port;
use oxorb_testkit::peers::{is_there, missing};
use oxorb_testkit::process::Process;
use oxorb_testkit::{until, watchdog};

const LONG: Duration = Duration::from_secs(60);

/// Text that a server of GIOP does not understand.
const TEXT: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// Beginning of a GIOP request.
const REQUEST: &[u8] = b"GIOP\x01\x02\x01\x00\x40\x00\x00\x00";

/// Configuration of `openssl req` for a certificate of 127.0.0.1; its last section is for extensions.
const CONFIG: &str = "[req]
distinguished_name = name
x509_extensions = extensions
[name]
[extensions]
subjectAltName = IP:127.0.0.1
";

static PING: Op = Op::twoway("ping");

struct Nobody;

impl Servant for Nobody {
    fn repository_id(&self) -> &str {
        "IDL:test/Nobody:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Server of OxORB, and the lines of its log.
struct Server {
    orb: Orb,
    address: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(authority: &Authority, certificate: &Path, settings: &[(&str, &str)]) -> Self {
        let mut builder = Orb::builder()
            .setting("TlsRoots", &authority.roots().display().to_string())
            .setting("TlsCertificate", &certificate.display().to_string())
            .setting("LogLevel", "warn")
            .listen("iiops://127.0.0.1:0");
        for (name, value) in settings {
            builder = builder.setting(name, value);
        }
        let orb = builder.build().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&said);
        orb.log_to(move |_, line| log.lock().unwrap().push(line.to_owned()));
        let object = orb.root_poa().activate_servant(Arc::new(Nobody)).unwrap();
        let url = oxorb::ior::corbaloc(object.ior()).unwrap();
        let place = url.strip_prefix("corbaloc:iiops:1.2@").unwrap();
        let address = place.split('/').next().unwrap().to_owned();
        Self { orb, address, said }
    }

    /// Returns the number of handshakes with this outcome.
    fn handshakes(&self, outcome: &str) -> u64 {
        let name = format!("oxorb_handshakes_total{{outcome=\"{outcome}\"}} ");
        let page = self.orb.metrics();
        let found = page.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        found.expect("the page shows it")
    }

    /// Waits until the log has a line that contains `words`.
    fn logs(&self, words: &str) {
        until(words, || self.said.lock().unwrap().iter().any(|line| line.contains(words)));
    }

    fn end(self) {
        self.orb.shutdown(true).unwrap();
    }
}

/// Connects to a server by `openssl s_client` with these options, and sends a text that is no GIOP. Returns all that
/// the program writes until the server has closed the connection.
fn s_client(server: &Server, options: &[&str]) -> String {
    let mut client = Command::new("openssl")
        .args(["s_client", "-ign_eof", "-connect"])
        .arg(&server.address)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that was refused may have ended already.
    let _ = client.stdin.take().unwrap().write_all(TEXT);
    let output = client.wait_with_output().unwrap();
    [output.stdout, output.stderr]
        .map(|octets| String::from_utf8_lossy(&octets).into_owned())
        .concat()
}

/// Returns the certificates in a text, in PEM without white space.
fn certificates(text: &str) -> Vec<String> {
    let after = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    let bodies = after.filter_map(|rest| Some(rest.split_once("-----END CERTIFICATE-----")?.0));
    bodies.map(|body| body.split_whitespace().collect()).collect()
}

#[test]
fn versions_of_tls_are_those_that_the_settings_allow() {
    let _bound = watchdog(Duration::from_secs(180));
    if !is_there("openssl") {
        return;
    }
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1"]);
    // Either the agreed version and cipher suite, or the number of the alert and the line in the log.
    let not_allowed = ("alert number 70", "supports no version of TLS that is allowed here");
    let too_old = ("alert number 40", "so it may not support a TLS version newer than 1.1");
    for (old, option, expected) in [
        ("no", "-tls1_3", Ok("TLSv1.3, Cipher is TLS_")),
        ("no", "-tls1_2", Err(not_allowed)),
        ("no", "-tls1_1", Err(too_old)),
        ("yes", "-tls1_3", Ok("TLSv1.3, Cipher is TLS_")),
        ("yes", "-tls1_2", Ok("TLSv1.2, Cipher is ECDHE-")),
        ("yes", "-tls1_1", Err(too_old)),
    ] {
        let server = Server::new(&authority, &own, &[("TlsOld", old)]);
        // TLS 1.1 needs algorithms that the default security level excludes.
        let said = s_client(&server, &[option, "-cipher", "DEFAULT:@SECLEVEL=0"]);
        // Some builds of OpenSSL lack the old versions.
        if said.contains("nknown option") || said.contains("no protocols available") {
            missing(&format!("{option} of openssl"), &said);
            server.end();
            continue;
        }
        match expected {
            Ok(agreed) => {
                assert!(said.contains(agreed), "{old} {option}: {said}");
                assert_eq!(server.handshakes("completed"), 1, "{old} {option}");
            }
            Err((alert, why)) => {
                assert!(said.contains(alert), "{old} {option}: {said}");
                server.logs(why);
                assert_eq!(server.handshakes("refused"), 1, "{old} {option}");
            }
        }
        server.end();
    }
}

#[test]
fn the_whole_chain_of_certificates_is_shown() {
    let _bound = watchdog(LONG);
    if !is_there("openssl") {
        return;
    }
    let authority = Authority::new("Test CA");
    let own = fs::read_to_string(authority.sign("server", &["127.0.0.1"])).unwrap();
    let chain = own + &fs::read_to_string(authority.roots()).unwrap();
    let file = authority.folder.join("chain.pem");
    fs::write(&file, &chain).unwrap();
    let server = Server::new(&authority, &file, &[]);
    let roots = authority.roots().display().to_string();
    let options: [&str; 6] =
        ["-showcerts", "-CAfile", &roots, "-verify_return_error", "-verify_ip", "127.0.0.1"];
    let said = s_client(&server, &options);
    let shown = certificates(&said);
    assert_eq!(shown.len(), 2, "{said}");
    assert_eq!(shown, certificates(&chain), "{said}");
    assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    assert_eq!(server.handshakes("completed"), 1);
    server.end();
}

#[test]
fn what_is_no_giop_or_no_tls_gets_no_answer_of_giop() {
    let _bound = watchdog(LONG);
    if !is_there("openssl") {
        return;
    }
    let authority = Authority::new("Test CA");
    let server = Server::new(&authority, &authority.sign("server", &["127.0.0.1"]), &[]);
    // A request of another protocol, over TLS.
    let said = s_client(&server, &[]);
    assert!(said.contains("TLSv1.3, Cipher is TLS_"), "{said}");
    assert!(!said.contains("GIOP"), "{said}");
    server.logs("the client violated the protocol");
    assert_eq!(server.orb.connection_statistics().count(Incident::Violation), 1);
    // A request of GIOP in plain text, at the port for TLS.
    let mut raw = TcpStream::connect(&server.address).unwrap();
    raw.write_all(REQUEST).unwrap();
    let mut answer = Vec::new();
    // The server may reset the connection.
    let _ = raw.read_to_end(&mut answer);
    assert!(!answer.windows(4).any(|octets| octets == b"GIOP"), "{answer:?}");
    server.logs("the client sent GIOP without TLS");
    assert_eq!((server.handshakes("completed"), server.handshakes("refused")), (1, 1));
    server.end();
}

#[test]
fn a_certificate_of_the_client_is_wanted_and_verified() {
    let _bound = watchdog(LONG);
    if !is_there("openssl") {
        return;
    }
    let (authority, other) = (Authority::new("Test CA"), Authority::new("Other CA"));
    let own = authority.sign("server", &["127.0.0.1"]);
    let server = Server::new(&authority, &own, &[("TlsClients", "required")]);

    let said = s_client(&server, &[]);
    assert!(said.contains("Acceptable client certificate CA names"), "{said}");
    assert!(said.contains("alert number 116"), "certificate_required: {said}");
    server.logs("the client showed no certificate, but one is required");

    let mallory = other.sign("mallory", &[]).display().to_string();
    let said = s_client(&server, &["-cert", &mallory, "-key", &mallory]);
    assert!(said.contains("alert number 48"), "unknown_ca: {said}");
    server.logs("the client's certificate was not signed by a trusted authority");
    assert_eq!((server.handshakes("completed"), server.handshakes("refused")), (0, 2));

    let alice = authority.sign("alice", &[]).display().to_string();
    let said = s_client(&server, &["-cert", &alice, "-key", &alice]);
    assert!(!said.contains("alert number"), "{said}");
    assert_eq!((server.handshakes("completed"), server.handshakes("refused")), (1, 2));
    server.end();
}

/// Starts `openssl s_server` with the certificate and key in a file, and returns it with its port.
fn s_server(certificate: &Path, options: &[&str]) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new("openssl");
    // With -www, the program reads from its clients only, and not from its standard input.
    command.args(["s_server", "-www", "-accept"]).arg(format!("127.0.0.1:{port}"));
    command.arg("-cert").arg(certificate).arg("-key").arg(certificate).args(options);
    let mut server = Process::spawn(command);
    server.wait_for_line("ACCEPT", LONG);
    (server, port)
}

/// Creates a self-signed certificate for 127.0.0.1 by `openssl req`, and returns the file with it and its key.
fn self_signed(folder: &Path, name: &str, is_authority: &str) -> PathBuf {
    let [config, key, own] = ["cnf", "key", "pem"].map(|end| folder.join(format!("{name}.{end}")));
    let text = format!("{CONFIG}basicConstraints = critical, CA:{is_authority}\n");
    fs::write(&config, text).unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=self-signed", "-config"])
        .arg(&config)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&own)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let both = [&own, &key].map(|file| fs::read_to_string(file).unwrap());
    fs::write(&own, both.concat()).unwrap();
    own
}

#[test]
fn the_client_says_which_server_it_refuses_and_why() {
    let _bound = watchdog(Duration::from_secs(180));
    if !is_there("openssl") {
        return;
    }
    let authority = Authority::new("Test CA");
    let roots = authority.roots().display().to_string();
    let good = authority.sign("server", &["127.0.0.1"]);
    let other = authority.sign("other", &["bank.example"]);
    let expired = authority.sign_with("expired", &["127.0.0.1"], |params| {
        params.not_after = params.not_before;
    });
    let own = self_signed(&authority.folder, "self", "FALSE");
    let own_authority = self_signed(&authority.folder, "self-authority", "TRUE");
    let cases: [(&Path, &[&str], &str, &str); 5] = [
        (&other, &[], "not for 127.0.0.1 (-ORBTlsServerName", "alert number 42"),
        (&expired, &[], "the server's certificate has expired", "alert number 45"),
        (&own, &[], "was not signed by a trusted authority (-ORBTlsRoots)", "alert number 48"),
        (&own_authority, &[], "is the certificate of an authority (CA:TRUE)", "alert number 46"),
        (&good, &["-tls1_2"], "it supports no version of TLS that is", "unsupported protocol"),
    ];
    for (certificate, options, why, alert) in cases {
        let (mut server, port) = s_server(certificate, options);
        let client = Orb::builder().setting("TlsRoots", &roots);
        let client = client.setting("ConnectTimeout", "60000").build().unwrap();
        let url = format!("corbaloc:iiops:127.0.0.1:{port}/Account");
        let object = client.string_to_object(&url).unwrap();
        let called: Result<(), SystemException> =
            object.reference().invoke(&PING, |_| Ok(()), |_| Ok(()));
        let error = called.unwrap_err();
        assert_eq!(error.kind, SystemExceptionKind::Transient, "{error}");
        assert_eq!(error.completed, CompletionStatus::No, "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("127.0.0.1:{port}")), "which server: {text}");
        assert!(text.contains(why), "{why}: {text}");
        // OpenSSL received the reason, too.
        server.wait_for_line(alert, LONG);
        client.shutdown(true).unwrap();
    }
}
