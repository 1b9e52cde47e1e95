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

use super::caller::Caller;
use super::connection;
use super::counts::Connected;
use super::handshakes::Handshakes;
use super::limits::DRAIN;
use super::peers::{PeerPlace, Peers};
use super::state::Gateway;
use super::tls::{self, Tls};

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
        tls: Option<Arc<Tls>>,
    ) -> io::Result<Serving> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(gateway.limits.calls())
            .thread_name("oxorb-http-call")
            .build()?;
        let listener = {
            let _runtime = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let time = gateway.limits.read_time();
        let handshakes = tls.map(|tls| Handshakes::start(tls, time)).transpose()?;
        let (closing, closed) = channel(false);
        let thread =
            std::thread::Builder::new().name("oxorb-http".to_owned()).spawn(move || {
                runtime.block_on(accept(listener, gateway, handshakes, closed));
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
    listener: TcpListener,
    gateway: Arc<Gateway>,
    handshakes: Option<Handshakes>,
    closing: Receiver<bool>,
) {
    let most = gateway.limits.connections();
    let permits = Arc::new(Semaphore::new(most));
    let peers = Peers::new(gateway.limits.connections_per_client());
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
                // The connection is closed if its client has too many.
                let Some(counted) = peers.admit(peer.ip()) else {
                    continue;
                };
                let connected = gateway.counts.connect();
                let admitted =
                    Admitted { _permit: permit, _counted: counted, _connected: connected };
                let (gateway, closing) = (Arc::clone(&gateway), closing.clone());
                let handshakes = handshakes.clone();
                tokio::spawn(async move {
                    let _admitted = admitted;
                    serve(gateway, stream, peer, handshakes, closing).await;
                });
            }
        }
    }
    drop(listener);
    let all = permits.acquire_many(most as u32);
    let _ = tokio::time::timeout(DRAIN, all).await;
}

/// Part of a connection in the limits and the count of connections.
struct Admitted {
    _permit: OwnedSemaphorePermit,
    _counted: PeerPlace,
    _connected: Connected,
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
    handshakes: Option<Handshakes>,
    closing: Receiver<bool>,
) {
    // Answers are written whole, so waiting for more octets only delays them.
    let _ = stream.set_nodelay(true);
    match handshakes {
        None => connection::serve(gateway, stream, Caller::plain(peer), closing).await,
        Some(handshakes) => match before_end(handshakes.accept(stream), closing.clone()).await {
            Some(Ok(stream)) => {
                gateway.orb.note_handshake();
                let caller = tls::caller(&stream, peer);
                connection::serve(gateway, stream, caller, closing).await;
            }
            Some(Err(why)) => {
                gateway.orb.note_refused_handshake(|| peer.to_string(), || why);
            }
            None => {}
        },
    }
}

/// Returns the result of a future; `None` if the gateway ends first.
async fn before_end<T>(done: impl Future<Output = T>, mut closing: Receiver<bool>) -> Option<T> {
    let mut done = pin!(done);
    let mut closing = pin!(closing.changed());
    poll_fn(|cx| match closing.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => done.as_mut().poll(cx).map(Some),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_handshake_does_not_delay_the_end() {
        let mut cx = Context::from_waker(Waker::noop());
        let (closing, closed) = channel(false);
        let mut completed = pin!(before_end(ready(7), closed.clone()));
        assert_eq!(completed.as_mut().poll(&mut cx), Poll::Ready(Some(7)));
        let mut waiting = pin!(before_end(pending::<i32>(), closed));
        assert_eq!(waiting.as_mut().poll(&mut cx), Poll::Pending);
        closing.send(true).unwrap();
        assert_eq!(waiting.as_mut().poll(&mut cx), Poll::Ready(None));
    }
}
