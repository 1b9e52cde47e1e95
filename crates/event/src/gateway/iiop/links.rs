//! The proxies of a gateway in both channels.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use oxorb::{CompletionStatus, Interface as _, SystemException, minor};

use super::{IiopOptions, exists};
use crate::event_type::{ANY, NULL_DESIGNATOR, SHUTDOWN, UNDEFINED};
use crate::give_back::give_back;
use crate::rtec_event_channel_admin::{
    ConsumerQos, EventChannelRef, ProxyPushConsumerRef, ProxyPushSupplierRef, SupplierAdminRef,
    SupplierQos,
};
use crate::rtec_event_comm::{Event, PushConsumerRef};
use crate::{Filter, Key, asks_for, publishes};

/// A proxy in the source channel, and the proxies in the destination channel by event source.
pub(super) struct Links {
    supplier: ProxyPushSupplierRef,
    consumers: BTreeMap<i32, ProxyPushConsumerRef>,
}

/// Types that are reserved for designators and timers. No channel publishes events of these types.
const RESERVED: Range<i32> = SHUTDOWN..UNDEFINED;

/// Exception if a channel refuses the gateway by returning a nil reference or by raising a user exception.
pub(super) const NIL: SystemException =
    SystemException::bad_param(minor::bad_param::NIL_PEER, CompletionStatus::No);

/// Returns the types and sources in a list of subscriptions, without group designators. A filter that this form cannot
/// represent counts as a wildcard, and so does the null designator.
pub(in crate::gateway) fn keys(subscriptions: &ConsumerQos) -> BTreeSet<Key> {
    let headers = subscriptions.dependencies.iter().map(|one| one.event.header);
    let keys = headers.filter_map(|header| match header.r#type {
        NULL_DESIGNATOR => Some((ANY, ANY)),
        reserved if RESERVED.contains(&reserved) => None,
        event_type => Some((event_type, header.source)),
    });
    keys.collect()
}

impl Links {
    /// Obtains proxies in both channels, and connects those in the destination channel. Events arrive only after
    /// [`open`](Self::open).
    pub(super) fn connect(
        from: &EventChannelRef,
        to: &EventChannelRef,
        gate: &PushConsumerRef,
        wanted: &BTreeSet<Key>,
        options: &IiopOptions,
    ) -> Result<Self, SystemException> {
        let suppliers = to.for_suppliers()?.ok_or(NIL)?;
        let supplier = from.for_consumers()?.ok_or(NIL)?.obtain_push_supplier()?.ok_or(NIL)?;
        let per_source = options.proxy_per_source;
        let sources: BTreeSet<i32> =
            wanted.iter().map(|key| if per_source { key.1 } else { ANY }).collect();
        let mut links = Self { supplier, consumers: BTreeMap::new() };
        for source in sources {
            // Include events of this source, and events of types that consumers subscribe to from any source.
            let of = |key: &Key| !per_source || key.1 == source || key.1 == ANY;
            let keys: Vec<Key> = wanted.iter().copied().filter(of).collect();
            if let Err(error) = links.publish(&suppliers, source, keys) {
                links.disconnect(gate);
                return Err(error);
            }
        }
        Ok(links)
    }

    fn publish(
        &mut self,
        suppliers: &SupplierAdminRef,
        source: i32,
        keys: Vec<Key>,
    ) -> Result<(), SystemException> {
        let proxy = suppliers.obtain_push_consumer()?.ok_or(NIL)?;
        let published = SupplierQos { is_gateway: true, ..publishes(keys) };
        let connected = proxy.connect_push_supplier(None, &published);
        // Store the proxy even if it was not connected, so that `disconnect` returns it to the channel.
        self.consumers.insert(source, proxy);
        connected.map_err(|_| NIL)
    }

    /// Connects the proxy in the source channel, so that events arrive.
    pub(super) fn open(
        &self,
        gate: &PushConsumerRef,
        wanted: &BTreeSet<Key>,
    ) -> Result<(), SystemException> {
        let wanted = Filter::any_of(wanted.iter().map(|&(one, source)| Filter::event(one, source)));
        let wanted = ConsumerQos { is_gateway: true, ..asks_for(&wanted) };
        self.supplier.connect_push_consumer(Some(gate), &wanted).map_err(|_| NIL)
    }

    /// Pushes an event through the proxy for its source.
    pub(super) fn push(&self, event: Event) -> Result<(), SystemException> {
        let consumer = self.consumers.get(&event.header.source);
        let consumer = consumer.or_else(|| self.consumers.get(&ANY));
        // The source of this event is 0, which matches all filters, so any proxy can be used.
        let consumer = consumer.or_else(|| self.consumers.values().next());
        consumer.ok_or(NIL)?.push(&[event])
    }

    /// Reports whether both channels still have the proxies.
    pub(super) fn exist(&self) -> bool {
        exists(self.supplier.reference())
            && self.consumers.values().all(|proxy| exists(proxy.reference()))
    }

    /// Disconnects the proxies. Errors are ignored, because the channels may no longer exist.
    pub(super) fn disconnect(&self, gate: &PushConsumerRef) {
        give_back(&self.supplier, gate);
        for proxy in self.consumers.values() {
            let _ = proxy.disconnect_push_consumer();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_designator_among_subscriptions_is_any() {
        let keys = |filter: &Filter| keys(&asks_for(filter));
        assert_eq!(keys(&Filter::Null), BTreeSet::from([(ANY, ANY)]));
        let both = Filter::any_of([Filter::event(17, 1), Filter::Null]);
        assert_eq!(keys(&both), BTreeSet::from([(17, 1), (ANY, ANY)]));
        assert_eq!(keys(&Filter::NONE), BTreeSet::new());
    }
}
