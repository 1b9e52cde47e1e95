//! Channels of other processes, with OxORB or any other ORB.

use std::fmt::Display;
use std::sync::Arc;

use oxorb::{Interface, Orb, SystemException};

use super::join::{Channel, ConsumerEnd, JoinError, ObserverEnd, SupplierEnd};
use super::names::Names;
use super::publisher::PublishError;
use crate::give_back::give_back;
use crate::rtec_event_channel_admin::{
    ConsumerQos, EventChannelRef, Observer, ObserverRef, ProxyPushConsumerRef,
    ProxyPushSupplierRef, SupplierQos,
};
use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};

/// A remote channel. Subscribers are objects of the ORB, which must therefore listen on an address. Cheap to clone.
///
/// ```
/// use oxorb::{Interface as _, Orb};
/// use oxorb_event::{ChannelOptions, EventChannel, Publisher, RemoteChannel, Subscriber};
///
/// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let served = EventChannel::new(ChannelOptions::default()).serve(&server, "EventService")?;
///
/// let orb = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let channel = RemoteChannel::at(&orb, &served.reference().to_ior())?;
/// let levels = Subscriber::<u32>::new(&channel, "level")?;
/// Publisher::<u32>::new(&channel, "level", "tank 1")?.publish(&7)?;
/// assert_eq!(levels.iter().next().unwrap().value, 7);
/// # drop(levels);
/// # orb.shutdown(true)?;
/// # server.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RemoteChannel {
    orb: Orb,
    channel: EventChannelRef,
    names: Arc<Names>,
}

impl RemoteChannel {
    /// Returns the channel to which a reference refers.
    pub fn new(orb: &Orb, channel: EventChannelRef) -> RemoteChannel {
        RemoteChannel { orb: orb.clone(), channel, names: Arc::default() }
    }

    /// Returns the channel to which an `IOR:`, `corbaloc:`, `corbaname:` or `file:` URL refers. Checks the type of the
    /// object, by a call if necessary.
    ///
    /// # Errors
    /// The object is not a channel, or cannot be reached.
    pub fn at(orb: &Orb, reference: &str) -> Result<RemoteChannel, oxorb::ResolveError> {
        let channel = orb.resolve(reference)?;
        Ok(RemoteChannel::new(orb, channel))
    }

    /// Returns the reference of the channel.
    pub fn reference(&self) -> &EventChannelRef {
        &self.channel
    }
}

impl Channel for RemoteChannel {
    fn join_consumer(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
    ) -> Result<Box<dyn ConsumerEnd>, JoinError> {
        let activated = self.orb.root_poa().activate(consumer);
        let object: PushConsumerRef = tried("activate a consumer", activated)?;
        let mut end = RemoteConsumer { orb: self.orb.clone(), object, proxy: None };
        let admin = there("for_consumers", self.channel.for_consumers())?;
        let proxy = there("obtain_push_supplier", admin.obtain_push_supplier())?;
        // Store the proxy before connecting it, so that it is returned to the channel even if the connect fails.
        let proxy = end.proxy.insert(proxy);
        let connected = proxy.connect_push_consumer(Some(&end.object), qos);
        tried("connect_push_consumer", connected)?;
        Ok(Box::new(end))
    }

    fn join_supplier(&self, qos: &SupplierQos) -> Result<Box<dyn SupplierEnd>, JoinError> {
        let admin = there("for_suppliers", self.channel.for_suppliers())?;
        let proxy = there("obtain_push_consumer", admin.obtain_push_consumer())?;
        let end = RemoteSupplier(proxy);
        let connected = end.0.connect_push_supplier(None, qos);
        tried("connect_push_supplier", connected)?;
        Ok(Box::new(end))
    }

    fn join_observer(
        &self,
        observer: Arc<dyn Observer>,
    ) -> Result<Box<dyn ObserverEnd>, JoinError> {
        let admin = there("for_suppliers", self.channel.for_suppliers())?;
        let presence = there("obtain_push_consumer", admin.obtain_push_consumer())?;
        let presence = RemoteSupplier(presence);
        let activated = self.orb.root_poa().activate(observer);
        let object: ObserverRef = tried("activate an observer", activated)?;
        let mut end = RemoteObserver {
            orb: self.orb.clone(),
            channel: self.channel.clone(),
            object,
            handle: None,
            presence,
        };
        let appended = self.channel.append_observer(Some(&end.object));
        end.handle = Some(tried("append_observer", appended)?);
        Ok(Box::new(end))
    }

    fn names(&self) -> &Names {
        &self.names
    }
}

fn tried<T, E: Display>(call: &'static str, done: Result<T, E>) -> Result<T, JoinError> {
    done.map_err(|why| JoinError::Remote { call, why: why.to_string() })
}

fn there<T>(
    call: &'static str,
    answer: Result<Option<T>, SystemException>,
) -> Result<T, JoinError> {
    tried(call, answer)?
        .ok_or(JoinError::Remote { call, why: "a nil reference was returned".into() })
}

/// Reports whether an object has confirmed its existence.
fn exists(object: &impl Interface) -> bool {
    object.reference().non_existent() == Ok(false)
}

struct RemoteConsumer {
    orb: Orb,
    object: PushConsumerRef,
    proxy: Option<ProxyPushSupplierRef>,
}

impl ConsumerEnd for RemoteConsumer {
    fn suspend(&self, suspended: bool) -> Result<(), SystemException> {
        match (&self.proxy, suspended) {
            (Some(proxy), true) => proxy.suspend_connection(),
            (Some(proxy), false) => proxy.resume_connection(),
            (None, _) => Ok(()),
        }
    }

    fn is_connected(&self) -> bool {
        self.proxy.as_ref().is_some_and(exists)
    }
}

impl Drop for RemoteConsumer {
    /// Disconnects the consumer. Errors are ignored, because the channel or the ORB may no longer exist.
    fn drop(&mut self) {
        if let Some(proxy) = &self.proxy {
            give_back(proxy, &self.object);
        }
        let _ = self.orb.root_poa().deactivate(&self.object);
    }
}

struct RemoteSupplier(ProxyPushConsumerRef);

impl SupplierEnd for RemoteSupplier {
    fn push(&self, event: &Event) -> Result<(), PublishError> {
        Ok(self.0.push(std::slice::from_ref(event))?)
    }

    fn is_connected(&self) -> bool {
        exists(&self.0)
    }
}

impl Drop for RemoteSupplier {
    fn drop(&mut self) {
        let _ = self.0.disconnect_push_consumer();
    }
}

struct RemoteObserver {
    orb: Orb,
    channel: EventChannelRef,
    object: ObserverRef,
    handle: Option<u32>,
    /// A proxy that is never connected. As long as it exists, the channel with which the observer is registered exists
    /// too.
    presence: RemoteSupplier,
}

impl ObserverEnd for RemoteObserver {
    fn is_connected(&self) -> bool {
        self.presence.is_connected()
    }
}

impl Drop for RemoteObserver {
    /// Removes the observer. Errors are ignored, because the channel or the ORB may no longer exist.
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            let _ = self.channel.remove_observer(handle);
        }
        let _ = self.orb.root_poa().deactivate(&self.object);
    }
}
