//! A reactor within a model: whoever waits looks again and again, and others run in between.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Mutex;
use oxorb_sys::poll::Token;
use oxorb_transport::Link;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::thread;

use crate::server::{Armed, Reactor, Watch};

/// Links and other reactors by their tokens.
#[derive(Default, Clone)]
pub(crate) struct ModelReactor(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    watched: BTreeMap<u64, (Source, Option<Armed>)>,
    woken: bool,
}

enum Source {
    Link(Arc<dyn Link>),
    Reactor(ModelReactor),
}

impl State {
    fn first_ready(&mut self) -> Option<(&u64, &mut (Source, Option<Armed>))> {
        let ready = |(source, armed): &(Source, Option<Armed>)| {
            armed.is_some()
                && match source {
                    Source::Link(link) => link.has_input().unwrap_or(true),
                    Source::Reactor(reactor) => reactor.has_report(),
                }
        };
        self.watched.iter_mut().find(|(_, watched)| ready(watched))
    }
}

impl ModelReactor {
    /// Whether whoever waits here would be told something.
    fn has_report(&self) -> bool {
        let mut state = self.0.lock();
        state.woken || state.first_ready().is_some()
    }

    /// A report, or that there is none.
    fn look(&self) -> Option<Option<Token>> {
        let mut state = self.0.lock();
        if std::mem::take(&mut state.woken) {
            return Some(None);
        }
        state.first_ready().map(|(token, (_, armed))| {
            *armed = armed.filter(|armed| *armed == Armed::Always);
            Some(Token(*token))
        })
    }
}

impl Reactor for ModelReactor {
    fn add(&self, link: &Arc<dyn Link>, Token(token): Token, armed: Armed) -> io::Result<()> {
        let watched = (Source::Link(Arc::clone(link)), Some(armed));
        self.0.lock().watched.insert(token, watched);
        Ok(())
    }

    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()> {
        self.add(link, token, armed)
    }

    fn disarm(&self, _: &Arc<dyn Link>, Token(token): Token) -> io::Result<()> {
        if let Some((_, armed)) = self.0.lock().watched.get_mut(&token) {
            *armed = None;
        }
        Ok(())
    }

    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()> {
        self.0.lock().watched.retain(
            |_, (watched, _)| !matches!(watched, Source::Link(it) if Arc::ptr_eq(it, link)),
        );
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
        self.0.lock().woken = true;
    }

    fn model(&self) -> ModelReactor {
        self.clone()
    }

    fn watch(&self, other: &dyn Reactor, Token(token): Token, how: Watch) -> io::Result<()> {
        let armed = (how == Watch::Arm).then_some(Armed::Once);
        let watched = (Source::Reactor(other.model()), armed);
        self.0.lock().watched.insert(token, watched);
        Ok(())
    }
}
