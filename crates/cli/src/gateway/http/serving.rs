//! Runtime thread of HTTP, and the connections that it accepts.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection;
use super::limits::DRAIN;
use super::state::Gateway;
use super::tls::Tls;

/// Pause after a connection could not be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// Runtime thread, which serves connections until it is stopped.
pub(super) struct Serving {
    thread: JoinHandle<()>,
    closing: Sender<bool>,
}

impl Serving {
    /// Starts the thread.
    pub(super) fn start(
        listener: StdListener,
        gateway: Arc<Gateway>,
        tls: Option<Tls>,
    ) -> io::Result<Serving> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(gateway.limits.calls())
            .thread_name("oxorb-http-call")
            .build()?;
        let (closing, closed) = channel(false);
        let thread =
            std::thread::Builder::new().name("oxorb-http".to_owned()).spawn(move || {
                runtime.block_on(accept(listener, gateway, tls, closed));
                runtime.shutdown_timeout(DRAIN);
            })?;
        Ok(Serving { thread, closing })
    }

    /// Accepts no further connections, answers the requests that run, and ends the thread.
    pub(super) fn stop(self) {
        // The thread has ended already if nobody receives this.
        let _ = self.closing.send(true);
        let _ = self.thread.join();
    }
}

/// Accepts connections until the gateway ends, then waits for those that are left.
async fn accept(
    listener: StdListener,
    gateway: Arc<Gateway>,
    tls: Option<Tls>,
    closing: Receiver<bool>,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return oxorb_terminal::output::error(&error.to_string()),
    };
    let most = gateway.limits.connections();
    let permits = Arc::new(Semaphore::new(most));
    let mut ends = closing.clone();
    let mut ends = pin!(ends.changed());
    loop {
        let mut next = pin!(next(&listener, &permits));
        let woken = poll_fn(|cx| {
            if ends.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            next.as_mut().poll(cx).map(Some)
        })
        .await;
        match woken {
            None => break,
            Some(Err(_)) => tokio::time::sleep(PAUSE).await,
            Some(Ok((stream, peer, permit))) => {
                let (gateway, tls, closing) = (Arc::clone(&gateway), tls.clone(), closing.clone());
                tokio::spawn(async move {
                    let _permit = permit;
                    serve(gateway, stream, peer, tls, closing).await;
                });
            }
        }
    }
    drop(listener);
    let all = permits.acquire_many(most as u32);
    let _ = tokio::time::timeout(DRAIN, all).await;
}

/// Waits for a permit, then for a connection.
async fn next(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

async fn serve(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<Tls>,
    closing: Receiver<bool>,
) {
    // Answers are written whole, so waiting for more octets only delays them.
    let _ = stream.set_nodelay(true);
    match tls {
        None => connection::serve(gateway, stream, peer, closing).await,
        Some(tls) => {
            let time = gateway.limits.read_time();
            if let Ok(Some(stream)) = tokio::time::timeout(time, tls.accept(stream)).await {
                connection::serve(gateway, stream, peer, closing).await;
            }
        }
    }
}
