//! Admins: groups of proxies with filters and properties of their own.

mod consumers;
mod suppliers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use oxorb::{DelegatesTo, Interface as _, Ref, SystemException};

use crate::channel::Channel;
use crate::cos_notification::QoSAdmin;
use crate::cos_notify_channel_admin::{
    ConsumerAdminRef, InterFilterGroupOperator, SupplierAdminRef,
};
use crate::cos_notify_filter::FilterAdmin;
use crate::filter::{Attached, MappingSlot};
use crate::problem::GONE;
use crate::properties::Level;
use crate::proxy::{ProxyConsumer, ProxySupplier};
use crate::quality::{Owner, Quality};
use crate::service::{Kind, Service};
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
    pub(crate) quality: Quality,
    pub(crate) filters: Attached,
    pub(crate) priority_filter: MappingSlot,
    pub(crate) lifetime_filter: MappingSlot,
    /// Subscription or offer with which new proxies begin.
    pub(crate) types: Types,
    proxies: Mutex<Proxies<P>>,
}

struct Proxies<P> {
    ended: bool,
    by_id: BTreeMap<i32, Arc<P>>,
}

/// Admin that can be served.
pub(crate) trait Serve {
    fn serve(self: Arc<Self>, service: &Service) -> Result<Ref, SystemException>;
}

impl<P: Send + Sync + 'static> Admin<P>
where
    Admin<P>: Serve,
{
    pub(crate) fn create(
        service: &Arc<Service>,
        channel: &Arc<Channel>,
        id: i32,
        operator: InterFilterGroupOperator,
    ) -> Result<Arc<Self>, SystemException> {
        let weak = Arc::downgrade(service);
        let values = channel.quality.inherited(Level::Admin);
        let admin = Arc::new_cyclic(|me: &Weak<Self>| Admin {
            id,
            channel: Arc::downgrade(channel),
            me: Weak::clone(me),
            reference: OnceLock::new(),
            operator,
            quality: Quality::new(service.support(), Level::Admin, values),
            filters: Attached::new(&service.home()),
            priority_filter: MappingSlot::default(),
            lifetime_filter: MappingSlot::default(),
            types: Types::all(),
            proxies: Mutex::new(Proxies {
                ended: false,
                by_id: BTreeMap::new(),
            }),
            service: weak,
        });
        admin.quality.belongs_to(admin.me.clone());
        admin.filters.belongs_to(admin.me.clone());
        let reference = Arc::clone(&admin).serve(service)?;
        let _ = admin.reference.set(reference);
        admin.changed()?;
        Ok(admin)
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

    fn proxies(&self) -> MutexGuard<'_, Proxies<P>> {
        self.proxies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn proxy(&self, id: i32) -> Option<Arc<P>> {
        self.proxies().by_id.get(&id).cloned()
    }

    /// Adds a proxy, unless the admin has ended.
    pub(crate) fn add(&self, id: i32, proxy: &Arc<P>) -> Result<(), SystemException> {
        let mut proxies = self.proxies();
        match proxies.ended {
            true => Err(GONE),
            false => {
                proxies.by_id.insert(id, Arc::clone(proxy));
                Ok(())
            }
        }
    }

    pub(crate) fn forget(&self, id: i32) {
        self.proxies().by_id.remove(&id);
    }

    pub(crate) fn all(&self) -> Vec<Arc<P>> {
        self.proxies().by_id.values().cloned().collect()
    }

    /// Takes no more proxies; returns those that there are.
    fn close(&self) -> Vec<Arc<P>> {
        self.proxies().ended = true;
        self.all()
    }

    /// Takes the admin out of its channel.
    fn leave(&self) {
        if let Some(channel) = self.channel.upgrade() {
            channel.forget_admin(self.id);
        }
        if let Some(service) = self.service.upgrade() {
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

    /// Ends the admin and its proxies; connected consumers are called.
    pub(crate) fn end(&self) {
        for proxy in self.close() {
            proxy.end(true);
        }
        self.leave();
    }
}

impl SupplierAdmin {
    pub(crate) fn supplier_reference(&self) -> Result<SupplierAdminRef, SystemException> {
        Ok(SupplierAdminRef::from_ref(self.reference()?))
    }

    /// Ends the admin and its proxies; connected suppliers are called.
    pub(crate) fn end(&self) {
        for proxy in self.close() {
            proxy.end(true);
        }
        self.leave();
    }
}

impl Serve for ConsumerAdmin {
    fn serve(self: Arc<Self>, service: &Service) -> Result<Ref, SystemException> {
        service.activate::<ConsumerAdminRef, _>(Kind::Admin, self.id, self)
    }
}

impl Serve for SupplierAdmin {
    fn serve(self: Arc<Self>, service: &Service) -> Result<Ref, SystemException> {
        service.activate::<SupplierAdminRef, _>(Kind::Admin, self.id, self)
    }
}

impl<P: Send + Sync> Owner for Admin<P> {
    fn changed(&self) -> Result<(), SystemException> {
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
