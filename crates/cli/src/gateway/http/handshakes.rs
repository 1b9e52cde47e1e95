//! Thread that performs TLS handshakes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch::{Sender, channel};
use tokio::time::timeout;

use super::tls::{Tls, TlsConnection};

/// Thread that performs the handshakes of all connections. Their cryptographic operations take milliseconds, so they
/// would delay requests on the runtime thread of HTTP.
#[derive(Clone)]
pub(super) struct Handshakes {
    tls: Arc<Tls>,
    runtime: Handle,
    /// Time limit of a handshake.
    time: Duration,
    /// Sender whose end also ends the thread.
    _alive: Arc<Sender<()>>,
}

impl Handshakes {
    /// Starts the thread. It ends after all clones of the result are dropped.
    pub(super) fn start(tls: Arc<Tls>, time: Duration) -> io::Result<Handshakes> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let handle = runtime.handle().clone();
        let (alive, mut over) = channel(());
        std::thread::Builder::new().name("oxorb-http-tls".to_owned()).spawn(move || {
            // Nothing is ever sent, so this waits for the end of the sender.
            runtime.block_on(async move { while over.changed().await.is_ok() {} });
        })?;
        Ok(Handshakes { tls, runtime: handle, time, _alive: Arc::new(alive) })
    }

    /// Performs a handshake; `None` if it failed, or took too long.
    pub(super) async fn accept(&self, stream: TcpStream) -> Option<TlsConnection> {
        let (tls, time) = (Arc::clone(&self.tls), self.time);
        let handshake = async move { timeout(time, tls.accept(stream)).await };
        self.runtime.spawn(handshake).await.ok()?.ok()?
    }
}
