//! The application picks the thread: a chain of filters that look at each request before anybody serves it (A5.5).

use std::sync::Arc;

use oxorb_object::SystemException;

use super::lane::Lane;
use crate::{Arriving, Interface, Orb, SLOTTED_KEY, SLOTTED_KEY_LEN, raise};

impl Arriving<'_> {
    /// Whether it is for this object of this ORB.
    pub fn is_for(&self, object: &impl Interface) -> bool {
        let key = match self.key.split_last_chunk::<2>() {
            Some((key, _)) if key.len() == SLOTTED_KEY_LEN && key.starts_with(SLOTTED_KEY) => key,
            _ => self.key,
        };
        let route = object.reference().route();
        route.is_ok_and(|route| route.profiles.iter().any(|profile| *profile.key == *key))
    }
}

/// The lane that a filter picks; `None`: none of them does.
pub(super) fn pick(
    orb: &Orb,
    request: &Arriving<'_>,
) -> Result<Option<Arc<Lane>>, SystemException> {
    match orb.options().thread_filters.pick(request) {
        None => Ok(None),
        Some(picked) => match orb.pools().lane(picked) {
            None => Err(raise::NO_SERVING_THREAD),
            lane => Ok(lane),
        },
    }
}
