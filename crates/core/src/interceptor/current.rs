//! Values passed between an application's thread and the interceptors of its requests (`PICurrent`).

use std::cell::RefCell;

use oxorb_cdr::Any;
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::threads::sync::uncontrolled::atomic::{AtomicU32, Ordering};

/// Maximum number of slots in a process: slots belong to services, not to requests.
const MAX_SLOTS: u32 = 1024;

/// Slot for one value in every thread and in every request (CORBA 3.4, 16.4).
///
/// A thread sets its value; each call of the thread carries a copy, which client interceptors read
/// ([`ClientRequest::slot`](super::ClientRequest::slot)). On the server, interceptors set the slots of a request
/// ([`ServerRequest::set_slot`](super::ServerRequest::set_slot)), and the servant reads them in its thread.
///
/// Slots have no effect on ORBs without interceptors. Access takes no lock; setting a value
/// allocates.
///
/// ```
/// use oxorb_cdr::Any;
/// use oxorb_core::interceptor::Slot;
///
/// let tenant = Slot::allocate()?;
/// tenant.set(Some(Any::new("blue".to_owned())));
/// assert_eq!(tenant.get().unwrap().get::<String>().unwrap().as_deref(), Some("blue"));
/// std::thread::spawn(move || assert!(tenant.get().is_none(), "another thread, another value")).join().unwrap();
/// # Ok::<(), oxorb_object::SystemException>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

/// Values of all slots, in a thread or in a request.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotValues(Vec<Option<Any>>);

thread_local! {
    static THREAD: RefCell<SlotValues> = const { RefCell::new(SlotValues(Vec::new())) };
}

impl Slot {
    /// Allocates a slot that is unique in this process (`allocate_slot_id`).
    ///
    /// # Errors
    /// NO_RESOURCES after 1024 slots: allocate one per service, and keep it.
    pub fn allocate() -> Result<Slot, SystemException> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        NEXT.try_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (next < MAX_SLOTS).then_some(next + 1)
        })
        .map(Slot)
        .map_err(|_| {
            SystemException::no_resources(minor::no_resources::SLOTS, CompletionStatus::No)
        })
    }

    /// Returns the value in this thread.
    pub fn get(self) -> Option<Any> {
        THREAD.with_borrow(|slots| slots.get(self).cloned())
    }

    /// Sets or clears the value in this thread.
    pub fn set(self, value: Option<Any>) {
        THREAD.with_borrow_mut(|slots| slots.set(self, value));
    }
}

impl SlotValues {
    /// Returns a copy of this thread's slots.
    pub(super) fn of_thread() -> SlotValues {
        THREAD.with_borrow(Clone::clone)
    }

    /// Sets these as the thread's slots, and returns the thread's previous ones.
    pub(super) fn exchange(self) -> SlotValues {
        THREAD.replace(self)
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Any> {
        self.0.get(slot.0 as usize)?.as_ref()
    }

    pub(super) fn set(&mut self, slot: Slot, value: Option<Any>) {
        let index = slot.0 as usize;
        if value.is_none() && index >= self.0.len() {
            return;
        }
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        self.0[index] = value;
    }
}
