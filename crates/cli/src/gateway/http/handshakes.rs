//! Thread that performs TLS handshakes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch::{Sender, channel};
use tokio::time::timeout;

use super::tls::{Tls, TlsConnection};

/// Time limit for a refused client to read the reason.
const PARTING: Duration = Duration::from_secs(1);

/// Maximum number of octets that are read from such a client and discarded.
const PARTING_OCTETS: usize = 256 << 10;

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

    /// Performs a handshake.
    ///
    /// # Errors
    /// The reason why it failed, as the rest of a sentence.
    pub(super) async fn accept(&self, stream: TcpStream) -> Result<TlsConnection, String> {
        let (tls, time) = (Arc::clone(&self.tls), self.time);
        let handshake = async move {
            match timeout(time, tls.accept(stream)).await {
                Ok(Ok(connection)) => Ok(connection),
                Ok(Err((why, stream))) => {
                    // The client has the reason only if it is read before the connection is reset.
                    let _ = timeout(PARTING, part(stream)).await;
                    Err(why)
                }
                Err(_) => Err("its handshake took too long (--read-timeout)".to_owned()),
            }
        };
        let done = self.runtime.spawn(handshake).await;
        done.unwrap_or_else(|_| Err("the gateway is shutting down".to_owned()))
    }
}

/// Closes a connection for writing, and discards what its client has sent already. The system would otherwise reset the
/// connection, and the client could lose the reason of the refusal.
async fn part(mut stream: TcpStream) -> io::Result<()> {
    poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx)).await?;
    let (mut dropped, mut octets) = ([0; 4 << 10], 0);
    while octets < PARTING_OCTETS {
        stream.readable().await?;
        match stream.try_read(&mut dropped) {
            Ok(0) => break,
            Ok(count) => octets += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
