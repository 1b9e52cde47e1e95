//! `Components::CCMObject`: ports by name, and the life cycle for clients (CORBA 3.3 part 3, 6.4, 6.5, 6.7, 6.11).

use std::sync::Arc;

use oxorb_cdr::{Value, ValueLink};
use oxorb_core::{Interface, ObjectRef};
use oxorb_object::SystemException;

use crate::component::Component;
use crate::life::LifeCycleError;
use crate::port::{Connections, Missing, Port, Provides, Refusal};
use crate::refusal::{LIGHTWEIGHT, NO_DEFINITION};
use crate::{
    CcmHomeRef, CcmObject, ComponentPortDescription, ConnectionDescription, ConsumerDescription,
    Cookie, EmitterDescription, EventConsumerBaseRef, Events, FacetDescription,
    InvalidConfiguration, InvalidName, Navigation, NoConnection, NoKeyAvailable, PortDescription,
    PrimaryKeyBase, PublisherDescription, ReceptacleDescription, Receptacles, RemoveFailure,
    SubscriberDescription, ccm_object, events, navigation, receptacles,
};

type Result<T, E = SystemException> = std::result::Result<T, E>;

impl Component {
    fn facet(&self, name: &str) -> Option<&Arc<dyn Provides>> {
        match self.port(name)? {
            Port::Facet(port) => Some(port),
            _ => None,
        }
    }

    fn consumer(&self, name: &str) -> Option<&Arc<dyn Provides>> {
        match self.port(name)? {
            Port::Consumer(port) => Some(port),
            _ => None,
        }
    }

    fn receptacle(&self, name: &str) -> Option<&Arc<dyn Connections>> {
        match self.port(name)? {
            Port::Receptacle(port) => Some(port),
            _ => None,
        }
    }

    fn emitter(&self, name: &str) -> Option<&Arc<dyn Connections>> {
        match self.port(name)? {
            Port::Emitter(port) => Some(port),
            _ => None,
        }
    }

    fn publisher(&self, name: &str) -> Option<&Arc<dyn Connections>> {
        match self.port(name)? {
            Port::Publisher(port) => Some(port),
            _ => None,
        }
    }

    /// Describes all ports of one kind.
    fn all<P: Clone, D>(
        &self,
        kind: impl Fn(&Port) -> Option<P>,
        describe: impl Fn(&str, &P) -> D,
    ) -> Result<Vec<D>> {
        if self.settings.lightweight {
            return Err(LIGHTWEIGHT);
        }
        let ports = self.ports().iter();
        let described = ports.filter_map(|(name, port)| Some(describe(name, &kind(port)?)));
        Ok(described.collect())
    }

    /// Describes the named ports of one kind.
    fn named<P: Clone, D, E: From<InvalidName> + From<SystemException>>(
        &self,
        names: &[String],
        kind: impl Fn(&Port) -> Option<P>,
        describe: impl Fn(&str, &P) -> D,
    ) -> Result<Vec<D>, E> {
        if self.settings.lightweight {
            return Err(LIGHTWEIGHT.into());
        }
        let find = |name: &String| {
            let port = self.port(name).and_then(&kind).ok_or(InvalidName {})?;
            Ok(describe(name, &port))
        };
        names.iter().map(find).collect()
    }
}

fn is_facet(port: &Port) -> Option<Arc<dyn Provides>> {
    match port {
        Port::Facet(port) => Some(Arc::clone(port)),
        _ => None,
    }
}

fn is_consumer(port: &Port) -> Option<Arc<dyn Provides>> {
    match port {
        Port::Consumer(port) => Some(Arc::clone(port)),
        _ => None,
    }
}

fn is_receptacle(port: &Port) -> Option<Arc<dyn Connections>> {
    match port {
        Port::Receptacle(port) => Some(Arc::clone(port)),
        _ => None,
    }
}

fn is_emitter(port: &Port) -> Option<Arc<dyn Connections>> {
    match port {
        Port::Emitter(port) => Some(Arc::clone(port)),
        _ => None,
    }
}

fn is_publisher(port: &Port) -> Option<Arc<dyn Connections>> {
    match port {
        Port::Publisher(port) => Some(Arc::clone(port)),
        _ => None,
    }
}

fn base(name: &str, type_id: &str) -> PortDescription {
    PortDescription { name: name.to_owned(), type_id: type_id.to_owned() }
}

fn facet(name: &str, port: &Arc<dyn Provides>) -> ValueLink<FacetDescription> {
    let state = FacetDescription { base: base(name, port.type_id()), facet_ref: port.object() };
    Value::new(state).into()
}

fn consumer(name: &str, port: &Arc<dyn Provides>) -> ValueLink<ConsumerDescription> {
    let state = ConsumerDescription {
        base: base(name, port.type_id()),
        consumer: port.object().map(|object| object.unchecked_narrow()),
    };
    Value::new(state).into()
}

fn connection((ck, object): (ValueLink<Cookie>, ObjectRef)) -> ValueLink<ConnectionDescription> {
    let objref = Some(object);
    let ck = ck.get().into();
    Value::new(ConnectionDescription { ck, objref }).into()
}

fn connections(port: &Arc<dyn Connections>) -> Vec<ValueLink<ConnectionDescription>> {
    port.objects().into_iter().map(connection).collect()
}

fn receptacle(name: &str, port: &Arc<dyn Connections>) -> ValueLink<ReceptacleDescription> {
    let state = ReceptacleDescription {
        base: base(name, port.type_id()),
        is_multiple: port.is_multiple(),
        connections: connections(port),
    };
    Value::new(state).into()
}

fn emitter(name: &str, port: &Arc<dyn Connections>) -> ValueLink<EmitterDescription> {
    let connected = port.objects().pop();
    let state = EmitterDescription {
        base: base(name, port.type_id()),
        consumer: connected.map(|(_, object)| object.unchecked_narrow()),
    };
    Value::new(state).into()
}

fn publisher(name: &str, port: &Arc<dyn Connections>) -> ValueLink<PublisherDescription> {
    let subscriber = |(ck, object): (ValueLink<Cookie>, ObjectRef)| {
        let consumer = Some(object.unchecked_narrow());
        ValueLink::from(Value::new(SubscriberDescription { ck, consumer }))
    };
    let state = PublisherDescription {
        base: base(name, port.type_id()),
        consumer: port.objects().into_iter().map(subscriber).collect(),
    };
    Value::new(state).into()
}

impl Navigation for Component {
    fn provide_facet(
        &self,
        name: &str,
    ) -> Result<Option<ObjectRef>, navigation::ProvideFacetError> {
        let facet = self.facet(name).ok_or(InvalidName {})?;
        Ok(facet.object())
    }

    fn get_all_facets(&self) -> Result<Vec<ValueLink<FacetDescription>>> {
        self.all(is_facet, facet)
    }

    fn get_named_facets(
        &self,
        names: &[String],
    ) -> Result<Vec<ValueLink<FacetDescription>>, navigation::GetNamedFacetsError> {
        self.named(names, is_facet, facet)
    }

    fn same_component(&self, object: Option<&ObjectRef>) -> Result<bool> {
        if self.settings.lightweight {
            return Err(LIGHTWEIGHT);
        }
        let Some(object) = object else {
            return Ok(false);
        };
        let facets = self.ports().iter().filter_map(|(_, port)| is_facet(port)?.object());
        let mut own = self.object().cloned().into_iter().chain(facets);
        Ok(own.any(|one| one.reference().is_equivalent(object.reference())))
    }
}

impl Receptacles for Component {
    fn connect(
        &self,
        name: &str,
        object: Option<&ObjectRef>,
    ) -> Result<ValueLink<Cookie>, receptacles::ConnectError> {
        let port = self.receptacle(name).ok_or(InvalidName {})?;
        port.connect_object(object).map_err(Refusal::raise)
    }

    fn disconnect(
        &self,
        name: &str,
        cookie: &ValueLink<Cookie>,
    ) -> Result<Option<ObjectRef>, receptacles::DisconnectError> {
        let port = self.receptacle(name).ok_or(InvalidName {})?;
        port.disconnect_object(cookie).map(Some).map_err(Missing::raise)
    }

    fn get_connections(
        &self,
        name: &str,
    ) -> Result<Vec<ValueLink<ConnectionDescription>>, receptacles::GetConnectionsError> {
        let port = self.receptacle(name).ok_or(InvalidName {})?;
        Ok(connections(port))
    }

    fn get_all_receptacles(&self) -> Result<Vec<ValueLink<ReceptacleDescription>>> {
        self.all(is_receptacle, receptacle)
    }

    fn get_named_receptacles(
        &self,
        names: &[String],
    ) -> Result<Vec<ValueLink<ReceptacleDescription>>, receptacles::GetNamedReceptaclesError> {
        self.named(names, is_receptacle, receptacle)
    }
}

impl Events for Component {
    fn get_consumer(
        &self,
        name: &str,
    ) -> Result<Option<EventConsumerBaseRef>, events::GetConsumerError> {
        let port = self.consumer(name).ok_or(InvalidName {})?;
        Ok(port.object().map(|object| object.unchecked_narrow()))
    }

    fn subscribe(
        &self,
        name: &str,
        subscriber: Option<&EventConsumerBaseRef>,
    ) -> Result<ValueLink<Cookie>, events::SubscribeError> {
        let port = self.publisher(name).ok_or(InvalidName {})?;
        let object = subscriber.map(Interface::unchecked_narrow);
        port.connect_object(object.as_ref()).map_err(|refusal| match refusal {
            Refusal::Limit | Refusal::Already => crate::ExceededConnectionLimit {}.into(),
            Refusal::Invalid => crate::InvalidConnection {}.into(),
            Refusal::System(exception) => exception.into(),
        })
    }

    fn unsubscribe(
        &self,
        name: &str,
        cookie: &ValueLink<Cookie>,
    ) -> Result<Option<EventConsumerBaseRef>, events::UnsubscribeError> {
        let port = self.publisher(name).ok_or(InvalidName {})?;
        match port.disconnect_object(cookie) {
            Ok(object) => Ok(Some(object.unchecked_narrow())),
            Err(_) => Err(crate::InvalidConnection {}.into()),
        }
    }

    fn connect_consumer(
        &self,
        name: &str,
        consumer: Option<&EventConsumerBaseRef>,
    ) -> Result<(), events::ConnectConsumerError> {
        let port = self.emitter(name).ok_or(InvalidName {})?;
        let object = consumer.map(Interface::unchecked_narrow);
        match port.connect_object(object.as_ref()) {
            Ok(_) => Ok(()),
            Err(Refusal::Invalid) => Err(crate::InvalidConnection {}.into()),
            Err(Refusal::System(exception)) => Err(exception.into()),
            Err(_) => Err(crate::AlreadyConnected {}.into()),
        }
    }

    fn disconnect_consumer(
        &self,
        name: &str,
    ) -> Result<Option<EventConsumerBaseRef>, events::DisconnectConsumerError> {
        let port = self.emitter(name).ok_or(InvalidName {})?;
        match port.disconnect_object(&ValueLink::null()) {
            Ok(object) => Ok(Some(object.unchecked_narrow())),
            Err(_) => Err(NoConnection {}.into()),
        }
    }

    fn get_all_consumers(&self) -> Result<Vec<ValueLink<ConsumerDescription>>> {
        self.all(is_consumer, consumer)
    }

    fn get_named_consumers(
        &self,
        names: &[String],
    ) -> Result<Vec<ValueLink<ConsumerDescription>>, events::GetNamedConsumersError> {
        self.named(names, is_consumer, consumer)
    }

    fn get_all_emitters(&self) -> Result<Vec<ValueLink<EmitterDescription>>> {
        self.all(is_emitter, emitter)
    }

    fn get_named_emitters(
        &self,
        names: &[String],
    ) -> Result<Vec<ValueLink<EmitterDescription>>, events::GetNamedEmittersError> {
        self.named(names, is_emitter, emitter)
    }

    fn get_all_publishers(&self) -> Result<Vec<ValueLink<PublisherDescription>>> {
        self.all(is_publisher, publisher)
    }

    fn get_named_publishers(
        &self,
        names: &[String],
    ) -> Result<Vec<ValueLink<PublisherDescription>>, events::GetNamedPublishersError> {
        self.named(names, is_publisher, publisher)
    }
}

impl CcmObject for Component {
    fn get_component_def(&self) -> Result<Option<ObjectRef>> {
        Err(NO_DEFINITION)
    }

    fn get_ccm_home(&self) -> Result<Option<CcmHomeRef>> {
        Ok(self.home.get().cloned())
    }

    fn get_primary_key(&self) -> Result<ValueLink<PrimaryKeyBase>, ccm_object::GetPrimaryKeyError> {
        let key = self.key.get().cloned();
        key.ok_or(NoKeyAvailable {}.into())
    }

    fn configuration_complete(&self) -> Result<(), ccm_object::ConfigurationCompleteError> {
        let done = match self.settings.explicit_activation {
            true => Component::configuration_complete(self),
            false => self.start(),
        };
        done.map_err(|error| match error {
            LifeCycleError::Configuration(_) | LifeCycleError::Executor(_) => {
                InvalidConfiguration {}.into()
            }
            error => SystemException::from(error).into(),
        })
    }

    fn remove(&self) -> Result<(), ccm_object::RemoveError> {
        Component::remove(self).map_err(|error| match error {
            LifeCycleError::Executor(exception) => {
                RemoveFailure { reason: exception.reason as u32 }.into()
            }
            error => SystemException::from(error).into(),
        })
    }

    fn get_all_ports(&self) -> Result<ValueLink<ComponentPortDescription>> {
        let state = ComponentPortDescription {
            facets: self.get_all_facets()?,
            receptacles: self.get_all_receptacles()?,
            consumers: self.get_all_consumers()?,
            emitters: self.get_all_emitters()?,
            publishers: self.get_all_publishers()?,
        };
        Ok(Value::new(state).into())
    }
}
