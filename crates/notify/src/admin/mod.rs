//! Admins: groups of proxies with their own filters and properties.

mod consumers;
mod suppliers;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use oxorb::servant::DelegatesTo;
use oxorb::{Any, Interface as _, Orb, Ref, SystemException};
use oxorb_sys::sync::Mutex;

use crate::channel::Channel;
use crate::cos_notification::QoSAdmin;
use crate::cos_notify_channel_admin::{
    ConsumerAdminRef, InterFilterGroupOperator, SupplierAdminRef,
};
use crate::cos_notify_filter::FilterAdmin;
use crate::filter::{Attached, MappingSlot};
use crate::notify_store;
use crate::problem::GONE;
use crate::properties::Level;
use crate::proxy::{Peer, ProxyConsumer, ProxySupplier};
use crate::quality::{Owner, Quality};
use crate::service::{Kind, Service};
use crate::share::Share;
use crate::side::Side;
use crate::store::Saved;
use crate::types::Types;

/// Admin of the proxies to which consumers connect.
pub(crate) type ConsumerAdmin = Admin<ProxySupplier>;

/// Admin of the proxies to which suppliers connect.
pub(crate) type SupplierAdmin = Admin<ProxyConsumer>;

pub(crate) struct Admin<P> {
    pub(crate) id: i32,
    pub(crate) channel: Weak<Channel>,
    pub(crate) service: Weak<Service>,
    me: Weak<Admin<P>>,
    reference: OnceLock<Ref>,
    pub(crate) operator: InterFilterGroupOperator,
    pub(crate) is_default: bool,
    saved: Saved,
    pub(crate) quality: Quality,
    pub(crate) filters: Attached,
    pub(crate) priority_filter: MappingSlot,
    pub(crate) lifetime_filter: MappingSlot,
    /// Initial subscription or offer of proxies that the admin creates.
    pub(crate) types: Types,
    proxies: Mutex<Proxies<P>>,
    /// Share of the client that created the admin.
    share: Mutex<Option<Share>>,
}

struct Proxies<P> {
    ended: bool,
    by_id: BTreeMap<i32, Arc<P>>,
}

/// An admin that can be served as a CORBA object.
pub(crate) trait Serve {
    const SIDE: Side;

    fn serve(self: Arc<Self>, service: &Service) -> Result<Ref, SystemException>;
}

impl<P: Owner + 'static> Admin<P>
where
    Admin<P>: Serve,
{
    pub(crate) fn create(
        service: &Arc<Service>,
        channel: &Arc<Channel>,
        id: i32,
        operator: InterFilterGroupOperator,
        is_default: bool,
    ) -> Result<Arc<Self>, SystemException> {
        let weak = Arc::downgrade(service);
        let values = channel.quality.inherited(Level::Admin);
        let types = service.types(Types::everything())?;
        let admin = Arc::new_cyclic(|me: &Weak<Self>| Admin {
            id,
            channel: Arc::downgrade(channel),
            me: Weak::clone(me),
            reference: OnceLock::new(),
            operator,
            is_default,
            saved: Saved::default(),
            quality: Quality::new(service.support(), Level::Admin, values),
            filters: Attached::new(&service.home()),
            priority_filter: MappingSlot::default(),
            lifetime_filter: MappingSlot::default(),
            types,
            proxies: Mutex::new(Proxies { ended: false, by_id: BTreeMap::new() }),
            share: Mutex::default(),
            service: weak,
        });
        admin.quality.belongs_to(admin.me.clone());
        admin.filters.belongs_to(admin.me.clone());
        let reference = Arc::clone(&admin).serve(service)?;
        let _ = admin.reference.set(reference);
        Ok(admin)
    }

    /// Restores the state from the store.
    pub(crate) fn restore(
        &self,
        orb: &Orb,
        row: &notify_store::Common,
    ) -> Result<(), SystemException> {
        let service = self.service()?;
        self.quality.restore(&row.qos);
        self.types.restore(row.types.clone());
        self.filters.restore(orb, row.last_filter, &row.filters);
        let (priority, lifetime) = (&self.priority_filter, &self.lifetime_filter);
        priority.restore(orb, &row.priority_filter, &*service);
        lifetime.restore(orb, &row.lifetime_filter, &*service);
        self.changed()
    }
}

impl<P> Admin<P> {
    pub(crate) fn channel(&self) -> Result<Arc<Channel>, SystemException> {
        self.channel.upgrade().ok_or(GONE)
    }

    pub(crate) fn service(&self) -> Result<Arc<Service>, SystemException> {
        self.service.upgrade().ok_or(GONE)
    }

    pub(crate) fn me(&self) -> Result<Arc<Admin<P>>, SystemException> {
        self.me.upgrade().ok_or(GONE)
    }

    /// Counts the admin towards a client's share until the admin ends.
    pub(crate) fn count(&self, share: Share) {
        *self.share.lock() = Some(share);
    }

    fn proxy(&self, id: i32) -> Option<Arc<P>> {
        self.proxies.lock().by_id.get(&id).cloned()
    }

    /// Adds a proxy. Fails if the admin has ended.
    pub(crate) fn add(&self, id: i32, proxy: &Arc<P>) -> Result<(), SystemException> {
        let mut proxies = self.proxies.lock();
        match proxies.ended {
            true => Err(GONE),
            false => {
                proxies.by_id.insert(id, Arc::clone(proxy));
                Ok(())
            }
        }
    }

    pub(crate) fn forget(&self, id: i32) {
        self.proxies.lock().by_id.remove(&id);
    }

    pub(crate) fn all(&self) -> Vec<Arc<P>> {
        self.proxies.lock().by_id.values().cloned().collect()
    }

    /// Refuses further proxies, and returns the existing ones.
    fn close(&self) -> Vec<Arc<P>> {
        self.proxies.lock().ended = true;
        self.all()
    }

    /// Removes the admin from its channel.
    fn leave(&self) {
        drop(self.share.lock().take());
        if let Some(channel) = self.channel.upgrade() {
            channel.forget_admin(self.id);
        }
        if let Some(service) = self.service.upgrade() {
            let place = (Kind::Admin as u8, self.id);
            self.saved.remove(service.keeper.as_ref(), place);
            service.deactivate(Kind::Admin, self.id);
        }
    }

    fn reference(&self) -> Result<Ref, SystemException> {
        self.reference.get().cloned().ok_or(GONE)
    }
}

impl ConsumerAdmin {
    pub(crate) fn consumer_reference(&self) -> Result<ConsumerAdminRef, SystemException> {
        Ok(ConsumerAdminRef::from_ref(self.reference()?))
    }

    /// Ends the admin and its proxies. Returns the consumers that were connected, for the caller to notify.
    pub(crate) fn end(&self) -> Vec<Peer> {
        let peers = self.close().iter().filter_map(|proxy| proxy.end()).collect();
        self.leave();
        peers
    }
}

impl SupplierAdmin {
    pub(crate) fn supplier_reference(&self) -> Result<SupplierAdminRef, SystemException> {
        Ok(SupplierAdminRef::from_ref(self.reference()?))
    }

    /// Ends the admin and its proxies. Returns the suppliers that were connected, for the caller to notify.
    pub(crate) fn end(&self) -> Vec<Peer> {
        let peers = self.close().iter().filter_map(|proxy| proxy.end()).collect();
        self.leave();
        peers
    }
}

impl Serve for ConsumerAdmin {
    const SIDE: Side = Side::Consumers;

    fn serve(self: Arc<Self>, service: &Service) -> Result<Ref, SystemException> {
        service.activate::<ConsumerAdminRef, _>(Kind::Admin, self.id, self)
    }
}

impl Serve for SupplierAdmin {
    const SIDE: Side = Side::Suppliers;

    fn serve(self: Arc<Self>, service: &Service) -> Result<Ref, SystemException> {
        service.activate::<SupplierAdminRef, _>(Kind::Admin, self.id, self)
    }
}

impl<P> Admin<P> {
    /// Reports whether both the admin and its channel are persistent. In this case a restart restores the admin.
    pub(crate) fn is_persistent(&self) -> bool {
        let channel = self.channel.upgrade();
        self.quality.is_persistent() && channel.is_some_and(|channel| channel.is_persistent())
    }

    fn row(&self) -> Result<Any, SystemException>
    where
        Admin<P>: Serve,
    {
        let (last_filter, filters) = self.filters.row()?;
        Ok(Any::new(notify_store::Admin {
            channel: self.channel()?.id,
            consumers: Self::SIDE == Side::Consumers,
            is_default: self.is_default,
            is_or: self.operator == InterFilterGroupOperator::OrOp,
            has: notify_store::Common {
                qos: self.quality.properties(),
                types: self.types.list(),
                last_filter,
                filters,
                priority_filter: self.priority_filter.row()?,
                lifetime_filter: self.lifetime_filter.row()?,
            },
        }))
    }
}

impl<P: Owner> Owner for Admin<P>
where
    Admin<P>: Serve,
{
    fn has_persistent_parent(&self) -> bool {
        let channel = self.channel.upgrade();
        channel.is_some_and(|channel| channel.is_persistent())
    }

    fn changed(&self) -> Result<(), SystemException> {
        let service = self.service()?;
        let place = (Kind::Admin as u8, self.id);
        let keeper = service.keeper.as_ref();
        let keeps = self.is_persistent();
        if self.saved.save(keeper, place, keeps, || self.row())? {
            self.all().iter().try_for_each(|proxy| proxy.changed())?;
        }
        Ok(())
    }
}

impl<P: Send + Sync + 'static> DelegatesTo<dyn QoSAdmin> for Admin<P> {
    fn delegate(&self) -> &dyn QoSAdmin {
        &self.quality
    }
}

impl<P: Send + Sync + 'static> DelegatesTo<dyn FilterAdmin> for Admin<P> {
    fn delegate(&self) -> &dyn FilterAdmin {
        &self.filters
    }
}
