//! Object keys that the application chose: plain names, and foreign keys.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use oxorb_cdr::ByteOrder;
use oxorb_object::Group;

use crate::poa::PoaInner;

/// Plain keys with the object keys that they denote, and the POA of foreign keys.
#[derive(Clone, Default)]
pub(crate) struct Names {
    keys: HashMap<Box<[u8]>, Box<[u8]>>,
    foreign: Option<Weak<PoaInner>>,
    has_groups: bool,
}

impl Names {
    /// Returns the object key that a plain key denotes. Computes one hash; copies a foreign key.
    pub(crate) fn get(&self, plain: &[u8]) -> Option<Cow<'_, [u8]>> {
        if let Some(key) = self.keys.get(plain) {
            return Some(Cow::Borrowed(key));
        }
        // The key may encode a bound group differently, with another version of the component or
        // other padding. Parse it, and look up the encoding under which groups are bound.
        if self.has_groups
            && let Ok(group) = Group::parse(plain)
            && let Some(key) = self.keys.get(&group.encode(ByteOrder::Big)[..])
        {
            return Some(Cow::Borrowed(key));
        }
        let poa = self.foreign.as_ref()?.upgrade()?;
        Some(Cow::Owned(poa.key_of(plain)))
    }

    pub(crate) fn bind(&mut self, plain: &[u8], key: &[u8]) {
        self.keys.insert(plain.into(), key.into());
    }

    /// Binds a group to a key; returns `false` if it is bound to another key.
    pub(crate) fn bind_group(&mut self, group: &Group, key: &[u8]) -> bool {
        let octets = [ByteOrder::Big, ByteOrder::Little].map(|order| group.encode(order));
        if self.keys.get(&octets[0][..]).is_some_and(|known| **known != *key) {
            return false;
        }
        octets.iter().for_each(|octets| self.bind(octets, key));
        self.has_groups = true;
        true
    }

    /// Unbinds a group; returns whether it was bound to this key.
    pub(crate) fn unbind_group(&mut self, group: &Group, key: &[u8]) -> bool {
        let octets = [ByteOrder::Big, ByteOrder::Little].map(|order| group.encode(order));
        let was = self.keys.get(&octets[0][..]).is_some_and(|known| **known == *key);
        if was {
            octets.iter().for_each(|octets| {
                self.unbind(octets);
            });
        }
        was
    }

    /// Removes a plain key; returns whether it was bound.
    pub(crate) fn unbind(&mut self, plain: &[u8]) -> bool {
        self.keys.remove(plain).is_some()
    }

    pub(crate) fn set_foreign(&mut self, poa: Option<&Arc<PoaInner>>) {
        self.foreign = poa.map(Arc::downgrade);
    }
}
