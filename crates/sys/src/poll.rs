//! Waiting for many descriptors at once.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

/// The token of the wake-up itself; not to be used for a descriptor.
const WAKE: u64 = u64::MAX;

/// Tells which descriptors can be read, out of many.
///
/// Each descriptor carries a token and is *armed* for one report: between that report and the next
/// [`rearm`](Self::rearm) no other thread is told about it, so the thread that was told owns the
/// descriptor without a lock. It may go on reading for as long as it likes before it rearms.
///
/// Any number of threads may wait at the same time; a report goes to one of them.
///
/// **Real-time cost.** One system call for each method; nothing allocates but [`Poller::new`].
///
/// ```
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
/// use std::time::Duration;
/// use oxorb_sys::poll::{Events, Poller};
///
/// let (mut here, there) = UnixStream::pair()?;
/// let poller = Poller::new()?;
/// poller.add(&there, 7)?;
/// here.write_all(b"x")?;
///
/// let mut events = Events::with_capacity(16);
/// poller.wait(&mut events, Some(Duration::from_secs(5)))?;
/// assert_eq!(events.tokens().collect::<Vec<_>>(), [7]);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    waker: Waker,
}

impl Poller {
    /// A poller that watches nothing yet. Takes two descriptors.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Self {
            epoll,
            waker: Waker(Arc::new(wake)),
        })
    }

    /// Watches `source`, armed, under `token` (anything but `u64::MAX`).
    ///
    /// The caller [removes](Self::remove) it before closing it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if it is watched already.
    pub fn add(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is the poller's own");
        Ok(epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(token),
            ARMED,
        )?)
    }

    /// Arms `source` for the next report, which comes at once if there is something to read.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn rearm(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is the poller's own");
        Ok(epoll::modify(
            &self.epoll,
            source,
            EventData::new_u64(token),
            ARMED,
        )?)
    }

    /// Stops watching `source`. A report that another thread has already taken is not undone.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Waits until a descriptor can be read (or its peer is gone), somebody wakes this poller, a
    /// signal comes, or `timeout` has passed (`None`: for ever), and fills `events` anew.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.ready.clear();
        events.woken = false;
        // A time too far away to count is for ever.
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        let room = rustix::buffer::spare_capacity(&mut events.ready);
        match epoll::wait(&self.epoll, room, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        events.woken = events.ready.iter().any(|event| event.data.u64() == WAKE);
        if events.woken {
            self.waker.forget();
        }
        Ok(())
    }

    /// A handle with which any thread ends a [`wait`](Self::wait).
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

const ARMED: EventFlags = EventFlags::IN
    .union(EventFlags::RDHUP)
    .union(EventFlags::ONESHOT);

/// What a [`Poller`] has to report. Reused from one wait to the next.
pub struct Events {
    ready: Vec<Event>,
    woken: bool,
}

impl Events {
    /// Room for at most `capacity` reports from one wait; at least one. What does not fit comes
    /// with the next wait.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            ready: Vec::with_capacity(capacity.max(1)),
            woken: false,
        }
    }

    /// The tokens of the descriptors that can be read; each is disarmed now.
    pub fn tokens(&self) -> impl Iterator<Item = u64> + '_ {
        self.ready
            .iter()
            .map(|event| event.data.u64())
            .filter(|&token| token != WAKE)
    }

    /// Whether a [`Waker`] ended the wait.
    pub fn woken(&self) -> bool {
        self.woken
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens: Vec<_> = self.tokens().collect();
        f.debug_struct("Events")
            .field("tokens", &tokens)
            .field("woken", &self.woken)
            .finish()
    }
}

/// Ends a wait of one [`Poller`] from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Wakes one waiting thread, or the next that waits; several calls may count as one.
    ///
    /// Of several waiting threads at least one wakes. To wake all, let each that finds itself
    /// [woken](Events::woken) wake the next before it leaves. One system call; never blocks.
    pub fn wake(&self) {
        // Fails only when the counter is full, and then the wake-up is under way.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    fn forget(&self) {
        // Another thread may have been faster.
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(20));
    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn tokens(poller: &Poller, timeout: Option<Duration>) -> Vec<u64> {
        let mut events = Events::with_capacity(4);
        poller.wait(&mut events, timeout).unwrap();
        events.tokens().collect()
    }

    #[test]
    fn one_report_for_each_arming() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&there, 5).unwrap();
        assert!(tokens(&poller, NOW).is_empty());
        here.write_all(b"ab").unwrap();
        assert_eq!(tokens(&poller, LONG), [5]);
        assert!(
            tokens(&poller, NOW).is_empty(),
            "disarmed, though there is input"
        );
        poller.rearm(&there, 6).unwrap();
        assert_eq!(tokens(&poller, LONG), [6], "what is still unread counts");
        there.read_exact(&mut [0; 2]).unwrap();
        poller.rearm(&there, 6).unwrap();
        assert!(tokens(&poller, NOW).is_empty());
    }

    #[test]
    fn a_peer_that_goes_is_reported() {
        let (here, there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&there, 1).unwrap();
        drop(here);
        assert_eq!(tokens(&poller, LONG), [1]);
    }

    #[test]
    fn more_reports_than_room_come_later() {
        let pairs: Vec<_> = (0..6).map(|_| UnixStream::pair().unwrap()).collect();
        let poller = Poller::new().unwrap();
        for (token, (here, there)) in (0..).zip(&pairs) {
            poller.add(there, token).unwrap();
            (&*here).write_all(b"x").unwrap();
        }
        let mut seen = tokens(&poller, LONG);
        seen.extend(tokens(&poller, LONG));
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn removed_is_silent_and_unknown_is_an_error() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        assert_eq!(
            poller.rearm(&there, 1).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        poller.add(&there, 1).unwrap();
        assert_eq!(
            poller.add(&there, 1).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        poller.remove(&there).unwrap();
        here.write_all(b"x").unwrap();
        assert!(tokens(&poller, NOW).is_empty());
    }

    #[test]
    fn a_wake_up_is_seen_once() {
        let poller = Poller::new().unwrap();
        poller.waker().wake();
        poller.waker().wake();
        let mut events = Events::with_capacity(1);
        poller.wait(&mut events, LONG).unwrap();
        assert!(events.woken());
        assert_eq!(events.tokens().count(), 0);
        poller.wait(&mut events, NOW).unwrap();
        assert!(!events.woken());
    }

    #[test]
    fn a_chain_wakes_every_waiting_thread() {
        let poller = Poller::new().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut events = Events::with_capacity(1);
                    while !events.woken() {
                        poller.wait(&mut events, None).unwrap();
                    }
                    poller.waker().wake();
                });
            }
            poller.waker().wake();
        });
    }
}
