//! Consumers' connections and their proxies. An object of a POA may represent a proxy to remote peers.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_sys::sync::Mutex;

use super::consumer::{Connected, Parts};
use super::core::Core;
use super::dispatch::ConsumerDispatch;
use super::maker::Maker;
use super::notice::Notice;
use super::refusal::ConnectError;
use super::target::{Consumer, Target};
use crate::event_type::{DEADLINE_TIMEOUT, INTERVAL_TIMEOUT};
use crate::filter::{Filter, FilterError, FilterErrorKind, Program};
use crate::rtec_event_channel_admin::{ConsumerQos, Dependency};

/// The connection of a consumer. Dropping it disconnects the consumer.
pub struct ConsumerConnection {
    proxy: Arc<ConsumerProxy>,
}

/// Proxy to which a consumer connects (`ProxyPushSupplier`).
pub(crate) struct ConsumerProxy {
    number: u64,
    core: Weak<Core>,
    state: Mutex<State<Arc<Connected>>>,
    suspended: Arc<AtomicBool>,
    at_end: AtEnd,
    pub(super) maker: Maker,
}

/// State of a proxy.
pub(super) enum State<T> {
    /// State before the first connect.
    Idle,
    Connected(T),
    /// The peer was disconnected or released.
    Ended,
}

/// Function that is called when the proxy ends, for example to deactivate its object.
pub(super) type AtEnd = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// Error of an attempt to disconnect a proxy that is not connected.
#[derive(Debug)]
pub(crate) struct NotConnected;

impl ConsumerConnection {
    pub(crate) fn new(proxy: Arc<ConsumerProxy>) -> ConsumerConnection {
        ConsumerConnection { proxy }
    }

    pub(crate) fn proxy(&self) -> &ConsumerProxy {
        &self.proxy
    }

    /// Returns the number of the connection, as used in statistics and notices.
    pub fn number(&self) -> u64 {
        self.proxy.number()
    }

    /// Suspends delivery. Events that match the filter are then counted and dropped.
    pub fn suspend(&self) {
        self.proxy.suspend(true);
    }

    /// Resumes delivery.
    pub fn resume(&self) {
        self.proxy.suspend(false);
    }

    /// Reports whether the connection still exists, that is, neither the consumer nor the channel has ended it.
    pub fn is_connected(&self) -> bool {
        self.proxy.is_connected()
    }
}

impl Drop for ConsumerConnection {
    fn drop(&mut self) {
        // This does nothing if the connection has already ended.
        self.proxy.leave();
    }
}

impl fmt::Debug for ConsumerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConsumerConnection({})", self.number())
    }
}

impl ConsumerProxy {
    pub(super) fn new(number: u64, core: &Arc<Core>, maker: Maker) -> ConsumerProxy {
        ConsumerProxy {
            number,
            core: Arc::downgrade(core),
            state: Mutex::new(State::Idle),
            suspended: Arc::default(),
            at_end: Mutex::default(),
            maker,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Connects a consumer. `dispatch` is its own dispatch; if `None`, the channel chooses the dispatch.
    pub(crate) fn connect(
        &self,
        consumer: Consumer,
        qos: &ConsumerQos,
        dispatch: Option<ConsumerDispatch>,
    ) -> Result<(), ConnectError> {
        let core = self.core.upgrade().ok_or(ConnectError::Destroyed)?;
        let options = &core.options;
        let refused = |why| {
            core.note(&Notice::FilterRefused(self.number, why));
            ConnectError::Filter(why)
        };
        let limits = &options.limits.filter;
        let filter = Filter::parse(&qos.dependencies, options.syntax, limits).map_err(refused)?;
        check_periods(&qos.dependencies, options.limits.period).map_err(refused)?;
        let is_object = matches!(consumer, Consumer::Object(_));
        let program = Program::new(&filter);
        let target = Arc::new(Target::new(consumer, options));
        let connected = Arc::new(Connected::new(Parts {
            number: self.number,
            queue: core.queue(self.number, &target, qos, dispatch)?,
            timers: core.timers(self.number, &program)?,
            target,
            qos: qos.clone(),
            program,
            suspended: Arc::clone(&self.suspended),
            collected: options.limits.collected,
        }));
        let mut state = self.state.lock();
        let before = match &*state {
            State::Idle => None,
            State::Connected(before) if options.consumer_reconnect => Some(Arc::clone(before)),
            State::Connected(_) => return Err(ConnectError::AlreadyConnected),
            State::Ended => return Err(ConnectError::Destroyed),
        };
        *state = State::Connected(Arc::clone(&connected));
        drop(state);
        if let Some(before) = &before {
            before.end();
            core.unschedule_consumer(before);
        }
        connected.start();
        core.schedule_consumer(&connected);
        let was_gateway = before.is_none_or(|before| before.qos().is_gateway);
        core.consumers_changed(qos.is_gateway && was_gateway);
        if is_object {
            core.watch();
        }
        Ok(())
    }

    pub(crate) fn disconnect(&self) -> Result<(), NotConnected> {
        let Some(core) = self.core.upgrade() else {
            return Ok(());
        };
        let connected = self.connected().ok_or(NotConnected)?;
        if self.end(&core).is_some() && core.options.disconnect_callbacks {
            connected.target.call_back();
        }
        Ok(())
    }

    /// Disconnects the consumer or, if none has connected, releases the proxy.
    pub(crate) fn leave(&self) {
        if self.disconnect().is_err()
            && let Some(core) = self.core.upgrade()
        {
            self.end(&core);
        }
    }

    pub(crate) fn suspend(&self, suspended: bool) {
        self.suspended.store(suspended, Relaxed);
    }

    pub(super) fn connected(&self) -> Option<Arc<Connected>> {
        self.state.lock().connected().cloned()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected().is_some()
    }

    /// Releases the proxy if no consumer has connected to it and its client disconnected at least `grace` ago.
    pub(super) fn release_unused(&self, grace: Duration, now: Instant) {
        if self.maker.left_before(grace, now)
            && self.state.lock().end_idle()
            && let Some(core) = self.core.upgrade()
        {
            core.forget_consumer(self.number);
            self.close();
        }
    }

    /// Ends the connection if there is one, and the proxy. Returns the consumer that was connected, but only on the
    /// first call.
    pub(super) fn end(&self, core: &Arc<Core>) -> Option<Arc<Connected>> {
        core.forget_consumer(self.number);
        let ended = self.close();
        if let Some(connected) = &ended {
            core.unschedule_consumer(connected);
            core.consumers_changed(connected.qos().is_gateway);
        }
        ended
    }

    /// Ends the proxy. Returns the consumer that was connected, to which no further events are delivered.
    pub(super) fn close(&self) -> Option<Arc<Connected>> {
        let before = std::mem::replace(&mut *self.state.lock(), State::Ended);
        if let Some(at_end) = self.at_end.lock().take() {
            at_end();
        }
        let connected = before.into_connected()?;
        connected.end().then_some(connected)
    }

    /// Sets a function that is called once, when the proxy ends.
    pub(crate) fn at_end(&self, at_end: impl FnOnce() + Send + 'static) {
        *self.at_end.lock() = Some(Box::new(at_end));
    }
}

impl<T> State<T> {
    /// Ends the proxy if no peer has connected to it. Returns whether it was ended.
    pub(super) fn end_idle(&mut self) -> bool {
        let is_idle = matches!(self, State::Idle);
        if is_idle {
            *self = State::Ended;
        }
        is_idle
    }

    pub(super) fn connected(&self) -> Option<&T> {
        match self {
            State::Connected(it) => Some(it),
            _ => None,
        }
    }

    pub(super) fn into_connected(self) -> Option<T> {
        match self {
            State::Connected(it) => Some(it),
            _ => None,
        }
    }
}

/// Returns an error if a timeout has a shorter period than the channel permits.
fn check_periods(dependencies: &[Dependency], least: Duration) -> Result<(), FilterError> {
    let least = u64::try_from(least.as_nanos() / 100).unwrap_or(u64::MAX);
    let too_short = |one: &Dependency| {
        let header = &one.event.header;
        let periodic = [INTERVAL_TIMEOUT, DEADLINE_TIMEOUT].contains(&header.r#type);
        periodic && header.creation_time < least
    };
    match dependencies.iter().position(too_short) {
        None => Ok(()),
        Some(at) => Err(FilterError {
            at,
            kind: FilterErrorKind::TooShort {
                period: dependencies[at].event.header.creation_time,
                least,
            },
        }),
    }
}
