//! Proxies to which consumers connect.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use oxorb::servant::request_is_cancelled;
use oxorb::{CompletionStatus, Interface, Ref, SystemException, minor};
use oxorb_delivery::{Attributes, Order, Outlet, PullError, Qos, WhenFull};
use oxorb_sys::sync::RwLock;

use super::link::{Informed, Link, Phase, Refused, State};
use super::peer::Peer;
use super::push_sink::{PushSink, Pushes};
use super::receipts::{Pull, Receipts};
use super::{Form, Style, farewell};
use crate::admin::ConsumerAdmin;
use crate::channel::Channel;
use crate::cos_event_channel_admin as events;
use crate::cos_notification::EventType;
use crate::cos_notify_channel_admin as notify;
use crate::event::{Event, Times};
use crate::filter::{Attached, MappingSlot, Questions, both, both_known};
use crate::problem::{GONE, nil, too_many};
use crate::properties::{Level, Name};
use crate::quality::{Owner, Quality};
use crate::service::{Kind, Service};
use crate::share::Maker;
use crate::side::Side;
use crate::store::{Item, Saved, Slip};
use crate::types::Types;
use crate::unused::Usable;

/// A proxy to which a consumer connects.
pub(crate) struct ProxySupplier {
    pub(crate) id: i32,
    pub(crate) style: Style,
    pub(crate) service: Weak<Service>,
    pub(crate) channel: Weak<Channel>,
    pub(super) admin: Weak<ConsumerAdmin>,
    me: Weak<ProxySupplier>,
    reference: OnceLock<Ref>,
    pub(super) link: Link,
    pub(super) quality: Quality,
    pub(super) filters: Attached,
    pub(super) priority_filter: MappingSlot,
    pub(super) lifetime_filter: MappingSlot,
    pub(crate) types: Types,
    pub(super) saved: Saved,
    /// Queue of the connected consumer; `None` if no consumer is connected.
    outlet: RwLock<Option<Outlet<Item>>>,
    /// Stored events that were pulled, and that later pulls confirm.
    receipts: Receipts<Arc<Slip>>,
    /// Priority and timeout for events that have none, as set by the properties.
    priority: AtomicI64,
    timeout: AtomicI64,
    /// Whether the start times and stop times of events apply, as set by the properties.
    starts: AtomicBool,
    stops: AtomicBool,
    /// Number and size of the stored events that the consumer had not received when the service ended. After a restart
    /// the queue must have space for all of them. It may not have had space before, because some of them were in
    /// transit to the consumer.
    pub(super) owed: AtomicUsize,
    pub(super) owed_octets: AtomicU64,
}

impl ProxySupplier {
    pub(crate) fn create(
        admin: &Arc<ConsumerAdmin>,
        form: Form,
        style: Style,
    ) -> Result<Arc<ProxySupplier>, SystemException> {
        let service = admin.service()?;
        let channel = admin.channel()?;
        let maker = Maker::current();
        let share = channel.add_proxy(&maker)?;
        let made = ProxySupplier::new(&service, admin, service.next(), form, style);
        let proxy = made.inspect_err(|_| channel.forget_proxy())?;
        proxy.link.count(share);
        proxy.changed().inspect_err(|_| drop(proxy.end()))?;
        service.unused.add(maker, &proxy);
        Ok(proxy)
    }

    pub(super) fn new(
        service: &Arc<Service>,
        admin: &Arc<ConsumerAdmin>,
        id: Result<i32, SystemException>,
        form: Form,
        style: Style,
    ) -> Result<Arc<ProxySupplier>, SystemException> {
        let id = id?;
        let weak = Arc::downgrade(service);
        let values = admin.quality.inherited(Level::Proxy);
        let types = service.types(admin.types.list())?;
        let proxy = Arc::new_cyclic(|me: &Weak<ProxySupplier>| ProxySupplier {
            id,
            style,
            channel: Weak::clone(&admin.channel),
            admin: Arc::downgrade(admin),
            me: Weak::clone(me),
            reference: OnceLock::new(),
            link: Link::new(Side::Consumers, form, style, service.settings.updates),
            quality: Quality::new(service.support(), Level::Proxy, values),
            filters: Attached::new(&service.home()),
            priority_filter: MappingSlot::default(),
            lifetime_filter: MappingSlot::default(),
            types,
            saved: Saved::default(),
            outlet: RwLock::default(),
            receipts: Receipts::default(),
            priority: AtomicI64::new(0),
            timeout: AtomicI64::new(0),
            starts: AtomicBool::new(true),
            stops: AtomicBool::new(true),
            owed: AtomicUsize::new(0),
            owed_octets: AtomicU64::new(0),
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
                service.activate::<events::ProxyPushSupplierRef, _>(kind, id, this)
            }
            (Form::Event, Style::Pull) => {
                service.activate::<events::ProxyPullSupplierRef, _>(kind, id, this)
            }
            (Form::Any, Style::Push) => {
                service.activate::<n::ProxyPushSupplierRef, _>(kind, id, this)
            }
            (Form::Any, Style::Pull) => {
                service.activate::<n::ProxyPullSupplierRef, _>(kind, id, this)
            }
            (Form::Structured, Style::Push) => {
                service.activate::<n::StructuredProxyPushSupplierRef, _>(kind, id, this)
            }
            (Form::Structured, Style::Pull) => {
                service.activate::<n::StructuredProxyPullSupplierRef, _>(kind, id, this)
            }
            (Form::Sequence, Style::Push) => {
                service.activate::<n::SequenceProxyPushSupplierRef, _>(kind, id, this)
            }
            (Form::Sequence, Style::Pull) => {
                service.activate::<n::SequenceProxyPullSupplierRef, _>(kind, id, this)
            }
        }
    }

    pub(crate) fn reference(&self) -> Result<Ref, SystemException> {
        self.reference.get().cloned().ok_or(GONE)
    }

    pub(super) fn service(&self) -> Result<Arc<Service>, SystemException> {
        self.service.upgrade().ok_or(GONE)
    }

    fn channel(&self) -> Result<Arc<Channel>, SystemException> {
        self.channel.upgrade().ok_or(GONE)
    }

    /// Connects a consumer. The reference may be nil only if the consumer pulls.
    pub(super) fn connect(&self, consumer: Option<&impl Interface>) -> Result<(), Refused> {
        let service = self.service()?;
        let channel = self.channel()?;
        if consumer.is_none() && self.style == Style::Push {
            return Err(nil().into());
        }
        let peer = self.link.peer_of(&service, consumer);
        // Holding this lock serialises concurrent connects.
        let mut outlet = self.outlet.write();
        let reconnect = service.settings.reconnect;
        match self.link.phase() {
            Phase::New => {
                channel.admit(Side::Consumers)?;
                let connected = self.open(&channel);
                let connected = connected.and_then(|opened| {
                    self.link.connect(peer, reconnect)?;
                    Ok(opened)
                });
                match connected {
                    Ok(opened) => *outlet = Some(opened),
                    Err(refused) => {
                        channel.leave(Side::Consumers);
                        return Err(refused);
                    }
                }
                drop(outlet);
                channel.add_route(self.me.upgrade().ok_or(GONE)?);
            }
            _ => {
                self.link.connect(peer, reconnect)?;
                drop(outlet);
                self.link.inform(&service, &self.me);
                // The new consumer replaces a connected one. The proxy keeps its outlet and the waiting events.
                return Ok(self.changed()?);
            }
        }
        self.link.inform(&service, &self.me);
        // If the connection cannot be stored, end the proxy, so that the failed call leaves no connection.
        Ok(self.changed().inspect_err(|_| drop(self.end()))?)
    }

    fn open(&self, channel: &Channel) -> Result<Outlet<Item>, Refused> {
        let qos = self.queue(channel);
        let opened = match self.style {
            Style::Push => channel.dispatcher.connect(Arc::new(PushSink::new(&self.me)), qos),
            Style::Pull => channel.dispatcher.connect_pull(qos),
        };
        opened.map_err(|_| too_many(minor::imp_limit::EVENT_PROXIES).into())
    }

    /// Returns the quality of service of the queue, as the properties require.
    fn queue(&self, channel: &Channel) -> Qos {
        let values = self.quality.values().clone();
        self.priority.store(values.get(Name::Priority), Ordering::Relaxed);
        self.timeout.store(values.get(Name::Timeout), Ordering::Relaxed);
        for (counts, name) in
            [(&self.starts, Name::StartTimeSupported), (&self.stops, Name::StopTimeSupported)]
        {
            counts.store(values.is_set(name, 1), Ordering::Relaxed);
        }
        let Some(service) = self.service.upgrade() else {
            return Qos::default();
        };
        let limits = service.limits();
        let at_most = |wanted: usize, most: usize| match wanted {
            0 => most,
            wanted => wanted.min(most),
        };
        let own = values.get(Name::MaxEventsPerConsumer) as usize;
        let events = at_most(channel.queue_length(), at_most(own, limits.queue_events));
        let sequence = self.link.form == Form::Sequence && self.style == Style::Push;
        let batch = match sequence {
            true => values.get(Name::MaximumBatchSize) as usize,
            false => 1,
        };
        let pacing = match sequence {
            true => values.get(Name::PacingInterval),
            false => 0,
        };
        Qos {
            events: events.max(self.owed.load(Ordering::Relaxed)).max(1),
            octets: limits.queue_octets.max(self.owed_octets.load(Ordering::Relaxed)),
            order: match values.get(Name::OrderPolicy) {
                2 => Order::Priority,
                3 => Order::Deadline,
                _ => Order::Fifo,
            },
            when_full: match values.get(Name::DiscardPolicy) {
                2 => WhenFull::DropLeastUrgent,
                3 => WhenFull::DropEarliestDeadline,
                4 => WhenFull::DropNewest,
                _ => WhenFull::DropOldest,
            },
            batch,
            pacing: Duration::from_nanos((pacing as u64).saturating_mul(100)),
            ..Qos::default()
        }
    }

    fn outlet(&self) -> Option<Outlet<Item>> {
        self.outlet.read().clone()
    }

    /// Applies changed properties to the queue.
    pub(crate) fn apply(&self) {
        if let (Some(outlet), Some(channel)) = (self.outlet(), self.channel.upgrade()) {
            outlet.set_qos(self.queue(&channel));
        }
    }

    /// Adds the remote filters that decide whether this consumer gets an event.
    pub(crate) fn question_filters(&self, event: &Event, questions: &mut Questions) {
        let Some(admin) = self.admin.upgrade().filter(|_| self.types.cover(event)) else {
            return;
        };
        let known = [admin.filters.known(event), self.filters.known(event)];
        if both_known(admin.operator, known[0], known[1]).is_none() {
            admin.filters.question(event, questions);
            self.filters.question(event, questions);
        }
    }

    /// Adds the remote mapping filters for an event that this consumer gets.
    pub(crate) fn question_mappings(&self, event: &Event, questions: &mut Questions) {
        let Some(admin) = self.admin.upgrade().filter(|_| self.types.cover(event)) else {
            return;
        };
        let known = [admin.filters.known(event), self.filters.known(event)];
        if both_known(admin.operator, known[0], known[1]) == Some(true) {
            let own = [&self.priority_filter, &self.lifetime_filter];
            let of_admin = [&admin.priority_filter, &admin.lifetime_filter];
            own.into_iter().chain(of_admin).for_each(|slot| slot.question(questions));
        }
    }

    /// Returns the attributes of an event for this consumer; `None` if the consumer does not get the event.
    pub(crate) fn wants(&self, event: &Event, times: &Times) -> Option<Attributes> {
        let admin = self.admin.upgrade()?;
        let wanted = self.types.cover(event)
            && both(admin.operator, || admin.filters.passes(event), || self.filters.passes(event));
        wanted.then(|| self.attributes(event, times))
    }

    /// Returns the attributes of an event for this consumer.
    pub(crate) fn attributes(&self, event: &Event, times: &Times) -> Attributes {
        let admin = self.admin.upgrade();
        let mapped = |own: &MappingSlot, of_admin: fn(&ConsumerAdmin) -> &MappingSlot| {
            let of_admin = || of_admin(admin.as_deref()?).map(event);
            own.map(event).or_else(of_admin)
        };
        let priority = mapped(&self.priority_filter, |admin| &admin.priority_filter);
        let priority = priority.and_then(|value| value.get::<i16>().ok().flatten());
        let lifetime = mapped(&self.lifetime_filter, |admin| &admin.lifetime_filter);
        let lifetime = lifetime.and_then(|value| value.get::<u64>().ok().flatten());
        let lifetime = lifetime.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
        let mut header = event.header.mapped(priority, lifetime);
        header.start = header.start.filter(|_| self.starts.load(Ordering::Relaxed));
        header.stop = header.stop.filter(|_| self.stops.load(Ordering::Relaxed));
        let default = self.priority.load(Ordering::Relaxed) as i16;
        event.attributes(&header, default, self.timeout.load(Ordering::Relaxed), times)
    }

    /// Offers an event. If the event is stored, `slip` is its slip.
    pub(crate) fn offer(
        &self,
        event: &Arc<Event>,
        slip: Option<Arc<Slip>>,
        attributes: &Attributes,
    ) {
        if let Some(outlet) = self.outlet() {
            let item = Item { event: Arc::clone(event), slip };
            outlet.offer(&item, attributes);
        }
    }

    /// Takes an event for a consumer that pulls, and confirms the receipt of the events pulled before; `None` if no
    /// event arrives in time.
    pub(super) fn take(&self, wait: bool) -> Result<Option<Arc<Event>>, PullFailure> {
        self.next_event(wait, &mut self.begin_pull())
    }

    /// Begins a pull, which confirms the receipt of the events pulled before over the same connection.
    pub(super) fn begin_pull(&self) -> Pull<'_, Arc<Slip>> {
        self.receipts.begin(Maker::current().connection())
    }

    /// Takes one more event for a pull; `None` if no event arrives in time.
    pub(super) fn next_event(
        &self,
        wait: bool,
        pull: &mut Pull<'_, Arc<Slip>>,
    ) -> Result<Option<Arc<Event>>, PullFailure> {
        let outlet = self.outlet().ok_or(PullFailure::Disconnected)?;
        let taken = match wait {
            false => outlet.try_pull(),
            true => match outlet.try_pull() {
                Err(PullError::Empty) => self.wait_for(&outlet)?,
                taken => taken,
            },
        };
        match taken {
            Ok(item) => {
                item.slip.into_iter().for_each(|slip| pull.add(slip));
                Ok(Some(item.event))
            }
            Err(PullError::Empty) => Ok(None),
            Err(PullError::Detached) => Err(PullFailure::Disconnected),
        }
    }

    fn wait_for(&self, outlet: &Outlet<Item>) -> Result<Result<Item, PullError>, PullFailure> {
        let channel = self.channel()?;
        let limits = self.service()?.limits().clone();
        let share = Maker::current();
        let _share = share.take(&channel.pull_shares, limits.blocked_pulls, &limits)?;
        let more = |waiting: usize| (waiting < limits.blocked_pulls).then_some(waiting + 1);
        let reserved = channel.pulls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        reserved.map_err(|_| too_many(minor::imp_limit::EVENT_PULLS))?;
        let ends = || self.service.upgrade().is_none_or(|service| service.is_closing());
        let taken = pull_while_asked(outlet, limits.pull_wait, ends);
        channel.pulls.fetch_sub(1, Ordering::Relaxed);
        match taken {
            Err(PullError::Empty) => {
                Err(SystemException::timeout(minor::timeout::PULL, CompletionStatus::No).into())
            }
            taken => Ok(taken),
        }
    }

    pub(super) fn suspend(&self) -> Result<(), Refused> {
        self.link.suspend()?;
        if let Some(outlet) = self.outlet() {
            outlet.suspend();
        }
        Ok(self.changed()?)
    }

    pub(super) fn resume(&self) -> Result<(), Refused> {
        self.link.resume()?;
        if let Some(outlet) = self.outlet() {
            outlet.resume();
        }
        Ok(self.changed()?)
    }

    /// Handles a disconnect by the consumer. Raises BAD_INV_ORDER for a proxy of the Event Service that was never
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
        let outlet = self.outlet.write().take();
        if let Some(outlet) = outlet {
            outlet.detach();
        }
        if let Some(admin) = self.admin.upgrade() {
            admin.forget(self.id);
        }
        if let Some(channel) = self.channel.upgrade() {
            if before.phase == Phase::Connected {
                channel.leave(Side::Consumers);
                channel.remove_route(self.id);
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

    /// Changes the proxy's subscription.
    pub(crate) fn change_types(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), SystemException> {
        let most = self.service()?.limits().event_types;
        self.types.change(added, removed, most)?;
        self.channel()?.subscription_changed(self);
        self.changed()
    }
}

/// Interval at which a waiting pull checks whether its request was cancelled.
const LOOK: Duration = Duration::from_millis(500);

/// Waits for an event, but ends early if the consumer has disconnected or cancelled the request, or the ORB `ends`.
fn pull_while_asked(
    outlet: &Outlet<Item>,
    longest: Duration,
    ends: impl Fn() -> bool,
) -> Result<Item, PullError> {
    let end = Instant::now().checked_add(longest);
    loop {
        let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()));
        match outlet.pull(left.min(LOOK)) {
            Err(PullError::Empty) if left > LOOK && !request_is_cancelled() && !ends() => {}
            taken => return taken,
        }
    }
}

/// Reason why no event could be pulled.
pub(super) enum PullFailure {
    Disconnected,
    System(SystemException),
}

impl From<SystemException> for PullFailure {
    fn from(exception: SystemException) -> Self {
        PullFailure::System(exception)
    }
}

impl Pushes for ProxySupplier {
    fn consumer(&self) -> Option<(Peer, Arc<Service>)> {
        Some((self.link.peer()?, self.service.upgrade()?))
    }

    fn is_persistent(&self) -> bool {
        ProxySupplier::is_persistent(self)
    }

    fn ids(&self) -> (i32, i32) {
        (self.channel.upgrade().map_or(0, |channel| channel.id), self.id)
    }

    fn lose(&self) {
        self.end();
    }
}

impl Owner for ProxySupplier {
    fn has_persistent_parent(&self) -> bool {
        let admin = self.admin.upgrade();
        admin.is_some_and(|admin| admin.is_persistent())
    }

    fn changed(&self) -> Result<(), SystemException> {
        self.apply();
        self.save()
    }
}

impl Informed for ProxySupplier {
    fn link(&self) -> &Link {
        &self.link
    }

    fn types_there(&self) -> Vec<EventType> {
        self.channel.upgrade().map_or_else(Vec::new, |channel| channel.offered_types())
    }
}

impl Usable for ProxySupplier {
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
