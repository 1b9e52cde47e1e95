//! Octets that a connection may read, so that a client cannot occupy the runtime thread with octets that are part of no
//! request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::limits::{FREE_OCTETS, TURN, TURN_OF_STRANGER};

/// Limits of the octets that one connection reads.
pub(super) struct Intake {
    /// Octets that may still be read before other connections have their turn.
    turn: AtomicUsize,
    /// Number of octets that have arrived.
    arrived: AtomicU64,
    /// Number of octets that may arrive until further requests are admitted.
    permitted: AtomicU64,
}

/// Connection that reads within limits.
pub(super) struct Limited<I> {
    io: I,
    intake: Arc<Intake>,
}

impl Intake {
    /// Permits the octets that need no admitted request.
    pub(super) fn new() -> Arc<Intake> {
        Arc::new(Intake {
            turn: AtomicUsize::new(0),
            arrived: AtomicU64::new(0),
            permitted: AtomicU64::new(FREE_OCTETS),
        })
    }

    /// Begins a turn of the connection.
    pub(super) fn begin_turn(&self) {
        let is_stranger = self.permitted.load(Relaxed) == FREE_OCTETS;
        self.turn.store(if is_stranger { TURN_OF_STRANGER } else { TURN }, Relaxed);
    }

    /// Permits further octets.
    pub(super) fn permit(&self, octets: usize) {
        self.permitted.fetch_add(octets as u64, Relaxed);
    }

    /// Counts octets that have arrived.
    ///
    /// # Errors
    /// More octets have arrived than are permitted.
    fn count(&self, octets: usize) -> io::Result<()> {
        self.turn.fetch_sub(octets, Relaxed);
        let arrived = self.arrived.fetch_add(octets as u64, Relaxed) + octets as u64;
        match arrived > self.permitted.load(Relaxed) {
            true => Err(io::Error::other("the client sends too much that is part of no request")),
            false => Ok(()),
        }
    }
}

impl<I> Limited<I> {
    /// Limits what is read from a connection.
    pub(super) fn new(io: I, intake: &Arc<Intake>) -> Self {
        Limited { io, intake: Arc::clone(intake) }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Limited<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Limited { io, intake } = self.get_mut();
        let turn = intake.turn.load(Relaxed);
        if turn == 0 {
            // The task continues after the other tasks that are ready.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = turn.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(io).poll_read(cx, &mut part))?;
        let count = part.filled().len();
        buffer.advance(count);
        Poll::Ready(intake.count(count))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Limited<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, octets)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::task::{Wake, Waker};

    use super::*;

    /// Client that sends without end.
    struct Flood;

    impl AsyncRead for Flood {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            buffer.initialize_unfilled();
            buffer.advance(buffer.remaining());
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }

    /// Reads until the connection has to wait for its next turn, and returns the number of octets.
    fn turn(flood: &mut Limited<Flood>, intake: &Intake) -> io::Result<usize> {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let (mut all, mut octets) = (0, [0; 3000]);
        intake.begin_turn();
        loop {
            let mut buffer = ReadBuf::new(&mut octets);
            match Pin::new(&mut *flood).poll_read(&mut Context::from_waker(&waker), &mut buffer) {
                Poll::Ready(read) => read?,
                Poll::Pending => break,
            }
            all += buffer.filled().len();
        }
        assert!(woken.0.load(Relaxed), "there will be a next turn");
        Ok(all)
    }

    #[test]
    fn a_connection_reads_in_turns() {
        let intake = Intake::new();
        let mut flood = Limited::new(Flood, &intake);
        assert_eq!(turn(&mut flood, &intake).unwrap(), TURN_OF_STRANGER);
        assert_eq!(turn(&mut flood, &intake).unwrap(), TURN_OF_STRANGER);
        intake.permit(1);
        assert_eq!(turn(&mut flood, &intake).unwrap(), TURN);
    }

    #[test]
    fn octets_beyond_those_of_requests_end_the_connection() {
        for permitted in [0, 5 * TURN] {
            let intake = Intake::new();
            intake.permit(permitted);
            let mut flood = Limited::new(Flood, &intake);
            let (mut arrived, most) = (0, FREE_OCTETS as usize + permitted);
            while let Ok(count) = turn(&mut flood, &intake) {
                arrived += count;
                assert!(arrived <= most, "{arrived}");
            }
            assert!(arrived + TURN > most, "{arrived}");
        }
    }
}
