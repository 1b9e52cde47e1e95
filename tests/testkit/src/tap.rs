//! Recording of connections.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::until;

/// Listener in place of a server, which connects to the server for every connection that it accepts, passes all octets
/// on and keeps a copy of them.
#[derive(Debug)]
pub struct Tap<A> {
    address: A,
    heard: Heard,
    /// Number of directions of connections that are still open.
    passing: Arc<AtomicUsize>,
}

/// Data that passed over one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Data from the client to the server.
    pub requests: Vec<u8>,
    /// Data from the server to the client.
    pub replies: Vec<u8>,
}

type Heard = Arc<Mutex<Vec<Conversation>>>;

impl Tap<SocketAddr> {
    /// Listens at a free port of this machine in place of the server at `server`.
    ///
    /// # Panics
    /// If there is no port.
    pub fn tcp(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let accept = move || Ok((listener.accept()?.0, TcpStream::connect(server)?));
        Self::start(address, accept)
    }
}

impl Tap<PathBuf> {
    /// Listens at `path` in place of the server at the path `server`.
    ///
    /// # Panics
    /// If the path is in use.
    pub fn unix(path: &Path, server: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a path that nobody has");
        let server = server.to_owned();
        let accept = move || Ok((listener.accept()?.0, UnixStream::connect(&server)?));
        Self::start(path.to_owned(), accept)
    }
}

impl<A> Tap<A> {
    fn start<S: Socket>(
        address: A,
        accept: impl Fn() -> io::Result<(S, S)> + Send + 'static,
    ) -> Self {
        let heard = Heard::default();
        let passing = Arc::<AtomicUsize>::default();
        let (conversations, counted) = (heard.clone(), passing.clone());
        thread::spawn(move || {
            while let Ok(ends) = accept() {
                listen_in(ends, &conversations, &counted);
            }
        });
        Self { address, heard, passing }
    }

    /// Returns the address for clients.
    pub fn address(&self) -> &A {
        &self.address
    }

    /// Returns the recorded octets, a conversation for each connection in the order of connecting. It includes all
    /// octets that a client has received, and those of its requests that the server has received.
    pub fn heard(&self) -> Vec<Conversation> {
        lock(&self.heard).clone()
    }

    /// Returns the recorded octets, once every connection has ended: the last octets of clients that have left may
    /// still be in transit.
    pub fn heard_to_the_end(&self) -> Vec<Conversation> {
        until("the connections have ended", || self.passing.load(Ordering::SeqCst) == 0);
        self.heard()
    }
}

/// Passes on both directions of a connection, each in a thread that ends with it.
fn listen_in<S: Socket>((client, server): (S, S), heard: &Heard, passing: &Arc<AtomicUsize>) {
    let mut conversations = lock(heard);
    let index = conversations.len();
    conversations.push(Conversation::default());
    let (Ok(from_client), Ok(from_server)) = (client.copy(), server.copy()) else {
        return;
    };
    passing.fetch_add(2, Ordering::SeqCst);
    let (keep, ended) = (heard.clone(), passing.clone());
    thread::spawn(move || {
        pass(from_client, server, |octets| {
            lock(&keep)[index].requests.extend_from_slice(octets);
        });
        ended.fetch_sub(1, Ordering::SeqCst);
    });
    let (keep, ended) = (heard.clone(), passing.clone());
    thread::spawn(move || {
        pass(from_server, client, |octets| {
            lock(&keep)[index].replies.extend_from_slice(octets);
        });
        ended.fetch_sub(1, Ordering::SeqCst);
    });
}

/// Records and passes on octets, until one side closes.
fn pass<S: Socket>(mut from: S, mut to: S, keep: impl Fn(&[u8])) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            from.end();
            break;
        }
    }
    to.end();
}

fn lock(heard: &Heard) -> MutexGuard<'_, Vec<Conversation>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

trait Socket: Read + Write + Send + Sized + 'static {
    fn copy(&self) -> io::Result<Self>;

    fn end(&self);
}

impl Socket for TcpStream {
    fn copy(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Socket for UnixStream {
    fn copy(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}
