//! The objects that a channel pushes to: one for each connection, so that what comes late over an earlier one is known.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use oxorb::{Orb, SystemException};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};

use super::consumer::{Arrived, Message};
use crate::output::Failed;

/// Where events go, and what is told beside them.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) to: SyncSender<Message>,
    pub(super) missed: Arc<AtomicU64>,
    pub(super) ended: Arc<AtomicBool>,
    /// Set: no more events are wanted. What is in the queue then is the rest.
    pub(super) stopped: Arc<AtomicBool>,
}

/// Makes the objects.
pub(super) struct Takers {
    orb: Orb,
    told: Told,
    made: u64,
    /// Number of the newest connection that has brought an event.
    newest: Arc<Mutex<u64>>,
}

impl Takers {
    pub(super) fn new(orb: Orb, told: Told) -> Self {
        Self {
            orb,
            told,
            made: 0,
            newest: Arc::default(),
        }
    }

    /// Makes the object of another connection.
    pub(super) fn activate(&mut self) -> Result<PushConsumerRef, Failed> {
        self.made += 1;
        let servant = Taker {
            connection: self.made,
            newest: self.newest.clone(),
            told: self.told.clone(),
        };
        Ok(self.orb.root_poa().activate(servant)?)
    }

    /// Ends the object of a connection that is not used any more.
    pub(super) fn deactivate(&self, consumer: &PushConsumerRef) {
        let _ = self.orb.root_poa().deactivate(consumer);
    }
}

/// The servant: never waits for whoever writes the events.
struct Taker {
    connection: u64,
    newest: Arc<Mutex<u64>>,
    told: Told,
}

impl PushConsumer for Taker {
    fn push(&self, data: &[Event]) {
        let at = super::time::now_ns();
        // Held while the events are queued: those of an earlier connection, which a network may bring seconds late, come
        // before all of a later one or not at all.
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if self.told.stopped.load(Ordering::Acquire) || self.connection < *newest {
            return;
        }
        *newest = self.connection;
        for event in data {
            let created = super::time::since_1970(event.header.creation_time);
            let age = created.and_then(|created| at.checked_sub(created));
            let arrived = Arrived {
                event: event.clone(),
                at,
                age: age.map(Duration::from_nanos),
            };
            let arrived = Message::Event(Box::new(arrived));
            if let Err(TrySendError::Full(_)) = self.told.to.try_send(arrived) {
                self.told.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if self.connection >= *newest {
            self.told.ended.store(true, Ordering::Release);
            let _ = self.told.to.try_send(Message::Look);
        }
        Ok(())
    }
}
