//! Session containers, which manage the components and homes of one POA.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::settings::Settings;
use oxorb_cdr::Factory;
use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, ObjectRef};
use oxorb_poa::{IdUniqueness, Poa, PoaError, Policies, RtPolicies};

use crate::CcmException;
use crate::assembly::{Assembly, ComposedOf};
use crate::component::Component;
use crate::home::{Home, ManagedBy};
use crate::port::{EventCarrier, EventLanes, LimitedPort, PortRate};

/// A session container: a POA with its components and homes, and their limits.
///
/// Dropping the last clone destroys the container. Cheap to clone.
#[derive(Clone)]
pub struct Container(Arc<Owner>);

/// Guard that destroys the container when the last clone is dropped.
struct Owner(Arc<Inner>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

/// Rates that are enforced, by port.
pub(crate) type PortRates = BTreeMap<String, PortRate>;

pub(crate) struct Inner {
    pub(crate) poa: Poa,
    settings: Settings,
    pub(crate) carrier: Option<Arc<dyn EventCarrier>>,
    components: Mutex<BTreeMap<String, Arc<Component>>>,
    homes: Mutex<BTreeMap<String, Arc<Home>>>,
    /// Rates of the ports of components that are not installed yet, by name.
    rates: Mutex<BTreeMap<String, PortRates>>,
    /// Event types whose values are registered with the ORB.
    known: Mutex<HashSet<&'static str>>,
    closed: AtomicBool,
}

/// Builder of a container, from [`Container::builder`].
#[must_use = "nothing is created before `create`"]
pub struct ContainerBuilder {
    parent: Poa,
    name: String,
    policies: Policies,
    settings: Settings,
    carrier: Option<Arc<dyn EventCarrier>>,
}

impl ContainerBuilder {
    /// Sets the RT-CORBA policies of the container's POA: threadpool, priority model, bands, protocols. Default: none.
    pub fn realtime(mut self, policies: RtPolicies) -> Self {
        self.policies.realtime = policies;
        self
    }

    /// Sets the maximum number of components in the container: 1,024 by default.
    pub fn max_components(mut self, most: usize) -> Self {
        self.settings.max_components = most;
        self
    }

    /// Sets the maximum number of connections of a multiplex receptacle and of a publisher: 256 by default.
    pub fn max_connections(mut self, most: usize) -> Self {
        self.settings.max_connections = most;
        self
    }

    /// Sets the maximum size in octets of a component's primary key as CDR: 1,024 by default. A longer key raises
    /// InvalidKey.
    pub fn max_key_octets(mut self, most: usize) -> Self {
        self.settings.max_key_octets = most;
        self
    }

    /// Sets the time limit of pushing an event to each consumer, including connecting: 1 s by default.
    pub fn push_timeout(mut self, limit: Duration) -> Self {
        self.settings.push_timeout = limit;
        self
    }

    /// Sets the number of consecutive failed pushes after which a consumer is disconnected: 3 by default, at least 1.
    pub fn push_failures(mut self, most: u32) -> Self {
        self.settings.push_failures = most.max(1);
        self
    }

    /// Sets the carrier of the events of the container's sources: an event channel, instead of the publishing threads.
    /// [`EventLanes`] and `oxorb_event::ComponentEvents` are carriers.
    pub fn events_by(mut self, carrier: Arc<dyn EventCarrier>) -> Self {
        self.carrier = Some(carrier);
        self
    }

    /// Passes the events of the container's sources through a channel of the container, which has a lane for each
    /// consumer: [`EventLanes`].
    pub fn events_in_lanes(mut self) -> Self {
        // Without an ORB, `create` fails.
        self.carrier = self.parent.orb().map(|orb| Arc::new(EventLanes::new(&orb)) as _);
        self
    }

    /// Sets whether the container is one of Lightweight CCM: descriptions of ports and `same_component` raise
    /// NO_IMPLEMENT.
    pub fn lightweight(mut self, lightweight: bool) -> Self {
        self.settings.lightweight = lightweight;
        self
    }

    /// Sets whether only [`Component::activate`] activates components, for a deployer that configures all of them
    /// before any runs. By default a client's `configuration_complete` also activates the component.
    pub fn explicit_activation(mut self, explicit: bool) -> Self {
        self.settings.explicit_activation = explicit;
        self
    }

    /// Creates the container and its POA.
    ///
    /// # Errors
    /// The errors of [`PoaBuilder::create`](oxorb_poa::PoaBuilder::create), which also reports contradictory real-time
    /// policies.
    pub fn create(self) -> Result<Container, PoaError> {
        let poa = self.parent.new_poa(&self.name).policies(self.policies);
        let poa = poa.create()?;
        poa.manager().activate()?;
        Ok(Container(Arc::new(Owner(Arc::new(Inner {
            poa,
            settings: self.settings,
            carrier: self.carrier,
            components: Mutex::default(),
            homes: Mutex::default(),
            rates: Mutex::default(),
            known: Mutex::default(),
            closed: AtomicBool::new(false),
        })))))
    }
}

impl Container {
    /// Returns a builder for a container whose POA is a child of `parent` with this name.
    pub fn builder(parent: &Poa, name: &str) -> ContainerBuilder {
        ContainerBuilder {
            parent: parent.clone(),
            name: name.to_owned(),
            policies: Policies {
                // One executor may be the servant of several facets.
                id_uniqueness: IdUniqueness::Multiple,
                ..Policies::default()
            },
            settings: Settings::default(),
            carrier: None,
        }
    }

    /// Sets the rates that are enforced at ports (facets, sinks and sources) of the next component that is installed
    /// under this name. By default no port is limited. The rates apply to one installation, even if it fails. If the
    /// installation is refused because the name is taken, or because the container is full or closed, the rates apply
    /// to the next installation instead.
    ///
    /// A call beyond the rate raises TRANSIENT (`PORT_RATE`), COMPLETED_NO, and does not reach the executor. An event
    /// beyond the rate of a source is not pushed, and counts as failed ([`Pushed`](crate::Pushed)). An event that a
    /// sink refuses is lost; its source keeps the connection. [`Component::refused`] counts the refused calls and
    /// events.
    ///
    /// A limited port reads the clock once for each call or event, and updates one atomic word. Collocated calls of a
    /// limited facet are marshalled.
    pub fn limit_ports(&self, component: &str, rates: BTreeMap<String, PortRate>) {
        let mut all = self.0.0.rates.lock();
        match rates.is_empty() {
            true => drop(all.remove(component)),
            false => drop(all.insert(component.to_owned(), rates)),
        }
    }

    /// Installs a component without a home and calls its executor's `set_session_context`:
    /// `let gps: GpsRef = container.install("gps", Gps::new())?;`
    ///
    /// # Errors
    /// [`InstallError`]. After a failure, nothing of the component remains installed.
    pub fn install<R: ComposedOf<E>, E>(&self, name: &str, executor: E) -> Result<R, InstallError> {
        self.0.0.install(name, executor, |_| ())
    }

    /// Installs a home: `let home: GpsHomeRef = container.install_home("GpsHome", Receivers)?;`
    ///
    /// # Errors
    /// [`InstallError::Name`], [`InstallError::Poa`], [`InstallError::Closed`].
    pub fn install_home<R: ManagedBy<H>, H>(
        &self,
        name: &str,
        executor: H,
    ) -> Result<R, InstallError> {
        self.0.0.install_home(name, executor)
    }

    /// Returns the component with this name.
    pub fn component(&self, name: &str) -> Option<Arc<Component>> {
        self.0.0.components.lock().get(name).cloned()
    }

    /// Returns the component with this reference.
    pub fn component_of(&self, object: &impl Interface) -> Option<Arc<Component>> {
        self.0.0.component_of(object.reference())
    }

    /// Returns all components, sorted by name.
    pub fn components(&self) -> Vec<Arc<Component>> {
        self.0.0.all()
    }

    /// Returns the home with this name.
    pub fn home(&self, name: &str) -> Option<Arc<Home>> {
        self.0.0.homes.lock().get(name).cloned()
    }

    /// Returns the POA of all components and homes.
    pub fn poa(&self) -> &Poa {
        &self.0.0.poa
    }

    /// Removes all components, then all homes, and destroys the POA. Later installations are refused.
    ///
    /// Does not wait for executors. If a life-cycle call to an executor is in progress, its component is disconnected
    /// and deactivated immediately, and the executor's `remove` is called when that call returns.
    pub fn destroy(&self) {
        self.0.0.destroy();
    }

    pub(crate) fn homes(&self) -> Vec<Arc<Home>> {
        self.0.0.homes.lock().values().cloned().collect()
    }
}

impl Inner {
    /// Installs a component. `prepare` is called before any function of the executor.
    pub(crate) fn install<R: ComposedOf<E>, E>(
        self: &Arc<Self>,
        name: &str,
        executor: E,
        prepare: impl FnOnce(&Arc<Component>),
    ) -> Result<R, InstallError> {
        let component = Component::new(name.to_owned(), Arc::downgrade(self), self.settings);
        {
            let mut components = self.components.lock();
            if self.closed.load(Ordering::Acquire) {
                return Err(InstallError::Closed);
            }
            if components.contains_key(name) {
                return Err(InstallError::Name(name.to_owned()));
            }
            if components.len() >= self.settings.max_components {
                return Err(InstallError::Full(self.settings.max_components));
            }
            components.insert(name.to_owned(), Arc::clone(&component));
        }
        prepare(&component);
        // The guard also undoes the installation if the executor panics.
        let undo = Undo(Some(&component));
        let rates = self.rates.lock().remove(name).unwrap_or_default();
        let mut assembly = Assembly::of(Arc::clone(&component), rates);
        R::assemble(executor, &mut assembly)?;
        let own = component.object().map(Interface::unchecked_narrow);
        let own = own.ok_or(InstallError::Closed)?;
        // A client can remove the component by name while its facets are being activated. In this case the guard
        // deactivates the facets that were activated after the removal.
        if component.is_ended() {
            return Err(InstallError::Closed);
        }
        undo.keep();
        Ok(own)
    }

    fn install_home<R: ManagedBy<H>, H>(
        self: &Arc<Self>,
        name: &str,
        executor: H,
    ) -> Result<R, InstallError> {
        let ids = (R::REPOSITORY_ID, R::COMPONENT_ID);
        let (container, settings) = (Arc::downgrade(self), self.settings);
        let home = Arc::new(Home::new(name.to_owned(), ids, container, settings));
        let mut homes = self.homes.lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(InstallError::Closed);
        }
        if homes.contains_key(name) {
            return Err(InstallError::Name(name.to_owned()));
        }
        let servant = R::home_servant(executor, Arc::clone(&home));
        let reference = self.poa.activate_servant(servant);
        let reference = reference.map_err(|error| InstallError::Poa(Arc::new(error)))?;
        home.set_own(ObjectRef::from_ref(reference.clone()));
        homes.insert(name.to_owned(), home);
        Ok(R::from_ref(reference))
    }

    pub(crate) fn component_of(&self, object: &oxorb_core::Ref) -> Option<Arc<Component>> {
        let components = self.components.lock();
        let mut components = components.values();
        let is_it = |component: &&Arc<Component>| {
            let own = component.object();
            own.is_some_and(|own| own.reference().is_equivalent(object))
        };
        components.find(is_it).cloned()
    }

    pub(crate) fn forget(&self, component: &Component) {
        let mut components = self.components.lock();
        let known = components.get(component.name());
        if known.is_some_and(|known| std::ptr::eq(&**known, component)) {
            components.remove(component.name());
        }
    }

    /// Returns all components, sorted by name.
    pub(crate) fn all(&self) -> Vec<Arc<Component>> {
        self.components.lock().values().cloned().collect()
    }

    pub(crate) fn forget_home(&self, home: &Home) {
        let mut homes = self.homes.lock();
        let known = homes.get(home.name());
        if known.is_some_and(|known| std::ptr::eq(&**known, home)) {
            homes.remove(home.name());
        }
    }

    /// Registers the value factories of an event type with the ORB, so that operations that declare a base of this type
    /// can receive its values.
    pub(crate) fn know(&self, id: &'static str, factories: &[Factory]) {
        if let Some(orb) = self.poa.orb()
            && self.known.lock().insert(id)
        {
            let unknown =
                factories.iter().filter(|one| orb.values().factory(one.info().id).is_none());
            let unknown: Vec<Factory> = unknown.copied().collect();
            if !unknown.is_empty() {
                orb.values().register(&unknown);
            }
        }
    }

    fn destroy(&self) {
        {
            let _components = self.components.lock();
            if self.closed.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        for component in self.all() {
            component.abandon();
        }
        let homes: Vec<_> = std::mem::take(&mut *self.homes.lock()).into_values().collect();
        for home in homes {
            home.remove();
        }
        // Ignore the error: `destroy` fails only if the POA or the ORB is already destroyed.
        let _ = self.poa.destroy(false, false);
    }
}

/// Guard that removes a component whose installation was not completed.
struct Undo<'c>(Option<&'c Arc<Component>>);

impl Undo<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Some(component) = self.0.take() {
            component.abandon();
        }
    }
}

/// Weak reference to a container.
pub(crate) type WeakContainer = Weak<Inner>;

/// Error of [`Container::install`].
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A component or home with this name exists.
    #[error("{0:?} is already installed; remove it first, or choose another name")]
    Name(String),
    /// The container has the maximum number of components, `max_components`.
    #[error("the container has the maximum of {0} components; remove one, or raise max_components")]
    Full(usize),
    /// The executor's `set_session_context` raised an exception.
    #[error("the executor's set_session_context raised {0}")]
    Executor(CcmException),
    /// The POA refused the component or one of its facets.
    #[error("the container's POA refused an object: {0}")]
    Poa(Arc<PoaError>),
    /// A rate was set for a port that does not exist, or for a receptacle.
    #[error("the component has no facet, sink or source {0:?} whose rate could be enforced")]
    Rate(String),
    /// A rate that is restricted to ports of one kind ([`PortRate::only_at`]) was set for a port of the other kind.
    #[error("the rate of port {port:?} applies to a {wanted}, but the port is a {found}")]
    RateKind {
        /// Name of the port.
        port: String,
        /// Kind to which the rate is restricted.
        wanted: LimitedPort,
        /// Kind of the port.
        found: LimitedPort,
    },
    /// The container is destroyed, or the component was removed during its installation.
    #[error(
        "the container is destroyed, or the component was removed while it was being installed; install it again, if \
         necessary in another container"
    )]
    Closed,
}

impl fmt::Debug for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
