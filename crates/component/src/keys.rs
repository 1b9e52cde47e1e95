//! Primary keys of a home's components.

use std::collections::HashMap;
use std::sync::Arc;

use oxorb_cdr::{ByteOrder, CharSet, Dialect, Encoder, Inherits, Value, ValueState};
use oxorb_core::lock::Mutex;

use crate::{CcmExceptionReason, InvalidKey, PrimaryKeyBase};

/// A valuetype that can be the primary key of a home: one with state that inherits from `PrimaryKeyBase`.
pub trait PrimaryKey: ValueState + Inherits<PrimaryKeyBase> {}

impl<K: ValueState + Inherits<PrimaryKeyBase>> PrimaryKey for K {}

/// Identity of a key: its state, encoded as CDR. Two keys are equal if these octets are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyOctets(Box<[u8]>);

impl KeyOctets {
    /// Encodes a key received from a client.
    ///
    /// # Errors
    /// InvalidKey for a value of a derived type, and for a key of more than `most` octets.
    pub(crate) fn of<K: PrimaryKey>(key: &Value<K>, most: usize) -> Result<Self, InvalidKey> {
        let dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };
        let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, dialect);
        let written = key.encode_state(&mut encoder);
        // Reject values of derived types: only the state of the base is encoded, so different values would have equal
        // keys.
        if written.is_err() || key.info().id != K::INFO.id || encoder.position() > most {
            return Err(INVALID);
        }
        Ok(KeyOctets(encoder.finish().contiguous().into()))
    }
}

/// Exception for a key that is null, too long, or of a derived type.
pub(crate) const INVALID: InvalidKey =
    InvalidKey { reason: CcmExceptionReason::SystemError as u32 };

/// Keys of one home, with their components. There is one key for each keyed component and each creation in progress.
pub(crate) struct Keys<C>(Mutex<HashMap<KeyOctets, Option<Arc<C>>>>);

impl<C> Default for Keys<C> {
    fn default() -> Self {
        Keys(Mutex::default())
    }
}

/// A reserved key: no component has it yet, and no other creation can reserve it. Dropping the reservation frees the
/// key unless a component received it.
pub(crate) struct Reserved<'k, C> {
    keys: &'k Keys<C>,
    key: KeyOctets,
    is_given: bool,
}

impl<C> Keys<C> {
    /// Reserves a key; `None` if it belongs to a component or is reserved.
    pub(crate) fn reserve(&self, key: KeyOctets) -> Option<Reserved<'_, C>> {
        let mut keys = self.0.lock();
        if keys.contains_key(&key) {
            return None;
        }
        keys.insert(key.clone(), None);
        Some(Reserved { keys: self, key, is_given: false })
    }

    /// Returns the component with a key.
    pub(crate) fn find(&self, key: &KeyOctets) -> Option<Arc<C>> {
        self.0.lock().get(key)?.clone()
    }

    /// Frees the key of a removed component.
    pub(crate) fn forget(&self, key: &KeyOctets, component: &C) {
        let mut keys = self.0.lock();
        let known = keys.get(key).and_then(Option::as_ref);
        if known.is_some_and(|known| std::ptr::eq(&**known, component)) {
            keys.remove(key);
        }
    }
}

impl<C> Reserved<'_, C> {
    /// Returns the key.
    pub(crate) fn key(&self) -> &KeyOctets {
        &self.key
    }

    /// Gives the key to a component, unless the component is already removed.
    pub(crate) fn give(mut self, component: Arc<C>, is_removed: impl Fn(&C) -> bool) {
        let mut keys = self.keys.0.lock();
        // Check under the lock: if the component is removed after this check, the removing thread waits for the lock
        // and then frees the key.
        if !is_removed(&component) {
            keys.insert(self.key.clone(), Some(component));
            self.is_given = true;
        }
    }
}

impl<C> Drop for Reserved<'_, C> {
    fn drop(&mut self) {
        if !self.is_given {
            self.keys.0.lock().remove(&self.key);
        }
    }
}
