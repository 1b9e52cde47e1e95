//! Slot for one reusable box.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Slot that holds a box or none, for any thread: one word, without a lock.
///
/// ```
/// use oxorb_sys::spare::Spare;
///
/// let spare = Spare::default();
/// assert_eq!(spare.take(), None);
/// spare.put(Box::new(7));
/// assert_eq!(spare.take(), Some(Box::new(7)));
/// ```
#[derive(Debug)]
pub struct Spare<T>(AtomicPtr<T>, PhantomData<Box<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }
}

// SAFETY: a box is put in and taken out whole, by any thread.
unsafe impl<T: Send> Send for Spare<T> {}
// SAFETY: as above; the content is never exposed by reference.
unsafe impl<T: Send> Sync for Spare<T> {}

impl<T> Spare<T> {
    /// Takes the box out, if there is one.
    pub fn take(&self) -> Option<Box<T>> {
        Self::boxed(self.0.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Stores a box, and drops the previous one.
    pub fn put(&self, value: Box<T>) {
        let before = self.0.swap(Box::into_raw(value), Ordering::AcqRel);
        drop(Self::boxed(before));
    }

    fn boxed(pointer: *mut T) -> Option<Box<T>> {
        if pointer.is_null() {
            return None;
        }
        // SAFETY: a pointer that `put` made from a box, and that the swap returned to this thread
        // alone.
        Some(unsafe { Box::from_raw(pointer) })
    }
}

impl<T> Drop for Spare<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
