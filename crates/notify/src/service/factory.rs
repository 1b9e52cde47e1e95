//! Factories that create channels and filters.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use crate::etcl::Grammar;
use oxorb::{Any, CompletionStatus, Interface as _, SystemException, minor};

use super::{Kind, Service};
use crate::channel::Channel;
use crate::cos_notification::{Property, UnsupportedAdmin, UnsupportedQoS};
use crate::cos_notify_channel_admin::event_channel_factory::{
    CreateChannelError, GetEventChannelError,
};
use crate::cos_notify_channel_admin::{
    ChannelId, ChannelNotFound, EventChannelFactory, EventChannelFactoryRef, EventChannelRef,
};
use crate::cos_notify_filter::filter_factory::{CreateFilterError, CreateMappingFilterError};
use crate::cos_notify_filter::{
    FilterFactory, FilterFactoryRef, FilterRef, InvalidGrammar, MappingFilterRef,
};
use crate::notify_ext;
use crate::problem::{GONE, too_many};
use crate::properties::{Level, Values};
use crate::proxy::farewell;
use crate::share::Maker;

/// Servant of both factories. It has a weak reference to the service, because the service's POA keeps the servant
/// alive.
pub(crate) struct Factory(pub(crate) Weak<Service>);

impl Service {
    /// Serves the factories.
    pub(crate) fn serve_factories(self: &Arc<Self>) -> oxorb::Result<EventChannelFactoryRef> {
        let factory = Arc::new(Factory(Arc::downgrade(self)));
        let filters = Arc::clone(&factory);
        let filters = self.activate::<FilterFactoryRef, _>(Kind::FilterFactory, 0, filters)?;
        let channels =
            self.activate::<notify_ext::EventChannelFactoryRef, _>(Kind::Factory, 0, factory)?;
        let _ = self.filter_factory.set(filters);
        let _ = self.factory.set(channels.clone());
        Ok(EventChannelFactoryRef::from_ref(channels))
    }
}

impl Service {
    /// Returns the channel with this name. If there is none, creates it.
    pub(crate) fn channel_named(
        self: &Arc<Self>,
        name: &str,
        qos: &[Property],
        administration: &[Property],
    ) -> oxorb::Result<EventChannelRef> {
        let mut names = self.names();
        if let Some(channel) = names.get(name).and_then(|id| self.channels().get(id).cloned()) {
            return channel.reference();
        }
        // The channel belongs to the application. If this thread is serving a client's request, the channel must not
        // count towards that client's share.
        let (made, id) = Factory(Arc::downgrade(self))
            .create(qos, administration, &Maker::nobody())
            .map_err(|error| match error {
                CreateChannelError::System(exception) => exception,
                _ => SystemException::bad_param(0, CompletionStatus::No),
            })?;
        names.insert(name.to_owned(), id);
        drop(names);
        // Release the lock of the names first, because a channel that ends takes it.
        let channel = self.channels().get(&id).cloned();
        if let Some(channel) = channel {
            let named = channel.set_name(name);
            // A channel whose name is not stored could not be found after a restart, so end it.
            named.inspect_err(|_| {
                let _ = channel.end();
            })?;
        }
        made.ok_or(GONE)
    }
}

impl Service {
    /// Returns the channels that have names, with their names.
    pub(crate) fn named(&self) -> Vec<(String, EventChannelRef)> {
        let channels: Vec<_> = self.channels().values().cloned().collect();
        let named = channels.iter().filter_map(|channel| {
            let reference = channel.reference().ok()?;
            Some((channel.name()?.to_owned(), reference))
        });
        named.collect()
    }
}

impl Factory {
    fn service(&self) -> oxorb::Result<Arc<Service>> {
        self.0.upgrade().ok_or(GONE)
    }

    fn create(
        &self,
        initial_qos: &[Property],
        initial_admin: &[Property],
        maker: &Maker,
    ) -> Result<(Option<EventChannelRef>, ChannelId), CreateChannelError> {
        let service = self.service()?;
        let mut values = Values::new(Level::Channel);
        let set = values.set(initial_qos, service.support());
        set.map_err(|qos_err| UnsupportedQoS { qos_err })?;
        let mut administration = Values::new(Level::Administration);
        let set = administration.set(initial_admin, service.support());
        set.map_err(|admin_err| UnsupportedAdmin { admin_err })?;
        let limits = service.limits();
        let share = maker.take(&service.channel_shares, limits.channels, limits)?;
        let _creating = service.creating();
        if service.channels().len() >= service.limits().channels {
            return Err(too_many(minor::imp_limit::EVENT_CHANNELS).into());
        }
        let channel = Channel::create(&service, service.next()?, values, administration, 0)?;
        channel.count(share);
        let made = crate::quality::Owner::changed(&*channel);
        made.inspect_err(|_| {
            let _ = channel.end();
        })?;
        Ok((Some(channel.reference()?), channel.id))
    }
}

impl EventChannelFactory for Factory {
    fn create_channel(
        &self,
        initial_qos: &[Property],
        initial_admin: &[Property],
    ) -> Result<(Option<EventChannelRef>, ChannelId), CreateChannelError> {
        self.create(initial_qos, initial_admin, &Maker::current())
    }

    fn get_all_channels(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.service()?.channels().keys().copied().collect())
    }

    fn get_event_channel(
        &self,
        id: ChannelId,
    ) -> Result<Option<EventChannelRef>, GetEventChannelError> {
        let channel = self.service()?.channels().get(&id).cloned();
        Ok(Some(channel.ok_or(ChannelNotFound {})?.reference()?))
    }
}

impl notify_ext::ReconnectionRegistry for Factory {
    fn register_callback(
        &self,
        reconnection: Option<&notify_ext::ReconnectionCallbackRef>,
    ) -> oxorb::Result<notify_ext::ReconnectionId> {
        self.service()?.register(reconnection)
    }

    fn unregister_callback(&self, id: notify_ext::ReconnectionId) -> oxorb::Result<()> {
        self.service()?.unregister(id)
    }

    fn is_alive(&self) -> oxorb::Result<bool> {
        Ok(true)
    }
}

impl notify_ext::EventChannelFactory for Factory {
    fn destroy(&self) -> oxorb::Result<()> {
        let service = self.service()?;
        let channels: Vec<_> = service.channels().values().cloned().collect();
        // Ignore errors of channels that another call has ended.
        let peers = channels.iter().filter_map(|channel| channel.end().ok()).flatten();
        farewell::bid_all(&service, peers.collect());
        service.flush()
    }

    fn save_topology(&self) -> oxorb::Result<()> {
        self.service()?.flush()
    }
}

impl FilterFactory for Factory {
    fn create_filter(
        &self,
        constraint_grammar: &str,
    ) -> Result<Option<FilterRef>, CreateFilterError> {
        let grammar = Grammar::named(constraint_grammar).ok_or(InvalidGrammar {})?;
        let filter = self.service()?.make_filter(grammar, None)?;
        Ok(Some(FilterRef::from_ref(filter)))
    }

    fn create_mapping_filter(
        &self,
        constraint_grammar: &str,
        default_value: &Any,
    ) -> Result<Option<MappingFilterRef>, CreateMappingFilterError> {
        let grammar = Grammar::named(constraint_grammar).ok_or(InvalidGrammar {})?;
        let filter = self.service()?.make_filter(grammar, Some(default_value.clone()))?;
        Ok(Some(MappingFilterRef::from_ref(filter)))
    }
}
