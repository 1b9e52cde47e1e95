//! Suppliers and consumers that record the calls that they receive.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use oxorb::servant::ServedBy;
use oxorb::{Any, Orb};
use oxorb_notify::cos_event_comm as comm;
use oxorb_notify::cos_notification::{EventType, StructuredEvent};
use oxorb_notify::cos_notify_comm as notify;

/// A call that a peer has received.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Any(Any),
    Structured(StructuredEvent),
    Batch(Vec<StructuredEvent>),
    Disconnected,
    Types(Vec<EventType>, Vec<EventType>),
}

pub(crate) struct Peer {
    heard: Sender<Heard>,
    /// Events that can still be pulled from this supplier.
    waiting: Mutex<VecDeque<Any>>,
}

/// Maximum wait for an expected call.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Serves a peer with an interface. The receiver gets the calls to the peer.
pub(crate) fn peer<I: ServedBy<Peer>>(orb: &Orb) -> (I, Receiver<Heard>) {
    peer_with(orb, [])
}

pub(crate) fn peer_with<I: ServedBy<Peer>>(
    orb: &Orb,
    waiting: impl IntoIterator<Item = Any>,
) -> (I, Receiver<Heard>) {
    let (heard, hears) = channel();
    let waiting = Mutex::new(waiting.into_iter().collect());
    let reference = orb.root_poa().activate(Peer { heard, waiting }).unwrap();
    (reference, hears)
}

impl Peer {
    fn hear(&self, heard: Heard) {
        let _ = self.heard.send(heard);
    }
}

impl comm::PushConsumer for Peer {
    fn push(&self, data: &Any) -> Result<(), comm::push_consumer::PushError> {
        self.hear(Heard::Any(data.clone()));
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}

impl comm::PushSupplier for Peer {
    fn disconnect_push_supplier(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}

impl comm::PullConsumer for Peer {
    fn disconnect_pull_consumer(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}

impl comm::PullSupplier for Peer {
    fn pull(&self) -> Result<Any, comm::pull_supplier::PullError> {
        Ok(self.waiting.lock().unwrap().pop_front().unwrap_or_default())
    }

    fn try_pull(&self) -> Result<(Any, bool), comm::pull_supplier::TryPullError> {
        Ok(match self.waiting.lock().unwrap().pop_front() {
            Some(any) => (any, true),
            None => (Any::new(0_i32), false),
        })
    }

    fn disconnect_pull_supplier(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}

impl notify::NotifyPublish for Peer {
    fn offer_change(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), notify::notify_publish::OfferChangeError> {
        self.hear(Heard::Types(added.to_vec(), removed.to_vec()));
        Ok(())
    }
}

impl notify::NotifySubscribe for Peer {
    fn subscription_change(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), notify::notify_subscribe::SubscriptionChangeError> {
        self.hear(Heard::Types(added.to_vec(), removed.to_vec()));
        Ok(())
    }
}

impl notify::StructuredPushConsumer for Peer {
    fn push_structured_event(
        &self,
        notification: &StructuredEvent,
    ) -> Result<(), notify::structured_push_consumer::PushStructuredEventError> {
        self.hear(Heard::Structured(notification.clone()));
        Ok(())
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}

impl notify::SequencePushConsumer for Peer {
    fn push_structured_events(
        &self,
        notifications: &[StructuredEvent],
    ) -> Result<(), notify::sequence_push_consumer::PushStructuredEventsError> {
        self.hear(Heard::Batch(notifications.to_vec()));
        Ok(())
    }

    fn disconnect_sequence_push_consumer(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}

impl notify::StructuredPushSupplier for Peer {
    fn disconnect_structured_push_supplier(&self) -> oxorb::Result<()> {
        self.hear(Heard::Disconnected);
        Ok(())
    }
}
