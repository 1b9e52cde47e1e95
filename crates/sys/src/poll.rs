//! Waiting for events on many descriptors.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::io::Errno;

/// Token of the internal wake-up; not to be used for a descriptor.
const WAKE: u64 = u64::MAX;

/// Descriptor that is readable while raised, for event sources without a descriptor.
#[derive(Debug)]
pub struct Signal(OwnedFd);

impl Signal {
    /// Creates a signal that is not raised. Uses one descriptor.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes the descriptor readable. One system call.
    pub fn raise(&self) {
        // The write fails only if the counter is full, and the descriptor is readable then.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable. One system call.
    pub fn lower(&self) {
        // The read fails only if the signal is not raised.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Descriptor that is readable while a socket is readable or while raised, for receivers with two
/// sources of octets.
///
/// Unlike a [`Signal`] it also reports that the peer of the socket is gone. Raising it makes it report that the socket
/// is writable, which an idle socket always is, so it suits sockets to which little is written. The descriptors share
/// no signal, because Linux limits the number of epolls that watch one file (`path_limits`: 10 with four levels above
/// them).
#[derive(Debug)]
pub struct Either(OwnedFd);

impl Either {
    /// Creates a descriptor that is readable while `socket` is, not raised. Uses one descriptor;
    /// two system calls.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(socket: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, socket, EventData::new_u64(0), ALWAYS)?;
        Ok(Self(epoll))
    }

    /// Makes the descriptor readable. One system call. `socket` is the one passed to
    /// [`new`](Self::new).
    pub fn raise(&self, socket: impl AsFd) {
        self.set(socket, ALWAYS.union(EventFlags::OUT));
    }

    /// Clears the raised state: the descriptor is then readable only while the socket is. One
    /// system call.
    pub fn lower(&self, socket: impl AsFd) {
        self.set(socket, ALWAYS);
    }

    fn set(&self, socket: impl AsFd, events: EventFlags) {
        // The call fails only if the socket is not the one passed to `new`.
        let _ = epoll::modify(&self.0, socket, EventData::new_u64(0), events);
    }
}

impl AsFd for Either {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reports which of many descriptors are readable.
///
/// Each descriptor carries a token and is *armed* for one report: between that report and the next
/// [`rearm`](Self::rearm) the descriptor is reported to no other thread, so the thread that
/// received the report owns the descriptor without a lock. It may keep reading indefinitely before
/// it rearms.
///
/// Any number of threads may wait at the same time; each report goes to one of them.
///
/// **Real-time cost.** One system call per method; only [`Poller::new`] allocates.
///
/// ```
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
/// use std::time::Duration;
/// use oxorb_sys::poll::{Poller, Token};
///
/// let (mut here, there) = UnixStream::pair()?;
/// let poller = Poller::new()?;
/// poller.add(&there, Token(7))?;
/// here.write_all(b"x")?;
/// assert_eq!(poller.wait_one(Some(Duration::from_secs(5)))?, Some(Token(7)));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    waker: Waker,
}

impl Poller {
    /// Creates a poller that watches nothing yet. Uses two descriptors.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Self { epoll, waker: Waker(Arc::new(wake)) })
    }

    /// Watches `source` under a token, and arms it.
    ///
    /// The caller must [remove](Self::remove) it before closing it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if it is already watched.
    pub fn add(&self, source: impl AsFd, Token(token): Token) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is reserved for the poller");
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token), ARMED)?)
    }

    /// Watches `source` under a token, always armed: it is reported as long as it is readable. If only
    /// one thread waits at the poller, this saves the system call that rearms.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_always(&self, source: impl AsFd, Token(token): Token) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is reserved for the poller");
        let always = EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, source, always, ALWAYS)?)
    }

    /// Makes a [disarmed](Self::disarm) source always armed again.
    ///
    /// # Errors
    /// As for [`rearm`](Self::rearm).
    pub fn rearm_always(&self, source: impl AsFd, Token(token): Token) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is reserved for the poller");
        let always = EventData::new_u64(token);
        Ok(epoll::modify(&self.epoll, source, always, ALWAYS)?)
    }

    /// Arms `source` for the next report, which is immediate if the source is readable.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn rearm(&self, source: impl AsFd, Token(token): Token) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is reserved for the poller");
        Ok(epoll::modify(&self.epoll, source, EventData::new_u64(token), ARMED)?)
    }

    /// Disarms `source`: it stays watched, but is not reported before the next
    /// [`rearm`](Self::rearm).
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn disarm(&self, source: impl AsFd, Token(token): Token) -> io::Result<()> {
        debug_assert_ne!(token, WAKE, "this token is reserved for the poller");
        Ok(epoll::modify(&self.epoll, source, EventData::new_u64(token), EventFlags::ONESHOT)?)
    }

    /// Stops watching `source`. A report already received by another thread stays valid.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Waits until a descriptor is readable or hung up, and disarms it unless it is always
    /// armed.
    ///
    /// Returns `None` if `timeout` has passed (`None`: unlimited), the poller was woken, or a
    /// signal arrived.
    pub fn wait_one(&self, timeout: Option<Duration>) -> io::Result<Option<Token>> {
        // A time-out that `Timespec` cannot represent counts as unlimited.
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        let mut room = [MaybeUninit::<Event>::uninit()];
        let ready = match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
            Ok((ready, _)) => ready.first(),
            Err(Errno::INTR) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(match ready.map(|event| event.data.u64()) {
            Some(WAKE) => {
                self.waker.forget();
                None
            }
            token => token.map(Token),
        })
    }

    /// Returns a handle with which any thread can end a [`wait_one`](Self::wait_one).
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

/// A poller can be watched by another poller: it is readable while it has a report. Linux allows chains of up to five
/// pollers.
impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Waits until a descriptor is readable or hung up; returns `false` if `limit` (`None`:
/// unlimited) has passed first. One system call.
///
/// # Errors
/// Those of the system call. A signal ends the wait as `limit` does.
pub fn readable(source: impl AsFd, limit: Option<Duration>) -> io::Result<bool> {
    let mut only = [PollFd::new(&source, PollFlags::IN)];
    let limit = limit.and_then(|time| Timespec::try_from(time).ok());
    match rustix::event::poll(&mut only, limit.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Waits until one of two descriptors is readable or hung up, and returns which one; for
/// `limit` at most (`None`: unlimited). One system call.
pub fn first_readable(
    first: impl AsFd,
    second: impl AsFd,
    limit: Option<Duration>,
) -> io::Result<(bool, bool)> {
    let mut both = [PollFd::new(&first, PollFlags::IN), PollFd::new(&second, PollFlags::IN)];
    let limit = limit.and_then(|time| Timespec::try_from(time).ok());
    match rustix::event::poll(&mut both, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let [first, second] = both.map(|each| !each.revents().is_empty());
    Ok((first, second))
}

/// Waits until one of several descriptors is readable or hung up, for `limit` at most
/// (`None`: unlimited). A signal ends the wait, too. Takes one system call, and allocates.
///
/// # Errors
/// Those of the system call.
pub fn any_readable<'f>(
    all: impl IntoIterator<Item = BorrowedFd<'f>>,
    limit: Option<Duration>,
) -> io::Result<()> {
    let all = all.into_iter();
    let mut polled: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let limit = limit.and_then(|time| Timespec::try_from(time).ok());
    match rustix::event::poll(&mut polled, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reports whether the peer of a stream socket has hung up: closed, shut down in both directions, or
/// killed. One system call, which never waits.
pub fn is_hung_up(socket: impl AsFd) -> bool {
    let mut only = [PollFd::new(&socket, PollFlags::empty())];
    let at_once = Timespec::default();
    matches!(rustix::event::poll(&mut only, Some(&at_once)), Ok(1..))
}

const ALWAYS: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);
const ARMED: EventFlags = ALWAYS.union(EventFlags::ONESHOT);

/// Number that identifies a descriptor to the owner of a [`Poller`]; any value except `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// Handle that ends a wait of one [`Poller`] from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Wakes one waiting thread, or else the next one that waits; several calls may be merged into
    /// one.
    ///
    /// At least one of several waiting threads wakes. To release all, each woken thread must wake
    /// the next. One system call; never blocks.
    pub fn wake(&self) {
        // The write fails only if the counter is full, and a wake-up is pending then.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    fn forget(&self) {
        // The read fails if another thread has already consumed the wake-up.
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

    fn ready(poller: &Poller, timeout: Option<Duration>) -> Option<u64> {
        poller.wait_one(timeout).unwrap().map(|Token(token)| token)
    }

    #[test]
    fn one_report_for_each_arming() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&there, Token(5)).unwrap();
        assert_eq!(ready(&poller, NOW), None);
        here.write_all(b"ab").unwrap();
        assert_eq!(ready(&poller, LONG), Some(5));
        assert_eq!(ready(&poller, NOW), None, "disarmed, though there is input");
        poller.rearm(&there, Token(6)).unwrap();
        assert_eq!(ready(&poller, LONG), Some(6), "what is still unread counts");
        there.read_exact(&mut [0; 2]).unwrap();
        poller.rearm(&there, Token(6)).unwrap();
        assert_eq!(ready(&poller, NOW), None);
    }

    #[test]
    fn what_is_always_armed_is_reported_until_it_is_read_or_disarmed() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add_always(&there, Token(5)).unwrap();
        assert_eq!(ready(&poller, NOW), None);
        here.write_all(b"ab").unwrap();
        assert_eq!(ready(&poller, LONG), Some(5));
        assert_eq!(ready(&poller, LONG), Some(5), "not read yet");
        poller.disarm(&there, Token(5)).unwrap();
        assert_eq!(ready(&poller, NOW), None);
        poller.rearm_always(&there, Token(5)).unwrap();
        assert_eq!(ready(&poller, LONG), Some(5));
        there.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(ready(&poller, NOW), None);
        here.write_all(b"c").unwrap();
        assert_eq!(ready(&poller, LONG), Some(5));
    }

    #[test]
    fn a_peer_that_goes_is_reported() {
        let (here, there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&there, Token(1)).unwrap();
        drop(here);
        assert_eq!(ready(&poller, LONG), Some(1));
    }

    #[test]
    fn every_descriptor_has_its_turn() {
        let pairs: Vec<_> = (0..6).map(|_| UnixStream::pair().unwrap()).collect();
        let poller = Poller::new().unwrap();
        for (token, (here, there)) in (0..).zip(&pairs) {
            poller.add(there, Token(token)).unwrap();
            (&*here).write_all(b"x").unwrap();
        }
        let mut seen: Vec<_> = pairs.iter().map(|_| ready(&poller, LONG)).collect();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5].map(Some));
        assert_eq!(ready(&poller, NOW), None);
    }

    #[test]
    fn removed_is_silent_and_unknown_is_an_error() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        assert_eq!(poller.rearm(&there, Token(1)).unwrap_err().kind(), io::ErrorKind::NotFound);
        poller.add(&there, Token(1)).unwrap();
        assert_eq!(poller.add(&there, Token(1)).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        poller.remove(&there).unwrap();
        here.write_all(b"x").unwrap();
        assert_eq!(ready(&poller, NOW), None);
    }

    #[test]
    fn a_wake_up_ends_one_wait() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&there, Token(1)).unwrap();
        poller.waker().wake();
        poller.waker().wake();
        assert_eq!(ready(&poller, None), None);
        here.write_all(b"x").unwrap();
        assert_eq!(ready(&poller, None), Some(1), "the wake-up is over");
    }

    #[test]
    fn a_poller_watches_others_in_a_chain_while_armed() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let chain: Vec<_> = (0..5).map(|_| Poller::new().unwrap()).collect();
        chain[0].add(&there, Token(0)).unwrap();
        for (at, pair) in chain.windows(2).enumerate() {
            pair[1].add(&pair[0], Token(at as u64)).unwrap();
        }
        chain[4].disarm(&chain[3], Token(3)).unwrap();
        here.write_all(b"x").unwrap();
        assert_eq!(ready(&chain[4], NOW), None, "disarmed");
        chain[4].rearm(&chain[3], Token(3)).unwrap();
        for at in (0..5).rev() {
            let below = (at as u64).saturating_sub(1);
            assert_eq!(ready(&chain[at], LONG), Some(below), "{at}");
        }
        assert_eq!(ready(&chain[4], NOW), None);
    }

    #[test]
    fn a_chain_wakes_every_waiting_thread() {
        let poller = Poller::new().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    assert_eq!(ready(&poller, None), None);
                    poller.waker().wake();
                });
            }
            poller.waker().wake();
        });
    }
}
