//! Components as the generic operations see them: a name, a table of ports and a phase.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use oxorb_cdr::ValueLink;
use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, ObjectRef, Ref};
use oxorb_object::SystemException;

use crate::attribute::Attribute;
use crate::container::{Inner, InstallError};
use crate::home::Keyed;
use crate::life::{Life, LifeCycle, LifeCycleError, Phase};
use crate::port::{Gate, Port};
use crate::settings::Settings;
use crate::{CcmHomeRef, PrimaryKeyBase};

/// A component of a [`Container`](crate::Container), independent of its type.
///
/// It implements `Components::CCMObject` for the typed servant, and the owner of the container uses it to move the
/// component through its life cycle.
pub struct Component {
    name: String,
    pub(crate) container: Weak<Inner>,
    pub(crate) settings: Settings,
    ports: OnceLock<Vec<(&'static str, Port)>>,
    attributes: OnceLock<Vec<Attribute>>,
    gates: OnceLock<BTreeMap<String, Arc<Gate>>>,
    pub(crate) home: OnceLock<CcmHomeRef>,
    pub(crate) key: OnceLock<ValueLink<PrimaryKeyBase>>,
    pub(crate) keyed: OnceLock<Keyed>,
    own: OnceLock<ObjectRef>,
    /// All activated objects: the component, its facets and its consumers.
    objects: Mutex<Vec<Ref>>,
    life: Life,
}

impl Component {
    pub(crate) fn new(name: String, container: Weak<Inner>, settings: Settings) -> Arc<Self> {
        Arc::new(Component {
            name,
            container,
            settings,
            ports: OnceLock::new(),
            attributes: OnceLock::new(),
            gates: OnceLock::new(),
            home: OnceLock::new(),
            key: OnceLock::new(),
            keyed: OnceLock::new(),
            own: OnceLock::new(),
            objects: Mutex::new(Vec::new()),
            life: Life::new(),
        })
    }

    /// Returns the name under which the component was installed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of calls and events that were refused at a port whose rate is
    /// [enforced](crate::Container::limit_ports); `None` for other ports.
    pub fn refused(&self, port: &str) -> Option<u64> {
        Some(self.gates.get()?.get(port)?.refused())
    }

    /// Returns the phase of the component's life cycle.
    pub fn phase(&self) -> Phase {
        self.life.phase()
    }

    /// Returns the component's reference; `None` only during its installation.
    pub fn object(&self) -> Option<&ObjectRef> {
        self.own.get()
    }

    /// Returns the component's attributes, including inherited ones and those of supported interfaces.
    pub fn attributes(&self) -> &[Attribute] {
        self.attributes.get().map_or(&[], Vec::as_slice)
    }

    /// Completes the configuration: calls the executor's `configuration_complete`.
    ///
    /// # Errors
    /// [`LifeCycleError::Order`] unless the component is in phase `Installed`; exceptions of the executor.
    pub fn configuration_complete(&self) -> Result<(), LifeCycleError> {
        self.life.enter(Phase::Configured)
    }

    /// Activates the component, so that events reach its sinks.
    ///
    /// # Errors
    /// [`LifeCycleError::Order`] unless the component is configured or passive; exceptions of the executor.
    pub fn activate(&self) -> Result<(), LifeCycleError> {
        self.life.enter(Phase::Active)
    }

    /// Passivates the component: events are refused until it is activated again.
    ///
    /// # Errors
    /// [`LifeCycleError::Order`] unless the component is active; exceptions of the executor.
    pub fn passivate(&self) -> Result<(), LifeCycleError> {
        self.life.enter(Phase::Passive)
    }

    /// Removes the component: passivates it if it is active, calls the executor's `remove`, ends its connections,
    /// deactivates its objects and removes it from its container, even if the executor raises an exception or panics.
    ///
    /// # Errors
    /// [`LifeCycleError::Order`] if it was removed before; [`LifeCycleError::Executor`] with the executor's exception,
    /// after the removal.
    pub fn remove(&self) -> Result<(), LifeCycleError> {
        let ended = self.life.end()?;
        self.give_back();
        ended.map_err(LifeCycleError::Executor)
    }

    /// Configures the component if necessary and activates it, as a client's `configuration_complete` does.
    pub(crate) fn start(&self) -> Result<(), LifeCycleError> {
        self.life.start()
    }

    /// Removes the component in any phase. If a call of its executor is in progress, the executor's `remove` is called
    /// when that call returns.
    pub(crate) fn abandon(&self) {
        self.life.abandon();
        self.give_back();
    }

    /// Ends the component's connections, and deactivates its objects.
    fn give_back(&self) {
        for (_, port) in self.ports() {
            match port {
                Port::Facet(_) | Port::Consumer(_) => {}
                Port::Receptacle(port) | Port::Emitter(port) | Port::Publisher(port) => {
                    port.clear()
                }
            }
        }
        if let Some(container) = self.container.upgrade() {
            for object in self.objects.lock().drain(..) {
                // Ignore the error: a client may have deactivated the object already.
                let _ = container.poa.deactivate(&ObjectRef::from_ref(object));
            }
            container.forget(self);
        }
        if let Some(keyed) = self.keyed.get()
            && let Some(home) = keyed.home.upgrade()
        {
            home.keys.forget(&keyed.key, self);
        }
    }

    pub(crate) fn begin(&self, executor: Arc<dyn LifeCycle>) -> Result<(), InstallError> {
        self.life.begin(executor).map_err(|error| match error {
            LifeCycleError::Executor(exception) => InstallError::Executor(exception),
            _ => InstallError::Closed,
        })
    }

    /// Reports whether the component is removed, or will be when a call of its executor returns.
    pub(crate) fn is_ended(&self) -> bool {
        self.life.is_ended()
    }

    pub(crate) fn add_object(&self, object: Ref) {
        self.objects.lock().push(object);
    }

    pub(crate) fn set_own(&self, own: ObjectRef) {
        // Ignore the result: this function is called only once, when the component is installed.
        let _ = self.own.set(own);
    }

    pub(crate) fn set_ports(&self, ports: Vec<(&'static str, Port)>) {
        let _ = self.ports.set(ports);
    }

    pub(crate) fn set_gates(&self, gates: BTreeMap<String, Arc<Gate>>) {
        let _ = self.gates.set(gates);
    }

    pub(crate) fn set_attributes(&self, attributes: Vec<Attribute>) {
        let _ = self.attributes.set(attributes);
    }

    pub(crate) fn ports(&self) -> &[(&'static str, Port)] {
        self.ports.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn port(&self, name: &str) -> Option<&Port> {
        let mut ports = self.ports().iter();
        ports.find(|(known, _)| *known == name).map(|(_, port)| port)
    }

    /// Returns an error if the component is in a phase in which it refuses events.
    pub(crate) fn takes_events(&self) -> Result<(), SystemException> {
        match self.phase() {
            Phase::Active => Ok(()),
            _ => Err(crate::life::NOT_NOW),
        }
    }
}
