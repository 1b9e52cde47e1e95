//! Test settings, and a transport that accepts in a thread of its own.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use oxorb_protocols::tls::Tls;
pub(crate) use oxorb_testkit::authority::Authority;
use oxorb_transport::*;

/// Returns a transport with these settings.
pub(crate) fn prepared(security: Security) -> Tls {
    let tls = Tls::new();
    tls.prepare(&security).unwrap_or_else(|error| panic!("{error}"));
    tls
}

/// Returns the settings of a server, or of a client that presents a certificate.
pub(crate) fn with(roots: &Path, certificate: &Path) -> Security {
    Security {
        roots: Some(roots.to_owned()),
        certificate: Some(certificate.to_owned()),
        ..Security::default()
    }
}

/// Returns a transport that is client and server, and trusts its own certificate.
pub(crate) fn both_sides() -> Tls {
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1", "localhost"]);
    prepared(with(&authority.roots(), &own))
}

/// TLS whose acceptors accept in a thread of their own, as an ORB's do: a client that connects in
/// the thread that accepts afterwards would wait forever.
#[derive(Debug)]
pub(crate) struct Eager(pub(crate) Tls);

struct EagerAcceptor {
    inner: Arc<dyn Acceptor>,
    links: Mutex<Receiver<io::Result<Box<dyn Link>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Transport for Eager {
    fn scheme(&self) -> Scheme {
        self.0.scheme()
    }
    fn facts(&self) -> Facts {
        self.0.facts()
    }
    fn endpoints(&self, by: Notation, text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
        self.0.endpoints(by, text)
    }
    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        let inner: Arc<dyn Acceptor> = Arc::from(self.0.listen(at)?);
        let (sender, links) = channel();
        let acceptor = Arc::clone(&inner);
        let thread = std::thread::spawn(move || {
            loop {
                let accepted = acceptor.accept();
                match &accepted {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                    Err(error) if RefusedConnection::of(error).is_some() => continue,
                    _ => {}
                }
                if sender.send(accepted).is_err() {
                    return;
                }
            }
        });
        Ok(Box::new(EagerAcceptor { inner, links: Mutex::new(links), thread: Some(thread) }))
    }
    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>> {
        self.0.published(at, rules)
    }
    fn own_address(&self, at: &Endpoint) -> Address {
        self.0.own_address(at)
    }
    fn is_fixed(&self, at: &Endpoint) -> bool {
        self.0.is_fixed(at)
    }
    fn is_local(&self, at: &Endpoint) -> bool {
        self.0.is_local(at)
    }
    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        self.0.following(at, number)
    }
    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        self.0.resolve(to)
    }
    fn start(&self, to: &Address) -> io::Result<Start> {
        self.0.start(to)
    }
}

impl Acceptor for EagerAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let accepted = self.links.lock().unwrap().recv();
        accepted.unwrap_or_else(|_| Err(io::ErrorKind::NotConnected.into()))
    }
    fn close(&self) {
        self.inner.close();
    }
    fn endpoint(&self) -> &Endpoint {
        self.inner.endpoint()
    }
}

impl Drop for EagerAcceptor {
    fn drop(&mut self) {
        self.inner.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
