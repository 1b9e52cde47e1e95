//! Properties of an object, as accessed by the operations of `QoSAdmin` and `AdminPropertiesAdmin`.

use std::sync::{OnceLock, Weak};

use oxorb::SystemException;
use oxorb_sys::sync::{Mutex, MutexGuard};

use crate::cos_notification::qo_s_admin::{SetQosError, ValidateQosError};
use crate::cos_notification::{
    NamedPropertyRange, Property, PropertyError, QoSAdmin, UnsupportedQoS,
};
use crate::problem::GONE;
use crate::properties::{Level, Name, Support, Values, check_all};

/// Owner of properties, filters or subscriptions, which is informed of changes.
pub(crate) trait Owner: Send + Sync {
    /// Applies a change, and stores it if the object is persistent.
    fn changed(&self) -> Result<(), SystemException>;

    /// Reports whether a restart restores the parent object.
    fn has_persistent_parent(&self) -> bool;
}

/// Properties of one object: its quality of service, or the administrative properties of a channel.
pub(crate) struct Quality {
    support: Support,
    owner: OnceLock<Weak<dyn Owner>>,
    level: Level,
    values: Mutex<Values>,
    /// Lock that is held until a change is stored. If storing fails, exactly the previous values are restored.
    changing: Mutex<()>,
}

/// Reason why no property was set.
pub(crate) enum NotSet {
    Unsupported(Vec<PropertyError>),
    System(SystemException),
}

impl From<SystemException> for NotSet {
    fn from(exception: SystemException) -> Self {
        NotSet::System(exception)
    }
}

impl Quality {
    pub(crate) fn new(support: Support, level: Level, values: Values) -> Quality {
        Quality {
            support,
            owner: OnceLock::new(),
            level,
            values: Mutex::new(values),
            changing: Mutex::default(),
        }
    }

    /// Sets the owner, which applies changes.
    pub(crate) fn belongs_to(&self, owner: Weak<dyn Owner>) {
        let _ = self.owner.set(owner);
    }

    /// Returns the initial values for an object that is one level below.
    pub(crate) fn inherited(&self, level: Level) -> Values {
        self.values().inherited(level)
    }

    /// Restores stored values. Properties that the service no longer supports are set to their defaults.
    pub(crate) fn restore(&self, properties: &[Property]) {
        let mut values = self.values();
        for property in properties {
            let _ = values.set(std::slice::from_ref(property), self.support);
        }
    }

    /// Reports whether the object's own properties make it persistent. In addition, its parents must be persistent.
    pub(crate) fn is_persistent(&self) -> bool {
        self.values().is_set(Name::ConnectionReliability, 1)
    }

    pub(crate) fn properties(&self) -> Vec<Property> {
        self.values().properties()
    }

    pub(crate) fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock()
    }

    /// Applies and stores all properties, or none of them. Other changes of the same object wait for this one, for at
    /// most the time limit of the store.
    pub(crate) fn set(&self, properties: &[Property]) -> Result<(), NotSet> {
        let owner = self.owner.get().and_then(Weak::upgrade).ok_or(GONE)?;
        let _changing = self.changing.lock();
        let support = self.support_of(&*owner);
        let mut values = self.values();
        let before = values.clone();
        let set = values.set(properties, support);
        drop(values);
        set.map_err(NotSet::Unsupported)?;
        let changed = owner.changed();
        if changed.is_err() {
            *self.values() = before;
            let _ = owner.changed();
        }
        Ok(changed?)
    }

    fn support_of(&self, owner: &dyn Owner) -> Support {
        Support { parent_persistent: owner.has_persistent_parent(), ..self.support }
    }
}

impl QoSAdmin for Quality {
    fn get_qos(&self) -> oxorb::Result<Vec<Property>> {
        Ok(self.properties())
    }

    fn set_qos(&self, qos: &[Property]) -> Result<(), SetQosError> {
        self.set(qos).map_err(|not_set| match not_set {
            NotSet::Unsupported(qos_err) => UnsupportedQoS { qos_err }.into(),
            NotSet::System(exception) => exception.into(),
        })
    }

    fn validate_qos(
        &self,
        required_qos: &[Property],
    ) -> Result<Vec<NamedPropertyRange>, ValidateQosError> {
        let owner = self.owner.get().and_then(Weak::upgrade).ok_or(GONE)?;
        let support = self.support_of(&*owner);
        let checked = check_all(self.level, required_qos, support);
        checked.map_err(|qos_err| UnsupportedQoS { qos_err })?;
        Ok(Values::others(self.level, required_qos, support))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::Duration;

    use oxorb::{Any, CompletionStatus};

    use super::*;

    /// An owner whose first change fails to be stored. It fails only after a time in which another change could
    /// complete.
    struct Failing {
        failed: AtomicBool,
        /// Signals that the failing change has begun.
        begun: Sender<()>,
        other_done: Mutex<Receiver<()>>,
    }

    impl Owner for Failing {
        fn changed(&self) -> Result<(), SystemException> {
            if self.failed.swap(true, Ordering::SeqCst) {
                return Ok(());
            }
            self.begun.send(()).unwrap();
            let other_done = self.other_done.lock();
            // Times out if changes wait for each other, as they should. Otherwise the message of the other change
            // arrives.
            let _ = other_done.recv_timeout(Duration::from_millis(100));
            Err(SystemException::persist_store(0, CompletionStatus::No))
        }

        fn has_persistent_parent(&self) -> bool {
            true
        }
    }

    fn property(name: &str, value: i32) -> [Property; 1] {
        [Property { name: name.to_owned(), value: Any::new(value) }]
    }

    #[test]
    fn a_change_that_is_not_written_undoes_no_other() {
        for level in [Level::Channel, Level::Administration] {
            let [failing, other] = match level {
                Level::Channel => [
                    ("MaximumBatchSize", Name::MaximumBatchSize),
                    ("MaxEventsPerConsumer", Name::MaxEventsPerConsumer),
                ],
                _ => [("MaxConsumers", Name::MaxConsumers), ("MaxSuppliers", Name::MaxSuppliers)],
            };
            let support = Support::of(&crate::Limits::default(), true);
            let quality = Quality::new(support, level, Values::new(level));
            let before = quality.values().get(failing.1);
            let ((begun, begins), (done, other_done)) = (channel(), channel());
            let owner: Arc<dyn Owner> = Arc::new(Failing {
                failed: AtomicBool::new(false),
                begun,
                other_done: Mutex::new(other_done),
            });
            quality.belongs_to(Arc::downgrade(&owner));
            thread::scope(|scope| {
                scope.spawn(|| quality.set(&property(failing.0, 7)).map_err(drop).unwrap_err());
                begins.recv().unwrap();
                assert!(quality.set(&property(other.0, 9)).is_ok());
                let _ = done.send(());
            });
            assert_eq!(quality.values().get(other.1), 9, "{level:?}");
            assert_eq!(quality.values().get(failing.1), before, "{level:?}");
        }
    }
}
