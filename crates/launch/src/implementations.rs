//! Implementations that are linked into an executable, by the entry points that plans name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use oxorb_component::{ComposedOf, Container, EventCarrier, InstallError, ManagedBy};
use oxorb_core::ObjectRef;

/// Components and homes of an executable, by entry point. An entry point is the value of the execParameter `component
/// factory` or `home factory` of an implementation in the plan.
#[derive(Clone, Default)]
pub struct Implementations {
    entries: BTreeMap<String, Entry>,
    events: Option<Arc<OpenEvents>>,
}

/// Function that opens the event channel of a process.
pub(crate) type OpenEvents = dyn Fn() -> Result<Arc<dyn EventCarrier>, String> + Send + Sync;

/// Kind of entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Component,
    Home,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Component => "component",
            Kind::Home => "home",
        })
    }
}

/// Function that installs one instance in a container under a name.
type Install = dyn Fn(&Container, &str) -> Result<ObjectRef, InstallError> + Send + Sync;

/// Entry point.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    /// Repository id of the component or the home.
    pub(crate) type_id: &'static str,
    pub(crate) install: Arc<Install>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.type_id)
    }
}

impl Implementations {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a component. `make` is called once for each instance. An existing entry point with this name is replaced.
    ///
    /// `implementations.component::<avionics::GpsRef, _>("create_Avionics_Gps_Impl", || Gps::new())`
    #[must_use]
    pub fn component<R: ComposedOf<E>, E>(
        self,
        entry: &str,
        make: impl Fn() -> E + Send + Sync + 'static,
    ) -> Self {
        let install = move |container: &Container, name: &str| {
            let installed: R = container.install(name, make())?;
            Ok(installed.unchecked_narrow())
        };
        self.with(entry, Kind::Component, R::REPOSITORY_ID, Arc::new(install))
    }

    /// Adds a home. `make` is called once for each instance of the home. An existing entry point with this name is
    /// replaced.
    #[must_use]
    pub fn home<R: ManagedBy<H>, H>(
        self,
        entry: &str,
        make: impl Fn() -> H + Send + Sync + 'static,
    ) -> Self {
        let install = move |container: &Container, name: &str| {
            let installed: R = container.install_home(name, make())?;
            Ok(installed.unchecked_narrow())
        };
        self.with(entry, Kind::Home, R::REPOSITORY_ID, Arc::new(install))
    }

    /// Sets the carrier of the executable, for instances with `events = "executable"` in their real-time resources.
    /// `open` is called once, when the first such instance is installed. The returned carrier carries the events of all
    /// of them. Instances with `events = "channel"` need no carrier of the executable.
    ///
    /// `implementations.events_by(|| Ok(Arc::new(ComponentEvents::new(&channel()?, 1))))`, with `oxorb_event::ComponentEvents`.
    #[must_use]
    pub fn events_by<E: fmt::Display>(
        mut self,
        open: impl Fn() -> Result<Arc<dyn EventCarrier>, E> + Send + Sync + 'static,
    ) -> Self {
        let open = move || open().map_err(|error| error.to_string());
        self.events = Some(Arc::new(open));
        self
    }

    /// Returns the entry points in alphabetical order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub(crate) fn events(&self) -> Option<&Arc<OpenEvents>> {
        self.events.as_ref()
    }

    pub(crate) fn entry(&self, entry: &str) -> Option<&Entry> {
        self.entries.get(entry)
    }

    fn with(
        mut self,
        entry: &str,
        kind: Kind,
        type_id: &'static str,
        install: Arc<Install>,
    ) -> Self {
        let added = Entry { kind, type_id, install };
        self.entries.insert(entry.to_owned(), added);
        self
    }
}

impl fmt::Debug for Implementations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}
