//! Archives that an execution manager fetches by `https:`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::repository::repository;
use crate::common::Folder;
use crate::launch::{bad, serve};

/// Returns the arguments of an execution manager that keeps packages, and installs archives from these servers.
fn manager<'a>(packages: &'a str, url: &'a str) -> Vec<&'a str> {
    vec!["deploy", "serve", "--packages", packages, "--install-url", url]
}

/// Returns a folder that only its user can change.
fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A build of the whole workspace has a library with TLS, since other packages enable it, and a command without.
#[cfg(not(feature = "tls"))]
#[test]
fn without_tls_the_manager_names_what_https_needs() {
    let folder = folder("deploy-no-https");
    let packages = folder.path("packages");
    let (_manager, at) = serve(&manager(&packages, "https://localhost:9/"));
    let told = bad(&repository(&at, &["install", "gps", "https://localhost:9/gps.cpk"]));
    let needs = ["build oxorb with the feature tls", "(-ORBTlsRoots) or keys (-ORBTlsPins)"];
    assert!(needs.iter().any(|it| told.contains(it)), "{told}");
}

#[cfg(feature = "tls")]
mod with_tls {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::super::repository::COCKPIT;
    use super::*;
    use crate::common::{LIMIT, run};
    use crate::launch::good;

    /// Makes an authority, and a certificate for `localhost`; returns the files of the server and of the authority.
    fn certificates(folder: &Folder, name: &str) -> (String, String) {
        let path = folder.path(name);
        let made = run(&["cert", "new", "--dir", &path, "--host", "localhost"]);
        assert!(made.status.success(), "{made:?}");
        (format!("{path}/server.pem"), format!("{path}/ca.pem"))
    }

    /// Answers every request over TLS with a file until the test process ends; returns the URL of the server. The
    /// certificate and its key are in one file.
    fn https(certificate: &str, content: Vec<u8>) -> String {
        let chain = CertificateDer::pem_file_iter(certificate).unwrap();
        let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_file(certificate).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                // A client that does not trust the certificate leaves during the handshake.
                let _ = answer(StreamOwned::new(tls, stream), &content);
            }
        });
        url
    }

    fn answer(mut stream: impl Read + Write, content: &[u8]) -> std::io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut octet = [0];
            stream.read_exact(&mut octet)?;
            head.push(octet[0]);
        }
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", content.len())?;
        stream.write_all(content)?;
        stream.flush()
    }

    #[test]
    fn archives_are_installed_from_servers_whose_certificate_is_trusted() {
        let folder = folder("deploy-https");
        let (server, roots) = certificates(&folder, "made");
        let (_, others) = certificates(&folder, "others");
        let archive = folder.path("cockpit.cpk");
        good(&["deploy", "pack", COCKPIT, &archive]);
        let url = https(&server, fs::read(&archive).unwrap());
        let location = format!("{url}cockpit.cpk");
        let install = ["install", "cockpit", &location];

        let packages = folder.path("packages");
        let trusting = [&manager(&packages, &url)[..], &["-ORBTlsRoots", &roots]].concat();
        let (trusting, at) = serve(&trusting);
        assert_eq!(good(&repository(&at, &install)), "installed cockpit\n");
        let wrong = format!("{location}#sha256={}", "0".repeat(64));
        let told = bad(&repository(&at, &["install", "other", &wrong]));
        assert!(told.contains("but the location states 0000"), "{told}");
        let plain = location.replace("https:", "http:");
        let told = bad(&repository(&at, &["install", "other", &plain]));
        assert!(told.contains("--install-url"), "{told}");
        drop(trusting);

        let packages = folder.path("packages-of-others");
        let other = [&manager(&packages, &url)[..], &["-ORBTlsRoots", &others]].concat();
        let (other, at) = serve(&other);
        let told = bad(&repository(&at, &install));
        assert!(told.contains("cannot be fetched") && told.contains("certificate"), "{told}");
        drop(other);

        let packages = folder.path("packages-of-none");
        let (_none, at) = serve(&manager(&packages, &url));
        let told = bad(&repository(&at, &install));
        assert!(
            told.contains("https: is not configured") && told.contains("-ORBTlsRoots"),
            "{told}"
        );
    }
}
