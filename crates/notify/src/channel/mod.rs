//! Channels, which contain admins, route events, and notify each side of the types of the other.

mod persistent;
mod servant;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use oxorb::{Interface as _, Ref, SystemException, minor};
use oxorb_delivery::{Counts, Dispatcher};
use oxorb_sys::sync::{Mutex, RwLock};

use crate::admin::{Admin, ConsumerAdmin, SupplierAdmin};
use crate::cos_notification::EventType;
use crate::cos_notify_channel_admin::{
    AdminLimit, AdminLimitExceeded, EventChannelRef, InterFilterGroupOperator,
};
use crate::event::{Body, Event, Population, Times};
use crate::filter::Questions;
use crate::problem::{GONE, too_many};
use crate::properties::{Level, Name, Values};
use crate::proxy::{Peer, ProxyConsumer, ProxySupplier};
use crate::quality::{Owner, Quality};
use crate::service::{Hosted, Kind, Service};
use crate::share::{Maker, Share, Shares};
use crate::side::Side;
use crate::store::{Item, Saved};
use crate::types::Census;

/// A notification channel.
pub(crate) struct Channel {
    pub(crate) id: i32,
    pub(crate) service: Weak<Service>,
    me: Weak<Channel>,
    reference: OnceLock<Ref>,
    pub(crate) quality: Quality,
    /// Administrative properties of the channel.
    pub(super) administration: Quality,
    /// Key to which the application has bound the channel.
    name: OnceLock<String>,
    saved: Saved,
    admins: Mutex<Admins>,
    admin_shares: Arc<Shares>,
    proxies: AtomicUsize,
    proxy_shares: Arc<Shares>,
    connected_consumers: AtomicUsize,
    connected_suppliers: AtomicUsize,
    /// Proxies to which consumers are connected.
    routes: RwLock<Arc<[Arc<ProxySupplier>]>>,
    /// Proxies to which suppliers are connected.
    sources: RwLock<Arc<[Arc<ProxyConsumer>]>>,
    pub(crate) dispatcher: Dispatcher<Item>,
    population: Population,
    offered: Census,
    subscribed: Census,
    /// Number of pulls that wait for an event.
    pub(crate) pulls: AtomicUsize,
    pub(crate) pull_shares: Arc<Shares>,
    /// Share of the client that created the channel.
    share: Mutex<Option<Share>>,
}

#[derive(Default)]
struct Admins {
    ended: bool,
    consumers: BTreeMap<i32, Arc<ConsumerAdmin>>,
    suppliers: BTreeMap<i32, Arc<SupplierAdmin>>,
    default_consumers: Option<i32>,
    default_suppliers: Option<i32>,
}

impl Channel {
    /// Creates a channel, starts its threads and serves it. Reserves capacity for `proxies` stored proxies.
    pub(crate) fn create(
        service: &Arc<Service>,
        id: i32,
        values: Values,
        administration: Values,
        stored_proxies: usize,
    ) -> Result<Arc<Channel>, SystemException> {
        let dispatcher = service.dispatcher(stored_proxies)?;
        let weak = Arc::downgrade(service);
        let channel = Arc::new_cyclic(|me: &Weak<Channel>| Channel {
            id,
            quality: Quality::new(service.support(), Level::Channel, values),
            service: weak,
            me: Weak::clone(me),
            reference: OnceLock::new(),
            administration: Quality::new(service.support(), Level::Administration, administration),
            name: OnceLock::new(),
            saved: Saved::default(),
            admins: Mutex::default(),
            admin_shares: Arc::default(),
            proxies: AtomicUsize::new(0),
            proxy_shares: Arc::default(),
            connected_consumers: AtomicUsize::new(0),
            connected_suppliers: AtomicUsize::new(0),
            routes: RwLock::default(),
            sources: RwLock::default(),
            dispatcher,
            population: Population::default(),
            offered: Census::default(),
            subscribed: Census::default(),
            pulls: AtomicUsize::new(0),
            pull_shares: Arc::default(),
            share: Mutex::default(),
        });
        channel.quality.belongs_to(channel.me.clone());
        channel.administration.belongs_to(channel.me.clone());
        let servant = Arc::clone(&channel);
        let reference = service.activate::<EventChannelRef, _>(Kind::Channel, id, servant)?;
        let _ = channel.reference.set(reference);
        service.channels().insert(id, channel.clone());
        Ok(channel)
    }

    pub(crate) fn reference(&self) -> Result<EventChannelRef, SystemException> {
        let reference = self.reference.get().cloned().ok_or(GONE)?;
        Ok(EventChannelRef::from_ref(reference))
    }

    pub(crate) fn service(&self) -> Result<Arc<Service>, SystemException> {
        self.service.upgrade().ok_or(GONE)
    }

    /// Counts the channel towards a client's share until the channel ends.
    pub(crate) fn count(&self, share: Share) {
        *self.share.lock() = Some(share);
    }

    /// Refuses another admin if the limit or the client's share is reached.
    fn check_admins(&self, admins: &Admins) -> Result<Share, SystemException> {
        let service = self.service()?;
        let limits = service.limits();
        let share = Maker::current().take(&self.admin_shares, limits.admins, limits)?;
        let number = admins.consumers.len() + admins.suppliers.len();
        match number < limits.admins {
            true => Ok(share),
            false => Err(too_many(minor::imp_limit::EVENT_ADMINS)),
        }
    }

    /// Creates an admin of one side. The caller must hold the lock of the list of admins.
    fn make_admin<P>(
        &self,
        admins: &Admins,
        operator: InterFilterGroupOperator,
        is_default: bool,
    ) -> Result<Arc<Admin<P>>, SystemException>
    where
        Admin<P>: crate::admin::Serve,
        P: Owner + 'static,
    {
        if admins.ended {
            return Err(GONE);
        }
        let service = self.service()?;
        let channel = self.me.upgrade().ok_or(GONE)?;
        Admin::<P>::create(&service, &channel, service.next()?, operator, is_default)
    }

    pub(crate) fn new_consumer_admin(
        &self,
        operator: InterFilterGroupOperator,
    ) -> Result<Arc<ConsumerAdmin>, SystemException> {
        let mut admins = self.admins.lock();
        let share = self.check_admins(&admins)?;
        let admin = self.make_admin(&admins, operator, false)?;
        admin.count(share);
        admins.consumers.insert(admin.id, Arc::clone(&admin));
        drop(admins);
        admin.changed().inspect_err(|_| drop(admin.end()))?;
        Ok(admin)
    }

    /// Returns the default consumer admin. The first call creates it.
    pub(crate) fn default_consumers(&self) -> Result<Arc<ConsumerAdmin>, SystemException> {
        let mut admins = self.admins.lock();
        let id = admins.default_consumers;
        if let Some(admin) = id.and_then(|id| admins.consumers.get(&id)) {
            return Ok(Arc::clone(admin));
        }
        // The default admin does not count against the limit, because every channel must have it.
        let admin = self.make_admin(&admins, self.default_operator()?, true)?;
        admins.default_consumers = Some(admin.id);
        admins.consumers.insert(admin.id, Arc::clone(&admin));
        drop(admins);
        admin.changed().inspect_err(|_| drop(admin.end()))?;
        Ok(admin)
    }

    pub(crate) fn new_supplier_admin(
        &self,
        operator: InterFilterGroupOperator,
    ) -> Result<Arc<SupplierAdmin>, SystemException> {
        let mut admins = self.admins.lock();
        let share = self.check_admins(&admins)?;
        let admin = self.make_admin(&admins, operator, false)?;
        admin.count(share);
        admins.suppliers.insert(admin.id, Arc::clone(&admin));
        drop(admins);
        admin.changed().inspect_err(|_| drop(admin.end()))?;
        Ok(admin)
    }

    /// Returns the default supplier admin. The first call creates it.
    pub(crate) fn default_suppliers(&self) -> Result<Arc<SupplierAdmin>, SystemException> {
        let mut admins = self.admins.lock();
        let id = admins.default_suppliers;
        if let Some(admin) = id.and_then(|id| admins.suppliers.get(&id)) {
            return Ok(Arc::clone(admin));
        }
        // The default admin does not count against the limit, because every channel must have it.
        let admin = self.make_admin(&admins, self.default_operator()?, true)?;
        admins.default_suppliers = Some(admin.id);
        admins.suppliers.insert(admin.id, Arc::clone(&admin));
        drop(admins);
        admin.changed().inspect_err(|_| drop(admin.end()))?;
        Ok(admin)
    }

    fn default_operator(&self) -> Result<InterFilterGroupOperator, SystemException> {
        Ok(match self.service()?.settings.default_operator_or {
            true => InterFilterGroupOperator::OrOp,
            false => InterFilterGroupOperator::AndOp,
        })
    }

    pub(crate) fn forget_admin(&self, id: i32) {
        let mut admins = self.admins.lock();
        admins.consumers.remove(&id);
        admins.suppliers.remove(&id);
    }

    /// Counts another proxy. Fails if the limit or the client's share is reached.
    pub(crate) fn add_proxy(&self, maker: &Maker) -> Result<Share, SystemException> {
        let service = self.service()?;
        let limits = service.limits();
        let share = maker.take(&self.proxy_shares, limits.proxies, limits)?;
        match reserve(&self.proxies, limits.proxies) {
            true => Ok(share),
            false => Err(too_many(minor::imp_limit::EVENT_PROXIES)),
        }
    }

    /// Counts a proxy from the store, regardless of the current limit.
    pub(crate) fn count_proxy(&self) {
        self.proxies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn forget_proxy(&self) {
        self.proxies.fetch_sub(1, Ordering::Relaxed);
    }

    fn connections(&self, side: Side) -> (&AtomicUsize, Name) {
        match side {
            Side::Consumers => (&self.connected_consumers, Name::MaxConsumers),
            Side::Suppliers => (&self.connected_suppliers, Name::MaxSuppliers),
        }
    }

    /// Refuses another peer if the maximum number of peers of this side is connected.
    pub(crate) fn check_peers(&self, side: Side) -> Result<(), AdminLimitExceeded> {
        let (connected, name) = self.connections(side);
        let most = self.administration(name);
        if most == 0 || connected.load(Ordering::Relaxed) < most as usize {
            return Ok(());
        }
        let mut properties = self.administration.properties().into_iter();
        let limit = properties.find(|one| crate::properties::named(&one.name) == Some(name));
        let limit = limit.expect("the channel has all administrative properties");
        Err(AdminLimitExceeded {
            admin_property_err: AdminLimit { name: limit.name, value: limit.value },
        })
    }

    /// Counts another connected peer. Fails if the maximum number of peers of this side is connected. This maximum does
    /// not apply while stored peers are restored.
    pub(crate) fn admit(&self, side: Side) -> Result<(), SystemException> {
        let (connected, name) = self.connections(side);
        let restoring = self.service()?.is_restoring();
        let most = match self.administration(name) {
            0 => usize::MAX,
            _ if restoring => usize::MAX,
            most => most as usize,
        };
        match reserve(connected, most) {
            true => Ok(()),
            false => Err(too_many(minor::imp_limit::EVENT_PEERS)),
        }
    }

    pub(crate) fn leave(&self, side: Side) {
        self.connections(side).0.fetch_sub(1, Ordering::Relaxed);
    }

    fn administration(&self, name: Name) -> i64 {
        self.administration.values().get(name)
    }

    /// Returns the maximum number of events that wait for one consumer; 0 if only the consumer's properties limit the
    /// number.
    pub(crate) fn queue_length(&self) -> usize {
        self.administration(Name::MaxQueueLength) as usize
    }

    /// Adds a connected proxy to the routes. Does nothing if the proxy has already ended.
    pub(crate) fn add_route(&self, proxy: Arc<ProxySupplier>) {
        let mut routes = self.routes.write();
        // If the proxy ends after this check, the code that ends it waits for the lock and then removes the route.
        if !proxy.is_connected() {
            return;
        }
        let changed = self.subscribed.join(proxy.id, &proxy.types);
        *routes = routes.iter().cloned().chain([proxy]).collect();
        drop(routes);
        self.tell_suppliers(changed);
    }

    pub(crate) fn remove_route(&self, id: i32) {
        let mut routes = self.routes.write();
        *routes = routes.iter().filter(|one| one.id != id).cloned().collect();
        let changed = self.subscribed.leave(id);
        drop(routes);
        self.tell_suppliers(changed);
    }

    /// Adds a connected proxy to the sources. Does nothing if the proxy has already ended.
    pub(crate) fn add_source(&self, proxy: Arc<ProxyConsumer>) {
        let mut sources = self.sources.write();
        // If the proxy ends after this check, the code that ends it waits for the lock and then removes the source.
        if !proxy.is_connected() {
            return;
        }
        let changed = self.offered.join(proxy.id, &proxy.types);
        *sources = sources.iter().cloned().chain([proxy]).collect();
        drop(sources);
        self.tell_consumers(changed);
    }

    pub(crate) fn remove_source(&self, id: i32) {
        let mut sources = self.sources.write();
        *sources = sources.iter().filter(|one| one.id != id).cloned().collect();
        let changed = self.offered.leave(id);
        drop(sources);
        self.tell_consumers(changed);
    }

    fn routes(&self) -> Arc<[Arc<ProxySupplier>]> {
        Arc::clone(&self.routes.read())
    }

    fn sources(&self) -> Arc<[Arc<ProxyConsumer>]> {
        Arc::clone(&self.sources.read())
    }

    /// Updates the channel's subscribed types after a proxy's subscription has changed.
    pub(crate) fn subscription_changed(&self, proxy: &ProxySupplier) {
        let changed = self.subscribed.update(proxy.id, &proxy.types);
        self.tell_suppliers(changed);
    }

    /// Updates the channel's offered types after a proxy's offer has changed.
    pub(crate) fn offer_changed(&self, proxy: &ProxyConsumer) {
        let changed = self.offered.update(proxy.id, &proxy.types);
        self.tell_consumers(changed);
    }

    /// Notifies suppliers if the subscribed types have changed.
    fn tell_suppliers(&self, changed: bool) {
        if changed {
            self.sources().iter().for_each(|source| source.tell());
        }
    }

    /// Notifies consumers if the offered types have changed.
    fn tell_consumers(&self, changed: bool) {
        if changed {
            self.routes().iter().for_each(|route| route.tell());
        }
    }

    pub(crate) fn offered_types(&self) -> Vec<EventType> {
        self.offered.types()
    }

    pub(crate) fn subscribed_types(&self) -> Vec<EventType> {
        self.subscribed.types()
    }

    /// Refuses events while RejectNewEvents is set and the channel holds MaxQueueLength events.
    pub(crate) fn check_room(&self) -> Result<(), SystemException> {
        let administration = self.administration.values();
        let most = administration.get(Name::MaxQueueLength);
        let rejects = administration.is_set(Name::RejectNewEvents, 1);
        if rejects && most > 0 && self.population.count() >= most as usize {
            return Err(too_many(minor::imp_limit::EVENT_QUEUE));
        }
        Ok(())
    }

    pub(crate) fn event(&self, body: Body) -> Arc<Event> {
        Arc::new(Event::new(body, &self.population))
    }

    /// Offers an event to all consumers that want it.
    pub(crate) fn publish(&self, event: &Arc<Event>) {
        let times = Times::new(self.dispatcher.plan().clock.now());
        let routes = self.routes();
        self.ask(event, &routes);
        for route in routes.iter() {
            if let Some(attributes) = route.wants(event, &times) {
                route.offer(event, None, &attributes);
            }
        }
        event.answers.clear();
    }

    /// Returns the time limit of calls to remote filters for one event; `None` if there are no remote filters.
    pub(crate) fn time_to_ask(&self) -> Option<Duration> {
        let service = self.service.upgrade()?;
        (!service.abroad.is_empty()).then_some(service.settings.call_timeout)
    }

    /// Calls the remote filters for an event: first those that decide which consumers get the event, and then those
    /// that map its priority and lifetime.
    pub(super) fn ask(&self, event: &Event, routes: &[Arc<ProxySupplier>]) {
        let Some(limit) = self.time_to_ask() else {
            return;
        };
        for ask in [ProxySupplier::question_filters, ProxySupplier::question_mappings] {
            let mut questions = Questions::default();
            routes.iter().for_each(|route| ask(route, event, &mut questions));
            questions.ask(event, limit);
        }
    }

    /// Ends the channel and all its objects. Returns the peers that were connected, for the caller to notify.
    pub(crate) fn end(&self) -> Result<Vec<Peer>, SystemException> {
        let mut admins = self.admins.lock();
        if std::mem::replace(&mut admins.ended, true) {
            return Err(GONE);
        }
        let consumers: Vec<_> = admins.consumers.values().cloned().collect();
        let suppliers: Vec<_> = admins.suppliers.values().cloned().collect();
        drop(admins);
        // End the suppliers first, so that no event arrives while the consumers are being disconnected.
        let mut peers: Vec<Peer> = suppliers.iter().flat_map(|admin| admin.end()).collect();
        peers.extend(consumers.iter().flat_map(|admin| admin.end()));
        drop(self.share.lock().take());
        if let Some(service) = self.service.upgrade() {
            service.channels().remove(&self.id);
            let place = (Kind::Channel as u8, self.id);
            self.saved.remove(service.keeper.as_ref(), place);
            service.deactivate(Kind::Channel, self.id);
        }
        Ok(peers)
    }

    /// Applies changed properties of the channel to the queues.
    fn apply(&self) {
        self.routes().iter().for_each(|route| route.apply());
    }
}

impl Hosted for Channel {
    fn reference(&self) -> Result<EventChannelRef, SystemException> {
        Channel::reference(self)
    }

    fn counts(&self) -> Counts {
        self.dispatcher.counts()
    }

    fn set_name(&self, name: &str) -> Result<(), SystemException> {
        Channel::set_name(self, name)
    }

    fn name(&self) -> Option<&str> {
        Channel::name(self)
    }

    fn end(&self) -> Result<Vec<Peer>, SystemException> {
        Channel::end(self)
    }

    fn stop(&self, limit: Duration) {
        self.dispatcher.shut_down(limit);
        self.admins.lock().ended = true;
        self.sources().iter().for_each(|source| drop(source.end()));
    }
}

impl Owner for Channel {
    fn has_persistent_parent(&self) -> bool {
        true
    }

    fn changed(&self) -> Result<(), SystemException> {
        self.apply();
        let service = self.service()?;
        let place = (Kind::Channel as u8, self.id);
        let keeper = service.keeper.as_ref();
        let keeps = self.is_persistent();
        if self.saved.save(keeper, place, keeps, || Ok(self.row()))? {
            let admins = self.admins.lock();
            let consumers: Vec<_> = admins.consumers.values().cloned().collect();
            let suppliers: Vec<_> = admins.suppliers.values().cloned().collect();
            drop(admins);
            consumers.iter().try_for_each(|admin| admin.changed())?;
            suppliers.iter().try_for_each(|admin| admin.changed())?;
        }
        Ok(())
    }
}

fn reserve(count: &AtomicUsize, most: usize) -> bool {
    let more = |count: usize| (count < most).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}
