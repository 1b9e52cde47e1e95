//! Serving of one HTTP connection, with time limits for its idle phases.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::activity::{Activity, Look};
use super::caller::Caller;
use super::intake::{Intake, Limited};
use super::limits::{
    CONNECTION_WINDOW, DRAIN, MAX_HEADERS, MAX_STREAMS, SEND_BUFFER, STREAM_WINDOW,
};
use super::routes;
use super::state::Gateway;

/// Event that the task of a connection waits for.
enum Woken {
    Ended,
    Closing,
    Time,
}

/// Serves the requests of a connection until it ends, is idle for too long, its client receives too slowly, or the
/// gateway ends.
pub(super) async fn serve<I>(
    gateway: Arc<Gateway>,
    io: I,
    caller: Caller,
    mut closing: Receiver<bool>,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let intake = Intake::new();
    let activity = Activity::new(Instant::now(), gateway.limits.min_rate(), &intake);
    let read_time = gateway.limits.read_time();
    let started = Arc::clone(&activity);
    let service = service_fn(move |request| {
        let (gateway, activity) = (Arc::clone(&gateway), Arc::clone(&started));
        let caller = caller.clone();
        async move { Ok::<_, Infallible>(routes::answer(gateway, request, caller, activity).await) }
    });
    let builder = builder(read_time);
    let io = TokioIo::new(Limited::new(io, &intake));
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut closing = pin!(closing.changed());
    let mut look = pin!(sleep_until(Instant::now() + read_time));
    let mut is_ending = false;
    loop {
        let woken = poll_fn(|cx| {
            intake.begin_turn();
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Woken::Ended);
            }
            if !is_ending && closing.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Woken::Closing);
            }
            look.as_mut().poll(cx).map(|()| Woken::Time)
        })
        .await;
        match woken {
            Woken::Ended => return,
            Woken::Closing => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
                look.as_mut().reset(Instant::now() + DRAIN);
            }
            Woken::Time if is_ending => return,
            Woken::Time => match activity.look(Instant::now(), read_time) {
                Look::Again(time) => look.as_mut().reset(time),
                Look::Slow => return,
                Look::Idle => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                    look.as_mut().reset(Instant::now() + read_time);
                }
            },
        }
    }
}

fn builder(read_time: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(read_time)
        .max_buf_size(MAX_HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(MAX_HEADERS as u32)
        .max_concurrent_streams(MAX_STREAMS);
    builder
}
