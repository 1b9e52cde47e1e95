//! Slots in which answers of asynchronous calls wait for their callers.

use std::mem;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use super::replies::AnswerResult;
use crate::threads::lock::Mutex;

/// Slot of an asynchronous call.
pub(crate) struct CallSlot {
    /// Request; set when it is sent.
    sent: OnceLock<SentRequest>,
    state: Mutex<CallSlotState>,
}

/// Request that was sent.
struct SentRequest {
    id: u32,
    /// Message, in case it has to be sent elsewhere; empty if it is long.
    request: Vec<u8>,
}

enum CallSlotState {
    Waiting(Option<Waker>),
    Done(AnswerResult),
    Taken,
}

impl CallSlot {
    pub(super) fn new() -> Arc<CallSlot> {
        Arc::new(CallSlot {
            sent: OnceLock::new(),
            state: Mutex::new(CallSlotState::Waiting(None)),
        })
    }

    /// Keeps the request as it is sent.
    pub(super) fn keep(&self, id: u32, request: Vec<u8>) {
        let _ = self.sent.set(SentRequest { id, request });
    }

    /// Returns the id of the request, once the request has been written.
    pub(super) fn id(&self) -> Option<u32> {
        self.sent.get().map(|kept| kept.id)
    }

    /// Returns the request as it was sent, unless it was too long to keep.
    pub(crate) fn request(&self) -> &[u8] {
        self.sent.get().map_or(&[], |kept| &kept.request)
    }

    /// Reports whether there is no answer yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.state.lock(), CallSlotState::Waiting(_))
    }

    /// Returns the answer, if it has arrived; otherwise `waker` is woken when it arrives.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<AnswerResult> {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, CallSlotState::Taken) {
            CallSlotState::Done(answer) => Poll::Ready(answer),
            CallSlotState::Waiting(_) => {
                *state = CallSlotState::Waiting(Some(waker.clone()));
                Poll::Pending
            }
            CallSlotState::Taken => panic!("an AsyncReply was polled after it had completed"),
        }
    }

    /// Completes the call, and wakes its task.
    pub(super) fn finish(&self, answer: AnswerResult) {
        let before = mem::replace(&mut *self.state.lock(), CallSlotState::Done(answer));
        if let CallSlotState::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}
