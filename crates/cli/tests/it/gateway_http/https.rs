//! HTTPS of the gateway, and `oxorb call` over it.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use oxorb_testkit::authority::Authority;

use super::client::{self, Reply};
use super::{Bank, LIMIT, hang_up, http2, secret};
use crate::common::{Folder, run, text};

/// Makes an authority, and a certificate for `localhost`; returns their folder.
fn certificates(folder: &Folder, name: &str) -> String {
    let path = folder.path(name);
    let made = run(&["cert", "new", "--dir", &path, "--host", "localhost"]);
    assert!(made.status.success(), "{made:?}");
    path
}

/// Starts a gateway with a certificate, whose key is in the same file.
fn open(test: &str, server: &str) -> Bank {
    Bank::open(test, &["--certificate", server, "--key", server])
}

/// Connects to a gateway, and offers one protocol.
fn connect(
    address: &str,
    roots: &str,
    protocol: &[u8],
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(roots).expect("a file") {
        store.add(certificate.expect("PEM")).expect("a certificate");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let tls = ClientConnection::new(Arc::new(config), name).expect("a client");
    StreamOwned::new(tls, client::connect(address))
}

/// Returns the URL of the account behind a gateway whose certificate is for `localhost`.
fn url(bank: &Bank) -> String {
    let port = bank.address.rsplit_once(':').expect("a port").1;
    format!("https://localhost:{port}/objects/Account")
}

#[test]
fn requests_over_tls_are_answered_with_both_versions_of_http() {
    let folder = Folder::new("https-versions");
    let made = certificates(&folder, "made");
    let (server, roots) = (format!("{made}/server.pem"), format!("{made}/ca.pem"));
    let bank = open("https-versions-bank", &server);
    let mut stream = connect(&bank.address, &roots, b"http/1.1");
    let request =
        "GET /objects/Account/balance HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("a handshake");
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            // The gateway may end the connection without an alert.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                ) =>
            {
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(Reply::parse(&text(&answer)).json(), 100);
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));

    let mut stream = connect(&bank.address, &roots, b"h2");
    let (status, body) = http2::read_balance(&mut stream, "localhost");
    assert_eq!((status, body), (Some(http2::STATUS_200), b"100".to_vec()));
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]));

    // Handshakes have a thread of their own, so that they delay no request.
    let threads = fs::read_dir(format!("/proc/{}/task", bank.gateway.id())).expect("a process");
    let mut names =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    assert!(names.any(|name| name.trim() == "oxorb-http-tls"));
}

#[test]
fn an_object_is_called_over_https_if_its_gateway_is_trusted() {
    let folder = Folder::new("https-call");
    let made = certificates(&folder, "made");
    let other = certificates(&folder, "other");
    let bank = open("https-call-bank", &format!("{made}/server.pem"));
    let url = url(&bank);
    let roots = format!("{made}/ca.pem");
    let called = run(&["call", "-ORBTlsRoots", &roots, &url, "withdraw", "10"]);
    assert_eq!((called.status.code(), text(&called.stdout)), (Some(0), "10\n".to_owned()));
    let raised = run(&["call", "-ORBTlsRoots", &roots, &url, "withdraw", "1000"]);
    assert_eq!(raised.status.code(), Some(1), "{raised:?}");
    assert!(text(&raised.stdout).contains("IDL:bank/Overdrawn:1.0"), "{raised:?}");
    let by_address = url.replace("localhost", "127.0.0.1");
    let foreign = format!("{other}/ca.pem");
    let untrusted: [(&[&str], &str); 3] = [
        (&["call", &url, "balance"], "-ORBTlsRoots"),
        (
            &["call", "-ORBTlsRoots", &foreign, &url, "balance"],
            "was not signed by a trusted authority",
        ),
        (&["call", "-ORBTlsRoots", &roots, &by_address, "balance"], "not for 127.0.0.1"),
    ];
    for (args, why) in untrusted {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}: {refused:?}");
        assert!(text(&refused.stderr).contains(why), "{args:?}: {refused:?}");
    }
    let plain = run(&["call", &url.replace("https:", "http:"), "balance"]);
    assert_eq!(plain.status.code(), Some(1), "{plain:?}");
}

#[test]
fn clients_need_a_certificate_or_a_token_and_rules_know_its_subject() {
    let folder = Folder::new("https-clients");
    let [made, other] = ["made", "other"].map(|name| certificates(&folder, name));
    let (server, roots) = (format!("{made}/server.pem"), format!("{made}/ca.pem"));
    let client = format!("{made}/client.pem");
    let rules = folder.file(
        "rules.toml",
        "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"tls:client\"\nprotected = true\n\
         operation = \"_get_balance\"\n[[access.rule]]\nallow = \"all\"\ntoken = \"ada\"\n",
    );
    let options = [
        "--certificate",
        &server,
        "--key",
        &server,
        "--tls-client-ca",
        &roots,
        "--access-rules",
        &rules,
    ];
    let bank = Bank::open("https-clients-bank", &options);
    let call = |bank: &Bank, options: &[&str], words: &[&str]| {
        let url = url(bank);
        run(&[&["call", "-ORBTlsRoots", &roots][..], options, &[url.as_str()], words].concat())
    };
    let own = ["-ORBTlsCertificate", &client, "-ORBTlsKey", &client];
    let called = call(&bank, &own, &["balance"]);
    assert_eq!(text(&called.stdout), "100\n", "{called:?}");
    let denied = call(&bank, &own, &["withdraw", "5"]);
    assert!(text(&denied.stderr).contains("403 Forbidden"), "{denied:?}");
    assert_eq!(call(&bank, &[], &["balance"]).status.code(), Some(1), "without a certificate");
    let foreign = format!("{other}/client.pem");
    let foreign = ["-ORBTlsCertificate", &foreign, "-ORBTlsKey", &foreign];
    assert_eq!(call(&bank, &foreign, &["balance"]).status.code(), Some(1), "of another authority");

    let tokens = secret(&folder, "tokens.txt", "aaaaaaaaaaaaaaaa ada\n");
    let bank = Bank::open("https-clients-tokens", &[&options[..], &["--tokens", &tokens]].concat());
    let token = ["--token", &tokens];
    assert_eq!(text(&call(&bank, &token, &["withdraw", "5"]).stdout), "5\n");
    assert_eq!(text(&call(&bank, &own, &["balance"]).stdout), "100\n");
    let both = [&own[..], &token[..]].concat();
    assert_eq!(text(&call(&bank, &both, &["withdraw", "5"]).stdout), "5\n");
    let neither = call(&bank, &[], &["balance"]);
    assert!(text(&neither.stderr).contains("401 Unauthorized"), "{neither:?}");
    let wrong = secret(&folder, "wrong.txt", "bbbbbbbbbbbbbbbb\n");
    let refused = call(&bank, &[&own[..], &["--token", &wrong]].concat(), &["balance"]);
    assert!(text(&refused.stderr).contains("401 Unauthorized"), "{refused:?}");
}

#[test]
fn a_certificate_is_read_again_on_a_signal() {
    let folder = Folder::new("https-reload");
    let [old, new] = ["old", "new"].map(|name| certificates(&folder, name));
    let server = folder.path("server.pem");
    fs::copy(format!("{old}/server.pem"), &server).expect("a copy");
    let mut bank = open("https-reload-bank", &server);
    let url = url(&bank);
    let status = |made: &str| {
        let roots = format!("{made}/ca.pem");
        run(&["call", "-ORBTlsRoots", &roots, &url, "balance"]).status.code()
    };
    assert_eq!((status(&old), status(&new)), (Some(0), Some(1)));
    fs::copy(format!("{new}/server.pem"), &server).expect("a copy");
    hang_up(&bank.gateway);
    bank.gateway.wait_for_line("has read the certificate again", LIMIT);
    assert_eq!((status(&old), status(&new)), (Some(1), Some(0)));
}

/// Returns the path of a file as text.
fn path(file: &Path) -> &str {
    file.to_str().expect("UTF-8")
}

/// Signs the certificate of a gateway, whose file only its owner can read.
fn server_of(authority: &Authority) -> PathBuf {
    let server = authority.sign("server", &["localhost"]);
    fs::set_permissions(&server, Permissions::from_mode(0o600)).expect("own file");
    server
}

#[test]
fn revoked_clients_are_refused_once_the_list_is_read() {
    let authority = Authority::new("HTTP CA");
    let server = server_of(&authority);
    let [alice, bob] = ["alice", "bob"].map(|name| authority.sign(name, &[]));
    let (roots, list) = (authority.roots(), authority.revoke(&["bob"]));
    let options = [
        "--certificate",
        path(&server),
        "--key",
        path(&server),
        "--tls-client-ca",
        path(&roots),
        "--tls-client-crl",
        path(&list),
    ];
    let mut bank = Bank::open("https-revoked", &options);
    let url = url(&bank);
    let call = |own: &Path| {
        let own = path(own);
        let trust = ["-ORBTlsRoots", path(&roots), "-ORBTlsCertificate", own];
        run(&[&["call"][..], &trust, &[url.as_str(), "balance"]].concat())
    };
    let refused = call(&bob);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(text(&refused.stderr).contains("our certificate was revoked"), "{refused:?}");
    bank.gateway.wait_for_line(
        "the client's certificate was revoked by its authority (--tls-client-crl)",
        LIMIT,
    );
    assert_eq!(text(&call(&alice).stdout), "100\n");

    authority.revoke(&["alice"]);
    hang_up(&bank.gateway);
    bank.gateway.wait_for_line("has read the certificate again", LIMIT);
    assert_eq!(text(&call(&bob).stdout), "100\n");
    let refused = call(&alice);
    assert!(text(&refused.stderr).contains("our certificate was revoked"), "{refused:?}");

    fs::write(&list, "no list").expect("a file");
    hang_up(&bank.gateway);
    let line = bank.gateway.wait_for_line("stay in use", LIMIT);
    assert!(line.contains("--tls-client-crl"), "{line}");
    assert_eq!(call(&alice).status.code(), Some(1));
}

#[test]
fn lists_that_cannot_be_used_are_errors_at_the_start() {
    let authority = Authority::new("HTTP CA");
    let server = server_of(&authority);
    let (roots, list) = (authority.roots(), authority.revoke(&[]));
    let open = |client: &[&str]| {
        let own = ["--certificate", path(&server), "--key", path(&server)];
        let args = [&["gateway", "http", "--listen", "127.0.0.1:0"][..], &own, client].concat();
        let failed = run(&args);
        assert_ne!(failed.status.code(), Some(0), "{failed:?}");
        text(&failed.stderr)
    };
    let why = open(&["--tls-client-ca", path(&roots), "--tls-client-crl", path(&roots)]);
    assert!(why.contains("--tls-client-crl") && why.contains("contains no X509 CRL"), "{why}");
    let why = open(&["--tls-client-crl", path(&list)]);
    assert!(why.contains("--tls-client-ca"), "{why}");
    let why = open(&["--tls-client-ca", path(&list)]);
    assert!(why.contains("--tls-client-ca") && why.contains("contains no CERTIFICATE"), "{why}");
}

#[test]
fn octets_that_are_not_tls_are_logged_with_the_address_of_their_client() {
    let folder = Folder::new("https-plain");
    let made = certificates(&folder, "made");
    let mut bank = open("https-plain-bank", &format!("{made}/server.pem"));
    let mut stream = client::connect(&bank.address);
    let address = stream.local_addr().expect("an address").to_string();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a connection");
    let line = bank.gateway.wait_for_line("the client sent data that is not TLS", LIMIT);
    assert!(line.contains(&address), "{line}");
}
