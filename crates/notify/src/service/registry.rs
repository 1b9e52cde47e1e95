//! The reconnection registry, which notifies clients that the service has restarted.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use oxorb::{Any, Interface as _, ObjectRef, Ref, SystemException, minor};
use oxorb_delivery::{Attributes, Outcome, Outlet, Qos, Sink};
use oxorb_sys::sync::{Mutex, MutexGuard};

use super::{Kind, Service};
use crate::notify_ext::ReconnectionCallbackRef;
use crate::problem::{GONE, nil, too_many};
use crate::store::own;

/// Callbacks by their ids.
#[derive(Default)]
pub(super) struct Registry(Mutex<Callbacks>);

#[derive(Default)]
struct Callbacks {
    last: i32,
    by_id: BTreeMap<i32, ReconnectionCallbackRef>,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Callbacks> {
        self.0.lock()
    }
}

impl Service {
    pub(super) fn register(
        &self,
        callback: Option<&ReconnectionCallbackRef>,
    ) -> Result<i32, SystemException> {
        let callback = callback.ok_or_else(nil)?;
        let full = too_many(minor::imp_limit::EVENT_CALLBACKS);
        let mut registry = self.registry.lock();
        if registry.by_id.len() >= self.limits().callbacks {
            return Err(full);
        }
        registry.last = registry.last.checked_add(1).ok_or(full)?;
        let id = registry.last;
        registry.by_id.insert(id, self.bounded_callback(callback.reference()));
        drop(registry);
        let Some(keeper) = &self.keeper else {
            return Ok(id);
        };
        let row = Any::new(own(Some(callback.reference())));
        let written = keeper.put(Kind::Callback as u8, id, &row);
        written.inspect_err(|exception| {
            self.registry.lock().by_id.remove(&id);
            // The callback may still be written, and would be called after a restart.
            if exception.completed == oxorb::CompletionStatus::Maybe {
                keeper.remove(Kind::Callback as u8, id);
            }
        })?;
        Ok(id)
    }

    pub(super) fn unregister(&self, id: i32) -> Result<(), SystemException> {
        let found = self.registry.lock().by_id.remove(&id);
        // The IDL declares no user exception for an unknown id, so raise BAD_PARAM.
        found.ok_or(SystemException::bad_param(0, oxorb::CompletionStatus::No))?;
        if let Some(keeper) = &self.keeper {
            keeper.remove(Kind::Callback as u8, id);
        }
        self.flush()
    }

    /// Restores a callback from the store.
    pub(super) fn restore_callback(&self, id: i32, reference: &Ref) {
        let mut registry = self.registry.lock();
        registry.last = registry.last.max(id);
        let callback = self.bounded_callback(reference);
        registry.by_id.insert(id, callback);
    }

    fn bounded_callback(&self, reference: &Ref) -> ReconnectionCallbackRef {
        ReconnectionCallbackRef::from_ref(reference.with_timeout(self.settings.call_timeout))
    }

    /// Notifies all callbacks that the service has restarted. Callbacks that do not answer are removed.
    pub(crate) fn call_back(self: &Arc<Self>) {
        let callbacks: Vec<_> = self.registry.lock().by_id.clone().into_iter().collect();
        for (id, callback) in callbacks {
            let call = Arc::new(Call {
                service: Arc::downgrade(self),
                id,
                callback,
                outlet: Mutex::default(),
            });
            let sink: Arc<dyn Sink<()>> = call.clone();
            let qos = Qos { events: 1, ..Qos::default() };
            if let Ok(outlet) = self.updates.connect(sink, qos) {
                *call.outlet() = Some(outlet.clone());
                outlet.offer(&(), &Attributes::default());
            }
        }
    }
}

/// A queued call to a callback. It keeps its own outlet alive until the call has been made.
struct Call {
    service: Weak<Service>,
    id: i32,
    callback: ReconnectionCallbackRef,
    outlet: Mutex<Option<Outlet<()>>>,
}

impl Call {
    fn outlet(&self) -> MutexGuard<'_, Option<Outlet<()>>> {
        self.outlet.lock()
    }

    fn make(&self) -> Result<(), SystemException> {
        let service = self.service.upgrade().ok_or(GONE)?;
        let factory = service.factory().cloned().map(ObjectRef::from_ref);
        let told = self.callback.reconnect(factory.as_ref());
        if told.is_err() {
            // Remove a callback that does not answer. Its client must register again to be notified of later restarts.
            let _ = service.unregister(self.id);
        }
        told
    }
}

impl Sink<()> for Call {
    fn deliver(&self, _: &[()]) -> Outcome {
        let _ = self.make();
        let outlet = self.outlet().take();
        drop(outlet);
        Outcome::Delivered
    }
}
