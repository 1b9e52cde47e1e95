//! Installation of a component, for generated code.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use oxorb_cdr::{TypeCode, Value};
use oxorb_core::{Interface, Ref, Servant, ServedBy};
use oxorb_object::SystemException;

use crate::attribute::Attribute;
use crate::component::Component;
use crate::container::{InstallError, PortRates};
use crate::life::LifeCycle;
use crate::port::{
    BEYOND_RATE, Emitter, EventType, Facet, Gate, LimitedPort, MultipleReceptacle, Paced, Port,
    Provided, Publisher, Receptacle, Sink, Source, Table, Way,
};

/// A component type that executors of type `E` implement. The IDL compiler implements this trait for the reference of
/// each component: `impl<E: GpsExecutor> ComposedOf<E> for GpsRef`.
pub trait ComposedOf<E>: Interface {
    /// Declares the ports, and activates the servant and the facets.
    ///
    /// # Errors
    /// The errors of [`Assembly::activate`] and [`Assembly::provide`].
    #[doc(hidden)]
    fn assemble(executor: E, assembly: &mut Assembly) -> Result<(), InstallError>;
}

/// A component that is being installed.
#[doc(hidden)]
pub struct Assembly {
    pub(crate) component: Arc<Component>,
    ports: Vec<(&'static str, Port)>,
    attributes: Vec<Attribute>,
    /// Rates to enforce, by port. A port that is declared takes its rate out of this map.
    rates: PortRates,
    /// Gates of the ports whose rates are enforced.
    gates: BTreeMap<String, Arc<Gate>>,
    /// Error of the first rate whose port is of another kind.
    wrong_rate: Option<InstallError>,
}

/// The executor's view of its component.
#[doc(hidden)]
#[derive(Clone)]
pub struct Instance(Arc<Component>);

impl Instance {
    /// Returns the component's reference.
    ///
    /// # Panics
    /// Never in practice: the reference exists before any executor runs.
    pub fn reference<R: Interface>(&self) -> R {
        let object = self.0.object().expect("activated before executors run");
        object.unchecked_narrow()
    }

    /// Returns the name of the instance.
    pub fn name(&self) -> &str {
        self.0.name()
    }
}

impl Assembly {
    pub(crate) fn of(component: Arc<Component>, rates: PortRates) -> Self {
        let (ports, attributes) = (Vec::new(), Vec::new());
        let gates = BTreeMap::new();
        Assembly { component, ports, attributes, rates, gates, wrong_rate: None }
    }

    /// Returns the gate of a port, if its rate is enforced.
    fn gate(&mut self, port: &str, kind: LimitedPort) -> Option<Arc<Gate>> {
        let rate = self.rates.remove(port)?;
        if let Some(wanted) = rate.other_kind(kind) {
            let port = port.to_owned();
            self.wrong_rate.get_or_insert(InstallError::RateKind { port, wanted, found: kind });
            return None;
        }
        let gate = Gate::new(rate);
        self.gates.insert(port.to_owned(), Arc::clone(&gate));
        Some(gate)
    }

    /// Returns the component, which implements the generic operations.
    pub fn component(&self) -> Arc<Component> {
        Arc::clone(&self.component)
    }

    /// Returns the part of the context that is the same for every component type.
    pub fn instance(&self) -> Instance {
        Instance(Arc::clone(&self.component))
    }

    /// Declares `attribute T name`.
    pub fn attribute(
        &mut self,
        name: &'static str,
        is_settable: bool,
        type_code: fn() -> TypeCode,
    ) {
        self.attributes.push(Attribute { name, is_settable, type_code });
    }

    /// Declares `provides R name`.
    pub fn facet<R: Interface>(&mut self, name: &'static str) -> Facet<R> {
        let port = self.provided::<R>(name, R::REPOSITORY_ID);
        self.ports.push((name, Port::Facet(port.clone())));
        Facet(port)
    }

    /// Declares `consumes E name`.
    pub fn sink<E: EventType>(&mut self, name: &'static str) -> Facet<E::Consumer> {
        let port = self.provided::<E::Consumer>(name, E::INFO.id);
        self.ports.push((name, Port::Consumer(port.clone())));
        Facet(port)
    }

    /// Declares `uses R name`.
    pub fn receptacle<R: Interface>(&mut self, name: &'static str) -> Receptacle<R> {
        let table = Table::new(name, R::REPOSITORY_ID, false, 1, None);
        self.ports.push((name, Port::Receptacle(table.clone())));
        Receptacle(table)
    }

    /// Declares `uses multiple R name`.
    pub fn multiple<R: Interface>(&mut self, name: &'static str) -> MultipleReceptacle<R> {
        let limit = self.component.settings.max_connections;
        let table = Table::new(name, R::REPOSITORY_ID, true, limit, None);
        self.ports.push((name, Port::Receptacle(table.clone())));
        MultipleReceptacle(table)
    }

    /// Declares `emits E name`.
    pub fn emitter<E: EventType>(&mut self, name: &'static str) -> Emitter<E> {
        let source = self.source(name, false);
        self.ports.push((name, Port::Emitter(source.table.clone())));
        Emitter(source)
    }

    /// Declares `publishes E name`.
    pub fn publisher<E: EventType>(&mut self, name: &'static str) -> Publisher<E> {
        let source = self.source(name, true);
        self.ports.push((name, Port::Publisher(source.table.clone())));
        Publisher(source)
    }

    fn provided<R>(&mut self, name: &str, type_id: &'static str) -> Arc<Provided<R>> {
        let gate = self.gate(name, LimitedPort::FacetOrSink);
        Arc::new(Provided { type_id, reference: OnceLock::new(), gate })
    }

    fn source<E: EventType>(&mut self, name: &'static str, multiple: bool) -> Source<E> {
        let gate = self.gate(name, LimitedPort::Source);
        let settings = &self.component.settings;
        let (limit, timeout) = (settings.max_connections, Some(settings.push_timeout));
        let table = Table::new(name, E::INFO.id, multiple, limit, timeout);
        let container = self.component.container.upgrade();
        let carrier = container.and_then(|container| container.carrier.clone());
        let full = || format!("{}.{name}", self.component.name());
        let way = carrier.map(|carrier| Way::new(carrier, full()));
        if let Some(way) = &way {
            table.attach_by(way.attach::<E>(Arc::downgrade(&table), settings.push_failures));
        }
        Source { table, most_failures: settings.push_failures, way, gate }
    }

    /// Activates the component's servant, then calls the executor's `set_session_context`.
    ///
    /// # Errors
    /// [`InstallError::Rate`]; [`InstallError::RateKind`]; [`InstallError::Poa`]; [`InstallError::Executor`];
    /// [`InstallError::Closed`] if the container is destroyed during the call.
    pub fn activate<R, S>(&mut self, servant: &Arc<S>) -> Result<(), InstallError>
    where
        R: ServedBy<Arc<S>>,
        S: LifeCycle + 'static,
    {
        if let Some(error) = self.wrong_rate.take() {
            return Err(error);
        }
        if let Some((port, _)) = self.rates.pop_first() {
            return Err(InstallError::Rate(port));
        }
        self.component.set_ports(std::mem::take(&mut self.ports));
        self.component.set_gates(std::mem::take(&mut self.gates));
        self.component.set_attributes(std::mem::take(&mut self.attributes));
        let own = self.activate_servant(R::servant(Arc::clone(servant)))?;
        self.component.set_own(Interface::from_ref(own));
        let executor = Arc::clone(servant) as Arc<dyn LifeCycle>;
        self.component.begin(executor)
    }

    /// Activates the servant of a facet.
    ///
    /// # Errors
    /// [`InstallError::Poa`].
    pub fn provide<R: ServedBy<S>, S>(
        &mut self,
        facet: &Facet<R>,
        servant: S,
    ) -> Result<(), InstallError> {
        self.provide_servant(facet, R::servant(servant))
    }

    /// Activates the consumer of an event sink, which passes events on while the component is active.
    ///
    /// # Errors
    /// [`InstallError::Poa`].
    pub fn consume<E: EventType>(
        &mut self,
        port: &Facet<E::Consumer>,
        function: impl Fn(&Value<E>) -> Result<(), SystemException> + Send + Sync + 'static,
    ) -> Result<(), InstallError> {
        let component = Arc::downgrade(&self.component);
        let gate = port.0.gate.clone();
        let gated = move |event: &Value<E>| {
            let component = component.upgrade().ok_or(crate::life::NOT_NOW)?;
            component.takes_events()?;
            match gate.as_ref().is_none_or(|gate| gate.admits()) {
                true => function(event),
                false => Err(BEYOND_RATE),
            }
        };
        if let Some(container) = self.component.container.upgrade() {
            container.know(E::INFO.id, E::factories());
        }
        self.provide_as(port, E::consumer(Sink::new(gated)))
    }

    /// Activates a servant that has no static type, as the servant of a facet.
    ///
    /// # Errors
    /// [`InstallError::Poa`].
    pub fn provide_servant<R: Interface>(
        &mut self,
        port: &Facet<R>,
        servant: Arc<dyn Servant>,
    ) -> Result<(), InstallError> {
        let servant = match &port.0.gate {
            Some(gate) => Arc::new(Paced { servant, gate: Arc::clone(gate) }),
            None => servant,
        };
        self.provide_as(port, servant)
    }

    fn provide_as<R: Interface>(
        &self,
        port: &Facet<R>,
        servant: Arc<dyn Servant>,
    ) -> Result<(), InstallError> {
        let reference = self.activate_servant(servant)?;
        let _ = port.0.reference.set(R::from_ref(reference));
        Ok(())
    }

    fn activate_servant(&self, servant: Arc<dyn Servant>) -> Result<Ref, InstallError> {
        let container = self.component.container.upgrade();
        let container = container.ok_or(InstallError::Closed)?;
        let reference = container.poa.activate_servant(servant);
        let reference = reference.map_err(|error| InstallError::Poa(Arc::new(error)))?;
        self.component.add_object(reference.clone());
        Ok(reference)
    }
}
