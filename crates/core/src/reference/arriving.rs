//! Target objects of arriving requests.

use super::interface::Interface;
use super::op::{SLOTTED_KEY, SLOTTED_KEY_LEN};
use crate::options::ArrivingRequest;

impl ArrivingRequest<'_> {
    /// Reports whether the request is for this object of this ORB.
    pub fn is_for(&self, object: &impl Interface) -> bool {
        let key = match self.key.split_last_chunk::<2>() {
            Some((key, _)) if key.len() == SLOTTED_KEY_LEN && key.starts_with(SLOTTED_KEY) => key,
            _ => self.key,
        };
        let route = object.reference().route();
        route.is_ok_and(|route| route.profiles.iter().any(|profile| *profile.key == *key))
    }
}
