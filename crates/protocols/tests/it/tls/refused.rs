//! Rejected certificates, and peers that use another protocol: both sides report the reason.

use std::io::IoSlice;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb_protocols::tls::Tls;
use oxorb_testkit::watchdog;
use oxorb_transport::*;
use rcgen::{BasicConstraints, IsCa, date_time_ymd};

use crate::tls::common::{Authority, prepared, with};

const LONG: Duration = Duration::from_secs(30);

/// Results of both sides of a connection: the client's error or answer, and the server's.
fn meet(server: Security, client: Security) -> (Result<String, String>, Result<String, String>) {
    let _bound = watchdog(Duration::from_secs(60));
    let server = prepared(server);
    let endpoint = server.endpoints(Notation::Url, Part::new("127.0.0.1:0")).unwrap().remove(0);
    let acceptor = server.listen(&endpoint).unwrap();
    let address = server.own_address(acceptor.endpoint());
    thread::scope(|scope| {
        let serving = scope.spawn(|| match acceptor.accept() {
            Ok(link) => {
                let mut buffer = Vec::new();
                let _ = link.set_read_timeout(Some(LONG));
                link.read(&mut buffer, 5).map_err(|error| error.to_string())?;
                let _ = link.write(&mut [IoSlice::new(b"done")]);
                Ok(link.identity().to_string())
            }
            Err(error) => {
                let refused = RefusedConnection::of(&error).expect("a peer was refused");
                assert!(refused.peer.starts_with("127.0.0.1:"), "{refused:?}");
                let why = refused.why.clone();
                // The client is notified during the next call of `accept`, which an ORB would make at once.
                let closing = scope.spawn(|| drop(acceptor.accept()));
                thread::sleep(Duration::from_millis(200));
                acceptor.close();
                let _ = closing.join();
                Err(why)
            }
        });
        let client = prepared(client);
        let called = match connect(&client, &address, LONG) {
            Err(error) => Err(error.to_string()),
            Ok(link) => {
                let _ = link.set_read_timeout(Some(LONG));
                let _ = link.write(&mut [IoSlice::new(b"hello")]);
                let mut buffer = Vec::new();
                match link.read(&mut buffer, 4) {
                    Ok(4) => Ok(link.identity().to_string()),
                    Ok(octets) => Err(format!("{octets} octets")),
                    Err(error) => {
                        assert!(
                            RefusedConnection::of(&error).is_some(),
                            "{error}: may it be sent again?"
                        );
                        Err(error.to_string())
                    }
                }
            }
        };
        (called, serving.join().unwrap())
    })
}

#[track_caller]
fn says(said: &Result<String, String>, words: &str) {
    let said = said.as_ref().expect_err("it was not let in");
    assert!(said.contains(words), "{said:?} does not say {words:?}");
}

struct Parties {
    authority: Authority,
    server: Security,
    client: Security,
}

fn parties() -> Parties {
    let authority = Authority::new("Test CA");
    let server = authority.sign("server", &["127.0.0.1"]);
    let client = authority.sign("alice", &[]);
    Parties {
        server: with(&authority.roots(), &server),
        client: with(&authority.roots(), &client),
        authority,
    }
}

#[test]
fn both_know_each_other() {
    let Parties { authority, server, client } = parties();
    let (called, served) = meet(server.clone(), client.clone());
    assert_eq!(
        (called.as_deref(), served.as_deref()),
        (Ok("CN=server,O=Bank"), Ok("CN=alice,O=Bank"))
    );

    // A client without a certificate is identified by its address.
    let stranger = Security { certificate: None, ..client.clone() };
    let (called, served) = meet(server.clone(), stranger.clone());
    assert_eq!((called.is_ok(), served.as_deref()), (true, Ok("127.0.0.1")));
    let ignored = Security { clients: ClientCertificates::Ignored, ..server.clone() };
    assert_eq!(meet(ignored, client.clone()).1.as_deref(), Ok("127.0.0.1"));

    let both = |old| Security { old, ..server.clone() };
    assert!(meet(both(true), Security { old: true, ..client }).0.is_ok());
    drop(authority);
}

#[test]
fn the_time_of_a_handshake_may_be_unlimited() {
    let Parties { authority, server, client } = parties();
    let server = Security { handshake_time: Duration::MAX, ..server };
    let (called, served) = meet(server, client);
    assert_eq!(
        (called.as_deref(), served.as_deref()),
        (Ok("CN=server,O=Bank"), Ok("CN=alice,O=Bank"))
    );
    drop(authority);
}

#[test]
fn an_expired_certificate() {
    let Parties { authority, server, client } = parties();
    let expire = |params: &mut rcgen::CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    };
    let old = authority.sign_with("old-server", &["127.0.0.1"], expire);
    let (called, served) = meet(with(&authority.roots(), &old), client);
    says(&called, "the server's certificate has expired");
    says(&served, "our certificate has expired");

    let old = authority.sign_with("old-client", &[], expire);
    let (called, served) = meet(server, with(&authority.roots(), &old));
    says(&called, "our certificate has expired");
    says(&served, "the client's certificate has expired");
}

#[test]
fn a_certificate_for_another_name() {
    let Parties { authority, client, .. } = parties();
    let other = authority.sign("other", &["bank.example"]);
    let server = with(&authority.roots(), &other);
    let (called, served) = meet(server.clone(), client.clone());
    says(&called, "bank.example");
    says(&called, "not for 127.0.0.1 (-ORBTlsServerName");
    says(&served, "it does not accept our certificate, which may be for another name");

    for name in [ServerName::Any, ServerName::Fixed("bank.example".to_owned())] {
        let lenient = Security { server_name: name, ..client.clone() };
        assert_eq!(meet(server.clone(), lenient).0.as_deref(), Ok("CN=other,O=Bank"));
    }
    let wrong = ServerName::Fixed("shop.example".to_owned());
    let (called, _) = meet(server, Security { server_name: wrong, ..client });
    says(&called, "not for shop.example");
}

#[test]
fn an_authority_that_nobody_trusts() {
    let Parties { authority, server, client } = parties();
    let strange = Authority::new("Strange CA");
    let roots = Some(strange.roots());
    let (called, served) =
        meet(server.clone(), Security { roots: roots.clone(), ..client.clone() });
    says(&called, "was not signed by a trusted authority (-ORBTlsRoots)");
    says(&served, "it does not trust the authority of our certificate");

    let (called, served) = meet(Security { roots, ..server }, client);
    says(&called, "it does not trust the authority of our certificate");
    says(&served, "the client's certificate was not signed by a trusted authority");
    drop(authority);
}

#[test]
fn a_certificate_of_an_authority_itself() {
    let Parties { authority, client, .. } = parties();
    let own = authority.sign_with("authority", &["127.0.0.1"], |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    let (called, served) = meet(with(&authority.roots(), &own), client);
    says(&called, "the server's certificate is the certificate of an authority (CA:TRUE)");
    says(&served, "it does not accept our certificate");
}

#[test]
fn a_client_without_a_certificate() {
    let Parties { authority, server, client } = parties();
    let server = Security { clients: ClientCertificates::Required, ..server };
    for old in [false, true] {
        let server = Security { old, ..server.clone() };
        let stranger = Security { certificate: None, old, ..client.clone() };
        let (called, served) = meet(server, stranger);
        says(&called, "it requires a certificate, but received none (-ORBTlsCertificate)");
        says(&served, "the client showed no certificate, but one is required");
    }
    drop(authority);
}

#[test]
fn a_revoked_certificate() {
    let Parties { authority, server, client } = parties();
    let revoked = Some(authority.revoke(&["alice"]));
    let strict = Security { revoked: revoked.clone(), ..server.clone() };
    let (called, served) = meet(strict, client.clone());
    says(&called, "our certificate was revoked");
    says(&served, "the client's certificate was revoked by its authority");

    authority.revoke(&["server"]);
    let (called, served) = meet(server, Security { revoked, ..client });
    says(&called, "the server's certificate was revoked by its authority");
    says(&served, "our certificate was revoked");
}

#[test]
fn keys_that_are_pinned() {
    let Parties { authority, server, client } = parties();
    let wrong = Security { pins: vec![[7; 32]], ..client.clone() };
    let (called, served) = meet(server.clone(), wrong);
    says(&called, "its key is not pinned (-ORBTlsPins); its SHA-256 is ");
    says(&served, "it does not accept our certificate");
    let called = called.unwrap_err();
    let (_, own) = called.split_once("its SHA-256 is ").unwrap();

    // The pinned key alone is enough: this client has no roots.
    let mut pinned = Security { roots: None, certificate: None, ..client };
    pinned.pin(&own[..64]).unwrap();
    assert_eq!(meet(server, pinned).0.as_deref(), Ok("CN=server,O=Bank"));
    drop(authority);
}

#[test]
fn versions_without_anything_in_common() {
    let Parties { authority, server, client } = parties();
    let server = prepared(server);
    let endpoint = server.endpoints(Notation::Url, Part::new("127.0.0.1:0")).unwrap().remove(0);
    let acceptor = server.listen(&endpoint).unwrap();
    let provider = Arc::clone(oxorb_protocols::tls::provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut old = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut hello = Vec::new();
    old.write_tls(&mut hello).unwrap();
    let place = acceptor.endpoint().place.clone();
    let raw = thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let mut raw = std::net::TcpStream::connect(place).unwrap();
        raw.write_all(&hello).unwrap();
        let mut answer = [0; 7];
        raw.read_exact(&mut answer).unwrap();
        answer
    });
    let error = acceptor.accept().err().unwrap();
    let refused = RefusedConnection::of(&error).unwrap();
    assert!(refused.why.contains("only 1.3, unless -ORBTlsOld yes"), "{refused}");
    assert_eq!(raw.join().unwrap()[5..], [2, 70], "a fatal alert: protocol_version");
    drop((authority, client));
}

#[test]
fn what_is_no_tls() {
    use std::io::Write as _;
    let Parties { authority, server, .. } = parties();
    let server = prepared(server);
    let endpoint = server.endpoints(Notation::Url, Part::new("127.0.0.1:0")).unwrap().remove(0);
    let acceptor = server.listen(&endpoint).unwrap();
    for (octets, why) in [
        (&b"GIOP\x01\x02\x01\x00"[..], "sent GIOP without TLS, as for a port of iiop"),
        (b"GET / HTTP/1.1\r\n", "sent data that is not TLS"),
        (&[22, 3, 1, 0xff, 0xff, 1], "sent data that is not TLS"),
        (&[22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff], "sent data that is not TLS"),
        (&[23, 3, 3, 0, 1, 0], "sent an unexpected message"),
    ] {
        let mut raw = std::net::TcpStream::connect(&acceptor.endpoint().place).unwrap();
        raw.write_all(octets).unwrap();
        let error = acceptor.accept().err().unwrap();
        let refused = RefusedConnection::of(&error).unwrap();
        assert!(refused.why.contains(why), "{refused}");
    }
    drop(authority);
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let Parties { authority, server, client } = parties();
    let refused = |security: &Security| Tls::new().prepare(security).unwrap_err().to_string();
    let missing = Security { roots: Some("/nowhere.pem".into()), ..client.clone() };
    assert!(refused(&missing).starts_with("-ORBTlsRoots /nowhere.pem: "), "{}", refused(&missing));
    let swapped = Security { key: client.certificate.clone(), ..server.clone() };
    assert!(
        refused(&swapped).contains("the key does not belong to the certificate"),
        "{}",
        refused(&swapped)
    );
    let no_key = Security { certificate: Some(authority.roots()), ..server.clone() };
    assert!(refused(&no_key).contains("the file contains no private key"), "{}", refused(&no_key));
    let list = Security { revoked: Some(authority.roots()), ..server.clone() };
    assert!(refused(&list).contains("the file contains no X509 CRL"), "{}", refused(&list));
    let endless = Security { roots: Some("/dev/zero".into()), ..client.clone() };
    assert!(
        refused(&endless).contains("it has more than 16777216 octets"),
        "{}",
        refused(&endless)
    );
    let required = Security { roots: None, clients: ClientCertificates::Required, ..server };
    assert!(refused(&required).contains("-ORBTlsRoots"), "{}", refused(&required));

    let nothing = prepared(Security::default());
    let endpoint = nothing.endpoints(Notation::Url, Part::new("127.0.0.1:0")).unwrap().remove(0);
    let error = nothing.listen(&endpoint).err().unwrap().to_string();
    assert!(error.contains("-ORBTlsCertificate") && error.contains("oxorb cert new"), "{error}");
    let to = "ssl:127.0.0.1:1".parse().unwrap();
    let error = nothing.start(&to).err().unwrap().to_string();
    assert!(error.contains("-ORBTlsRoots"), "{error}");
    // The output of `Debug` contains the names of files, but not their contents.
    let shown = format!("{:?}", prepared(client));
    assert!(shown.contains("alice.pem") && !shown.contains("PRIVATE"), "{shown}");
}

#[test]
fn changed_files_are_read_again_and_broken_ones_are_not_taken() {
    let _bound = watchdog(Duration::from_secs(60));
    let Parties { authority, server, client } = parties();
    let transport = prepared(server.clone());
    let endpoint = transport.endpoints(Notation::Url, Part::new("127.0.0.1:0")).unwrap().remove(0);
    let acceptor: Arc<dyn Acceptor> = Arc::from(transport.listen(&endpoint).unwrap());
    let address = transport.own_address(acceptor.endpoint());
    let client = prepared(Security { server_name: ServerName::Any, ..client });
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let accepting = thread::spawn({
        let (acceptor, said) = (Arc::clone(&acceptor), Arc::clone(&said));
        move || {
            let mut links = Vec::new();
            loop {
                match acceptor.accept() {
                    Ok(link) => links.push(link),
                    Err(error) if error.kind() == std::io::ErrorKind::NotConnected => return,
                    Err(error) => said.lock().unwrap().push(error.to_string()),
                }
            }
        }
    });
    let name = || connect(&client, &address, LONG).unwrap().identity().to_string();
    assert_eq!(name(), "CN=server,O=Bank");

    // A call of `reload` loads the changed file.
    let file = server.certificate.unwrap();
    let renewed = authority.sign("renewed", &["127.0.0.1"]);
    std::fs::copy(renewed, &file).unwrap();
    transport.reload().unwrap();
    assert_eq!(name(), "CN=renewed,O=Bank");

    // A changed file is loaded even without a call of `reload`.
    let third = authority.sign("third", &["127.0.0.1"]);
    std::fs::copy(third, &file).unwrap();
    while name() != "CN=third,O=Bank" {
        thread::sleep(Duration::from_millis(50));
    }

    // A half-written file is reported, and the earlier contents stay.
    std::fs::write(&file, "-----BEGIN CERTIFICATE-----\n").unwrap();
    assert!(transport.reload().is_err());
    assert_eq!(name(), "CN=third,O=Bank");
    std::fs::write(&file, "nothing").unwrap();
    loop {
        assert_eq!(name(), "CN=third,O=Bank");
        let said = said.lock().unwrap();
        if said.iter().any(|it| it.contains("the previous contents stay in use")) {
            break;
        }
        drop(said);
        thread::sleep(Duration::from_millis(50));
    }
    acceptor.close();
    accepting.join().unwrap();
}
