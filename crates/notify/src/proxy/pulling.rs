//! Pulling from suppliers. Each supplier has a separate thread, so that a slow supplier delays no other.

use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb::rt::ThreadPurpose;
use oxorb::{Interface as _, SystemException, minor};
use oxorb_sys::sync::{Condvar, Mutex};

use super::Form;
use super::peer::{Failure, Peer};
use crate::cos_event_comm::{PullSupplierRef, pull_supplier};
use crate::cos_notify_comm::{
    SequencePullSupplierRef, StructuredPullSupplierRef, sequence_pull_supplier,
    structured_pull_supplier,
};
use crate::event::Body;
use crate::problem::too_many;
use crate::service::Service;
use crate::share::Maker;

/// A proxy that pulls from its supplier.
pub(super) trait Pulls: Send + Sync + 'static {
    /// Returns the supplier; `None` when the proxy has ended.
    fn supplier(&self) -> Option<(Peer, Arc<Service>)>;

    /// Reports whether the proxy is active and the channel accepts events.
    fn may_pull(&self) -> bool;

    /// Reports whether the supplier remains connected even if it fails.
    fn is_persistent(&self) -> bool;

    /// Passes events to the channel. Returns when the channel has accepted them, or can no longer accept them.
    fn take(&self, events: Vec<Body>);

    /// Ends the proxy without calling the supplier.
    fn lose(&self);

    fn pulling(&self) -> &Pulling;
}

/// Signal that wakes the pulling thread.
#[derive(Default)]
pub(crate) struct Pulling {
    woken: Mutex<bool>,
    wake: Condvar,
}

impl Pulling {
    /// Starts the thread of a connected proxy. The thread ends with the connection.
    pub(super) fn start<P: Pulls>(
        proxy: &Arc<P>,
        service: &Arc<Service>,
    ) -> Result<(), SystemException> {
        let limits = service.limits();
        let share = Maker::current();
        let share = share.take(&service.pulling_shares, limits.pulled_suppliers, limits)?;
        if !service.begin_pulling() {
            return Err(too_many(minor::imp_limit::EVENT_PULLS));
        }
        let (weak, of) = (Arc::downgrade(proxy), Arc::downgrade(service));
        let started = service.start_thread(ThreadPurpose::Worker, "oxorb-event-pull", move || {
            run(&weak);
            if let Some(service) = of.upgrade() {
                service.end_pulling();
            }
            drop(share);
        });
        started.inspect_err(|_| service.end_pulling())
    }

    /// Wakes the thread, so that it checks the state of its proxy.
    pub(super) fn wake(&self) {
        *self.woken.lock() = true;
        self.wake.notify_all();
    }

    /// Waits for this time, or until the thread is woken.
    pub(super) fn pause(&self, time: Duration) {
        let woken = self.woken.lock();
        let (mut woken, _) = self.wake.wait_timeout_while(woken, time, |woken| !*woken);
        *woken = false;
    }
}

fn run<P: Pulls>(proxy: &Weak<P>) {
    let mut failures = 0_u32;
    loop {
        let Some(proxy) = proxy.upgrade() else { return };
        let Some((peer, service)) = proxy.supplier() else {
            return;
        };
        let (batch, most) = (service.limits().batch, service.settings.failures);
        let period = service.settings.pull_period;
        // Release the service, so that it can end while `take` waits for space in the store.
        drop(service);
        let mut idle = true;
        if proxy.may_pull() {
            match pull(&peer, batch) {
                Ok(events) => {
                    failures = 0;
                    idle = events.is_empty();
                    proxy.take(events);
                }
                Err(failure) => {
                    failures += 1;
                    let persistent = proxy.is_persistent();
                    if !persistent && (failure.is_gone() || most > 0 && failures >= most) {
                        return proxy.lose();
                    }
                }
            }
        }
        if idle {
            proxy.pulling().pause(period);
        }
    }
}

/// Pulls the available events from a supplier, without waiting for an event.
fn pull(peer: &Peer, batch: usize) -> Result<Vec<Body>, Failure> {
    let reference = peer.reference.clone();
    match peer.form {
        Form::Event | Form::Any => {
            use pull_supplier::TryPullError as Error;
            let pulled = PullSupplierRef::from_ref(reference).try_pull();
            let (event, has_event) = pulled.map_err(|error| match error {
                Error::Disconnected(_) => Failure::Disconnected,
                Error::System(exception) => Failure::System(exception),
            })?;
            Ok(has_event.then_some(Body::Any(event)).into_iter().collect())
        }
        Form::Structured => {
            use structured_pull_supplier::TryPullStructuredEventError as Error;
            let pulled = StructuredPullSupplierRef::from_ref(reference).try_pull_structured_event();
            let (event, has_event) = pulled.map_err(|error| match error {
                Error::Disconnected(_) => Failure::Disconnected,
                Error::System(exception) => Failure::System(exception),
            })?;
            Ok(has_event.then_some(Body::Structured(event)).into_iter().collect())
        }
        Form::Sequence => {
            use sequence_pull_supplier::TryPullStructuredEventsError as Error;
            let most = i32::try_from(batch).unwrap_or(i32::MAX);
            let supplier = SequencePullSupplierRef::from_ref(reference);
            let pulled = supplier.try_pull_structured_events(most);
            let (events, has_event) = pulled.map_err(|error| match error {
                Error::Disconnected(_) => Failure::Disconnected,
                Error::System(exception) => Failure::System(exception),
            })?;
            let events = events.into_iter().take(batch).map(Body::Structured);
            Ok(if has_event { events.collect() } else { Vec::new() })
        }
    }
}
