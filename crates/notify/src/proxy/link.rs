//! Common part of the proxies of both sides: the peer, the state of the connection, and notifications.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb::{Interface, SystemException, SystemExceptionKind};
use oxorb_delivery::{Attributes, Outcome, Outlet, Qos, Sink, WhenFull};
use oxorb_sys::sync::{Mutex, MutexGuard};

use super::peer::{Failure, Peer};
use super::{Form, Style};
use crate::cos_notification::EventType;
use crate::cos_notify_channel_admin::ObtainInfoMode;
use crate::problem::GONE;
use crate::service::Service;
use crate::share::Share;
use crate::side::Side;
use crate::types::Told;

/// State of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    New,
    Connected,
    /// The proxy was disconnected or destroyed. It cannot be connected again.
    Gone,
}

/// Connection of a proxy to its peer.
pub(crate) struct Link {
    pub(crate) side: Side,
    pub(crate) form: Form,
    pub(crate) style: Style,
    state: Mutex<State>,
    pub(crate) told: Told,
    /// Outlet through which the peer is notified of changed types.
    news: Mutex<Option<Outlet<()>>>,
    /// Share of the client that created the proxy.
    share: Mutex<Option<Share>>,
}

#[derive(Clone)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    /// Whether the proxy is not suspended.
    pub(crate) active: bool,
    /// The connected peer; `None` if it is anonymous.
    pub(crate) peer: Option<Peer>,
}

/// Reason why a connection, or a change of it, was refused.
pub(crate) enum Refused {
    AlreadyConnected,
    AlreadyActive,
    AlreadyInactive,
    NotConnected,
    System(SystemException),
}

impl From<SystemException> for Refused {
    fn from(exception: SystemException) -> Self {
        Refused::System(exception)
    }
}

/// A proxy whose peer is notified of changed types.
pub(crate) trait Informed: Send + Sync {
    fn link(&self) -> &Link;

    /// Returns the types of the other side of the channel.
    fn types_there(&self) -> Vec<EventType>;
}

impl Link {
    pub(crate) fn new(side: Side, form: Form, style: Style, updates: bool) -> Link {
        Link {
            side,
            form,
            style,
            state: Mutex::new(State { phase: Phase::New, active: true, peer: None }),
            told: Told::new(updates && form != Form::Event),
            news: Mutex::default(),
            share: Mutex::default(),
        }
    }

    /// Counts the proxy towards a client's share until the proxy ends.
    pub(crate) fn count(&self, share: Share) {
        *self.share.lock() = Some(share);
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn peer(&self) -> Option<Peer> {
        self.state().peer.clone()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Creates a peer from a reference; `None` for nil.
    pub(crate) fn peer_of(
        &self,
        service: &Service,
        reference: Option<&impl Interface>,
    ) -> Option<Peer> {
        let reference = reference?.reference();
        Some(Peer {
            reference: reference.with_timeout(service.settings.call_timeout),
            side: self.side,
            form: self.form,
            style: self.style,
        })
    }

    /// Connects a peer. Returns whether it replaces another peer.
    pub(crate) fn connect(&self, peer: Option<Peer>, reconnect: bool) -> Result<bool, Refused> {
        let mut state = self.state();
        match state.phase {
            Phase::Gone => Err(GONE.into()),
            Phase::Connected if !reconnect => Err(Refused::AlreadyConnected),
            before => {
                state.phase = Phase::Connected;
                state.peer = peer;
                Ok(before == Phase::Connected)
            }
        }
    }

    pub(crate) fn suspend(&self) -> Result<(), Refused> {
        let mut state = self.state();
        match (state.phase, state.active) {
            (Phase::Gone, _) => Err(GONE.into()),
            (Phase::New, _) => Err(Refused::NotConnected),
            (Phase::Connected, false) => Err(Refused::AlreadyInactive),
            (Phase::Connected, true) => {
                state.active = false;
                Ok(())
            }
        }
    }

    pub(crate) fn resume(&self) -> Result<(), Refused> {
        let mut state = self.state();
        match (state.phase, state.active) {
            (Phase::Gone, _) => Err(GONE.into()),
            (Phase::New, _) => Err(Refused::NotConnected),
            (Phase::Connected, true) => Err(Refused::AlreadyActive),
            (Phase::Connected, false) => {
                state.active = true;
                Ok(())
            }
        }
    }

    /// Ends the connection permanently if `may` permits it. Returns the previous state, or `None` if the connection was
    /// not ended.
    pub(crate) fn end(&self, may: impl FnOnce(Phase) -> bool) -> Option<State> {
        let mut state = self.state();
        if state.phase == Phase::Gone || !may(state.phase) {
            return None;
        }
        let before = state.clone();
        state.phase = Phase::Gone;
        state.peer = None;
        drop(state);
        let news = self.news.lock().take();
        drop(news);
        drop(self.share.lock().take());
        Some(before)
    }

    /// Starts to notify the peer of changed types.
    pub(crate) fn inform<P: Informed + 'static>(&self, service: &Service, proxy: &Weak<P>) {
        if self.form == Form::Event || !service.settings.updates {
            return;
        }
        let sink: Arc<dyn Sink<()>> = Arc::new(News {
            proxy: Weak::clone(proxy),
            retry: service.settings.retry,
            attempts: service.settings.failures.max(1),
            failures: AtomicU32::new(0),
        });
        let qos = Qos { events: 1, when_full: WhenFull::KeepLatest, ..Qos::default() };
        // A peer that replaces another one has not been notified of any types yet.
        self.told.knows(Vec::new());
        // Ignore the error: if no outlet is available, the peer is not notified, but can still query the types.
        let outlet = service.updates.connect(sink, qos).ok();
        let before = std::mem::replace(&mut *self.news.lock(), outlet);
        drop(before);
        match self.phase() {
            // The proxy ended before the new outlet was stored, so the code that ended it could not remove the outlet.
            Phase::Gone => drop(self.news.lock().take()),
            _ => self.tell(),
        }
    }

    /// Returns the types of the other side, and records whether the peer wants to be notified of changes.
    pub(crate) fn obtain(&self, mode: ObtainInfoMode, types: Vec<EventType>) -> Vec<EventType> {
        use ObtainInfoMode::{
            AllNowUpdatesOff, AllNowUpdatesOn, NoneNowUpdatesOff, NoneNowUpdatesOn,
        };
        self.told.want(matches!(mode, AllNowUpdatesOn | NoneNowUpdatesOn));
        match mode {
            AllNowUpdatesOn | AllNowUpdatesOff => {
                self.told.knows(types.clone());
                types
            }
            NoneNowUpdatesOn | NoneNowUpdatesOff => Vec::new(),
        }
    }

    /// Queues a notification of the peer, if it wants to be notified.
    pub(crate) fn tell(&self) {
        let news = self.news.lock().clone();
        if let Some(news) = news.filter(|_| self.told.is_wanted()) {
            news.offer(&(), &Attributes::default());
        }
    }
}

/// Sink that notifies a peer of changed types. A notification that fails is retried a few times, and after that only
/// with the next change.
struct News<P> {
    proxy: Weak<P>,
    retry: Duration,
    attempts: u32,
    /// Number of consecutive calls that did not reach the peer.
    failures: AtomicU32,
}

impl<P: Informed> Sink<()> for News<P> {
    fn deliver(&self, _: &[()]) -> Outcome {
        let Some(proxy) = self.proxy.upgrade() else {
            return Outcome::Gone;
        };
        let link = proxy.link();
        let Some(peer) = link.peer().filter(|_| link.told.is_wanted()) else {
            return Outcome::Delivered;
        };
        let types = proxy.types_there();
        let Some((added, removed)) = link.told.news(&types) else {
            return Outcome::Delivered;
        };
        match peer.tell(&added, &removed) {
            Err(exception) if Failure::System(exception).is_unreachable() => {
                let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                if failures < self.attempts {
                    return Outcome::Retry(self.retry);
                }
            }
            Err(exception) if exception.kind == SystemExceptionKind::BadOperation => {
                // BAD_OPERATION shows that the peer has only the interface of the Event Service, so stop notifying it.
                link.told.want(false);
            }
            Ok(()) | Err(_) => link.told.knows(types),
        }
        self.failures.store(0, Ordering::Relaxed);
        Outcome::Delivered
    }
}
