//! Connections to event channels, which push their events to consumers in this process.

use std::sync::Weak;

use oxorb::{Any, Interface as _, Orb, SystemException};
use oxorb_event::rtec_event_channel_admin as realtime_admin;
use oxorb_event::rtec_event_comm as realtime;
use oxorb_event::{Filter, asks_for};
use oxorb_notify::cos_event_channel_admin::{EventChannelRef, ProxyPushSupplierRef};
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{PushConsumer, PushConsumerRef};

use super::event_filter::{Kind, Received};
use super::events::Channel;
use super::problem::without_note;

/// Connection to a channel.
#[derive(Clone)]
pub(super) enum Connection {
    /// Channel of the Event Service or the Notification Service.
    Untyped { proxy: ProxyPushSupplierRef, consumer: PushConsumerRef },
    /// Real-time event channel.
    Realtime { proxy: realtime_admin::ProxyPushSupplierRef, consumer: realtime::PushConsumerRef },
}

impl Connection {
    /// Connects a consumer to the channel of a reference. Its events go to `receiver`.
    ///
    /// # Errors
    /// The sentence for clients, which contains no address behind the gateway.
    pub(super) fn open(
        kind: Kind,
        orb: &Orb,
        reference: &str,
        receiver: Weak<Channel>,
    ) -> Result<Connection, String> {
        let connection = match kind {
            Kind::Untyped => {
                let channel: EventChannelRef = orb.resolve(reference).map_err(unreachable)?;
                let admin = channel.for_consumers().map_err(failed)?.ok_or_else(nil)?;
                let proxy = admin.obtain_push_supplier().map_err(failed)?.ok_or_else(nil)?;
                let consumer = orb.root_poa().activate(Consumer(receiver)).map_err(no_consumer)?;
                Connection::Untyped { proxy, consumer }
            }
            Kind::Realtime => {
                let channel: realtime_admin::EventChannelRef =
                    orb.resolve(reference).map_err(unreachable)?;
                let admin = channel.for_consumers().map_err(failed)?.ok_or_else(nil)?;
                let proxy = admin.obtain_push_supplier().map_err(failed)?.ok_or_else(nil)?;
                let consumer =
                    orb.root_poa().activate(RealtimeConsumer(receiver)).map_err(no_consumer)?;
                Connection::Realtime { proxy, consumer }
            }
        };
        let is_connected = match &connection {
            Connection::Untyped { proxy, consumer } => {
                proxy.connect_push_consumer(Some(consumer)).is_ok()
            }
            Connection::Realtime { proxy, consumer } => {
                proxy.connect_push_consumer(Some(consumer), &asks_for(&Filter::ALL)).is_ok()
            }
        };
        if !is_connected {
            // The call may have timed out after the channel had connected the consumer.
            connection.end(orb);
            return Err("the event channel rejected this gateway".to_owned());
        }
        Ok(connection)
    }

    /// Calls the channel, and reports whether it still has the connection.
    pub(super) fn exists(&self) -> bool {
        let proxy = match self {
            Connection::Untyped { proxy, .. } => proxy.reference(),
            Connection::Realtime { proxy, .. } => proxy.reference(),
        };
        matches!(proxy.non_existent(), Ok(false))
    }

    /// Disconnects from the channel.
    pub(super) fn end(&self, orb: &Orb) {
        // The channel may no longer exist.
        let _ = match self {
            Connection::Untyped { proxy, .. } => proxy.disconnect_push_supplier(),
            Connection::Realtime { proxy, .. } => proxy.disconnect_push_supplier(),
        };
        self.forget(orb);
    }

    /// Deactivates the consumer of a connection that the channel no longer has.
    pub(super) fn forget(&self, orb: &Orb) {
        // The consumer is inactive after the end of the ORB.
        let _ = match self {
            Connection::Untyped { consumer, .. } => orb.root_poa().deactivate(consumer),
            Connection::Realtime { consumer, .. } => orb.root_poa().deactivate(consumer),
        };
    }
}

/// Returns the sentence for a channel that cannot be found. The text of the error contains addresses.
fn unreachable<E>(_: E) -> String {
    "the event channel cannot be reached".to_owned()
}

fn failed(why: SystemException) -> String {
    without_note(&why).to_string()
}

fn nil() -> String {
    "the event channel accepts no consumers".to_owned()
}

fn no_consumer<E>(_: E) -> String {
    "the gateway cannot receive events".to_owned()
}

/// Consumer of a channel of the Event Service or the Notification Service.
struct Consumer(Weak<Channel>);

impl PushConsumer for Consumer {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        if let Some(channel) = self.0.upgrade() {
            channel.spread(Received::Untyped(data.clone()));
        }
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        disconnected(&self.0);
        Ok(())
    }
}

/// Consumer of a real-time event channel.
struct RealtimeConsumer(Weak<Channel>);

impl realtime::PushConsumer for RealtimeConsumer {
    fn push(&self, data: &[realtime::Event]) {
        let Some(channel) = self.0.upgrade() else {
            return;
        };
        for event in data {
            channel.spread(Received::Realtime {
                event_type: event.header.r#type,
                source: event.header.source,
                value: event.data.any_value.clone(),
                payload: event.data.payload.len(),
            });
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        disconnected(&self.0);
        Ok(())
    }
}

fn disconnected(receiver: &Weak<Channel>) {
    if let Some(channel) = receiver.upgrade() {
        channel.lost("the event channel has disconnected this gateway");
    }
}
