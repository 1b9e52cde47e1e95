//! Connection between two hosts that can be interrupted, without root.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Listener in place of a server, which passes all octets on. While the cable is cut, no octets and no ends of
/// connections pass, as in a network that is partitioned. Afterwards the octets that were sent meanwhile arrive late.
pub(crate) struct Cable {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Cable {
    /// Listens at a free port of this machine in place of the server at `server`.
    pub(crate) fn to(server: SocketAddr) -> Cable {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let is_cut = Arc::<AtomicBool>::default();
        let cut = Arc::clone(&is_cut);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let cut = Arc::clone(&cut);
                thread::spawn(move || {
                    wait_while(&cut);
                    // Without a server, the client's connection is closed.
                    if let Ok(server) = TcpStream::connect(server) {
                        join(client, server, &cut);
                    }
                });
            }
        });
        Cable { address, is_cut }
    }

    /// Returns the address for clients.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, SeqCst);
    }

    pub(crate) fn repair(&self) {
        self.is_cut.store(false, SeqCst);
    }
}

/// Passes octets in both directions, until both ends have closed.
fn join(client: TcpStream, server: TcpStream, cut: &Arc<AtomicBool>) {
    let both = client.try_clone().and_then(|client| Ok((client, server.try_clone()?)));
    let (from, to) = both.expect("descriptors");
    let cut_there = Arc::clone(cut);
    let back = thread::spawn(move || pass(server, client, &cut_there));
    pass(from, to, cut);
    let _ = back.join();
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut buffer = [0; 4096];
    loop {
        let octets = from.read(&mut buffer).unwrap_or(0);
        wait_while(cut);
        if octets == 0 || to.write_all(&buffer[..octets]).is_err() {
            // Either end may have closed both directions already.
            let _ = to.shutdown(Shutdown::Write);
            let _ = from.shutdown(Shutdown::Read);
            return;
        }
    }
}

fn wait_while(cut: &AtomicBool) {
    while cut.load(SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
}
