//! Reactor of a model or a simulation: it polls its links, and lets other threads run between two
//! polls.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::poll::Token;
use oxorb_sys::sync::Mutex;
use oxorb_transport::Link;

use crate::server::{Armed, Reactor, ReactorCommand};
use crate::threads::sync::{touch, wait_for};

/// Links and other reactors, by their tokens.
#[derive(Default, Clone)]
pub(crate) struct StandInReactor(Arc<Mutex<ReactorState>>);

#[derive(Default)]
struct ReactorState {
    watched: BTreeMap<u64, (WatchedSource, Option<Armed>)>,
    woken: bool,
}

#[derive(Clone)]
enum WatchedSource {
    Link(Arc<dyn Link>),
    Reactor(StandInReactor),
}

impl StandInReactor {
    /// Returns the token of an armed source that is ready. Polls without the lock, because other threads run meanwhile.
    fn first_ready(&self) -> Option<u64> {
        let armed: Vec<_> = {
            let state = self.0.lock();
            let armed = state.watched.iter().filter(|(_, (_, armed))| armed.is_some());
            armed.map(|(token, (source, _))| (*token, source.clone())).collect()
        };
        let ready = |source: &WatchedSource| match source {
            WatchedSource::Link(link) => link.has_input().unwrap_or(true),
            WatchedSource::Reactor(reactor) => reactor.has_report(),
        };
        armed.into_iter().find(|(_, source)| ready(source)).map(|(token, _)| token)
    }

    fn has_report(&self) -> bool {
        let woken = self.0.lock().woken;
        woken || self.first_ready().is_some()
    }

    /// Returns a report; `Some(None)` if the reactor was woken.
    fn look(&self) -> Option<Option<Token>> {
        loop {
            if std::mem::take(&mut self.0.lock().woken) {
                return Some(None);
            }
            let token = self.first_ready()?;
            let mut state = self.0.lock();
            // Another thread may have taken the report meanwhile, so the state is checked again.
            if let Some((_, armed)) = state.watched.get_mut(&token)
                && let Some(before) = *armed
            {
                *armed = (before == Armed::Always).then_some(before);
                return Some(Some(Token(token)));
            }
        }
    }
}

impl Reactor for StandInReactor {
    fn add(&self, link: &Arc<dyn Link>, Token(token): Token, armed: Armed) -> io::Result<()> {
        let watched = (WatchedSource::Link(Arc::clone(link)), Some(armed));
        self.0.lock().watched.insert(token, watched);
        touch();
        Ok(())
    }

    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        if !self.0.lock().watched.contains_key(&token.0) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.add(link, token, armed)
    }

    fn disarm(&self, _: &Arc<dyn Link>, Token(token): Token) -> io::Result<()> {
        if let Some((_, armed)) = self.0.lock().watched.get_mut(&token) {
            *armed = None;
        }
        Ok(())
    }

    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()> {
        let mut state = self.0.lock();
        let is_it = |source: &WatchedSource| matches!(source, WatchedSource::Link(it) if Arc::ptr_eq(it, link));
        let (gone, kept) = std::mem::take(&mut state.watched)
            .into_iter()
            .partition(|(_, (source, _))| is_it(source));
        state.watched = kept;
        drop(state);
        let gone: BTreeMap<_, _> = gone;
        drop(gone);
        Ok(())
    }

    fn wait_one(&self, limit: Duration) -> io::Result<Option<Token>> {
        Ok(wait_for(limit, || self.look()).flatten())
    }

    fn wake(&self) {
        self.0.lock().woken = true;
        touch();
    }

    fn model(&self) -> StandInReactor {
        self.clone()
    }

    fn watch(
        &self,
        other: &dyn Reactor,
        Token(token): Token,
        how: ReactorCommand,
    ) -> io::Result<()> {
        let armed = (how == ReactorCommand::Arm).then_some(Armed::Once);
        let watched = (WatchedSource::Reactor(other.model()), armed);
        self.0.lock().watched.insert(token, watched);
        touch();
        Ok(())
    }
}
