//! Persistence of the channel, and storing of events before delivery.

use std::sync::Arc;

use oxorb::{Any, Orb, SystemException};
use oxorb_delivery::Attributes;

use super::Channel;
use crate::admin::{Admin, ConsumerAdmin, SupplierAdmin};
use crate::cos_notify_channel_admin::InterFilterGroupOperator;
use crate::event::{Event, Times};
use crate::notify_store;
use crate::properties::Name;
use crate::proxy::ProxySupplier;
use crate::quality::Owner as _;
use crate::service::Service;
use crate::store::{Keeper, Slip};

/// An event, with the consumers that it is offered to.
struct Routed {
    event: Arc<Event>,
    wanted: Vec<(Arc<ProxySupplier>, Attributes)>,
    /// Ids of the proxies for which the event is stored, so that their consumers also get it after a restart.
    owing: Vec<i32>,
}

impl Channel {
    /// Reports whether a restart restores the channel.
    pub(crate) fn is_persistent(&self) -> bool {
        self.quality.is_persistent()
    }

    /// Binds the channel to a key. For a persistent channel, the key is stored.
    pub(crate) fn set_name(&self, name: &str) -> Result<(), SystemException> {
        let _ = self.name.set(name.to_owned());
        self.changed()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.get().map(String::as_str)
    }

    pub(super) fn row(&self) -> Any {
        Any::new(notify_store::Channel {
            name: self.name.get().cloned().unwrap_or_default(),
            qos: self.quality.properties(),
            administration: self.administration.properties(),
        })
    }

    /// Restores a stored admin.
    pub(crate) fn restore_admin(
        self: &Arc<Self>,
        service: &Arc<Service>,
        orb: &Orb,
        id: i32,
        row: &notify_store::Admin,
    ) -> Result<(), SystemException> {
        let operator = match row.is_or {
            true => InterFilterGroupOperator::OrOp,
            false => InterFilterGroupOperator::AndOp,
        };
        let is_default = row.is_default;
        if row.consumers {
            let admin: Arc<ConsumerAdmin> = Admin::create(service, self, id, operator, is_default)?;
            let mut admins = self.admins.lock();
            if is_default {
                admins.default_consumers = Some(id);
            }
            admins.consumers.insert(id, Arc::clone(&admin));
            drop(admins);
            return admin.restore(orb, &row.has);
        }
        let admin: Arc<SupplierAdmin> = Admin::create(service, self, id, operator, is_default)?;
        let mut admins = self.admins.lock();
        if is_default {
            admins.default_suppliers = Some(id);
        }
        admins.suppliers.insert(id, Arc::clone(&admin));
        drop(admins);
        admin.restore(orb, &row.has)
    }

    pub(crate) fn consumer_admin(&self, id: i32) -> Option<Arc<ConsumerAdmin>> {
        self.admins.lock().consumers.get(&id).cloned()
    }

    pub(crate) fn supplier_admin(&self, id: i32) -> Option<Arc<SupplierAdmin>> {
        self.admins.lock().suppliers.get(&id).cloned()
    }

    pub(crate) fn has_store(&self) -> bool {
        let service = self.service.upgrade();
        service.is_some_and(|service| service.keeper.is_some())
    }

    /// Returns the store if at least one of these events must be stored.
    pub(crate) fn keeper_of(&self, events: &[Arc<Event>]) -> Option<Arc<Keeper>> {
        let service = self.service.upgrade()?;
        let keeper = service.keeper.as_ref()?;
        let default = self.quality.values().is_set(Name::EventReliability, 1);
        let keeps = |event: &Arc<Event>| event.header.persistent.unwrap_or(default);
        events.iter().any(keeps).then(|| Arc::clone(keeper))
    }

    /// Stores the events that persistent consumers must get, and then offers all events. If storing fails, offers none
    /// of them.
    pub(crate) fn publish_kept(
        &self,
        keeper: &Keeper,
        events: &[Arc<Event>],
    ) -> Result<(), SystemException> {
        let times = Times::new(self.dispatcher.plan().clock.now());
        let default = self.quality.values().is_set(Name::EventReliability, 1);
        let routes = self.routes();
        let routed: Vec<Routed> = events
            .iter()
            .map(|event| {
                self.ask(event, &routes);
                let wants = |route: &Arc<ProxySupplier>| {
                    let attributes = route.wants(event, &times)?;
                    Some((Arc::clone(route), attributes))
                };
                let wanted: Vec<_> = routes.iter().filter_map(wants).collect();
                event.answers.clear();
                let keeps = event.header.persistent.unwrap_or(default);
                let owing = wanted.iter().map(|(route, _)| route);
                let owing = owing.filter(|route| keeps && route.is_persistent());
                Routed {
                    owing: owing.map(|route| route.id).collect(),
                    event: Arc::clone(event),
                    wanted,
                }
            })
            .collect();
        let stored: Vec<(Any, Vec<i32>)> = routed
            .iter()
            .filter(|one| !one.owing.is_empty())
            .map(|one| (one.event.body.to_any(), one.owing.clone()))
            .collect();
        let mut kept = match stored.is_empty() {
            true => Vec::new(),
            false => keeper.keep(stored, times.utc)?,
        }
        .into_iter();
        for one in &routed {
            let kept = match one.owing.is_empty() {
                true => None,
                false => kept.next(),
            };
            for (route, attributes) in &one.wanted {
                let owes = one.owing.contains(&route.id);
                let slip = kept.as_ref().filter(|_| owes);
                let slip = slip.map(|kept| Slip::new(kept, route.id));
                route.offer(&one.event, slip, attributes);
            }
        }
        Ok(())
    }

    /// Offers an event that does not fit even into an empty store to the connected consumers, without storing it, and
    /// logs this. Returns `false` for other events.
    pub(crate) fn publish_outgrown(&self, event: &Arc<Event>) -> bool {
        let Some(keeper) = self.keeper_of(std::slice::from_ref(event)) else {
            return false;
        };
        let times = Times::new(self.dispatcher.plan().clock.now());
        let routes = self.routes();
        self.ask(event, &routes);
        let owing = |route: &&Arc<ProxySupplier>| {
            route.is_persistent() && route.wants(event, &times).is_some()
        };
        let proxies = routes.iter().filter(owing).count();
        event.answers.clear();
        let outgrown = keeper.is_outgrown_by(&event.body.to_any(), proxies);
        if outgrown {
            self.publish(event);
        }
        outgrown
    }

    /// Restores an event from its stored form.
    pub(crate) fn event_of(&self, any: &Any) -> Option<Arc<Event>> {
        Some(self.event(crate::event::Body::of(any)?))
    }
}
