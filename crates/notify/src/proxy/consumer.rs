//! Proxies to which suppliers connect.

use std::sync::{Arc, OnceLock, Weak};

use oxorb::{Interface, Ref, SystemException, SystemExceptionKind};

use super::link::{Informed, Link, Phase, Refused, State};
use super::peer::Peer;
use super::pulling::{Pulling, Pulls};
use super::{Form, Style, farewell};
use crate::admin::SupplierAdmin;
use crate::channel::Channel;
use crate::cos_event_channel_admin as events;
use crate::cos_notification::EventType;
use crate::cos_notify_channel_admin as notify;
use crate::event::{Body, Event};
use crate::filter::{Attached, Questions, both, both_known};
use crate::problem::{GONE, nil};
use crate::properties::Level;
use crate::quality::{Owner, Quality};
use crate::service::{Kind, Service};
use crate::share::Maker;
use crate::side::Side;
use crate::store::Saved;
use crate::types::Types;
use crate::unused::Usable;

/// A proxy to which a supplier connects.
pub(crate) struct ProxyConsumer {
    pub(crate) id: i32,
    pub(crate) style: Style,
    pub(crate) service: Weak<Service>,
    pub(crate) channel: Weak<Channel>,
    pub(super) admin: Weak<SupplierAdmin>,
    me: Weak<ProxyConsumer>,
    reference: OnceLock<Ref>,
    pub(super) link: Link,
    pub(super) quality: Quality,
    pub(super) filters: Attached,
    pub(crate) types: Types,
    pub(super) saved: Saved,
    pub(super) pulling: Pulling,
}

/// Reason why an event was not accepted.
pub(super) enum PushFailure {
    Disconnected,
    System(SystemException),
}

impl From<SystemException> for PushFailure {
    fn from(exception: SystemException) -> Self {
        PushFailure::System(exception)
    }
}

impl ProxyConsumer {
    pub(crate) fn create(
        admin: &Arc<SupplierAdmin>,
        form: Form,
        style: Style,
    ) -> Result<Arc<ProxyConsumer>, SystemException> {
        let service = admin.service()?;
        let channel = admin.channel()?;
        let maker = Maker::current();
        let share = channel.add_proxy(&maker)?;
        let made = ProxyConsumer::new(&service, admin, service.next(), form, style);
        let proxy = made.inspect_err(|_| channel.forget_proxy())?;
        proxy.link.count(share);
        proxy.changed().inspect_err(|_| drop(proxy.end()))?;
        service.unused.add(maker, &proxy);
        Ok(proxy)
    }

    pub(super) fn new(
        service: &Arc<Service>,
        admin: &Arc<SupplierAdmin>,
        id: Result<i32, SystemException>,
        form: Form,
        style: Style,
    ) -> Result<Arc<ProxyConsumer>, SystemException> {
        let id = id?;
        let weak = Arc::downgrade(service);
        let values = admin.quality.inherited(Level::Proxy);
        let types = service.types(admin.types.list())?;
        let proxy = Arc::new_cyclic(|me: &Weak<ProxyConsumer>| ProxyConsumer {
            id,
            style,
            channel: Weak::clone(&admin.channel),
            admin: Arc::downgrade(admin),
            me: Weak::clone(me),
            reference: OnceLock::new(),
            link: Link::new(Side::Suppliers, form, style, service.settings.updates),
            quality: Quality::new(service.support(), Level::Proxy, values),
            filters: Attached::new(&service.home()),
            types,
            saved: Saved::default(),
            pulling: Pulling::default(),
            service: weak,
        });
        proxy.quality.belongs_to(proxy.me.clone());
        proxy.filters.belongs_to(proxy.me.clone());
        admin.add(id, &proxy)?;
        match proxy.serve(service) {
            Ok(reference) => {
                let _ = proxy.reference.set(reference);
                Ok(proxy)
            }
            Err(exception) => {
                admin.forget(id);
                Err(exception)
            }
        }
    }

    fn serve(self: &Arc<Self>, service: &Service) -> Result<Ref, SystemException> {
        use notify as n;
        let (kind, id, this) = (Kind::Proxy, self.id, Arc::clone(self));
        match (self.link.form, self.style) {
            (Form::Event, Style::Push) => {
                service.activate::<events::ProxyPushConsumerRef, _>(kind, id, this)
            }
            (Form::Event, Style::Pull) => {
                service.activate::<events::ProxyPullConsumerRef, _>(kind, id, this)
            }
            (Form::Any, Style::Push) => {
                service.activate::<n::ProxyPushConsumerRef, _>(kind, id, this)
            }
            (Form::Any, Style::Pull) => {
                service.activate::<n::ProxyPullConsumerRef, _>(kind, id, this)
            }
            (Form::Structured, Style::Push) => {
                service.activate::<n::StructuredProxyPushConsumerRef, _>(kind, id, this)
            }
            (Form::Structured, Style::Pull) => {
                service.activate::<n::StructuredProxyPullConsumerRef, _>(kind, id, this)
            }
            (Form::Sequence, Style::Push) => {
                service.activate::<n::SequenceProxyPushConsumerRef, _>(kind, id, this)
            }
            (Form::Sequence, Style::Pull) => {
                service.activate::<n::SequenceProxyPullConsumerRef, _>(kind, id, this)
            }
        }
    }

    pub(crate) fn reference(&self) -> Result<Ref, SystemException> {
        self.reference.get().cloned().ok_or(GONE)
    }

    pub(super) fn service(&self) -> Result<Arc<Service>, SystemException> {
        self.service.upgrade().ok_or(GONE)
    }

    pub(super) fn channel(&self) -> Result<Arc<Channel>, SystemException> {
        self.channel.upgrade().ok_or(GONE)
    }

    /// Connects a supplier. The reference may be nil only if the supplier pushes.
    pub(super) fn connect(&self, supplier: Option<&impl Interface>) -> Result<(), Refused> {
        let service = self.service()?;
        let channel = self.channel()?;
        if supplier.is_none() && self.style == Style::Pull {
            return Err(nil().into());
        }
        let peer = self.link.peer_of(&service, supplier);
        channel.admit(Side::Suppliers)?;
        match self.link.connect(peer, service.settings.reconnect) {
            Ok(false) => {}
            // The new supplier replaces a connected one, which is already counted and already in the channel's list.
            Ok(true) => {
                channel.leave(Side::Suppliers);
                self.link.inform(&service, &self.me);
                return Ok(self.changed()?);
            }
            Err(refused) => {
                channel.leave(Side::Suppliers);
                return Err(refused);
            }
        }
        let me = self.me.upgrade().ok_or(GONE)?;
        if self.style == Style::Pull
            && let Err(exception) = Pulling::start(&me, &service)
        {
            self.end();
            return Err(exception.into());
        }
        channel.add_source(me);
        self.link.inform(&service, &self.me);
        // If the connection cannot be stored, end the proxy, so that the failed call leaves no connection.
        Ok(self.changed().inspect_err(|_| drop(self.end()))?)
    }

    /// Accepts events from the supplier, and publishes those that pass the filters.
    pub(super) fn accept(&self, events: impl IntoIterator<Item = Body>) -> Result<(), PushFailure> {
        if self.link.phase() != Phase::Connected {
            let service = self.service()?;
            let drops = service.settings.drop_unconnected && self.link.form == Form::Event;
            return match drops {
                true => Ok(()),
                false => Err(PushFailure::Disconnected),
            };
        }
        let channel = self.channel()?;
        // Check for space once per batch, because a batch is accepted completely or not at all.
        channel.check_room()?;
        let admin = self.admin.upgrade().ok_or(GONE)?;
        let passing = self.passing(&channel, &admin, events);
        if !channel.has_store() {
            passing.for_each(|event| channel.publish(&event));
            return Ok(());
        }
        let passing: Vec<_> = passing.collect();
        Ok(publish(&channel, &passing)?)
    }

    /// Creates an [`Event`] for each body, and returns those that pass the filters.
    fn passing<'e>(
        &'e self,
        channel: &'e Channel,
        admin: &'e SupplierAdmin,
        events: impl IntoIterator<Item = Body> + 'e,
    ) -> impl Iterator<Item = Arc<Event>> + 'e {
        events.into_iter().filter_map(move |body| {
            let event = channel.event(body);
            self.ask(&event, channel, admin);
            let passes = both(
                admin.operator,
                || admin.filters.passes(&event),
                || self.filters.passes(&event),
            );
            passes.then_some(event)
        })
    }

    /// Calls the remote filters that decide whether an event passes.
    fn ask(&self, event: &Event, channel: &Channel, admin: &SupplierAdmin) {
        let Some(limit) = channel.time_to_ask() else {
            return;
        };
        let known = [admin.filters.known(event), self.filters.known(event)];
        if both_known(admin.operator, known[0], known[1]).is_none() {
            let mut questions = Questions::default();
            admin.filters.question(event, &mut questions);
            self.filters.question(event, &mut questions);
            questions.ask(event, limit);
        }
    }

    /// Waits before pulled events are published again. Returns `false` if they must not be. While this function waits,
    /// it keeps neither the channel nor the service alive.
    fn pause(&self) -> bool {
        let Some(service) = self.service.upgrade() else {
            return false;
        };
        let stops = service.keeper.as_ref();
        let stops = stops.is_none_or(|keeper| keeper.is_closing());
        let retry = service.settings.retry;
        drop(service);
        if stops || !self.is_connected() {
            return false;
        }
        self.pulling.pause(retry);
        true
    }

    pub(super) fn suspend(&self) -> Result<(), Refused> {
        self.link.suspend()?;
        Ok(self.changed()?)
    }

    pub(super) fn resume(&self) -> Result<(), Refused> {
        self.link.resume()?;
        self.pulling.wake();
        Ok(self.changed()?)
    }

    /// Handles a disconnect by the supplier. Raises BAD_INV_ORDER for a proxy of the Event Service that was never
    /// connected.
    pub(super) fn disconnect(&self) -> Result<(), SystemException> {
        if self.link.form == Form::Event && self.link.phase() == Phase::New {
            return Err(crate::problem::not_connected());
        }
        let service = self.service()?;
        let peer = self.end();
        if let Some(peer) = peer.filter(|_| service.settings.disconnect_callbacks) {
            farewell::bid(&service, peer);
        }
        service.flush()
    }

    /// Ends the proxy permanently. Returns the peer that was connected, but only on the first call.
    pub(crate) fn end(&self) -> Option<Peer> {
        self.leave(self.link.end(|_| true)?)
    }

    /// Removes a proxy that has ended from its admin and its channel.
    fn leave(&self, before: State) -> Option<Peer> {
        self.pulling.wake();
        if let Some(admin) = self.admin.upgrade() {
            admin.forget(self.id);
        }
        if let Some(channel) = self.channel.upgrade() {
            if before.phase == Phase::Connected {
                channel.leave(Side::Suppliers);
                channel.remove_source(self.id);
            }
            channel.forget_proxy();
        }
        if let Some(service) = self.service.upgrade() {
            let place = (Kind::Proxy as u8, self.id);
            self.saved.remove(service.keeper.as_ref(), place);
            service.deactivate(Kind::Proxy, self.id);
        }
        before.peer
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.link.phase() == Phase::Connected
    }

    pub(crate) fn tell(&self) {
        self.link.tell();
    }

    /// Changes the proxy's offer.
    pub(crate) fn change_types(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), SystemException> {
        let most = self.service()?.limits().event_types;
        self.types.change(added, removed, most)?;
        self.channel()?.offer_changed(self);
        self.changed()
    }
}

impl Pulls for ProxyConsumer {
    fn supplier(&self) -> Option<(Peer, Arc<Service>)> {
        Some((self.link.peer()?, self.service.upgrade()?))
    }

    fn may_pull(&self) -> bool {
        let has_room = |channel: Arc<Channel>| channel.check_room().is_ok();
        self.link.state().active && self.channel.upgrade().is_some_and(has_room)
    }

    fn is_persistent(&self) -> bool {
        ProxyConsumer::is_persistent(self)
    }

    fn take(&self, events: Vec<Body>) {
        // Publish the events even if the proxy was disconnected or the channel became full, because they have already
        // been removed from the supplier.
        let (Some(channel), Some(admin)) = (self.channel.upgrade(), self.admin.upgrade()) else {
            return;
        };
        let passing: Vec<_> = self.passing(&channel, &admin, events).collect();
        drop((channel, admin));
        // The supplier no longer has these events. If the store refuses them, retry in smaller parts until the store
        // has space or the connection has ended.
        let (mut rest, mut part) = (&passing[..], passing.len());
        while !rest.is_empty() {
            let Some(channel) = self.channel.upgrade() else {
                return;
            };
            let (first, others) = rest.split_at(part.min(rest.len()));
            let published = publish(&channel, first);
            drop(channel);
            match published {
                Ok(()) => rest = others,
                // The event never fits into the store, and was delivered without being stored.
                Err(refused)
                    if first.len() == 1
                        && refused.kind == SystemExceptionKind::ImpLimit
                        && outgrows_store(self, &first[0]) =>
                {
                    rest = others
                }
                // Skip an event that cannot be encoded, because a retry would fail as well.
                Err(refused)
                    if first.len() == 1 && refused.kind == SystemExceptionKind::BadParam =>
                {
                    rest = others
                }
                Err(_) if !self.pause() => return,
                Err(_) => part = (part / 2).max(1),
            }
        }
    }

    fn lose(&self) {
        self.end();
    }

    fn pulling(&self) -> &Pulling {
        &self.pulling
    }
}

/// Offers an event without storing it if it does not fit even into an empty store. Returns `false` for other events.
fn outgrows_store(proxy: &ProxyConsumer, event: &Arc<Event>) -> bool {
    let channel = proxy.channel.upgrade();
    channel.is_some_and(|channel| channel.publish_outgrown(event))
}

/// Offers events to the consumers. Events that must be stored are stored before.
fn publish(channel: &Channel, events: &[Arc<Event>]) -> Result<(), SystemException> {
    match channel.keeper_of(events) {
        Some(keeper) => channel.publish_kept(&keeper, events),
        None => {
            events.iter().for_each(|event| channel.publish(event));
            Ok(())
        }
    }
}

impl Owner for ProxyConsumer {
    fn has_persistent_parent(&self) -> bool {
        let admin = self.admin.upgrade();
        admin.is_some_and(|admin| admin.is_persistent())
    }

    fn changed(&self) -> Result<(), SystemException> {
        self.save()
    }
}

impl Informed for ProxyConsumer {
    fn link(&self) -> &Link {
        &self.link
    }

    fn types_there(&self) -> Vec<EventType> {
        self.channel.upgrade().map_or_else(Vec::new, |channel| channel.subscribed_types())
    }
}

impl Usable for ProxyConsumer {
    fn is_unused(&self) -> bool {
        self.link.phase() == Phase::New && !self.saved.is_on_disk()
    }

    fn may_become_unused(&self) -> bool {
        // A proxy that was connected does not become new again, but a stored one may be removed from the store.
        self.link.phase() == Phase::New
    }

    fn expire(&self) {
        // The lock of the connection must not be held during this check: writers of the store hold the lock of `saved`
        // when they read the state of the connection.
        if self.saved.is_on_disk() {
            return;
        }
        if let Some(before) = self.link.end(|phase| phase == Phase::New) {
            self.leave(before);
        }
    }
}
