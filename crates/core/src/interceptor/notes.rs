//! Values that interceptors store between the points of a request.

use std::any::Any;

/// Values of any types, at most one of each type.
#[derive(Default)]
pub(super) struct Notes(Vec<Box<dyn Any + Send>>);

impl Notes {
    /// Stores a value in place of an earlier one of its type.
    pub(super) fn put<T: Any + Send>(&mut self, value: T) {
        match self.0.iter_mut().find_map(|known| known.downcast_mut()) {
            Some(known) => *known = value,
            None => self.0.push(Box::new(value)),
        }
    }

    pub(super) fn take<T: Any + Send>(&mut self) -> Option<T> {
        let index = self.0.iter().position(|known| known.is::<T>())?;
        self.0.swap_remove(index).downcast().ok().map(|value| *value)
    }
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.0.len())
    }
}
