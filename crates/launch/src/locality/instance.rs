//! Instances of a plan, from their description to their removal.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use oxorb_component::{
    Component, Container, Home, KeylessCcmHomeRef, LifeCycleError, LimitedPort, Phase, PortRate,
};
use oxorb_core::policy::PriorityBandedConnection;
use oxorb_core::{Interface, ObjectRef, Orb};
use oxorb_deploy::basic::Property;
use oxorb_deploy::plan::{Implementation, Instance, Plan};
use oxorb_deploy::rtcad::{Attachment, ServerResources};
use oxorb_deploy::{EnforcedRate, Place};

use super::containers::Quality;
use super::naming::Bound;
use super::rates::rates;
use super::{attributes, naming};
use crate::idl::ox_deployment as idl;
use crate::implementations::{Entry, Kind};
use crate::{Implementations, LaunchError, whole_file};

/// Property of an instance that names the home that creates it.
const EXPLICIT_HOME: &str = "edu.vanderbilt.dre.DAnCE.ExplicitHome";

/// Properties of an instance that name a file for its reference. The second is CIAO's oldest setting.
const REFERENCE_FILES: [&str; 2] = ["edu.vanderbilt.dre.DAnCE.InstanceIOR", "ComponentIOR"];

/// Returns an error for each instance whose reference would be written to a file, whether its own property names the
/// file or a property of the plan is mapped to that property. Under managers this is refused, because callers could
/// choose files to overwrite.
pub(crate) fn reference_files(plan: &Plan) -> impl Iterator<Item = LaunchError> {
    let mapped = plan.external_property.iter().flat_map(|one| &one.delegates_to);
    let mapped: HashSet<(&str, &str)> =
        mapped.map(|to| (&*to.instance.id, &*to.property_name)).collect();
    plan.instance.iter().filter_map(move |instance| {
        let mut names = REFERENCE_FILES.into_iter();
        let id = &*instance.id.0;
        let name =
            names.find(|name| instance.property(name).is_some() || mapped.contains(&(id, *name)))?;
        let place = instance.property(name).map_or(instance.place, |property| property.place);
        let what = format!(
            "property {name} names a file for the reference of instance {:?}, but processes under node managers do not \
             write files",
            instance.name
        );
        let error = LaunchError::new(&instance.name, place, what);
        Some(error.cure("remove it: `oxorb deploy status --format json` has the reference"))
    })
}

/// Property of an instance that contains its name in the Naming Service.
const REGISTER_NAMING: &str = "edu.vanderbilt.dre.DAnCE.RegisterNaming";

/// Unsupported properties of an instance. They are rejected, because ignoring them would change what other programs see
/// of the instance.
const UNSUPPORTED: [&str; 2] =
    ["edu.vanderbilt.dre.DAnCE.InstanceNC", "edu.vanderbilt.dre.DAnCE.DomainNC"];

/// Parameters of an implementation that name its entry point, and the kind of each.
const ENTRIES: [(&str, Kind); 2] =
    [("component factory", Kind::Component), ("home factory", Kind::Home)];

/// Complete description of an instance. If its recipe is the same in a new plan, the instance need not be replaced.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    entry: EntryPoint,
    properties: Vec<Property>,
    quality: Quality,
    /// Rates that the instance's container enforces.
    rates: Vec<EnforcedRate>,
}

/// Entry point of an instance.
#[derive(Debug, Clone)]
enum EntryPoint {
    Linked(String, Entry),
    /// A home of the plan, by its name.
    Home(String),
}

impl PartialEq for EntryPoint {
    fn eq(&self, other: &EntryPoint) -> bool {
        match (self, other) {
            (EntryPoint::Linked(one, _), EntryPoint::Linked(other, _)) => one == other,
            (EntryPoint::Home(one), EntryPoint::Home(other)) => one == other,
            _ => false,
        }
    }
}

impl Recipe {
    /// Returns the recipe of an instance; `attachment` is its attachment in `resources`. The references between elements
    /// of the plan must have been checked.
    pub(super) fn of(
        plan: &Plan,
        instance: &Instance,
        attachment: Option<&Attachment>,
        resources: Option<&ServerResources>,
        implementations: &Implementations,
    ) -> Result<Recipe, LaunchError> {
        unsupported(instance)?;
        // Detect invalid policies of the receptacles before any instance is installed.
        Quality::receptacles(instance, attachment, resources)?;
        let implementation = plan.implementation_at(&instance.implementation);
        let implementation = implementation.map(|at| &plan.implementation[at]);
        Ok(Recipe {
            entry: entry_point(plan, instance, implementations)?,
            properties: instance.config_property.clone(),
            quality: Quality::of(instance, attachment, resources, implementations)?,
            rates: enforceable_rates(implementation, instance, attachment)?,
        })
    }

    pub(super) fn quality(&self) -> &Quality {
        &self.quality
    }

    /// Returns the enforced rates by port, in the form that a container accepts.
    fn rates(&self) -> BTreeMap<String, PortRate> {
        let rates = self.rates.iter().map(|rate| {
            let kind = match rate.is_source {
                true => LimitedPort::Source,
                false => LimitedPort::FacetOrSink,
            };
            let limit = PortRate::new(Duration::from_nanos(rate.period)).only_at(kind);
            (rate.port.clone(), limit.tolerance(Duration::from_nanos(rate.tolerance)))
        });
        rates.collect()
    }

    /// Returns the name of the home that creates the instance.
    pub(super) fn home(&self) -> Option<&str> {
        match &self.entry {
            EntryPoint::Home(name) => Some(name),
            EntryPoint::Linked(..) => None,
        }
    }
}

/// Returns the rates of an instance's ports that its container enforces. It is an error to enforce rates of an instance
/// that a home creates, or of a home.
pub(crate) fn enforceable_rates(
    implementation: Option<&Implementation>,
    instance: &Instance,
    attachment: Option<&Attachment>,
) -> Result<Vec<EnforcedRate>, LaunchError> {
    let rates = rates(instance, attachment)?;
    let kind = implementation.and_then(entry_property).map(|(_, kind)| kind);
    let why = match explicit_home(instance) {
        _ if rates.is_empty() => return Ok(rates),
        Some(_) => "which a home creates",
        None if kind == Some(Kind::Home) => "which is a home",
        None => return Ok(rates),
    };
    let what =
        format!("the real-time resources enforce a rate of instance {:?}, {why}", instance.name);
    let error = LaunchError::new(&instance.name, instance.place, what);
    Err(error.cure("remove beyond = \"refuse\", or specify a component factory"))
}

fn entry_point(
    plan: &Plan,
    instance: &Instance,
    implementations: &Implementations,
) -> Result<EntryPoint, LaunchError> {
    if let Some(property) = instance.property(EXPLICIT_HOME) {
        let named = property.value.as_text().and_then(|name| plan.instance_named(name));
        let Some(home) = named else {
            let what = format!(
                "instance {:?} is created by a home that this process does not have",
                instance.name
            );
            let error = LaunchError::new(&instance.name, property.place, what);
            return Err(error.cure("put both into one process"));
        };
        return Ok(EntryPoint::Home(home.name.clone()));
    }
    let implementation = plan.implementation_at(&instance.implementation);
    let implementation = implementation.map(|at| &plan.implementation[at]);
    let (implementation, property, kind) = named_entry(implementation, instance)?;
    let name = property.value.as_text().unwrap_or_default();
    let wrong = |what: String| LaunchError::new(&instance.name, property.place, what);
    match implementations.entry(name) {
        None => {
            let known: Vec<&str> = implementations.entries().collect();
            let known = match known.as_slice() {
                [] => "none".to_owned(),
                known => known.join(", "),
            };
            let what = format!(
                "this executable has no entry point {name:?}, of implementation {:?} and instance {:?}",
                implementation.name, instance.name
            );
            Err(wrong(what).cure(format!("it has {known}; link the implementation in")))
        }
        Some(entry) if entry.kind != kind => {
            let (found, wanted) = (entry.kind, kind);
            let what = format!("entry point {name:?} makes a {found}, but a {wanted} is needed");
            Err(wrong(what).cure(format!("specify it with the execParameter \"{found} factory\"")))
        }
        Some(entry) => Ok(EntryPoint::Linked(name.to_owned(), entry.clone())),
    }
}

/// Returns an error if an instance has an unsupported property.
pub(crate) fn unsupported(instance: &Instance) -> Result<(), LaunchError> {
    for name in UNSUPPORTED {
        if let Some(property) = instance.property(name) {
            let what = format!("instance {:?} uses {name}, which is not supported", instance.name);
            let error = LaunchError::new(&instance.name, property.place, what);
            return Err(error.cure(format!(
                "use {REGISTER_NAMING}, with a name relative to the initial naming context"
            )));
        }
    }
    Ok(())
}

/// Returns the name of the home that creates an instance, if there is one.
pub(crate) fn explicit_home(instance: &Instance) -> Option<&str> {
    instance.property(EXPLICIT_HOME)?.value.as_text()
}

/// Checks that either an instance names its home or its implementation names the entry point.
pub(crate) fn has_entry(
    implementation: Option<&Implementation>,
    instance: &Instance,
) -> Result<(), LaunchError> {
    match instance.property(EXPLICIT_HOME) {
        Some(_) => Ok(()),
        None => named_entry(implementation, instance).map(drop),
    }
}

/// Returns the execParameter that names the entry point of an instance's implementation.
fn named_entry<'i>(
    implementation: Option<&'i Implementation>,
    instance: &Instance,
) -> Result<(&'i Implementation, &'i Property, Kind), LaunchError> {
    let named =
        implementation.and_then(|one| entry_property(one).map(|(it, kind)| (one, it, kind)));
    named.ok_or_else(|| {
        let what =
            format!("the implementation of instance {:?} names no entry point", instance.name);
        let place = implementation.map_or(instance.place, |one| one.place);
        let error = LaunchError::new(&instance.name, place, what);
        error.cure(format!(
            "give implementation {:?} the execParameter \"component factory\" or \"home factory\"",
            instance.implementation.id
        ))
    })
}

fn entry_property(implementation: &Implementation) -> Option<(&Property, Kind)> {
    ENTRIES.iter().find_map(|(name, kind)| {
        let mut all = implementation.exec_parameter.iter();
        let found = all.find(|property| property.name == *name)?;
        Some((found, *kind))
    })
}

/// An installed instance. Clones refer to the same instance.
#[derive(Clone)]
pub(super) struct Installed(Arc<Inner>);

struct Inner {
    name: String,
    place: Place,
    recipe: Recipe,
    occupant: Occupant,
    object: ObjectRef,
    bands: Option<PriorityBandedConnection>,
    /// Files to which the instance's reference was written, and their contents.
    files: Vec<(String, String)>,
    /// Binding of the instance in the Naming Service.
    bound: Option<Bound>,
}

enum Occupant {
    Component(Arc<Component>),
    Home(Arc<Home>),
}

impl Installed {
    /// Installs an instance and sets its attributes; `bands` are those of the references in its receptacles. If a step
    /// fails, removes the instance again.
    pub(super) fn new(
        orb: &Orb,
        container: &Container,
        instance: &Instance,
        bands: Option<PriorityBandedConnection>,
        recipe: Recipe,
        others: &[Installed],
    ) -> Result<Installed, LaunchError> {
        let failed = |why: String| {
            let what = format!("instance {:?} was not installed: {why}", instance.name);
            LaunchError::new(&instance.name, instance.place, what)
        };
        let gone = || failed("it no longer exists".to_owned());
        let (occupant, object) = match &recipe.entry {
            EntryPoint::Linked(_, entry) => {
                container.limit_ports(&instance.name, recipe.rates());
                let made = (entry.install)(container, &instance.name);
                let object = made.map_err(|error| failed(error.to_string()))?;
                let occupant = match entry.kind {
                    Kind::Component => container.component(&instance.name).map(Occupant::Component),
                    Kind::Home => container.home(&instance.name).map(Occupant::Home),
                };
                (occupant.ok_or_else(gone)?, object)
            }
            EntryPoint::Home(name) => {
                let mut homes = others.iter();
                let home = homes.find(|one| one.name() == name && one.is_home());
                let home = home.ok_or_else(|| failed(format!("{name:?} is not a home")))?;
                let factory: KeylessCcmHomeRef = home.0.object.unchecked_narrow();
                let made = factory.create_component();
                let made = made.map_err(|error| failed(format!("home {name:?} raised {error}")))?;
                let component = made.as_ref().and_then(|made| home.component_of(made));
                let component = component.ok_or_else(gone)?;
                let object = component.object().cloned().ok_or_else(gone)?;
                (Occupant::Component(component), object)
            }
        };
        let mut inner = Inner {
            name: instance.name.clone(),
            place: instance.place,
            bands,
            recipe,
            occupant,
            object,
            files: Vec::new(),
            bound: None,
        };
        let finished = inner.configure(orb, instance);
        let installed = Installed(Arc::new(inner));
        match finished {
            Ok(()) => Ok(installed),
            Err(error) => {
                // Ignore errors of the removal, so that the error that caused it is returned.
                let _ = installed.remove();
                Err(error)
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn quality(&self) -> &Quality {
        &self.0.recipe.quality
    }

    pub(super) fn bands(&self) -> Option<PriorityBandedConnection> {
        self.0.bands
    }

    pub(super) fn is_made_by(&self, recipe: &Recipe) -> bool {
        self.0.recipe == *recipe
    }

    pub(super) fn is_home(&self) -> bool {
        matches!(self.0.occupant, Occupant::Home(_))
    }

    /// Reports whether the instance was created by this home.
    pub(super) fn is_of(&self, home: &Installed) -> bool {
        self.0.recipe.home() == Some(home.name())
    }

    pub(super) fn component(&self) -> Option<&Arc<Component>> {
        match &self.0.occupant {
            Occupant::Component(component) => Some(component),
            Occupant::Home(_) => None,
        }
    }

    /// Returns all objects to which other instances may be connected.
    pub(super) fn objects(&self) -> Vec<ObjectRef> {
        let mut all = vec![self.0.object.clone()];
        if let Some(component) = self.component() {
            all.extend(super::provided::objects(component));
        }
        all
    }

    pub(super) fn status(&self) -> idl::InstanceStatus {
        let phase = self.component().map_or(Phase::Active, |it| it.phase());
        idl::InstanceStatus {
            name: self.0.name.clone(),
            container: self.quality().id().to_owned(),
            phase: match phase {
                Phase::Installed => idl::InstancePhase::Installed,
                Phase::Configured => idl::InstancePhase::Configured,
                Phase::Active => idl::InstancePhase::Active,
                Phase::Passive | Phase::Removed => idl::InstancePhase::Passive,
            },
            reference: Some(self.0.object.clone()),
        }
    }

    /// Completes the configuration if it is not complete.
    pub(super) fn configure(&self) -> Result<(), LaunchError> {
        match self.component() {
            Some(component) if component.phase() == Phase::Installed => {
                self.moved(component.configuration_complete(), "configured")
            }
            _ => Ok(()),
        }
    }

    /// Activates the instance if it is not active. The calling thread has the priority of the instance's container
    /// meanwhile, because threads that the executor starts inherit it.
    pub(super) fn activate(&self, orb: &Orb) -> Result<(), LaunchError> {
        match self.component() {
            Some(component) if component.phase() != Phase::Active => {
                let raised = self.quality().priority().map(|it| orb.raise_thread(it));
                let _raised = raised.transpose().map_err(|error| {
                    let what = format!(
                        "instance {:?} was not activated: the priority of policy set {:?} has no native one: {error}",
                        self.0.name,
                        self.quality().id()
                    );
                    let error = LaunchError::new(&self.0.name, self.0.place, what);
                    error.cure("choose another priority, or another -ORBPriorityMapping")
                })?;
                self.moved(component.activate(), "activated")
            }
            _ => Ok(()),
        }
    }

    /// Passivates the instance if it is active.
    pub(super) fn passivate(&self) -> Result<(), LaunchError> {
        match self.component() {
            Some(component) if component.phase() == Phase::Active => {
                self.moved(component.passivate(), "passivated")
            }
            _ => Ok(()),
        }
    }

    /// Removes the instance. Does nothing if a client has already removed it.
    pub(super) fn remove(&self) -> Result<(), LaunchError> {
        for (file, ior) in &self.0.files {
            whole_file::remove(file, ior);
        }
        self.0.bound.iter().for_each(Bound::remove);
        match &self.0.occupant {
            Occupant::Component(component) if component.phase() != Phase::Removed => {
                self.moved(component.remove(), "removed")
            }
            Occupant::Component(_) => Ok(()),
            Occupant::Home(home) => {
                let mut result = Ok(());
                for component in home.components() {
                    result = result.and(self.moved(component.remove(), "removed"));
                }
                home.remove();
                result
            }
        }
    }

    fn component_of(&self, object: &impl Interface) -> Option<Arc<Component>> {
        let Occupant::Home(home) = &self.0.occupant else {
            return None;
        };
        let mut made = home.components().into_iter();
        made.find(|one| {
            let own = one.object().map(Interface::reference);
            own.is_some_and(|own| own.is_equivalent(object.reference()))
        })
    }

    fn moved(&self, moved: Result<(), LifeCycleError>, to: &str) -> Result<(), LaunchError> {
        moved.map_err(|error| {
            let what = format!("instance {:?} was not {to}: {error}", self.0.name);
            LaunchError::new(&self.0.name, self.0.place, what)
        })
    }
}

impl Inner {
    fn configure(&mut self, orb: &Orb, instance: &Instance) -> Result<(), LaunchError> {
        let known = match &self.occupant {
            Occupant::Component(component) => component.attributes().to_vec(),
            Occupant::Home(home) => home.attributes(),
        };
        attributes::set(orb, &self.object, &known, instance)?;
        for name in REFERENCE_FILES {
            let Some(property) = instance.property(name) else {
                continue;
            };
            let file = property.value.as_text().unwrap_or_default();
            let ior = self.object.to_ior();
            whole_file::write(file, &ior).map_err(|error| {
                let what = format!(
                    "the reference of instance {:?} was not written to {file:?}: {error}",
                    instance.name
                );
                LaunchError::new(&instance.name, property.place, what)
            })?;
            self.files.push((file.to_owned(), ior));
        }
        if let Some(property) = instance.property(REGISTER_NAMING) {
            let name = property.value.as_text().unwrap_or_default();
            let bound = Bound::new(orb, name, &self.object).map_err(|why| {
                let what = format!(
                    "instance {:?} did not get the name {name:?} in the Naming Service: {why}",
                    instance.name
                );
                LaunchError::new(&instance.name, property.place, what).cure(naming::CURE)
            })?;
            self.bound = Some(bound);
        }
        Ok(())
    }
}
