//! Reactors of the system: epoll, blocking or busy-polling.

use std::hint;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_sys::poll::{Poller, Token};
use oxorb_transport::Link;

use super::reactor::{Armed, Reactor, ReactorCommand};

use crate::threads::clock;
use crate::threads::sync::atomic::{AtomicBool, Ordering};

/// Reactor that blocks in the kernel.
pub(super) struct Epoll(Poller);

impl Epoll {
    pub(super) fn new() -> io::Result<Epoll> {
        Ok(Epoll(Poller::new()?))
    }
}

impl Reactor for Epoll {
    fn add(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        let link = descriptor(link.poll_fd())?;
        match armed {
            Armed::Once => self.0.add(link, token),
            Armed::Always => self.0.add_always(link, token),
        }
    }

    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        let link = descriptor(link.poll_fd())?;
        match armed {
            Armed::Once => self.0.rearm(link, token),
            Armed::Always => self.0.rearm_always(link, token),
        }
    }

    fn disarm(&self, link: &Arc<dyn Link>, token: Token) -> io::Result<()> {
        self.0.disarm(descriptor(link.poll_fd())?, token)
    }

    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()> {
        self.0.remove(descriptor(link.poll_fd())?)
    }

    fn wait_one(&self, limit: Duration) -> io::Result<Option<Token>> {
        self.0.wait_one(Some(limit))
    }

    fn wake(&self) {
        self.0.waker().wake();
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn watch(&self, other: &dyn Reactor, token: Token, how: ReactorCommand) -> io::Result<()> {
        let other = descriptor(other.poll_fd())?;
        match how {
            ReactorCommand::Begin => {
                self.0.add(other, token)?;
                self.0.disarm(other, token)
            }
            ReactorCommand::Arm => self.0.rearm(other, token),
            ReactorCommand::Disarm => self.0.disarm(other, token),
        }
    }
}

fn descriptor(fd: Option<BorrowedFd<'_>>) -> io::Result<BorrowedFd<'_>> {
    fd.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Reactor of which one thread polls without blocking, while the others block.
pub(super) struct BusyPoll {
    epoll: Epoll,
    at_most: Duration,
    /// Whether a thread polls.
    taken: AtomicBool,
    woken: AtomicBool,
}

impl BusyPoll {
    pub(super) fn new(at_most: Duration) -> io::Result<BusyPoll> {
        Ok(BusyPoll {
            epoll: Epoll::new()?,
            at_most,
            taken: AtomicBool::new(false),
            woken: AtomicBool::new(false),
        })
    }

    fn spin(&self, until: Instant) -> io::Result<Option<Token>> {
        loop {
            if let Some(token) = self.epoll.wait_one(Duration::ZERO)? {
                return Ok(Some(token));
            }
            if self.woken.load(Ordering::Acquire) || clock::now() >= until {
                return Ok(None);
            }
            hint::spin_loop();
        }
    }
}

impl Reactor for BusyPoll {
    fn add(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        self.epoll.add(link, token, armed)
    }

    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        self.epoll.rearm(link, token, armed)
    }

    fn disarm(&self, link: &Arc<dyn Link>, token: Token) -> io::Result<()> {
        self.epoll.disarm(link, token)
    }

    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()> {
        self.epoll.remove(link)
    }

    fn wait_one(&self, limit: Duration) -> io::Result<Option<Token>> {
        let began = clock::now();
        if !self.taken.swap(true, Ordering::Acquire) {
            let found = self.spin(began + self.at_most.min(limit));
            self.taken.store(false, Ordering::Release);
            if self.woken.swap(false, Ordering::AcqRel) || !matches!(found, Ok(None)) {
                return found;
            }
        }
        self.epoll.wait_one(limit.saturating_sub(clock::since(began)))
    }

    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.epoll.wake();
    }

    fn is_awake(&self) -> bool {
        true
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.epoll.poll_fd()
    }

    fn watch(&self, other: &dyn Reactor, token: Token, how: ReactorCommand) -> io::Result<()> {
        self.epoll.watch(other, token, how)
    }
}
