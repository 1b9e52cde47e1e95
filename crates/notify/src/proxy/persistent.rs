//! Persistence of proxies.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxorb::{Any, Interface as _, ObjectRef, Orb, SystemException};
use oxorb_delivery::Attributes;

use super::link::{Phase, Refused};
use super::{Form, ProxyConsumer, ProxySupplier, Style};
use crate::admin::{ConsumerAdmin, SupplierAdmin};
use crate::event::{Event, Times};
use crate::notify_store::{self, Common, Proxy};
use crate::problem::GONE;
use crate::quality::Owner as _;
use crate::service::{Kind, Service};
use crate::store::{own, reference_of};

const FORMS: [Form; 4] = [Form::Event, Form::Any, Form::Structured, Form::Sequence];

fn form_and_style(row: &Proxy) -> Option<(Form, Style)> {
    let style = match row.pulls {
        true => Style::Pull,
        false => Style::Push,
    };
    Some((*FORMS.get(usize::from(row.form))?, style))
}

/// Returns the exception for a connection that could not be restored.
fn refusal(refused: Refused) -> SystemException {
    match refused {
        Refused::System(exception) => exception,
        _ => GONE,
    }
}

macro_rules! persistent {
    ($proxy:ty, $admin:ty, $consumers:literal, $row:ident) => {
        impl $proxy {
            /// Reports whether the proxy, its admin and its channel are all persistent. In this case a restart restores
            /// the proxy.
            pub(crate) fn is_persistent(&self) -> bool {
                let of_admin = |admin: Arc<$admin>| admin.is_persistent();
                self.quality.is_persistent() && self.admin.upgrade().is_some_and(of_admin)
            }

            /// Writes the proxy to the store if it is persistent, and removes it otherwise.
            pub(super) fn save(&self) -> Result<(), SystemException> {
                let service = self.service()?;
                let place = (Kind::Proxy as u8, self.id);
                let keeper = service.keeper.as_ref();
                let keeps = keeper.is_some() && self.is_persistent();
                self.saved.save(keeper, place, keeps, || self.row())?;
                Ok(())
            }

            fn row(&self) -> Result<Any, SystemException> {
                let state = self.link.state().clone();
                let peer = state.peer.as_ref().map(|peer| &peer.reference);
                let form = FORMS.iter().position(|form| *form == self.link.form);
                let (last_filter, filters) = self.filters.row()?;
                let mut has = Common {
                    qos: self.quality.properties(),
                    types: self.types.list(),
                    last_filter,
                    filters,
                    priority_filter: Vec::new(),
                    lifetime_filter: Vec::new(),
                };
                self.$row(&mut has)?;
                Ok(Any::new(Proxy {
                    admin: self.admin.upgrade().ok_or(GONE)?.id,
                    consumers: $consumers,
                    form: form.unwrap_or(0) as u8,
                    pulls: self.style == Style::Pull,
                    connected: state.phase == Phase::Connected,
                    active: state.active,
                    peer: own(peer),
                    has,
                }))
            }

            /// Restores a stored proxy and its connection.
            pub(crate) fn restore(
                service: &Arc<Service>,
                admin: &Arc<$admin>,
                orb: &Orb,
                id: i32,
                row: &Proxy,
            ) -> Result<Arc<Self>, SystemException> {
                let (form, style) = form_and_style(row).ok_or(GONE)?;
                let proxy = <$proxy>::new(service, admin, Ok(id), form, style)?;
                admin.channel()?.count_proxy();
                proxy.quality.restore(&row.has.qos);
                proxy.types.restore(row.has.types.clone());
                let filters = (row.has.last_filter, &row.has.filters);
                proxy.filters.restore(orb, filters.0, filters.1);
                proxy.take_mappings(service, orb, &row.has);
                if row.connected {
                    let peer = reference_of(orb, &row.peer).map(ObjectRef::from_ref);
                    proxy.connect(peer.as_ref()).map_err(refusal)?;
                }
                if !row.active {
                    proxy.suspend().map_err(refusal)?;
                }
                proxy.changed()?;
                Ok(proxy)
            }
        }
    };
}

persistent!(ProxySupplier, ConsumerAdmin, true, add_mappings);
persistent!(ProxyConsumer, SupplierAdmin, false, no_mappings);

impl ProxySupplier {
    fn add_mappings(&self, row: &mut Common) -> Result<(), SystemException> {
        row.priority_filter = self.priority_filter.row()?;
        row.lifetime_filter = self.lifetime_filter.row()?;
        Ok(())
    }

    fn take_mappings(&self, service: &Arc<Service>, orb: &Orb, row: &notify_store::Common) {
        let (priority, lifetime) = (&self.priority_filter, &self.lifetime_filter);
        priority.restore(orb, &row.priority_filter, &**service);
        lifetime.restore(orb, &row.lifetime_filter, &**service);
    }

    /// Counts a stored event that the consumer has not received, and returns its attributes. The queue has space for
    /// the event when [`apply`](Self::apply) has been called.
    pub(crate) fn owe(&self, event: &Event, times: &Times) -> Attributes {
        let attributes = self.attributes(event, times);
        self.owed.fetch_add(1, Ordering::Relaxed);
        let octets = u64::from(attributes.octets);
        self.owed_octets.fetch_add(octets, Ordering::Relaxed);
        attributes
    }
}

impl ProxyConsumer {
    fn no_mappings(&self, _: &mut Common) -> Result<(), SystemException> {
        Ok(())
    }

    fn take_mappings(&self, _: &Arc<Service>, _: &Orb, _: &notify_store::Common) {}
}
