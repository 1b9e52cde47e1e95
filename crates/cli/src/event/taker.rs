//! Objects that a channel pushes to: one for each connection, so that late events of an earlier connection are
//! recognized.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use oxorb::{Orb, SystemException};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};

use super::consumer::{Arrived, Message};
use oxorb_terminal::output::Failed;

/// Servant of a consumer: destination of events and notifications.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) to: SyncSender<Message>,
    pub(super) missed: Arc<AtomicU64>,
    pub(super) ended: Arc<AtomicBool>,
    /// Whether no further events are wanted; those in the queue are the last.
    pub(super) stopped: Arc<AtomicBool>,
}

/// Factory of the objects.
pub(super) struct Takers {
    orb: Orb,
    told: Told,
}

impl Takers {
    pub(super) fn new(orb: Orb, told: Told) -> Self {
        Self { orb, told }
    }

    /// Activates the object of a new connection.
    pub(super) fn activate(&self) -> Result<PushConsumerRef, Failed> {
        Ok(self.orb.root_poa().activate(self.told.clone())?)
    }

    /// Deactivates the object of an unused connection.
    pub(super) fn deactivate(&self, consumer: &PushConsumerRef) {
        let _ = self.orb.root_poa().deactivate(consumer);
    }
}

/// Implementation that never waits for the thread that writes the events, so that it does not delay the channel.
impl PushConsumer for Told {
    fn push(&self, data: &[Event]) {
        let at = super::time::now_ns();
        if self.stopped.load(Ordering::Acquire) {
            return;
        }
        for event in data {
            let created = super::time::since_1970(event.header.creation_time);
            let age = created.and_then(|created| at.checked_sub(created));
            let arrived = Arrived { event: event.clone(), at, age: age.map(Duration::from_nanos) };
            let arrived = Message::Event(Box::new(arrived));
            if let Err(TrySendError::Full(_)) = self.to.try_send(arrived) {
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.ended.store(true, Ordering::Release);
        let _ = self.to.try_send(Message::Look);
        Ok(())
    }
}
