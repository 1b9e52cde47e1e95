//! Quality of service as the operations of `QoSAdmin` show it.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use oxorb::SystemException;

use crate::cos_notification::qo_s_admin::{SetQosError, ValidateQosError};
use crate::cos_notification::{NamedPropertyRange, Property, QoSAdmin, UnsupportedQoS};
use crate::problem::GONE;
use crate::properties::{Level, Name, Support, Values, check_all};

/// Object that properties, filters or subscriptions belong to.
pub(crate) trait Owner: Send + Sync {
    /// Applies a change, and writes it to the store where the object is persistent.
    fn changed(&self) -> Result<(), SystemException>;
}

/// Quality of service of one object.
pub(crate) struct Quality {
    support: Support,
    owner: OnceLock<Weak<dyn Owner>>,
    level: Level,
    values: Mutex<Values>,
}

impl Quality {
    pub(crate) fn new(support: Support, level: Level, values: Values) -> Quality {
        Quality {
            support,
            owner: OnceLock::new(),
            level,
            values: Mutex::new(values),
        }
    }

    /// Names the object that applies changes.
    pub(crate) fn belongs_to(&self, owner: Weak<dyn Owner>) {
        let _ = self.owner.set(owner);
    }

    /// Returns the values with which an object below begins.
    pub(crate) fn inherited(&self, level: Level) -> Values {
        self.values().inherited(level)
    }

    /// Takes over what the store says. What this service does not support any more falls back to its default.
    pub(crate) fn restore(&self, properties: &[Property]) {
        let mut values = self.values();
        for property in properties {
            let _ = values.set(std::slice::from_ref(property), self.support);
        }
    }

    /// Whether the object itself is to be persistent; those that it belongs to must be, too.
    pub(crate) fn is_persistent(&self) -> bool {
        self.values().is_set(Name::ConnectionReliability, 1)
    }

    pub(crate) fn properties(&self) -> Vec<Property> {
        self.values().properties()
    }

    pub(crate) fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QoSAdmin for Quality {
    fn get_qos(&self) -> oxorb::Result<Vec<Property>> {
        Ok(self.properties())
    }

    fn set_qos(&self, qos: &[Property]) -> Result<(), SetQosError> {
        let owner = self.owner.get().and_then(Weak::upgrade).ok_or(GONE)?;
        let mut values = self.values();
        let before = values.clone();
        let set = values.set(qos, self.support);
        drop(values);
        set.map_err(|qos_err| UnsupportedQoS { qos_err })?;
        let changed = owner.changed();
        if changed.is_err() {
            // All properties are applied, or none.
            *self.values() = before;
            let _ = owner.changed();
        }
        Ok(changed?)
    }

    fn validate_qos(
        &self,
        required_qos: &[Property],
    ) -> Result<Vec<NamedPropertyRange>, ValidateQosError> {
        let checked = check_all(self.level, required_qos, self.support);
        checked.map_err(|qos_err| UnsupportedQoS { qos_err })?;
        Ok(Values::others(self.level, required_qos, self.support))
    }
}
