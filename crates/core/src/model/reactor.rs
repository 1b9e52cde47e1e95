//! A reactor within a model: whoever waits looks again and again, and others run in between.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::poll::Token;
use oxorb_transport::Link;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread;

use crate::server::{Armed, Reactor, Watch};

/// Links by their tokens.
#[derive(Default)]
pub(crate) struct ModelReactor(Mutex<State>);

#[derive(Default)]
struct State {
    watched: BTreeMap<u64, (Arc<dyn Link>, Option<Armed>)>,
    woken: bool,
}

impl ModelReactor {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while it is held")
    }

    /// A report, or that there is none.
    fn look(&self) -> Option<Option<Token>> {
        let mut state = self.state();
        if std::mem::take(&mut state.woken) {
            return Some(None);
        }
        let ready = |link: &Arc<dyn Link>| link.has_input().unwrap_or(true);
        let found = state
            .watched
            .iter_mut()
            .find(|(_, (link, armed))| armed.is_some() && ready(link));
        found.map(|(token, (_, armed))| {
            *armed = armed.filter(|armed| *armed == Armed::Always);
            Some(Token(*token))
        })
    }
}

impl Reactor for ModelReactor {
    fn add(&self, link: &Arc<dyn Link>, Token(token): Token, armed: Armed) -> io::Result<()> {
        let watched = (Arc::clone(link), Some(armed));
        self.state().watched.insert(token, watched);
        Ok(())
    }

    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        self.add(link, token, armed)
    }

    fn disarm(&self, _: &Arc<dyn Link>, Token(token): Token) -> io::Result<()> {
        if let Some((_, armed)) = self.state().watched.get_mut(&token) {
            *armed = None;
        }
        Ok(())
    }

    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()> {
        self.state()
            .watched
            .retain(|_, (watched, _)| !Arc::ptr_eq(watched, link));
        Ok(())
    }

    fn wait_one(&self, limit: Duration) -> io::Result<Option<Token>> {
        loop {
            if let Some(report) = self.look() {
                return Ok(report);
            }
            // Its time may be over at any moment.
            if limit.is_zero() || thread_rng().gen_ratio(1, 4) {
                return Ok(None);
            }
            thread::yield_now();
        }
    }

    fn wake(&self) {
        self.state().woken = true;
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn watch(&self, _: &dyn Reactor, _: Token, _: Watch) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
