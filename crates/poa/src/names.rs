//! Object keys that the application chose: plain names, and keys that nobody here made.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::poa::PoaInner;

/// Plain keys, the object keys they stand for, and the POA of all other keys.
#[derive(Clone, Default)]
pub(crate) struct Names {
    keys: HashMap<Box<[u8]>, Box<[u8]>>,
    foreign: Option<Weak<PoaInner>>,
}

impl Names {
    /// Returns the object key that a plain one stands for. Costs one hash; a foreign key is copied.
    pub(crate) fn get(&self, plain: &[u8]) -> Option<Cow<'_, [u8]>> {
        if let Some(key) = self.keys.get(plain) {
            return Some(Cow::Borrowed(key));
        }
        let poa = self.foreign.as_ref()?.upgrade()?;
        Some(Cow::Owned(poa.key_of(plain)))
    }

    pub(crate) fn bind(&mut self, plain: &[u8], key: &[u8]) {
        self.keys.insert(plain.into(), key.into());
    }

    /// Removes a plain key; returns whether it was bound.
    pub(crate) fn unbind(&mut self, plain: &[u8]) -> bool {
        self.keys.remove(plain).is_some()
    }

    pub(crate) fn set_foreign(&mut self, poa: Option<&Arc<PoaInner>>) {
        self.foreign = poa.map(Arc::downgrade);
    }
}
