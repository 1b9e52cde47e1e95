use oxorb::servant::ServedBy as _;

use super::{GONE, NIL, Objects};
use crate::channel::{ConnectError, Maker, Notice, Watcher};
use crate::rtec_event_channel_admin::event_channel::{
    AppendObserverError, CantAppendObserver, CantRemoveObserver, RemoveObserverError,
};
use crate::rtec_event_channel_admin::{
    ConsumerAdminRef, EventChannel, EventChannelRef, ObserverRef, SupplierAdminRef,
};

/// Servant of the object of the channel itself.
pub(super) struct Root {
    pub(super) objects: Objects,
    pub(super) consumers: ConsumerAdminRef,
    pub(super) suppliers: SupplierAdminRef,
}

impl Root {
    pub(super) fn servant(self) -> std::sync::Arc<dyn oxorb::Servant> {
        EventChannelRef::servant(self)
    }
}

impl EventChannel for Root {
    fn for_consumers(&self) -> oxorb::Result<Option<ConsumerAdminRef>> {
        Ok(Some(self.consumers.clone()))
    }

    fn for_suppliers(&self) -> oxorb::Result<Option<SupplierAdminRef>> {
        Ok(Some(self.suppliers.clone()))
    }

    /// Destroys the channel. Its objects are destroyed after this request, which is addressed to one of them.
    fn destroy(&self) -> oxorb::Result<()> {
        let is_first = self.objects.core.destroy();
        let ended = self.objects.poa.destroy(true, false).map_err(|_| GONE);
        if is_first {
            // Log after the objects are destroyed, so that the log function can serve another channel under the same
            // name.
            self.objects.core.note(&Notice::Destroyed);
        }
        ended
    }

    fn append_observer(&self, observer: Option<&ObserverRef>) -> Result<u32, AppendObserverError> {
        let observer = observer.ok_or(NIL)?.clone();
        let core = &self.objects.core;
        let appended =
            core.append_observer(Watcher::Object(core.timed(&observer)), Maker::current());
        appended.map_err(|why| match why {
            ConnectError::Limit(..) | ConnectError::Share(_) => CantAppendObserver {}.into(),
            _ => GONE.into(),
        })
    }

    fn remove_observer(&self, handle: u32) -> Result<(), RemoveObserverError> {
        match self.objects.core.remove_observer(handle) {
            true => Ok(()),
            false => Err(CantRemoveObserver {}.into()),
        }
    }
}
